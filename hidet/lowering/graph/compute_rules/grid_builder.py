"""The builder of grids, conversions of scalars, and elements of sliding windows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, TensorType, bf16, f16, f32, f64, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from hidet.dialects.compute import GridOp, LoadOp, ReduceKind, ReduceOp, YieldOp
from hidet.dialects.cuda.marks import BELOW
from hidet.dialects.graph.base import (
    GraphOp,
    Number,
    computation_type,
    element_type,
    integer,
    is_float,
    is_integer,
    number,
    python_number,
    shape_of,
)
from hidet.dialects.graph.contraction import Window
from hidet.dialects.graph.creation import FillOp
from hidet.dialects.graph.elementwise import CastOp
from hidet.dialects.graph.shape import ExpandOp, PermuteOp, ReshapeOp
from hidet.lowering.graph.compute_rules.views import VIEWS, View, broadcast_indices
from hidet.rewriting.builder import Index, KernelBuilder

Indices = Sequence[SSAValue]
ScalarAt = Callable[[Indices], SSAValue]
"""Builds the scalar that belongs to given indices, into the current body."""

_GRID_NAMES, _REDUCE_NAMES = "ijklmn", "rstuvw"


@dataclass(eq=False)
class GridBuilder(KernelBuilder):
    """Builds grids; f16 and bf16 are loaded as f32, computed in f32, and truncated when yielded."""

    _known: dict[tuple[Block, int], SSAValue] = field(
        default_factory=dict[tuple[Block, int], SSAValue]
    )
    """The index constants of each block."""

    # Indices.

    def index(self, value: Index) -> SSAValue:
        """Return an index as an SSA value; constants are unique per block."""
        if not isinstance(value, int):
            return value
        key = (self.insertion_point.block, value)
        if key not in self._known:
            self._known[key] = super().index(value)
        return self._known[key]

    # Tensors, element by element.

    def grid(self, shape: Sequence[int], element: Attribute, scalar_at: ScalarAt) -> SSAValue:
        """Build the tensor whose elements `scalar_at` computes."""
        grid = GridOp(TensorType(element, shape))
        indices = grid.indices
        _name(indices, _GRID_NAMES)
        with self.inside(grid.body.block):
            self.insert(YieldOp(self.narrow(scalar_at(indices), element)))
        return self.insert(grid).result

    def result_of(self, op: GraphOp, scalar_at: ScalarAt) -> SSAValue:
        """Build the grid of an operator's result."""
        return self.grid(op.result_type.get_shape(), op.result_type.element_type, scalar_at)

    def fill(self, op: GraphOp, value: Number) -> SSAValue:
        """Build the grid of a result whose elements all have a value."""
        return self.result_of(op, lambda _: self.exact(value, op.result_type.element_type))

    def reduce(self, kind: ReduceKind, extents: Sequence[int], scalar_at: ScalarAt) -> SSAValue:
        """Reduce what `scalar_at` computes over the extents; a single scalar if there are none."""
        if not extents:
            return scalar_at([])
        body = Block(arg_types=[IndexType()] * len(extents))
        _name(body.args, _REDUCE_NAMES)
        with self.inside(body):
            scalar = scalar_at(body.args)
            self.insert(YieldOp(scalar))
        return self.insert(ReduceOp(Region(body), kind, extents, scalar.type)).result

    def element(self, x: SSAValue, indices: Sequence[Index]) -> SSAValue:
        """Load an element of a tensor, unconverted; a view with one reader is read through."""
        while isinstance(owner := x.owner, View) and x.has_one_use():
            indices = VIEWS[type(owner)](self, owner, indices)
            x = owner.x
        return self.insert(LoadOp(x, [self.index(index) for index in indices])).result

    def read(self, x: SSAValue, indices: Sequence[Index]) -> SSAValue:
        """Load an element in its computation type; of a fill, return the constant.

        The result of a cast to the computation type is read before the cast.
        """
        filled = fill_of(x)
        if filled is not None:
            return self.constant(python_number(filled.value), element_type(x))
        cast = x.owner
        if isinstance(cast, CastOp) and computation_type(element_type(cast.x)) == element_type(x):
            value = self.read(cast.x, indices)
            value.name_hint = x.name_hint
            return value
        return self.widen(self.element(x, indices))

    def read_broadcast(self, x: SSAValue, indices: Sequence[Index]) -> SSAValue:
        """Load the element of a tensor that is broadcast to the indices."""
        return self.read(x, broadcast_indices(indices, shape_of(x)))

    def read_index(self, ids: SSAValue, indices: Sequence[Index], extent: int) -> SSAValue:
        """Load an element of an integer tensor as an index in [0, extent)."""
        index = self.insert(arith.IndexCastOp(self.read(ids, indices), IndexType()))
        index.attributes[BELOW] = integer(extent)
        return index.result

    # Scalars.

    def apply(self, op: Callable[..., Operation], *operands: SSAValue) -> SSAValue:
        """Insert a scalar op with one result."""
        return self.insert(op(*operands)).results[0]

    def constant(self, value: Number, element: Attribute) -> SSAValue:
        """Return a constant in the computation type of an element type."""
        return self.exact(value, computation_type(element))

    def exact(self, value: Number, element: Attribute) -> SSAValue:
        """Return a constant of an element type."""
        return self.insert(arith.ConstantOp(number(value, element))).result

    def widen(self, scalar: SSAValue) -> SSAValue:
        """Convert an element to its computation type."""
        if scalar.type in (f16, bf16):
            return self.insert(arith.ExtFOp.create(operands=[scalar], result_types=[f32])).result
        return scalar

    def narrow(self, scalar: SSAValue, element: Attribute) -> SSAValue:
        """Round a floating-point number to an element type, from f64 via f32 as torch does."""
        if scalar.type == element:
            return scalar
        if scalar.type == f64 and element in (f16, bf16):
            scalar = self.narrow(scalar, f32)
        return self.insert(arith.TruncFOp.create(operands=[scalar], result_types=[element])).result

    # Conditions and branches.

    def in_range(
        self, index: SSAValue, low: int, high: int, bounds: tuple[int, int]
    ) -> list[SSAValue]:
        """Return the necessary conditions of low <= index < high.

        The index is known to be within `bounds`, inclusive.
        """
        conditions: list[SSAValue] = []
        if bounds[0] < low:
            conditions.append(self.insert(arith.CmpiOp(index, self.index(low), "sge")).result)
        if bounds[1] >= high:
            conditions.append(self.insert(arith.CmpiOp(index, self.index(high), "slt")).result)
        return conditions

    def choose_if_all(
        self,
        conditions: Sequence[SSAValue],
        then: Callable[[], SSAValue],
        otherwise: Callable[[], SSAValue],
    ) -> SSAValue:
        """Build `choose`, or only the first scalar without conditions."""
        return self.choose(self.all_of(conditions), then, otherwise) if conditions else then()


