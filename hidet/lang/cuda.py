"""CUDA in scripts: ids, barriers, shuffles, atomics, tensor cores, asynchronous copies."""

from hidet.absent import explain_missing
from hidet.arch.fragments import wgmma_accumulator
from hidet.frontends.script.async_copy import (
    cp_async,
    cp_async_commit_group,
    cp_async_wait_all,
    cp_async_wait_group,
    tma_commit_group,
    tma_load,
    tma_store,
    tma_wait_group,
)
from hidet.frontends.script.atomics import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_exchange,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_sub,
    atomic_xor,
)
from hidet.frontends.script.barriers import (
    bar_sync,
    barrier_arrive,
    barrier_sync,
    cluster_arrive,
    cluster_sync,
    cluster_wait,
    fence_mbarrier_init,
    fence_proxy_async,
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
    mbarrier_arrive,
    mbarrier_arrive_and_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    nano_sleep,
    setmaxnreg,
    syncthreads,
    syncthreads_and,
    syncthreads_count,
    syncthreads_or,
    threadfence,
    threadfence_block,
    threadfence_system,
)
from hidet.frontends.script.builtins import cvt
from hidet.frontends.script.cuda_arithmetic import (
    bfloat16_as_short,
    bfloat16_as_ushort,
    double_as_longlong,
    fast_cos,
    fast_divide,
    fast_exp,
    fast_exp2,
    fast_log,
    fast_log2,
    fast_log10,
    fast_pow,
    fast_rcp,
    fast_rsqrt,
    fast_sin,
    fast_sqrt,
    fast_tanh,
    float_as_int,
    float_as_uint,
    half_as_short,
    half_as_ushort,
    int_as_float,
    longlong_as_double,
    lop3,
    prmt,
    short_as_bfloat16,
    short_as_half,
    uint_as_float,
    ushort_as_bfloat16,
    ushort_as_half,
)
from hidet.frontends.script.formats import printf
from hidet.frontends.script.ids import (
    block_rank_in_cluster,
    blockDim,
    blockIdx,
    clusterDim,
    clusterIdx,
    clusterRelativeBlockIdx,
    gridDim,
    threadIdx,
)
from hidet.frontends.script.loads_and_stores import copy_vector, load, store
from hidet.frontends.script.mathematics import scalar_function
from hidet.frontends.script.memory import dynamic_shared_memory, register_tensor, shared_tensor
from hidet.frontends.script.tensor_core import (
    MmaConfig,
    ldmatrix,
    matrix_descriptor,
    mma_sync,
    wgmma_async,
    wgmma_commit_group,
    wgmma_fence,
    wgmma_fence_operand,
    wgmma_wait_group,
)
from hidet.frontends.script.tensor_maps import TensorMapType as tensor_map
from hidet.frontends.script.warps import (
    active_mask,
    all_sync,
    any_sync,
    ballot_sync,
    shfl_down_sync,
    shfl_sync,
    shfl_up_sync,
    shfl_xor_sync,
    syncwarp,
    warp_groups,
)
from hidet.original import show_elsewhere

popc, clz, ffs, brev = map(scalar_function, ("popc", "clz", "ffs", "brev"))
funnelshift_l, funnelshift_lc = map(scalar_function, ("funnelshift_l", "funnelshift_lc"))
funnelshift_r, funnelshift_rc = map(scalar_function, ("funnelshift_r", "funnelshift_rc"))

# The names of CUDA.
__popc, __clz, __ffs, __brev = popc, clz, ffs, brev
__popcll, __clzll, __ffsll, __brevll = popc, clz, ffs, brev
__funnelshift_l, __funnelshift_lc = funnelshift_l, funnelshift_lc
__funnelshift_r, __funnelshift_rc = funnelshift_r, funnelshift_rc
byte_perm = __byte_perm = prmt
__syncthreads, __syncwarp = syncthreads, syncwarp
__syncthreads_and, __syncthreads_or = syncthreads_and, syncthreads_or
__syncthreads_count, __nanosleep = syncthreads_count, nano_sleep
__threadfence, __threadfence_block = threadfence, threadfence_block
__threadfence_system = threadfence_system
atomicAdd, atomicSub, atomicExch, atomicCAS = atomic_add, atomic_sub, atomic_exchange, atomic_cas
atomicMax, atomicMin = atomic_max, atomic_min
atomicAnd, atomicOr, atomicXor = atomic_and, atomic_or, atomic_xor
__cosf, __sinf, __tanhf = fast_cos, fast_sin, fast_tanh
__expf, __logf, __log2f, __log10f = fast_exp, fast_log, fast_log2, fast_log10
__powf, __fdividef = fast_pow, fast_divide
rcp = fast_rcp
__float_as_uint, __float_as_int = float_as_uint, float_as_int
__uint_as_float, __int_as_float = uint_as_float, int_as_float
__double_as_longlong, __longlong_as_double = double_as_longlong, longlong_as_double
__half_as_ushort, __half_as_short = half_as_ushort, half_as_short
__ushort_as_half, __short_as_half = ushort_as_half, short_as_half
__bfloat16_as_ushort, __bfloat16_as_short = bfloat16_as_ushort, bfloat16_as_short
__ushort_as_bfloat16, __short_as_bfloat16 = ushort_as_bfloat16, short_as_bfloat16

