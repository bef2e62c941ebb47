"""Scalar conversions, with the semantics of torch's `Tensor.to`."""

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from hidet.dialects.graph.base import is_float, is_integer
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder


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
