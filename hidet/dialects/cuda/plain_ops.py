"""Instructions without operands: commit groups, dependent launches, cluster barriers, fences."""

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import OpTrait

from hidet.arch.instructions import Instruction
from hidet.dialects.cuda.instructions import Collective, WarpCollective
from hidet.dialects.cuda.table_ops import InstructionOp


class PlainOp(InstructionOp):
    """An instruction without operands."""

    assembly_format = "attr-dict"


def _plain(summary: str, entry: Instruction, *traits: OpTrait) -> type[PlainOp]:
    """Return the op `cuda.<function>` of an instruction."""
    operation_traits = traits_def(*traits)

    class Operation(PlainOp):
        name = f"cuda.{entry.function}"
        ENTRY: ClassVar = entry
        traits = operation_traits

    Operation.__doc__ = f"`cuda.{entry.function}`: {summary}"
    title = "".join(word.capitalize() for word in entry.function.split("_"))
    Operation.__name__ = Operation.__qualname__ = f"{title}Op"
    return irdl_op_definition(Operation)


# ---- groups --------------------------------------------------------------------------------------

CpAsyncCommitOp = _plain(
    "commits the thread's copies since the last commit as a group.",
    Instruction("cp_async_commit", (), "cp.async.commit_group", 80),
)
TmaCommitOp = _plain(
    "commits the thread's stores since the last commit as a group.",
    Instruction("tma_commit", (), "cp.async.bulk.commit_group", 90),
)
WgmmaFenceOp = _plain(
    "orders register accesses before the first wgmma.",
    Instruction("wgmma_fence", (), "wgmma.fence.sync.aligned", 90, only=True),
    WarpCollective(),
)
WgmmaCommitOp = _plain(
    "commits the warp group's wgmma since the last commit as a group.",
    Instruction("wgmma_commit", (), "wgmma.commit_group.sync.aligned", 90, only=True),
    WarpCollective(),
)

# ---- kernels, and the blocks of a cluster --------------------------------------------------------

GridDependencyWaitOp = _plain(
    "waits for the preceding kernels and makes their writes visible.",
    Instruction("grid_dependency_wait", (), "griddepcontrol.wait", 90, orders=True),
)
LaunchDependentsOp = _plain(
    "lets the next kernel start once all blocks have executed it.",
    Instruction("launch_dependents", (), "griddepcontrol.launch_dependents", 90, orders=True),
)
ClusterArriveOp = _plain(
    "arrives at the cluster barrier without waiting.",
    Instruction("cluster_arrive", (), "barrier.cluster.arrive.aligned", 90, orders=True),
    Collective(),
)
ClusterWaitOp = _plain(
    "waits until all threads of the cluster have arrived at its barrier.",
    Instruction("cluster_wait", (), "barrier.cluster.wait.aligned", 90, orders=True),
    Collective(),
)

# ---- fences --------------------------------------------------------------------------------------

FenceMbarrierInitOp = _plain(
    "makes initialized mbarriers visible to other threads and the async proxy.",
    Instruction("fence_mbarrier_init", (), "fence.mbarrier_init.release.cluster", 90, orders=True),
)
FenceProxyAsyncOp = _plain(
    "makes the thread's shared stores visible to the async proxy (wgmma, TMA).",
    Instruction("fence_proxy_async", (), "fence.proxy.async.shared::cta", 90, orders=True),
)
