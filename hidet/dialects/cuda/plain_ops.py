"""Instructions without operands: how a thread ends a group, meets others, or lets them see."""

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import OpTrait

from hidet.arch.instructions import Instruction
from hidet.dialects.cuda.instructions import Collective, WarpCollective
from hidet.dialects.cuda.table_ops import InstructionOp


class PlainOp(InstructionOp):
    """An instruction of the table that has no operands."""

    assembly_format = "attr-dict"


def _plain(summary: str, entry: Instruction, *traits: OpTrait) -> type[PlainOp]:
    """Return the operation of an instruction, which is called as its function: `cuda.<name>`.

    Args:
        summary: what it does.
        entry: the instruction.
        traits: the traits that it has besides.
    """
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
    "makes a group of the thread's copies since its last group.",
    Instruction("cp_async_commit", (), "cp.async.commit_group", 80),
)
TmaCommitOp = _plain(
    "makes a group of the thread's stores since its last group.",
    Instruction("tma_commit", (), "cp.async.bulk.commit_group", 90),
)
WgmmaFenceOp = _plain(
    "before the first product, and after other code has written its D.",
    Instruction("wgmma_fence", (), "wgmma.fence.sync.aligned", 90, only=True),
    WarpCollective(),
)
WgmmaCommitOp = _plain(
    "makes a group of the products of the warp group since its last group.",
    Instruction("wgmma_commit", (), "wgmma.commit_group.sync.aligned", 90, only=True),
    WarpCollective(),
)

# ---- kernels, and the blocks of a cluster --------------------------------------------------------

GridDependencyWaitOp = _plain(
    "waits for the kernel before, whose writes can then be seen.",
    Instruction("grid_dependency_wait", (), "griddepcontrol.wait", 90, orders=True),
)
LaunchDependentsOp = _plain(
    "lets the next kernel start, once all blocks have come here.",
    Instruction("launch_dependents", (), "griddepcontrol.launch_dependents", 90, orders=True),
)
ClusterArriveOp = _plain(
    "comes to the barrier of the cluster, and goes on at once.",
    Instruction("cluster_arrive", (), "barrier.cluster.arrive.aligned", 90, orders=True),
    Collective(),
)
ClusterWaitOp = _plain(
    "waits until all threads of the cluster have come to its barrier.",
    Instruction("cluster_wait", (), "barrier.cluster.wait.aligned", 90, orders=True),
    Collective(),
)

# ---- fences --------------------------------------------------------------------------------------

FenceMbarrierInitOp = _plain(
    "new barriers of the thread can be seen by copies and others.",
    Instruction("fence_mbarrier_init", (), "fence.mbarrier_init.release.cluster", 90, orders=True),
)
FenceProxyAsyncOp = _plain(
    "stores of the thread to shared memory can be seen by wgmma, TMA.",
    Instruction("fence_proxy_async", (), "fence.proxy.async.shared::cta", 90, orders=True),
)
