"""The `cuda` dialect: what one CUDA thread executes, the kernel around it, and its launch.

Together with `arith`, `math`, `scf` and `memref` this is all that the printer knows. Values are
scalars and memrefs of one thread. A memref without a memory space lives in global memory; other
spaces are named by `#cuda.space<...>`.
"""

# What a module defines is handed out here.
# ruff: noqa: F401
# pyright: reportUnusedImport=false

from hidet.dialects.cuda.arithmetic import (
    FastFunctionAttr,
    FastOp,
    FloorModOp,
    FunctionOp,
    JoinOp,
    Lop3Op,
    PackedFunctionAttr,
    PackedOp,
    PartOp,
    PrmtOp,
    RoundTf32Op,
)
from hidet.dialects.cuda.async_copy import (
    CopyCacheAttr,
    CpAsyncCommitOp,
    CpAsyncOp,
    CpAsyncWaitOp,
    TmaCommitOp,
    TmaLoadOp,
    TmaStoreOp,
    TmaWaitOp,
)
from hidet.dialects.cuda.atomics import AtomicKindAttr, AtomicOp, AtomicPairOp
from hidet.dialects.cuda.attributes import (
    BufferKindAttr,
    DimensionAttr,
    LeaveKindAttr,
    ShuffleKindAttr,
    SpaceAttr,
)
from hidet.dialects.cuda.barriers import (
    BarrierArriveOp,
    BarrierSyncOp,
    BlockVoteAttr,
    ClusterArriveOp,
    ClusterWaitOp,
    EffectOp,
    FenceMbarrierInitOp,
    FenceProxyAsyncOp,
    GridDependencyWaitOp,
    LaunchDependentsOp,
    MbarrierArriveClusterOp,
    MbarrierArriveOp,
    MbarrierExpectOp,
    MbarrierInitOp,
    MbarrierWaitOp,
    SetMaxNregOp,
    SyncVoteOp,
    VoteKindAttr,
    VoteOp,
)
from hidet.dialects.cuda.checks import (
    AccessKindAttr,
    CheckAccessOp,
    CheckBoundsOp,
    CheckedDivisorOp,
    CheckedIndexOp,
    CheckOwnerOp,
    TrackOp,
)
from hidet.dialects.cuda.control import AssertOp, LeaveOp, PrintfOp
from hidet.dialects.cuda.host import BufferOp, LaunchOp
from hidet.dialects.cuda.instructions import (
    BlockDimOp,
    BlockIdOp,
    GridDimOp,
    ShflOp,
    SyncThreadsOp,
    SyncWarpOp,
    ThreadIdOp,
)
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.cuda.memory_access import (
    AccessOrderAttr,
    AccessScopeAttr,
    CacheHintAttr,
    CopyVectorOp,
    HintedCopyOp,
    OrderedLoadOp,
    OrderedStoreOp,
)
from hidet.dialects.cuda.tensor_core import (
    LdmatrixOp,
    MatrixDescriptorOp,
    MmaSyncOp,
    WgmmaCommitOp,
    WgmmaFenceOp,
    WgmmaFenceOperandOp,
    WgmmaOp,
    WgmmaWaitOp,
)
from hidet.dialects.cuda.tensor_map import TensorMapOp, TensorMapType
from hidet.dialects.cuda.views import AddressOfOp, DynamicSharedOp, ViewOp
from hidet.dialects.definitions import dialect_of

Cuda = dialect_of("hidet.dialects.cuda")
