"""CUDA in scripts: ids, barriers, shuffles, atomics, tensor cores, asynchronous copies.

The names come from the modules of `hidet.frontends.script` and the table of scalar functions.
"""

# ruff: noqa: F403 (the modules define `__all__`)

from hidet.absent import explain_missing
from hidet.arch.fragments import wgmma_accumulator
from hidet.frontends.script import (
    async_copy,
    barriers,
    cuda_arithmetic,
    memory_access,
    tensor_core,
    threads,
)
from hidet.frontends.script.async_copy import *
from hidet.frontends.script.async_copy import TensorMapType as tensor_map
from hidet.frontends.script.barriers import *
from hidet.frontends.script.cuda_arithmetic import *
from hidet.frontends.script.formats import printf
from hidet.frontends.script.functional import cvt
from hidet.frontends.script.mathematics import scalar_function
from hidet.frontends.script.memory import (
    dynamic_shared_memory,
    map_shared_rank,
    register_tensor,
    shared_tensor,
)
from hidet.frontends.script.memory_access import *
from hidet.frontends.script.tensor_core import *
from hidet.frontends.script.threads import *
from hidet.original import show_elsewhere

popc, clz, ffs, brev = map(scalar_function, ("popc", "clz", "ffs", "brev"))
funnelshift_l, funnelshift_lc = map(scalar_function, ("funnelshift_l", "funnelshift_lc"))
funnelshift_r, funnelshift_rc = map(scalar_function, ("funnelshift_r", "funnelshift_rc"))
umulhi, philox = map(scalar_function, ("umulhi", "philox"))

# The names of CUDA.
__popc, __clz, __ffs, __brev = popc, clz, ffs, brev
__popcll, __clzll, __ffsll, __brevll = popc, clz, ffs, brev
__funnelshift_l, __funnelshift_lc = funnelshift_l, funnelshift_lc
__funnelshift_r, __funnelshift_rc = funnelshift_r, funnelshift_rc
__umulhi = umulhi

show_elsewhere(__name__, {"contexts": ["hidet.lang.cuda"]})

explain_missing(__name__)

__all__: list[str] = ["__brev", "__brevll", "__clz", "__clzll", "__ffs", "__ffsll", "__popc"]
__all__ += ["__funnelshift_l", "__funnelshift_lc", "__funnelshift_r", "__funnelshift_rc", "brev"]
__all__ += ["__popcll", "clz", "cvt", "dynamic_shared_memory", "ffs", "funnelshift_l", "popc"]
__all__ += ["funnelshift_lc", "funnelshift_r", "funnelshift_rc", "printf", "register_tensor"]
__all__ += ["__umulhi", "map_shared_rank", "philox", "shared_tensor", "tensor_map", "umulhi"]
__all__ += ["wgmma_accumulator"]
__all__ += async_copy.__all__
__all__ += barriers.__all__
__all__ += cuda_arithmetic.__all__
__all__ += memory_access.__all__
__all__ += tensor_core.__all__
__all__ += threads.__all__
