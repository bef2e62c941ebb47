"""The instruction table of Hopper: products of warp groups, barriers in memory, tensor copies."""

from __future__ import annotations

from hidet.arch.fragments import wgmma_accumulator
from hidet.arch.instructions import Access, Instruction, MmaInstruction, Operand
from hidet.arch.limits import WARP, WARP_GROUP

# ---- wgmma ---------------------------------------------------------------------------------------

_WGMMA_SECTION = "Asynchronous Warpgroup Level Matrix Instructions"

WGMMA_COLUMNS = range(8, 257, 8)
"""The numbers of columns that a product may have (PTX ISA, wgmma.mma_async, .shape)."""


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


def _entry(
    function: str,
    ptx: str,
    section: str,
    *operands: Operand,
    group: int = 1,
    only: bool = False,
    orders: bool = True,
) -> Instruction:
    """Return an instruction of Hopper."""
    return Instruction(function, operands, ptx, section, 90, group, only, orders)


def _of_warp_group(name: str, ptx: str, *, orders: bool = False) -> Instruction:
    """Return an instruction about the products of a warp group that are under way."""
    section = f"{_WGMMA_SECTION}: {ptx.removesuffix('.sync.aligned')}"
    return _entry(f"wgmma_{name}", ptx, section, group=WARP_GROUP, only=True, orders=orders)


WGMMA_FENCE = _of_warp_group("fence", "wgmma.fence.sync.aligned")
"""Comes before the first product, and where other code has written registers that one takes."""

WGMMA_COMMIT = _of_warp_group("commit", "wgmma.commit_group.sync.aligned")
"""Makes a group of all products since the last group."""

WGMMA_WAIT = _of_warp_group("wait", "wgmma.wait_group.sync.aligned", orders=True)
"""Waits until no more than a number of the latest groups are still under way."""

WGMMA_FENCE_OPERAND = _entry(
    "wgmma_fence_operand",
    "",
    _WGMMA_SECTION,
    Operand("d", "local", Access.UPDATE, "f32"),
    orders=False,
)
"""No instruction: keeps the compiler from reading accumulators ahead of the wait before it."""

WGMMA_DESCRIPTOR = _entry(
    "matrix_descriptor",
    "",
    f"{_WGMMA_SECTION}: Matrix Descriptor",
    Operand("p", "shared", Access.READ, bytes=16, alignment=1024),
    orders=False,
)
"""No instruction: the number that describes a matrix in shared memory."""

# ---- mbarrier ------------------------------------------------------------------------------------

_SYNC = "Parallel Synchronization and Communication Instructions"
_BARRIER = Operand("bar", "shared", Access.UPDATE, "i64", bytes=8)


def _mbarrier(name: str, ptx: str) -> Instruction:
    """Return an instruction on one barrier."""
    full = f"mbarrier.{ptx}.shared::cta.b64"
    return _entry(f"mbarrier_{name}", full, f"{_SYNC}: mbarrier.{ptx}", _BARRIER)


MBARRIER_INIT = _mbarrier("init", "init")
"""Makes a barrier whose phase ends after a number of arrivals."""

MBARRIER_ARRIVE = _mbarrier("arrive", "arrive")
"""Arrives once."""

MBARRIER_EXPECT = _mbarrier("arrive_expect_tx", "arrive.expect_tx")
"""Arrives once; the phase also waits for a number of bytes that copies bring."""

MBARRIER_WAIT = _mbarrier("wait", "try_wait.parity")
"""Waits for the end of the phase with a parity: 0 for the first one, 1 for the second."""

MBARRIER_ARRIVE_CLUSTER = _entry(
    "mbarrier_arrive_cluster",
    "mbarrier.arrive.shared::cluster.b64",
    f"{_SYNC}: mbarrier.arrive, mapa",
    _BARRIER,
)
"""Arrives once at the barrier in the same place of a block of the cluster."""

