"""The matmul problem, which templates and cost models are queried with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, prod, sqrt

from xdsl.dialects.arith import ConstantOp
from xdsl.ir import Operation, SSAValue

from hidet.analysis.grids import loads_of
from hidet.analysis.im2col import im2col_of
from hidet.analysis.memory import is_arithmetic
from hidet.analysis.windows import Window, window_of
from hidet.arch.chips import Arch
from hidet.dialects.compute import FusionOp, GridOp
from hidet.dialects.cuda.tensor_map import ALIGNMENT
from hidet.dialects.graph import GroupedMatmulOp, MatmulOp
from hidet.dialects.shaped import bytes_of, element_of, shape_of, size_of

BANDWIDTH = 0.95
"""The fraction of the memory bandwidth that matmuls reach."""


@dataclass(frozen=True)
class Problem:
    """A matmul of [batch, m, k] and [batch, k, n].

    Attributes:
        batch: the batch size.
        m: the rows of the result.
        n: its columns.
        k: the reduced extent.
        kind: the operand type; `tf32` if f32 may be rounded to it, `fma` without tensor cores.
        total: the accumulator type.
        element_bytes: the bytes of an operand element.
        result_bytes: the bytes of a stored result element.
        gathered: whether operand A is no window of a tensor, such as an im2col view: threads gather
            it, with an address computation per vector.
        channels: the channels of an im2col view that TMA can load, else 0.
        parts: the columns of each of several matmuls with a common operand A; `n` is the sum.
        stored: the columns of their stored results.
        streams: whether TMA can load all operands, so that loads overlap with the epilogue.
            wgmma takes tf32 only contiguous along K.
        residuals: the operands of the epilogue of the size of the result.
        operations: the arithmetic operations of the epilogue for an element of the result.
        is_row_major: whether an operand B is not contiguous along K.
    """

    batch: int
    m: int
    n: int
    k: int
    kind: str
    total: str
    element_bytes: int
    result_bytes: int = 2
    gathered: bool = False
    channels: int = 0
    parts: tuple[int, ...] = ()
    stored: tuple[int, ...] = ()
    streams: bool = True
    residuals: int = 0
    operations: int = 0
    is_row_major: bool = False

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns of each matmul."""
        return self.parts or (self.n,)

    def memory_time(self, results: float, arch: Arch) -> float:
        """Return the microseconds to transfer the operands and a number of result elements."""
        elements = self.m * self.k + self.k * self.n + results
        return self.batch * elements * self.element_bytes / (BANDWIDTH * arch.bandwidth) * 1e6

    @classmethod
    def of(cls, anchor: MatmulOp | GroupedMatmulOp, *siblings: MatmulOp) -> Problem:
        """Return the problem of a matmul, with its siblings."""
        element, result = element_of(anchor.lhs), shape_of(anchor.result)
        precision = anchor.precision.data
        kind = precision if precision in ("tf32", "fma") else str(element)
        fusion, products = anchor.parent_op(), [each.result for each in (anchor, *siblings)]
        stored = fusion.results_ if isinstance(fusion, FusionOp) else products
        parts = tuple(shape_of(value)[-1] for value in products)
        rows = max(prod(result[:-1]), 1)
        left = window_of(anchor.lhs)
        gathered = left is None
        pixels = im2col_of(anchor.lhs) if gathered else None
        right = [(each.rhs, window_of(each.rhs), -2) for each in (anchor, *siblings)]
        windows = right if pixels else [*right, (anchor.lhs, left, -1)]
        streams = all(
            window is not None
            and _is_aligned(window, operand)
            and (kind != "tf32" or window.strides[dim] == 1)
            for operand, window, dim in windows
        )
        residuals, operations = _epilogue(fusion, products)
        return cls(
            batch=prod(result[:-2]),
            m=result[-2],
            n=sum(parts),
            k=shape_of(anchor.lhs)[-1],
            kind=kind,
            total=str(element_of(anchor.result)),
            element_bytes=bytes_of(element),
            result_bytes=max(bytes_of(element_of(value)) for value in stored),
            gathered=gathered,
            channels=pixels.channels if pixels else 0,
            streams=streams,
            parts=parts if siblings else (),
            stored=tuple(size_of(value) // rows for value in stored) if siblings else (),
            residuals=residuals,
            operations=operations,
            is_row_major=any(b is None or b.strides[-2] != 1 for _, b, _ in right),
        )

    @classmethod
    def of_groups(cls, op: GroupedMatmulOp) -> Problem:
        """Return the problem of a grouped matmul, as a batch of matmuls of equal groups.

        If rows are assigned at random, hardly a group has more than two deviations above the mean.
        """
        groups, whole = shape_of(op.rhs)[0], cls.of(op)
        mean = whole.m / groups
        rows = ceil(mean + 2 * sqrt(mean))
        return replace(whole, batch=min(groups, max(whole.m, 1)), m=max(rows, 1))


def _epilogue(fusion: Operation | None, products: Sequence[SSAValue]) -> tuple[int, int]:
    """Return the `residuals` and the `operations` of a fusion's epilogue."""
    known, residuals, operations = set(products), 0, 0
    grids = fusion.body.block.ops if isinstance(fusion, FusionOp) else ()
    for op in grids:
        loads = loads_of(op) if isinstance(op, GridOp) else []
        if isinstance(op, GridOp) and any(load.source in known for load in loads):
            size = size_of(op.result)
            others = [load for load in loads if load.source not in known]
            residuals += sum(size_of(load.source) >= size for load in others)
            operations += sum(
                is_arithmetic(each) and not isinstance(each, ConstantOp)
                for each in op.body.block.ops
            )
            known.add(op.result)
    return residuals, operations


def is_aligned_window(operand: SSAValue) -> bool:
    """Return whether an operand is a window with 16-byte aligned rows."""
    window = window_of(operand)
    return window is not None and _is_aligned(window, operand)


def _is_aligned(window: Window, operand: SSAValue) -> bool:
    """Return whether the rows of an operand's window are 16-byte aligned."""
    size = bytes_of(element_of(operand))
    steps = zip(window.strides, shape_of(operand), strict=True)
    apart = [stride for stride, extent in steps if extent > 1 and stride != 1]
    return all(step * size % ALIGNMENT == 0 for step in (window.offset, *apart))
