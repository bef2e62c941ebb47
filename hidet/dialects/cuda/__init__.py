"""The `cuda` dialect: what one CUDA thread executes, the kernel around it, and its launch.

Together with `arith`, `math`, `scf` and `memref` this is all that the printer knows. Values are
scalars and memrefs of one thread. A memref without a memory space lives in global memory; other
spaces are named by `#cuda.space<...>`.
"""

# What a module defines is handed out here.
# ruff: noqa: F401
# pyright: reportUnusedImport=false

from hidet.dialects.cuda.accesses import (
    AccessOrderAttr,
    AccessScopeAttr,
    CacheHintAttr,
    HintedCopyOp,
    OrderedLoadOp,
    OrderedStoreOp,
)
from hidet.dialects.cuda.arithmetic import FastFunctionAttr, FastOp, Lop3Op, PrmtOp, RoundTf32Op
from hidet.dialects.cuda.async_copy import (
    CopyCacheAttr,
    CpAsyncCommitOp,
    CpAsyncOp,
    CpAsyncWaitOp,
)
from hidet.dialects.cuda.atomics import (
    AssertOp,
    AtomicKindAttr,
    AtomicOp,
    AtomicPairOp,
    PrintfOp,
    VoteKindAttr,
    VoteOp,
)
from hidet.dialects.cuda.attributes import (
    BufferKindAttr,
    DimensionAttr,
    LeaveKindAttr,
    ShuffleKindAttr,
    SpaceAttr,
)
from hidet.dialects.cuda.checks import (
    AccessKindAttr,
    CheckAccessOp,
    CheckBoundsOp,
    CheckOwnerOp,
    TrackOp,
)
from hidet.dialects.cuda.dynamic_shared import DynamicSharedOp
from hidet.dialects.cuda.faults import CheckedDivisorOp, CheckedIndexOp
from hidet.dialects.cuda.functions import FunctionOp
from hidet.dialects.cuda.host import BufferOp, LaunchOp
from hidet.dialects.cuda.instructions import (
    BlockDimOp,
    BlockIdOp,
    CopyVectorOp,
    GridDimOp,
    ShflOp,
    SyncThreadsOp,
    SyncWarpOp,
    ThreadIdOp,
)
from hidet.dialects.cuda.integers import FloorModOp
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.cuda.leave import LeaveOp
from hidet.dialects.cuda.mbarrier import (
    FenceMbarrierInitOp,
    FenceProxyAsyncOp,
    MbarrierArriveClusterOp,
    MbarrierArriveOp,
    MbarrierExpectOp,
    MbarrierInitOp,
    MbarrierWaitOp,
)
from hidet.dialects.cuda.sync import BlockVoteAttr, EffectOp, SyncVoteOp
from hidet.dialects.cuda.tensor_copy import (
    TmaCommitOp,
    TmaLoadOp,
    TmaStoreOp,
    TmaWaitOp,
)
from hidet.dialects.cuda.tensor_core import LdmatrixOp, MmaSyncOp
from hidet.dialects.cuda.tensor_map import TensorMapOp, TensorMapType
from hidet.dialects.cuda.views import AddressOfOp, ViewOp
from hidet.dialects.cuda.warp_group import (
    MatrixDescriptorOp,
    WgmmaCommitOp,
    WgmmaFenceOp,
    WgmmaFenceOperandOp,
    WgmmaOp,
    WgmmaWaitOp,
)
from hidet.dialects.cuda.warp_roles import (
    BarrierArriveOp,
    BarrierSyncOp,
    ClusterArriveOp,
    ClusterWaitOp,
    GridDependencyWaitOp,
    LaunchDependentsOp,
    SetMaxNregOp,
)
from hidet.dialects.cuda.words import JoinOp, PackedFunctionAttr, PackedOp, PartOp
from hidet.dialects.definitions import dialect_of

Cuda = dialect_of("hidet.dialects.cuda")
