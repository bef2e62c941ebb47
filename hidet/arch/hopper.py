"""The instruction table of Hopper: warp group MMA, and TMA copies."""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from hidet.arch.fragments import WGMMA_M64K8_TF32_A, WGMMA_M64K16_A, wgmma_accumulator
from hidet.arch.instructions import Access, Instruction, MmaInstruction, Operand
from hidet.arch.limits import WARP_GROUP

WGMMA_COLUMNS = range(8, 257, 8)
"""The supported n of wgmma (PTX ISA, wgmma.mma_async, .shape)."""


_NAMES = dict.fromkeys(
    f"m64n{columns}k{8 if kind == 'tf32' else 16}_{kind}_f32"
    for kind in ("f16", "bf16", "tf32")
    for columns in WGMMA_COLUMNS
)
"""The names of the instructions; k has 32 bytes."""


@cache
def _wgmma(function: str, name: str) -> MmaInstruction:
    """Return an instruction; operand A of `wgmma_rs` is in registers, that of `wgmma` is not."""
    shape, kind, _ = name.split("_")
    m, n, k = map(int, re.findall(r"\d+", shape))
    element, fragment = ("f32", WGMMA_M64K8_TF32_A) if kind == "tf32" else (kind, WGMMA_M64K16_A)
    a = Operand("a", "local", Access.READ, element, fragment)
    d = Operand("d", "local", Access.UPDATE, "f32", wgmma_accumulator(n))
    return MmaInstruction(
        function=f"{function}_{name}",
        operands=(d, a) if function == "wgmma_rs" else (d,),
        ptx=f"wgmma.mma_async.sync.aligned.{shape}.f32.{kind}.{kind}",
        arch=90,
        only=True,
        name=name,
        shape=(m, n, k),
        group=WARP_GROUP,
    )


class _Products(Mapping[str, MmaInstruction]):
    """The instructions of wgmma, by name.

    There are 96 of them, with large fragments: each is created when it is looked up.
    """

    def __init__(self, function: str) -> None:
        self._function = function

    def __getitem__(self, name: str) -> MmaInstruction:
        if name not in _NAMES:
            raise KeyError(name)
        return _wgmma(self._function, name)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


WGMMA: Mapping[str, MmaInstruction] = _Products("wgmma")
"""The wgmma of operands in shared memory, by name."""

WGMMA_RS: Mapping[str, MmaInstruction] = _Products("wgmma_rs")
"""Those with operand A in registers."""

MBARRIER = Operand("bar", "shared", Access.UPDATE, "i64", bytes=8)

RANKS = range(1, 6)
"""The ranks of tensors that TMA supports."""


def _tma_load(function: str, rank: int, suffix: str = "", mode: str = "tile") -> Instruction:
    ptx = f"{rank}d.shared::cluster.global.{mode}.mbarrier::complete_tx::bytes{suffix}"
    target = Operand("dstMem", "shared", Access.WRITE, alignment=1024)
    return Instruction(function, (target, MBARRIER), f"cp.async.bulk.tensor.{ptx}", 90)


TMA_LOAD: dict[int, Instruction] = {rank: _tma_load("tma_load", rank) for rank in RANKS}
"""TMA loads of a box into shared memory, by the rank of the tensor."""

TMA_LOAD_MULTICAST: dict[int, Instruction] = {
    rank: _tma_load("tma_load_multicast", rank, ".multicast::cluster") for rank in RANKS
}
"""TMA multicast loads into the shared memory of several blocks, by the rank of the tensor."""

TMA_LOAD_PIXELS: dict[int, Instruction] = {
    rank: _tma_load("tma_load_pixels", rank, mode="im2col") for rank in range(3, 6)
}
"""TMA loads in im2col mode into shared memory, by the rank of the tensor."""

TMA_STORE: dict[int, Instruction] = {
    rank: Instruction(
        "tma_store",
        (Operand("srcMem", "shared", Access.READ, alignment=1024),),
        f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group",
        90,
    )
    for rank in RANKS
}
"""TMA stores of a box from shared memory, by the rank of the tensor."""

SETMAXNREG: dict[str, Instruction] = {
    action: Instruction(
        f"setmaxnreg_{action}", (), f"setmaxnreg.{action}.sync.aligned.u32", 90, only=True
    )
    for action in ("inc", "dec")
}
"""Changes the register count of the threads of a warp group."""

REGISTER_COUNTS = range(24, 257, 8)
"""The register counts that setmaxnreg supports (PTX ISA, setmaxnreg)."""
