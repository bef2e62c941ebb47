"""Tensor cores in scripts: mma of a warp, wgmma of a warp group, and loads of their operands."""

from collections.abc import Callable
from itertools import product
from math import prod
from typing import cast

from xdsl.dialects.memref import AllocaOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from hidet.arch.hopper import WGMMA
from hidet.arch.instructions import LDMATRIX, MMA_SYNC, MmaInstruction
from hidet.dialects import cuda
from hidet.dialects.cuda.table_ops import Element
from hidet.dialects.shaped import memref_type
from hidet.dialects.task.layout import map_of
from hidet.errors import ScriptError
from hidet.frontends.script.instructions import instruction, known_number, operand_at
from hidet.frontends.script.memory import consecutive_registers
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Scalar, convert, index_of
from hidet.frontends.script.tensors import Pointer, Tensor, address_of
from hidet.frontends.script.tracing import current, insert
from hidet.frontends.script.types import BOOL, I64
from hidet.mapping import TaskMap
from hidet.rewriting.builder import KernelBuilder


class _ByName(type):
    """Gives `MmaConfig` a function per entry of the instruction table."""

    def __getattr__(cls, name: str) -> "Callable[[], MmaConfig]":
        if name not in MMA_SYNC:
            raise AttributeError(f"there is no mma_sync {name!r}, only {', '.join(MMA_SYNC)}")
        return lambda: MmaConfig(MMA_SYNC[name])

    def __dir__(cls) -> list[str]:
        return [*super().__dir__(), *MMA_SYNC]


class MmaConfig(metaclass=_ByName):
    """A matrix multiply-accumulate of a warp: C += A * B.

    `MmaConfig.m16n8k16_f16_f32()` has f16 operands A of 16 x 16 and B of 16 x 8, and C of 16 x 8 in
    f32. The maps assign fragment elements to lanes: `a_load_map.on(lane)`.

    Attributes:
        name: the shape and the types, `m16n8k16_f16_f32`.
        input_dtype: the element type of A and B, `f16`.
        output_dtype: the element type of C, `f32`.
        required_arch: the minimum compute capability, as (8, 0).
        a_elements: the number of elements of A per lane.
    """

    def __init__(self, instruction: MmaInstruction) -> None:
        self.name: str = instruction.name
        self.m, self.n, self.k = instruction.shape
        _, self.input_dtype, self.output_dtype = self.name.split("_")
        self.required_arch: tuple[int, int] = divmod(instruction.arch, 10)
        self.operands = {operand.name: operand for operand in instruction.operands}
        self.a_load_map = self.load_a_map = self._fragment("a")
        self.b_load_map = self.load_b_map = self._fragment("b")
        self.c_store_map = self.store_c_map = self._fragment("c")
        self.a_elements: int = self.a_load_map.tasks_per_worker
        self.b_elements: int = self.b_load_map.tasks_per_worker
        self.c_elements: int = self.c_store_map.tasks_per_worker

    @staticmethod
    def all() -> "list[MmaConfig]":
        """Return all configurations."""
        return [MmaConfig(instruction) for instruction in MMA_SYNC.values()]

    def _fragment(self, name: str) -> TaskMap:
        fragment = self.operands[name].fragment
        assert fragment is not None
        return fragment

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MmaConfig) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"MmaConfig.{self.name}()"


def mma_sync(config: object, a_addr: object, b_addr: object, c_addr: object) -> None:
    """Compute C += A * B on tensor cores. All lanes of the warp take part.

    The configuration has the shape and the types: `MmaConfig.m16n8k16_f16_f32()`. The elements of
    A, B and C that a lane holds are adjacent in registers: each operand is the address of the
    first, `~regs_a[i, 0]`, or a whole tensor.
    """
    if not isinstance(config, MmaConfig):
        raise ScriptError(
            f"the first argument of mma_sync is a configuration, not {describe(config)}",
            hint=f"such as {MmaConfig.all()[0]}",
        )
    function = f"mma_sync {config.name}"
    a = operand_at(function, config.operands["a"], a_addr, config.a_elements)
    b = operand_at(function, config.operands["b"], b_addr, config.b_elements)
    c = operand_at(function, config.operands["c"], c_addr, config.c_elements)
    insert(cuda.MmaSyncOp(config.name, a, b, c))