def fill_of(x: SSAValue) -> FillOp | None:
    """Return the fill that a tensor is a view of, None if it is not."""
    owner = x.owner
    while isinstance(owner, ExpandOp | ReshapeOp | PermuteOp):
        owner = owner.x.owner
    return owner if isinstance(owner, FillOp) else None


def is_empty(x: SSAValue) -> bool:
    """Return whether a tensor has no elements."""
    return prod(shape_of(x)) == 0


def _name(indices: Indices, names: str) -> None:
    for index, name in zip(indices, names, strict=False):
        index.name_hint = name


def convert(b: GridBuilder, x: SSAValue, element: Attribute) -> SSAValue:
    """Convert a scalar to another computation type: f64, f32, an integer or `i1`."""
    if x.type == element:
        return x
    if element == i1:
        return to_truth(b, x)
    if is_float(element):
        return to_float(b, x, element)
    return to_integer(b, x, element)


def to_truth(b: GridBuilder, x: SSAValue) -> SSAValue:
    """Return whether a scalar is not 0; NaN is true."""
    zero = b.constant(0, x.type)
    if is_float(x.type):
        return b.insert(arith.CmpfOp(x, zero, "une")).result
    return b.insert(arith.CmpiOp(x, zero, "ne")).result


def to_float(b: GridBuilder, x: SSAValue, element: Attribute) -> SSAValue:
    """Convert a scalar to the nearest floating-point number."""
    assert is_float(element)
    found = x.type
    if is_float(found):
        op = arith.ExtFOp if found.bitwidth < element.bitwidth else arith.TruncFOp
        return b.insert(op(x, element)).result
    return b.insert((arith.UIToFPOp if found == i1 else arith.SIToFPOp)(x, element)).result


def to_integer(b: GridBuilder, x: SSAValue, element: Attribute) -> SSAValue:
    """Convert a scalar to an integer: fractions are truncated, and so are excess bits."""
    assert is_integer(element)
    found = x.type
    if is_float(found):
        return b.insert(arith.FPToSIOp(x, element)).result
    if found == i1:
        return b.insert(arith.ExtUIOp(x, element)).result
    assert is_integer(found)
    op = arith.ExtSIOp if found.width.data < element.width.data else arith.TruncIOp
    return b.insert(op(x, element)).result


def window_element(
    b: GridBuilder,
    x: SSAValue,
    window: Window,
    leading: Indices,
    position: Indices,
    offset: Indices,
    outside: Callable[[], SSAValue],
) -> SSAValue:
    """Load the element of images at an offset in a window, or build the scalar outside of them."""
    place: list[SSAValue] = []
    inside: list[SSAValue] = []
    sizes = shape_of(x)[-2:]
    counts = window.count("a window", sizes)
    for n, (index, inner) in enumerate(zip(position, offset, strict=True)):
        stride, dilation, padding = window.stride[n], window.dilation[n], window.padding[n]
        shifted = b.add(b.mul(index, stride), b.mul(inner, dilation))
        place.append(b.index(b.subtract(shifted, padding)))
        place[n].name_hint = "yx"[n]
        last = (counts[n] - 1) * stride + (window.kernel[n] - 1) * dilation - padding
        inside += b.in_range(place[n], 0, sizes[n], (-padding, last))
    return b.choose_if_all(inside, lambda: b.element(x, [*leading, *place]), outside)
