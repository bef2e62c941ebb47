"""The instruction table of Hopper: products of warp groups, barriers in memory, tensor copies."""

from __future__ import annotations

from hidet.arch.fragments import wgmma_accumulator
from hidet.arch.instructions import Access, Instruction, MmaInstruction, Operand
from hidet.arch.limits import WARP, WARP_GROUP

# ---- wgmma ---------------------------------------------------------------------------------------

_WGMMA_SECTION = "Asynchronous Warpgroup Level Matrix Instructions"

WGMMA_COLUMNS = (8, 16, *range(32, 257, 32))
"""The numbers of columns that the device header has; the machine has all multiples of 8."""


def _wgmma(n: int, kind: str) -> MmaInstruction:
    """Return a product of 64 x 16 by 16 x n elements, both in shared memory."""
    name = f"m64n{n}k16"
    return MmaInstruction(
        function=f"wgmma_{name}_{kind}_f32",
        operands=(Operand("d", "local", Access.UPDATE, "f32", wgmma_accumulator(n)),),
        ptx=f"wgmma.mma_async.sync.aligned.{name}.f32.{kind}.{kind}",
        section=f"{_WGMMA_SECTION}: wgmma.mma_async",
        arch=90,
        group=WARP_GROUP,
        only=True,
        name=f"{name}_{kind}_f32",
        shape=(64, n, 16),
    )


WGMMA: dict[str, MmaInstruction] = {
    instruction.name: instruction
    for instruction in (_wgmma(n, kind) for kind in ("f16", "bf16") for n in WGMMA_COLUMNS)
}
"""The products of a warp group, by name."""


def _of_warp_group(name: str, ptx: str, *, orders: bool = False) -> Instruction:
    """Return an instruction about the products of a warp group that are under way."""
    return Instruction(
        function=f"wgmma_{name}",
        operands=(),
        ptx=ptx,
        section=f"{_WGMMA_SECTION}: {ptx.removesuffix('.sync.aligned')}",
        arch=90,
        group=WARP_GROUP,
        only=True,
        orders=orders,
    )


WGMMA_FENCE = _of_warp_group("fence", "wgmma.fence.sync.aligned")
"""Comes before the first product, and where other code has written registers that one takes."""

WGMMA_COMMIT = _of_warp_group("commit", "wgmma.commit_group.sync.aligned")
"""Makes a group of all products since the last group."""

WGMMA_WAIT = _of_warp_group("wait", "wgmma.wait_group.sync.aligned", orders=True)
"""Waits until no more than a number of the latest groups are still under way."""

WGMMA_FENCE_OPERAND = Instruction(
    function="wgmma_fence_operand",
    operands=(Operand("d", "local", Access.UPDATE, "f32"),),
    ptx="",
    section=_WGMMA_SECTION,
    arch=90,
)
"""No instruction: keeps the compiler from reading accumulators ahead of the wait before it."""

WGMMA_DESCRIPTOR = Instruction(
    function="matrix_descriptor",
    operands=(Operand("p", "shared", Access.READ, bytes=16, alignment=1024),),
    ptx="",
    section=f"{_WGMMA_SECTION}: Matrix Descriptor",
    arch=90,
)
"""No instruction: the number that describes a matrix in shared memory."""

# ---- mbarrier ------------------------------------------------------------------------------------

_BARRIER = Operand("bar", "shared", Access.UPDATE, "i64", bytes=8)


def _mbarrier(name: str, ptx: str) -> Instruction:
    """Return an instruction on one barrier."""
    return Instruction(
        function=f"mbarrier_{name}",
        operands=(_BARRIER,),
        ptx=f"mbarrier.{ptx}.shared::cta.b64",
        section=f"Parallel Synchronization and Communication Instructions: mbarrier.{ptx}",
        arch=90,
        orders=True,
    )


MBARRIER_INIT = _mbarrier("init", "init")
"""Makes a barrier whose phase ends after a number of arrivals."""

MBARRIER_ARRIVE = _mbarrier("arrive", "arrive")
"""Arrives once."""

MBARRIER_EXPECT = _mbarrier("arrive_expect_tx", "arrive.expect_tx")
"""Arrives once; the phase also waits for a number of bytes that copies bring."""

MBARRIER_WAIT = _mbarrier("wait", "try_wait.parity")
"""Waits for the end of the phase with a parity: 0 for the first one, 1 for the second."""


def _fence(name: str, ptx: str) -> Instruction:
    """Return a fence of one thread."""
    return Instruction(
        function=name,
        operands=(),
        ptx=ptx,
        section="Parallel Synchronization and Communication Instructions: membar/fence",
        arch=90,
        orders=True,
    )


FENCE_MBARRIER_INIT = _fence("fence_mbarrier_init", "fence.mbarrier_init.release.cluster")
"""Lets the barriers that the thread has made be seen by copies and by other blocks."""

FENCE_PROXY_ASYNC = _fence("fence_proxy_async", "fence.proxy.async.shared::cta")
"""Lets what the thread has stored to shared memory be seen by products and copies."""

# ---- the tensor copier ---------------------------------------------------------------------------

