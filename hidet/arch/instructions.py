"""The instruction table: tensor core and copy instructions.

An entry is the single description of an instruction. The operations of the `cuda` dialect verify
their operands and define their effects by it, the printer takes the name of the function, and tests
the fragments. The device header has two bodies of the function: inline PTX for nvcc, plain C++ for
g++.

NVIDIA's PTX ISA describes an instruction under its name in PTX. A fragment is a contiguous sequence
of elements of an array, in the order of the manual; two adjacent elements of a 16-bit type share a
register. Instructions that are one operation are defined there, those of Hopper in `hopper.py`.
"""

from dataclasses import dataclass
from enum import Enum, auto

from hidet.arch.chips import Arch
from hidet.arch.fragments import (
    MMA_M16N8K4_TF32,
    MMA_M16N8K8,
    MMA_M16N8K8_TF32,
    MMA_M16N8K16,
    MmaFragments,
)
from hidet.arch.limits import WARP
from hidet.mapping import TaskMap


class Access(Enum):
    """How an instruction accesses an operand in memory."""

    READ = auto()
    WRITE = auto()
    UPDATE = auto()


@dataclass(frozen=True)
class Operand:
    """An operand in memory: a contiguous sequence of elements.

    Attributes:
        name: the name in the manual.
        space: `local` (registers), `shared` or `global`.
        element: the element type, such as `f16`; None for any of the right size. tf32 is `f32`,
            whose lower 13 bits are ignored.
        fragment: the map of the elements of the matrix to threads; None if it is not a fragment.
        bytes: the number of bytes that a thread accesses, unless the fragment or the operation
            defines it.
        alignment: the alignment in bytes; None: the number of accessed bytes.
    """

    name: str
    space: str
    access: Access
    element: str | None = None
    fragment: TaskMap | None = None
    bytes: int | None = None
    alignment: int | None = None


@dataclass(frozen=True)
class Instruction:
    """An instruction.

    Attributes:
        function: its name in the device header, after `hidet::`.
        operands: its operands in memory, in the order of the function's arguments.
        arch: the first compute capability that has it, `80` for sm_80.
        only: whether it is architecture-specific (sm_90a).
        orders: whether accesses to shared and global memory may not be moved across it, as with a
            barrier.
    """

    function: str
    operands: tuple[Operand, ...]
    ptx: str
    arch: int
    only: bool = False
    orders: bool = False

    def runs_on(self, arch: Arch) -> bool:
        """Return whether an architecture has the instruction; the CPU emulates all of them."""
        return arch.has(self.arch, only=self.only)


@dataclass(frozen=True)
class MmaInstruction(Instruction):
    """A matrix multiply-accumulate: C += A * B.

    Attributes:
        name: shape and types, `m16n8k16_f16_f32`: of A and B, then of C.
        shape: m, n, k.
        group: the number of threads that execute it collectively.
    """

    name: str = ""
    shape: tuple[int, int, int] = (0, 0, 0)
    group: int = WARP

    @property
    def kind(self) -> str:
        """The type of A and B, such as `tf32`."""
        return self.name.split("_")[1]

    @property
    def accumulator(self) -> TaskMap:
        """The map of the elements of C to threads."""
        (fragment,) = (o.fragment for o in self.operands if o.access is Access.UPDATE)
        assert fragment is not None, "accumulators are fragments"
        return fragment


@dataclass(frozen=True)
class CopyInstruction(Instruction):
    """An asynchronous copy from global to shared memory by one thread.

    Both addresses are aligned to its size in bytes, one of `sizes`.
    """

    sizes: tuple[int, ...] = ()


# ---- mma.sync -----------------------------------------------------------------------------------


def _mma(
    shape: tuple[int, int, int], fragments: MmaFragments, kind: str, accumulator: str, arch: int
) -> MmaInstruction:
    m, n, k = shape
    element = "f32" if kind == "tf32" else kind
    name = f"m{m}n{n}k{k}"
    return MmaInstruction(
        function=f"mma_{name}",
        operands=(
            Operand("c", "local", Access.UPDATE, accumulator, fragments.c),
            Operand("a", "local", Access.READ, element, fragments.a),
            Operand("b", "local", Access.READ, element, fragments.b),
        ),
        ptx=f"mma.sync.aligned.{name}.row.col.{accumulator}.{kind}.{kind}.{accumulator}",
        arch=arch,
        name=f"{name}_{kind}_{accumulator}",
        shape=shape,
    )


MMA_SYNC: dict[str, MmaInstruction] = {
    instruction.name: instruction
    for instruction in (
        _mma((16, 8, 16), MMA_M16N8K16, "f16", "f32", 80),
        _mma((16, 8, 16), MMA_M16N8K16, "f16", "f16", 80),
        _mma((16, 8, 16), MMA_M16N8K16, "bf16", "f32", 80),
        _mma((16, 8, 8), MMA_M16N8K8, "f16", "f32", 75),
        _mma((16, 8, 8), MMA_M16N8K8, "f16", "f16", 75),
        _mma((16, 8, 8), MMA_M16N8K8, "bf16", "f32", 80),
        _mma((16, 8, 8), MMA_M16N8K8_TF32, "tf32", "f32", 80),
        _mma((16, 8, 4), MMA_M16N8K4_TF32, "tf32", "f32", 80),
    )
}

FMA = "fma"
"""The instruction of matmul configs without tensor cores."""

# ---- ldmatrix -----------------------------------------------------------------------------------

LDMATRIX: dict[tuple[int, bool], Instruction] = {
    (count, transposed): Instruction(
        f"ldmatrix_x{count}{'_trans' if transposed else ''}",
        (
            Operand("r", "local", Access.WRITE, bytes=4 * count),
            Operand("p", "shared", Access.READ, bytes=16),
        ),
        f"ldmatrix.sync.aligned.m8n8.x{count}{'.trans' if transposed else ''}.shared.b16",
        arch=75,
    )
    for count in (1, 2, 4)
    for transposed in (False, True)
}
"""The instructions of ldmatrix, by number of matrices and whether they are transposed."""

# ---- cp.async -----------------------------------------------------------------------------------

CP_ASYNC: dict[str, CopyInstruction] = {
    cache: CopyInstruction(
        f"cp_async_{cache}",
        (Operand("dst", "shared", Access.WRITE), Operand("src", "global", Access.READ)),
        f"cp.async.{cache}.shared.global",
        arch=80,
        sizes=sizes,
    )
    for cache, sizes in (("ca", (4, 8, 16)), ("cg", (16,)))
}
"""The instructions of cp.async, by cache operator: `ca` caches at all levels, `cg` in L2 only."""
