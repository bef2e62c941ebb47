"""Tensor cores in scripts: products of a warp and of a warp group, and the loads that feed them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects.memref import AllocaOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from hidet.arch.hopper import WGMMA
from hidet.arch.instructions import LDMATRIX, MMA_SYNC, MmaInstruction, Operand
from hidet.dialects import cuda
from hidet.dialects.cuda.table_ops import Element
from hidet.dialects.shaped import memref_type
from hidet.dialects.task.layout import map_of
from hidet.errors import ScriptError
from hidet.frontends.script.instructions import instruction, known_number, operand_at
from hidet.frontends.script.memory import run_of
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Scalar, convert, index_of
from hidet.frontends.script.tensors import Pointer, Tensor, address_of
from hidet.frontends.script.tracing import current, insert
from hidet.frontends.script.types import BOOL, I64
from hidet.mapping import TaskMap
from hidet.rewriting.builder import KernelBuilder


class _ByName(type):
    """Gives a class a function for each product of a warp that the instruction table has."""

    def __getattr__(cls, name: str) -> Callable[[], MmaConfig]:
        if name not in MMA_SYNC:
            raise AttributeError(f"there is no mma_sync {name!r}, only {', '.join(MMA_SYNC)}")
        return lambda: MmaConfig(MMA_SYNC[name])

    def __dir__(cls) -> list[str]:
        return [*super().__dir__(), *MMA_SYNC]


@dataclass(frozen=True)
class MmaConfig(metaclass=_ByName):
    """A product that the tensor cores compute for a warp: C += A * B.

    `MmaConfig.m16n8k16_f16_f32()` has A of 16 x 16 and B of 16 x 8 elements in f16, C of 16 x 8 in
    f32. The maps say which lane holds which elements, in which order: `a_load_map.on(lane)`.

    Attributes:
        instruction: the entry of the instruction table.
    """

    instruction: MmaInstruction

    @staticmethod
    def all() -> list[MmaConfig]:
        """Return all products that there are."""
        return [MmaConfig(instruction) for instruction in MMA_SYNC.values()]

    @property
    def name(self) -> str:
        """Shape and types, `m16n8k16_f16_f32`."""
        return self.instruction.name

    @property
    def m(self) -> int:
        """The rows of A and C."""
        return self.instruction.shape[0]

    @property
    def n(self) -> int:
        """The columns of B and C."""
        return self.instruction.shape[1]

    @property
    def k(self) -> int:
        """The columns of A, the rows of B."""
        return self.instruction.shape[2]

    @property
    def input_dtype(self) -> str:
        """The type of the elements of A and B by name, `f16`."""
        return self.name.split("_")[1]

    @property
    def output_dtype(self) -> str:
        """The type of the elements of C by name, `f32`."""
        return self.name.split("_")[2]

    @property
    def required_arch(self) -> tuple[int, int]:
        """The first compute capability that has it, as (8, 0)."""
        return divmod(self.instruction.arch, 10)

    @property
    def a_load_map(self) -> TaskMap:
        """Which lane holds which elements of A, of shape (m, k)."""
        return self._fragment("a")

    @property
    def b_load_map(self) -> TaskMap:
        """Which lane holds which elements of B, of shape (k, n)."""
        return self._fragment("b")

    @property
    def c_store_map(self) -> TaskMap:
        """Which lane holds which elements of C, of shape (m, n)."""
        return self._fragment("c")

    load_a_map, load_b_map, store_c_map = a_load_map, b_load_map, c_store_map

    @property
    def a_elements(self) -> int:
        """How many elements of A a lane holds."""
        return self.a_load_map.tasks_per_worker

    @property
    def b_elements(self) -> int:
        """How many elements of B a lane holds."""
        return self.b_load_map.tasks_per_worker

    @property
    def c_elements(self) -> int:
        """How many elements of C a lane holds."""
        return self.c_store_map.tasks_per_worker

    def operand(self, name: str) -> Operand:
        """Return the entry of the instruction table for `a`, `b` or `c`."""
        return next(operand for operand in self.instruction.operands if operand.name == name)

    def _fragment(self, name: str) -> TaskMap:
        fragment = self.operand(name).fragment
        assert fragment is not None
        return fragment

    def __str__(self) -> str:
        return f"MmaConfig.{self.name}()"

    __repr__ = __str__


def mma_sync(config: object, a_addr: object, b_addr: object, c_addr: object) -> None:
    """Compute C += A * B by the tensor cores. All lanes of the warp take part.

    Args:
        config: shapes and types, such as `MmaConfig.m16n8k16_f16_f32()`.
        a_addr: the elements of A that this lane holds, neighbours in registers, by the address of
            the first, `~regs_a[i, 0]`, or as a whole tensor.
        b_addr: those of B.
        c_addr: those of C.

    Raises:
        ScriptError: an operand is not what the product takes.
    """
    if not isinstance(config, MmaConfig):
        raise ScriptError(
            f"the first argument of mma_sync is a configuration, not {describe(config)}",
            hint=f"such as {MmaConfig.all()[0]}",
        )
    function = f"mma_sync {config.name}"
    a, b, c = (
        operand_at(function, config.operand(name), value, count)
        for name, value, count in (
            ("a", a_addr, config.a_elements),
            ("b", b_addr, config.b_elements),
            ("c", c_addr, config.c_elements),
        )
    )
    insert(cuda.MmaSyncOp(config.name, a, b, c))


def ldmatrix(
    regs: object,
    smem_addr: object,
    shared_space_addr: bool = False,
    trans: bool = False,
) -> None:
    """Load 1, 2 or 4 matrices of 8 rows of 16 bytes from shared memory. All lanes take part.

    Lane i gives the address of row i % 8 of matrix i / 8, and receives 4 bytes of each matrix: of
    16-bit elements columns i % 4 * 2 and the next one of row i / 4; with `trans` these rows of that
    column.

    Args:
        regs: where the elements go: a tensor in registers, or the address of one of its elements;
            all elements from there to the end of the last dimension are loaded, 4 bytes for each
            matrix. Or a list of neighbouring registers of 4 bytes, such as those of a `view`.
        smem_addr: the address of the row.
        shared_space_addr: whether the address is a number of shared memory; it never is here.
        trans: whether each matrix is transposed on the way.

    Raises:
        ScriptError: an operand is not what the instruction takes.
    """
    if shared_space_addr:
        raise ScriptError(
            "ldmatrix takes an address in shared memory, not the number of one",
            hint="leave shared_space_addr out",
        )
    count = _count_from(regs)
    if isinstance(regs, list | tuple):
        run = run_of(cast("list[object]", regs))
        regs, count = run or (cast("object", regs), 0)
    if not isinstance(regs, Tensor | Pointer):
        raise ScriptError(
            f"ldmatrix loads into a tensor in registers, not into {describe(regs)}",
            hint="the tensor, or the address of an element: ~regs[i, 0]; or the registers of "
            "view(regs, u32[4]), one after the other",
        )
    bits = count * regs.element.bits
    found = LDMATRIX.get((bits // 32, trans)) if bits % 32 == 0 else None
    if found is None:
        raise ScriptError(
            f"ldmatrix loads 1, 2 or 4 matrices, a lane 4, 8 or 16 bytes; {describe(regs)} has "
            f"{bits // 8} from there",
            hint="the address of the first of the elements to be loaded: ~regs[i, 0]",
        )
    to, start = found.operands
    target = operand_at("ldmatrix", to, regs, count)
    element = memref_type(target.memref).element_type
    if trans and bits // count != 16:
        raise ScriptError(f"ldmatrix transposes elements of 16 bits, not {element}")
    row = operand_at("ldmatrix", start, smem_addr, 16 * 8 * count // bits)
    if memref_type(row.memref).element_type != element:
        raise ScriptError(
            f"ldmatrix loads {describe(smem_addr)} into {describe(regs)}",
            hint="both have elements of the same type",
        )
    insert(cuda.LdmatrixOp(found.count, row, target, trans=trans))


def _count_from(regs: object) -> int:
    """Return how many elements there are in a tensor, or from an address to the end of its row."""
    if not isinstance(regs, Tensor | Pointer):
        return 0
    if isinstance(regs, Tensor) and regs.part is not None:
        regs = address_of(regs, [0] * len(regs.shape))
    kind = memref_type(regs.memory)
    is_tile = cuda.space_of(kind) is cuda.Space.REGISTER
    if isinstance(regs, Tensor):
        extents = [extent for extent in regs.shape if isinstance(extent, int)]
        return map_of(kind).tasks_per_worker if is_tile else prod(extents)
    shape = (map_of(kind).tasks_per_worker,) if is_tile else kind.get_shape()
    last = [index_of(index) for index in regs.indices[-1:]]
    return sum(shape[-1:]) - sum(cuda.known_index(index) or 0 for index in last)


MAX_PENDING_PRODUCTS = 7
"""So many groups of products may be under way (PTX ISA, wgmma.wait_group)."""


# Products of warp groups.
def matrix_descriptor(
    address: object, swizzle: object = 128, stride: object = None, leading: object = 16
) -> Scalar:
    """Return the number by which `wgmma_async` finds a matrix in shared memory.

    The matrix lies in rows of as many bytes as the swizzle has, eight of which are a group. Along a
    row the next 16 elements of 16 bits are at the descriptor plus 2 (PTX ISA, Matrix Descriptor).

    Args:
        address: the address of the first element; groups start at multiples of their size.
        swizzle: the bytes of the swizzle, that of the tensor map which has brought the matrix.
        stride: the bytes from one group of eight rows to the next, dense if left out.
        leading: the bytes between blocks along the other dimension, where rows do not fit into the
            swizzle.

    Raises:
        ScriptError: there is no such matrix.
    """
    (operand,) = cuda.DESCRIPTOR.operands
    element = operand_at("matrix_descriptor", operand, address, 1)
    span = known_number("the swizzle", swizzle, cuda.SWIZZLES)
    distances = range(0, 1 << 18, 16)
    step = known_number("the stride", 8 * (span or 16) if stride is None else stride, distances)
    block = known_number("the leading distance", leading, distances)
    op = cuda.MatrixDescriptorOp(element, leading=block, stride=step, swizzle=span)
    return Scalar(insert(op).result, I64)


def wgmma_async(
    config: object,
    a_expr: object,
    c_addr: object,
    b_desc: object,
    scale_d: object = True,
    scale_a: object = 1,
    scale_b: object = 1,
    trans_a: object = False,
    trans_b: object = False,
) -> None:
    """Begin to multiply 64 x k by k x n elements, k of 32 bytes: `c = a * b`, or `c += a * b`.

    All threads of a warp group take part. The accumulators are left alone until `wgmma_wait_group`.

    Args:
        config: shape and types, `m64n256k16_f16_f32` (`hidet.arch.hopper.WGMMA`).
        a_expr: the descriptor of a, whose elements along k are neighbours.
        c_addr: n / 2 registers of each thread: `register_tensor('float32', layout=tile)`, where
            tile is the task mapping `wgmma_accumulator(n)` or a product that ends in it; or an
            array `register_tensor('float32', [n // 2])`.
        b_desc: the descriptor of b, whose elements along k are neighbours.
        scale_d: whether c is added to; else it is only written.
        scale_a: 1.
        scale_b: 1.
        trans_a: whether the elements of a along m are neighbours instead; not of tf32.
        trans_b: whether the elements of b along n are neighbours instead; not of tf32.

    Raises:
        ScriptError: there is no such instruction, or an operand is not what it takes.
    """
    if not isinstance(config, str) or config not in WGMMA:
        raise ScriptError(
            f"there is no product {describe(config)}", hint=f"there is {', '.join(WGMMA)}"
        )
    if scale_a != 1 or scale_b != 1:
        raise ScriptError(
            f"wgmma_async with scale_a={describe(scale_a)} and scale_b={describe(scale_b)}",
            hint="leave them out, and change the sign of the accumulators or of a matrix instead",
        )
    (operand,) = WGMMA[config].operands
    count = WGMMA[config].shape[1] // 2
    element = operand_at("wgmma_async", operand, c_addr, count)
    op = cuda.WgmmaOp(
        config,
        _descriptor(a_expr),
        _descriptor(b_desc),
        element,
        convert(scale_d, BOOL).ssa,
        trans_a=bool(known_number("trans_a", int(bool(trans_a)), (0, 1))),
        trans_b=bool(known_number("trans_b", int(bool(trans_b)), (0, 1))),
    )
    insert(op)


def _descriptor(value: object) -> SSAValue:
    if not isinstance(value, Scalar) or value.type is not I64:
        raise ScriptError(
            f"a matrix in shared memory is given by its descriptor, not {describe(value)}",
            hint="matrix_descriptor(~smem[0, 0])",
        )
    return value.ssa


wgmma_fence = instruction("wgmma_fence", cuda.WgmmaFenceOp)
wgmma_commit_group = instruction("wgmma_commit_group", cuda.WgmmaCommitOp)


wgmma_wait_group = instruction(
    "wgmma_wait_group",
    cuda.WgmmaWaitOp,
    "N",
    summary="""Wait until no more than so many groups of products are under way.

    After a wait for all of them, 0, accumulators may be read. After another one, those that are
    read come to `wgmma_fence_operand` first.
    """,
    pending=range(MAX_PENDING_PRODUCTS + 1),
)


def wgmma_fence_operand(c_addr: object) -> None:
    """Keep what is done with accumulators behind the wait that stands before this line."""
    (operand,) = cuda.FENCE_OPERAND.operands
    element = operand_at("wgmma_fence_operand", operand, c_addr, 1)
    _fence_operand(current(), element.memref)


def fence_accumulators(kernel: cuda.KernelOp) -> None:
    """Put a fence for each accumulator that exists there behind each wait for all products."""
    waits = [op for op in kernel.body.walk() if isinstance(op, cuda.WgmmaWaitOp)]
    for wait in waits:
        if wait.pending.value.data == 0:
            builder = KernelBuilder(InsertPoint.after(wait))
            for memory in _accumulators_before(wait):
                for op in _fence_operand(builder, memory):
                    op.location = wait.location


def _accumulators_before(op: Operation | None) -> list[SSAValue]:
    """Return the arrays that products write, of those that are allocated before an operation."""
    found: list[SSAValue] = []
    while op is not None and op.parent is not None:
        for other in op.parent.ops:
            if other is op:
                break
            if isinstance(other, AllocaOp) and any(
                isinstance(use.operation, cuda.WgmmaOp) for use in other.memref.uses
            ):
                found.append(other.memref)
        op = op.parent_op()
    return found


def _fence_operand(builder: KernelBuilder, memory: SSAValue) -> list[cuda.WgmmaFenceOperandOp]:
    """Insert the fences of an array, one for each of its rows; of a tile, one."""
    kind = memref_type(memory)
    *rows, count = kind.get_shape()
    if cuda.space_of(kind) is cuda.Space.REGISTER:
        element = Element(memory, [builder.index(0)] * kind.get_num_dims())
        return [builder.insert(cuda.WgmmaFenceOperandOp(map_of(kind).tasks_per_worker, element))]
    fences: list[cuda.WgmmaFenceOperandOp] = []
    for number in range(prod(rows)):
        indices = [number // prod(rows[dim + 1 :]) % extent for dim, extent in enumerate(rows)]
        element = Element(memory, [builder.index(index) for index in (*indices, 0)])
        fences.append(builder.insert(cuda.WgmmaFenceOperandOp(count, element)))
    return fences


__all__: list[str] = ["MmaConfig", "ldmatrix", "matrix_descriptor", "mma_sync", "wgmma_async"]
__all__ += ["wgmma_commit_group", "wgmma_fence", "wgmma_fence_operand", "wgmma_wait_group"]
