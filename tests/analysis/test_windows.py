"""`window_of`: which views TMA can copy boxes of."""

import pytest
from xdsl.parser import Parser

from hidet.analysis.windows import window_of
from hidet.context import make_context
from hidet.dialects.compute import GridOp


@pytest.mark.parametrize(
    ("shape", "indices", "offset", "strides"),
    [
        ("8x6", "%j, %i", 0, (1, 6)),  # transposed
        ("20x6", "%a, %j", 12, (6, 1)),  # rows from 2 on
        ("3x4x6", "%q, %r, %j", 0, (6, 1)),  # (i / 4, i % 4, j): a reshape
        ("8x6", "%a, %c", 12, (6, 0)),  # a column, for all j
    ],
)
def test_windows(shape, indices, offset, strides):
    """Views at fixed distances, through divisions that cancel."""
    window = window_of(_view(shape, indices, "compute.yield %v : f16"))
    assert window is not None
    assert (window.offset, window.strides) == (offset, strides)


@pytest.mark.parametrize(
    ("shape", "indices", "end"),
    [
        ("8x6", "%i, %j", "%w = arith.addf %v, %v : f16 compute.yield %w : f16"),
        ("8x6", "%r, %j", "compute.yield %v : f16"),  # i % 4: the rows come again
    ],
)
def test_others_are_none(shape, indices, end):
    """Computed elements, and distances that are not fixed."""
    assert window_of(_view(shape, indices, end)) is None


def _view(shape, indices, end):
    """Return a view of a buffer with an element at some indices."""
    text = f"""cuda.kernel @k(%x : memref<{shape}xf16>) grid(1) block(32) {{
      %g = compute.grid (%i, %j) {{
        %two = arith.constant 2 : index
        %four = arith.constant 4 : index
        %c = arith.constant 0 : index
        %a = arith.addi %i, %two : index
        %q = arith.divsi %i, %four : index
        %r = arith.remsi %i, %four : index
        %v = compute.load %x[{indices}] : memref<{shape}xf16>
        {end}
      }} : tensor<6x6xf16>
    }}"""
    module = Parser(make_context(), text).parse_module()
    return next(op for op in module.walk() if isinstance(op, GridOp)).result
