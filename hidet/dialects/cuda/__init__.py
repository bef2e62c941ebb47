"""The `cuda` dialect: the code of one CUDA thread, kernels, and their launches.

The printer supports this dialect, `arith`, `math`, `scf` and `memref`. Values are scalars and
memrefs of one thread. A memref without a memory space is in global memory; other spaces are
`#cuda.space<...>`.
"""

# The definitions of all modules are exported.
# ruff: noqa: F403

from hidet.dialects.cuda.arithmetic import *
from hidet.dialects.cuda.async_copy import *
from hidet.dialects.cuda.attributes import *
from hidet.dialects.cuda.barriers import *
from hidet.dialects.cuda.checks import *
from hidet.dialects.cuda.host import *
from hidet.dialects.cuda.instructions import *
from hidet.dialects.cuda.kernel import *
from hidet.dialects.cuda.memory_access import *
from hidet.dialects.cuda.tensor_core import *
from hidet.dialects.cuda.tensor_map import *
from hidet.dialects.cuda.views import *
from hidet.dialects.fields import dialect_of

Cuda = dialect_of("hidet.dialects.cuda")