show_elsewhere(__name__, {"contexts": ["hidet.lang.cuda"]})

explain_missing(__name__)

__all__: list[str] = ["MmaConfig", "__bfloat16_as_short", "__bfloat16_as_ushort", "__brev"]
__all__ += ["__brevll"]
__all__ += ["__byte_perm", "__clz", "__clzll", "__cosf", "__double_as_longlong", "__expf"]
__all__ += ["__fdividef", "__ffs", "__ffsll", "__float_as_int", "__float_as_uint"]
__all__ += ["__funnelshift_l", "__funnelshift_lc", "__funnelshift_r", "__funnelshift_rc"]
__all__ += ["__half_as_short", "__half_as_ushort", "__int_as_float", "__log2f", "__log10f"]
__all__ += ["__logf", "__longlong_as_double", "__nanosleep", "__popc", "__popcll", "__powf"]
__all__ += ["__short_as_bfloat16", "__short_as_half", "__sinf", "__syncthreads"]
__all__ += ["__syncthreads_and", "__syncthreads_count", "__syncthreads_or", "__syncwarp", "__tanhf"]
__all__ += ["__threadfence", "__threadfence_block", "__threadfence_system", "__uint_as_float"]
__all__ += ["__ushort_as_bfloat16", "__ushort_as_half", "active_mask", "all_sync", "any_sync"]
__all__ += ["atomicAdd", "atomicAnd", "atomicCAS", "atomicExch", "atomicMax", "atomicMin"]
__all__ += ["atomicOr", "atomicSub", "atomicXor", "atomic_add", "atomic_and", "atomic_cas"]
__all__ += ["atomic_exchange", "atomic_max", "atomic_min", "atomic_or", "atomic_sub", "atomic_xor"]
__all__ += ["ballot_sync", "bar_sync", "barrier_arrive", "barrier_sync", "blockDim", "blockIdx"]
__all__ += ["block_rank_in_cluster", "brev", "byte_perm", "clusterDim", "clusterIdx"]
__all__ += ["clusterRelativeBlockIdx", "cluster_arrive", "cluster_sync", "cluster_wait", "clz"]
__all__ += ["copy_vector", "cp_async", "cp_async_commit_group", "cp_async_wait_all"]
__all__ += ["cp_async_wait_group", "cvt", "dynamic_shared_memory", "fast_cos", "fast_divide"]
__all__ += ["fast_exp", "fast_exp2", "fast_log", "fast_log2", "fast_log10", "fast_pow", "fast_rcp"]
__all__ += ["fast_rsqrt", "fast_sin", "fast_sqrt", "fast_tanh", "fence_mbarrier_init"]
__all__ += ["fence_proxy_async", "ffs", "funnelshift_l", "funnelshift_lc", "funnelshift_r"]
__all__ += ["funnelshift_rc", "gridDim", "griddepcontrol_launch_dependents", "griddepcontrol_wait"]
__all__ += ["ldmatrix", "load", "lop3", "matrix_descriptor", "mbarrier_arrive"]
__all__ += ["mbarrier_arrive_and_expect_tx", "mbarrier_init", "mbarrier_wait", "mma_sync"]
__all__ += ["nano_sleep", "popc", "printf", "prmt", "rcp", "register_tensor", "setmaxnreg"]
__all__ += ["shared_tensor", "shfl_down_sync", "shfl_sync", "shfl_up_sync", "shfl_xor_sync"]
__all__ += ["store", "syncthreads", "syncthreads_and", "syncthreads_count", "syncthreads_or"]
__all__ += ["syncwarp", "tensor_map", "threadIdx", "threadfence", "threadfence_block"]
__all__ += ["threadfence_system", "tma_commit_group", "tma_load", "tma_store", "tma_wait_group"]
__all__ += ["warp_groups", "wgmma_accumulator", "wgmma_async", "wgmma_commit_group", "wgmma_fence"]
__all__ += ["wgmma_fence_operand", "wgmma_wait_group"]