_BULK = "Data Movement and Conversion Instructions: cp.async.bulk"


def _tma_load(rank: int) -> Instruction:
    """Return the load of a box of a tensor of this rank."""
    return Instruction(
        function="tma_load",
        operands=(
            Operand("dstMem", "shared", Access.WRITE, alignment=1024),
            _BARRIER,
        ),
        ptx=f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
        section=f"{_BULK}.tensor",
        arch=90,
    )


def _tma_store(rank: int) -> Instruction:
    """Return the store of a box of a tensor of this rank."""
    return Instruction(
        function="tma_store",
        operands=(Operand("srcMem", "shared", Access.READ, alignment=1024),),
        ptx=f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group",
        section=f"{_BULK}.tensor",
        arch=90,
    )


RANKS = range(1, 6)

TMA_LOAD: dict[int, Instruction] = {rank: _tma_load(rank) for rank in RANKS}
"""Loads of a box of a tensor into shared memory, by the rank of the tensor."""

TMA_STORE: dict[int, Instruction] = {rank: _tma_store(rank) for rank in RANKS}
"""Stores of a box from shared memory to a tensor, by the rank of the tensor."""

TMA_COMMIT = Instruction(
    function="tma_commit",
    operands=(),
    ptx="cp.async.bulk.commit_group",
    section=f"{_BULK}.commit_group",
    arch=90,
)
"""Makes a group of the thread's stores since its last group."""

TMA_WAIT = Instruction(
    function="tma_wait",
    operands=(),
    ptx="cp.async.bulk.wait_group.read",
    section=f"{_BULK}.wait_group",
    arch=90,
    orders=True,
)
"""Waits until no more than a number of the thread's latest groups still read shared memory."""

# ---- warps with different work -------------------------------------------------------------------


def _named_barrier(name: str) -> Instruction:
    """Return an instruction on one of the 16 barriers of a block."""
    return Instruction(
        function=f"barrier_{name}",
        operands=(),
        ptx=f"barrier.cta.{name}.aligned",
        section="Parallel Synchronization and Communication Instructions: bar, barrier",
        arch=70,
        group=WARP,
        orders=True,
    )


BARRIER_SYNC = _named_barrier("sync")
"""Waits until a number of threads have come to the barrier."""

BARRIER_ARRIVE = _named_barrier("arrive")
"""Comes to the barrier, and does not wait."""

SETMAXNREG: dict[str, Instruction] = {
    action: Instruction(
        function=f"setmaxnreg_{action}",
        operands=(),
        ptx=f"setmaxnreg.{action}.sync.aligned.u32",
        section="Miscellaneous Instructions: setmaxnreg",
        arch=90,
        group=WARP_GROUP,
        only=True,
    )
    for action in ("inc", "dec")
}
"""Takes registers for the threads of a warp group, or gives them back."""

REGISTER_COUNTS = range(24, 257, 8)
"""The numbers of registers that a thread can ask for (PTX ISA, setmaxnreg)."""


def _grid_control(function: str, name: str, *, orders: bool) -> Instruction:
    """Return an instruction about the kernel before or after this one."""
    return Instruction(
        function=function,
        operands=(),
        ptx=f"griddepcontrol.{name}",
        section="Parallel Synchronization and Communication Instructions: griddepcontrol",
        arch=90,
        orders=orders,
    )


GRID_DEPENDENCY_WAIT = _grid_control("grid_dependency_wait", "wait", orders=True)
"""Waits until the kernels before have finished, and their writes can be seen."""

LAUNCH_DEPENDENTS = _grid_control("launch_dependents", "launch_dependents", orders=True)
"""Lets the kernel after this one start."""

# ---- clusters of blocks --------------------------------------------------------------------------


def _of_cluster(name: str) -> Instruction:
    """Return an instruction on the barrier of a cluster."""
    return Instruction(
        function=f"cluster_{name}",
        operands=(),
        ptx=f"barrier.cluster.{name}.aligned",
        section="Parallel Synchronization and Communication Instructions: barrier.cluster",
        arch=90,
        group=WARP,
        orders=True,
    )


CLUSTER_ARRIVE = _of_cluster("arrive")
"""Comes to the barrier of all threads of the cluster, and does not wait."""

CLUSTER_WAIT = _of_cluster("wait")
"""Waits until all threads of the cluster have come."""

MBARRIER_ARRIVE_CLUSTER = Instruction(
    function="mbarrier_arrive_cluster",
    operands=(_BARRIER,),
    ptx="mbarrier.arrive.shared::cluster.b64",
    section="Parallel Synchronization and Communication Instructions: mbarrier.arrive, mapa",
    arch=90,
    orders=True,
)
"""Arrives once at the barrier in the same place of a block of the cluster."""

TMA_LOAD_MULTICAST: dict[int, Instruction] = {
    rank: Instruction(
        function="tma_load_multicast",
        operands=load.operands,
        ptx=f"{load.ptx}.multicast::cluster",
        section=load.section,
        arch=90,
    )
    for rank, load in TMA_LOAD.items()
}
"""Loads of a box into the shared memory of several blocks, by the rank of the tensor."""