FENCE_MBARRIER_INIT, FENCE_PROXY_ASYNC = (
    _entry(name, ptx, f"{_SYNC}: membar/fence")
    for name, ptx in (
        ("fence_mbarrier_init", "fence.mbarrier_init.release.cluster"),
        ("fence_proxy_async", "fence.proxy.async.shared::cta"),
    )
)
"""Let the barriers that the thread has made be seen by copies and by other blocks, and what it has
stored to shared memory by products and copies."""

# ---- TMA -----------------------------------------------------------------------------------------

_BULK = "Data Movement and Conversion Instructions: cp.async.bulk"
RANKS = range(1, 6)


def _tma_load(function: str, rank: int, suffix: str = "") -> Instruction:
    """Return the load of a box of a tensor of this rank."""
    ptx = f"{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{suffix}"
    target = Operand("dstMem", "shared", Access.WRITE, alignment=1024)
    section = f"{_BULK}.tensor"
    return _entry(function, f"cp.async.bulk.tensor.{ptx}", section, target, _BARRIER, orders=False)


TMA_LOAD: dict[int, Instruction] = {rank: _tma_load("tma_load", rank) for rank in RANKS}
"""Loads of a box of a tensor into shared memory, by the rank of the tensor."""

TMA_LOAD_MULTICAST: dict[int, Instruction] = {
    rank: _tma_load("tma_load_multicast", rank, ".multicast::cluster") for rank in RANKS
}
"""Loads of a box into the shared memory of several blocks, by the rank of the tensor."""

TMA_STORE: dict[int, Instruction] = {
    rank: _entry(
        "tma_store",
        f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group",
        f"{_BULK}.tensor",
        Operand("srcMem", "shared", Access.READ, alignment=1024),
        orders=False,
    )
    for rank in RANKS
}
"""Stores of a box from shared memory to a tensor, by the rank of the tensor."""

TMA_COMMIT = _entry(
    "tma_commit", "cp.async.bulk.commit_group", f"{_BULK}.commit_group", orders=False
)
"""Makes a group of the thread's stores since its last group."""

TMA_WAIT = _entry("tma_wait", "cp.async.bulk.wait_group.read", f"{_BULK}.wait_group")
"""Waits until no more than a number of the thread's latest groups still read shared memory."""

# ---- warps with different work -------------------------------------------------------------------

BARRIER_SYNC, BARRIER_ARRIVE = (
    Instruction(
        f"barrier_{name}",
        (),
        f"barrier.cta.{name}.aligned",
        f"{_SYNC}: bar, barrier",
        arch=70,
        group=WARP,
        orders=True,
    )
    for name in ("sync", "arrive")
)
"""Wait until a number of threads have come to one of the 16 barriers of a block; come, and do not
wait."""

SETMAXNREG: dict[str, Instruction] = {
    action: _entry(
        f"setmaxnreg_{action}",
        f"setmaxnreg.{action}.sync.aligned.u32",
        "Miscellaneous Instructions: setmaxnreg",
        group=WARP_GROUP,
        only=True,
        orders=False,
    )
    for action in ("inc", "dec")
}
"""Takes registers for the threads of a warp group, or gives them back."""

REGISTER_COUNTS = range(24, 257, 8)
"""The numbers of registers that a thread can ask for (PTX ISA, setmaxnreg)."""

GRID_DEPENDENCY_WAIT, LAUNCH_DEPENDENTS = (
    _entry(function, f"griddepcontrol.{name}", f"{_SYNC}: griddepcontrol")
    for function, name in (
        ("grid_dependency_wait", "wait"),
        ("launch_dependents", "launch_dependents"),
    )
)
"""Wait until the kernels before have finished, and their writes can be seen; let the kernel after
this one start."""

CLUSTER_ARRIVE, CLUSTER_WAIT = (
    _entry(
        f"cluster_{name}",
        f"barrier.cluster.{name}.aligned",
        f"{_SYNC}: barrier.cluster",
        group=WARP,
    )
    for name in ("arrive", "wait")
)
"""Come to the barrier of all threads of the cluster, and do not wait; wait until all have come."""
