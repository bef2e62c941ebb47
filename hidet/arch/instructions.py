"""The instruction table: what tensor core and copy instructions take, and what they are called.

An entry is the one place that describes an instruction. From it the operations of the `cuda`
dialect verify their operands, passes learn what is read and written, the printer takes the name of
the function, and tests take the fragments. The two bodies of the function stand in the device
header: inline PTX for nvcc, plain C++ for g++.

NVIDIA's PTX ISA describes an instruction under its name in PTX. A fragment is a run of elements of
one array, in the order in which the manual counts them; two neighbours of a 16-bit type share a
register. Instructions that are one operation stand with that, those of Hopper in `hopper.py`.
"""

from collections.abc import Iterable
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
    """What an instruction does with the elements that an operand points at."""

    READ = auto()
    WRITE = auto()
    UPDATE = auto()


@dataclass(frozen=True)
class Operand:
    """An operand in memory: a run of neighbouring elements.

    Attributes:
        name: as in the manual.
        space: `local` (registers), `shared` or `global`.
        access: whether the elements are read, written, or both.
        element: the type of the elements by its name in the IR, `f16`; None where any will do that
            has the right size. tf32 is `f32`, of which the lower 13 bits are ignored.
        fragment: which thread of the group holds which element of the matrix, in which order; None
            where the operand is no part of a matrix.
        bytes: what one thread accesses from the first element on, where neither the fragment nor
            the operation says it; None where the instruction does not either.
        alignment: the bytes whose multiple the address has to be; None: what is accessed.
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
        ptx: the instruction in PTX.
        arch: the first compute capability that has it, as `80` for sm_80.
        only: whether no later architecture has it (sm_90a).
        orders: whether what is read from and written to memory of others, threads and copies, stays
            on its side of the instruction, as with a barrier.
    """

    function: str
    operands: tuple[Operand, ...]
    ptx: str
    arch: int
    only: bool = False
    orders: bool = False

    def runs_on(self, arch: Arch) -> bool:
        """Return whether a machine has the instruction.

        The CPU has all of them: the device header says what they do in C++.
        """
        return arch.has(self.arch, only=self.only)


@dataclass(frozen=True)
class MmaInstruction(Instruction):
    """A matmul: D = A * B + C, where D takes the place of C.

    Attributes:
        name: shape and types, `m16n8k16_f16_f32`: of A and B, then of C.
        shape: m, n, k.
        group: how many neighbouring threads execute it together.
    """

    name: str = ""
    shape: tuple[int, int, int] = (0, 0, 0)
    group: int = WARP

    @property
    def accumulator(self) -> TaskMap:
        """Which thread of the group holds which element of C and D."""
        (fragment,) = (o.fragment for o in self.operands if o.access is Access.UPDATE)
        assert fragment is not None, "accumulators are fragments"
        return fragment


@dataclass(frozen=True)
class LdmatrixInstruction(Instruction):
    """A load of matrices of 8 rows of 16 bytes from shared memory into registers.

    Attributes:
        count: the number of matrices. Lane i gives the address of row i % 8 of matrix i / 8, and
            receives 4 bytes of each matrix: bytes i % 4 * 4 and on of row i / 4.
        transposed: whether elements have 16 bits and each matrix is transposed on the way.
    """

    count: int = 0
    transposed: bool = False


@dataclass(frozen=True)
class CopyInstruction(Instruction):
    """An asynchronous copy from global to shared memory by one thread.

    Attributes:
        sizes: the bytes that it can copy; both addresses are multiples of them.
    """

    sizes: tuple[int, ...] = ()


# ---- mma.sync -----------------------------------------------------------------------------------


def _mma(
    shape: tuple[int, int, int], fragments: MmaFragments, kind: str, accumulator: str, arch: int
) -> MmaInstruction:
    """Return one instruction of `mma.sync`."""
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


def _by_name(instructions: Iterable[MmaInstruction]) -> dict[str, MmaInstruction]:
    return {instruction.name: instruction for instruction in instructions}


MMA_SYNC: dict[str, MmaInstruction] = _by_name(
    (
        _mma((16, 8, 16), MMA_M16N8K16, "f16", "f32", 80),
        _mma((16, 8, 16), MMA_M16N8K16, "f16", "f16", 80),
        _mma((16, 8, 16), MMA_M16N8K16, "bf16", "f32", 80),
        _mma((16, 8, 8), MMA_M16N8K8, "f16", "f32", 75),
        _mma((16, 8, 8), MMA_M16N8K8, "f16", "f16", 75),
        _mma((16, 8, 8), MMA_M16N8K8, "bf16", "f32", 80),
        _mma((16, 8, 8), MMA_M16N8K8_TF32, "tf32", "f32", 80),
        _mma((16, 8, 4), MMA_M16N8K4_TF32, "tf32", "f32", 80),
    )
)
"""The products of a warp, by name."""

FMA = "fma"
"""What configs of products call multiply-adds of single elements, where they name no instruction
of tensor cores."""

# ---- ldmatrix -----------------------------------------------------------------------------------


def _ldmatrix(count: int, transposed: bool) -> LdmatrixInstruction:
    """Return one form of `ldmatrix`."""
    return LdmatrixInstruction(
        function=f"ldmatrix_x{count}{'_trans' if transposed else ''}",
        operands=(
            Operand("r", "local", Access.WRITE, bytes=4 * count),
            Operand("p", "shared", Access.READ, bytes=16),
        ),
        ptx=f"ldmatrix.sync.aligned.m8n8.x{count}{'.trans' if transposed else ''}.shared.b16",
        arch=75,
        count=count,
        transposed=transposed,
    )


LDMATRIX: dict[tuple[int, bool], LdmatrixInstruction] = {
    (count, transposed): _ldmatrix(count, transposed)
    for count in (1, 2, 4)
    for transposed in (False, True)
}
"""The loads of matrices, by number of matrices and whether they are transposed."""

# ---- cp.async -----------------------------------------------------------------------------------


def _cp_async(cache: str, sizes: tuple[int, ...]) -> CopyInstruction:
    """Return one form of `cp.async`."""
    return CopyInstruction(
        function=f"cp_async_{cache}",
        operands=(
            Operand("dst", "shared", Access.WRITE),
            Operand("src", "global", Access.READ),
        ),
        ptx=f"cp.async.{cache}.shared.global",
        arch=80,
        sizes=sizes,
    )


CP_ASYNC: dict[str, CopyInstruction] = {
    "ca": _cp_async("ca", (4, 8, 16)),
    "cg": _cp_async("cg", (16,)),
}
"""The asynchronous copies, by where they cache: `ca` at all levels, `cg` in L2 only."""