def ldmatrix(
    regs: object,
    smem_addr: object,
    shared_space_addr: bool = False,
    trans: bool = False,
) -> None:
    """Load 1, 2 or 4 matrices of 8 rows of 16 bytes from shared memory. All lanes take part.

    Lane i passes the address of row i % 8 of matrix i / 8 and receives 4 bytes of each matrix: for
    16-bit elements, columns i % 4 * 2 and i % 4 * 2 + 1 of row i / 4; transposed with `trans`.

    Args:
        regs: the destination: a tensor in registers, or the address of an element, from which to
            the end of the last dimension registers are filled, 4 bytes per matrix. Or a list of
            adjacent 4-byte registers, such as those of a `view`.
        smem_addr: the address of the row.
        shared_space_addr: not supported; whether the address is a 32-bit shared-space integer.
        trans: whether each matrix is transposed.
    """
    if shared_space_addr:
        raise ScriptError(
            "ldmatrix takes an address in shared memory, not a shared-space integer",
            hint="leave shared_space_addr out",
        )
    count = _count_from(regs)
    if isinstance(regs, list | tuple):
        run = consecutive_registers(cast("list[object]", regs))
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
    insert(cuda.LdmatrixOp(row, target, bits // 32, trans=trans))


def _count_from(regs: object) -> int:
    """Return the number of elements of a tensor, or from an address to the end of its row."""
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
"""The most pending wgmma groups (PTX ISA, wgmma.wait_group)."""


def matrix_descriptor(
    address: object, swizzle: object = 128, stride: object = None, leading: object = 16
) -> Scalar:
    """Return the descriptor of a matrix in shared memory, for `wgmma_async`.

    Rows are as long as the swizzle, and groups consist of eight rows. Along a row the next 16
    elements of 16 bits are at the descriptor plus 2 (PTX ISA, Matrix Descriptor).

    Args:
        address: the address of the first element; groups are aligned to their size.
        swizzle: the swizzle in bytes, that of the tensor map that loaded the matrix.
        stride: the byte distance of groups of eight rows, dense by default.
        leading: the byte distance of blocks along the other dimension, if rows exceed the swizzle.
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
    """Issue an asynchronous 64 x n x k GEMM, k of 32 bytes: `c = a * b`, or `c += a * b`.

    All threads of a warp group take part. Accumulators are not accessed until `wgmma_wait_group`.

    Args:
        config: the shape and the types, `m64n256k16_f16_f32` (`hidet.arch.hopper.WGMMA`).
        a_expr: the descriptor of A, K-major.
        c_addr: n / 2 registers per thread: `register_tensor('float32', layout=tile)`, whose layout
            is `wgmma_accumulator(n)` or a composition that ends in it, or
            `register_tensor('float32', [n // 2])`.
        b_desc: the descriptor of B, K-major.
        scale_d: whether to accumulate; else c is overwritten.
        scale_a: 1.
        scale_b: 1.
        trans_a: whether A is M-major; not for tf32.
        trans_b: whether B is N-major; not for tf32.
    """
    if not isinstance(config, str) or config not in WGMMA:
        raise ScriptError(
            f"there is no wgmma {describe(config)}", hint=f"there is {', '.join(WGMMA)}"
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
        trans_a=bool(trans_a),
        trans_b=bool(trans_b),
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
    summary="""Wait until at most N groups of wgmmas are pending.

    After N = 0 accumulators may be read; otherwise only after `wgmma_fence_operand`.
    """,
    pending=range(MAX_PENDING_PRODUCTS + 1),
)


def wgmma_fence_operand(c_addr: object) -> None:
    """Keep the compiler from moving accesses to accumulators above the preceding wait."""
    (operand,) = cuda.FENCE_OPERAND.operands
    element = operand_at("wgmma_fence_operand", operand, c_addr, 1)
    _fence_operand(current(), element.memref)


def fence_accumulators(kernel: cuda.KernelOp) -> None:
    """Insert a fence for each live accumulator after each wait for all wgmmas."""
    waits = [op for op in kernel.body.walk() if isinstance(op, cuda.WgmmaWaitOp)]
    for wait in waits:
        if wait.pending.value.data == 0:
            builder = KernelBuilder(InsertPoint.after(wait))
            for memory in _accumulators_before(wait):
                for op in _fence_operand(builder, memory):
                    op.location = wait.location


def _accumulators_before(op: Operation | None) -> list[SSAValue]:
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
    """Insert the fences of an array, one per row; one for a tile."""
    kind = memref_type(memory)
    *rows, count = kind.get_shape()
    if cuda.space_of(kind) is cuda.Space.REGISTER:
        element = Element(memory, [builder.index(0)] * kind.get_num_dims())
        return [builder.insert(cuda.WgmmaFenceOperandOp(map_of(kind).tasks_per_worker, element))]
    firsts = (list(map(builder.index, (*row, 0))) for row in product(*map(range, rows)))
    return [
        builder.insert(cuda.WgmmaFenceOperandOp(count, Element(memory, first))) for first in firsts
    ]


__all__: list[str] = ["MmaConfig", "ldmatrix", "matrix_descriptor", "mma_sync", "wgmma_async"]
__all__ += ["wgmma_commit_group", "wgmma_fence", "wgmma_fence_operand", "wgmma_wait_group"]
