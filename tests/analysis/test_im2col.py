"""`im2col_of`: what filters see of images, which TMA can copy pixels of."""

import pytest
from xdsl.parser import Parser
from xdsl.rewriter import InsertPoint

from hidet.analysis.im2col import Axis, has_tiles, im2col_of
from hidet.context import make_context
from hidet.dialects.compute import GridOp
from hidet.dialects.cuda.tensor_map import Pixels
from hidet.dialects.graph import MatmulOp
from hidet.dialects.shaped import shape_of
from hidet.lowering.compute.split_products import parts_of
from hidet.lowering.graph.compute_rules.grid_builder import GridBuilder
from hidet.lowering.pipelines import PassOptions, run_pipeline
from hidet.rewriting.inlining import inline_into_loads


def product_of(images, kernel, stride=(1, 1), padding=(0, 0), dilation=(1, 1), filters=8):
    """Give the product of what filters see of images [N, H, W, C], as a fusion has it."""
    n, h, w, c = images
    numbers = {"stride": stride, "padding": padding, "dilation": dilation}
    places = [
        (size + 2 * p - d * (k - 1) - 1) // s + 1
        for size, k, s, p, d in zip((h, w), kernel, stride, padding, dilation, strict=True)
    ]
    lists = ", ".join(f"{key} = array<i64: {a}, {b}>" for key, (a, b) in numbers.items())
    last, first = f"tensor<{n}x{h}x{w}x{c}xf16>", f"tensor<{n}x{c}x{h}x{w}xf16>"
    weight = f"tensor<{filters}x{c}x{kernel[0]}x{kernel[1]}xf16>"
    result = f"tensor<{n}x{filters}x{places[0]}x{places[1]}xf16>"
    text = f"""func.func @forward(%x: {last}, %w: {weight}) -> {result} {{
      %i = graph.permute %x {{dims = array<i64: 0, 3, 1, 2>}} : ({last}) -> {first}
      %y = graph.conv2d %i, %w {{{lists}}} : ({first}, {weight}) -> {result}
      func.return %y : {result} }}"""
    context = make_context()
    module = Parser(context, text).parse_module()
    run_pipeline(module, context, PassOptions(), pipeline="graph-pipeline")
    run_pipeline(module, context, PassOptions(arch="cpu"), pipeline="compute-pipeline")
    return next(op for op in module.walk() if isinstance(op, MatmulOp))


GEOMETRIES = {
    "3x3": ((2, 9, 9, 64), (3, 3), (1, 1), (1, 1), (1, 1)),
    "not square": ((3, 17, 23, 72), (5, 3), (1, 2), (0, 3), (2, 1)),
    "1x1": ((2, 9, 8, 64), (1, 1), (2, 2), (0, 0), (1, 1)),
    "one image": ((1, 9, 9, 64), (3, 3), (2, 2), (1, 1), (3, 3)),
    "one row": ((2, 1, 30, 64), (1, 3), (1, 2), (0, 1), (1, 2)),
    "one place": ((2, 3, 5, 64), (3, 5), (1, 1), (0, 0), (1, 1)),
    "one column": ((2, 9, 3, 64), (3, 3), (1, 1), (1, 0), (1, 1)),
    "a large filter": ((2, 40, 40, 64), (31, 31), (1, 1), (15, 15), (1, 1)),
}


@pytest.mark.parametrize("name", GEOMETRIES)
def test_geometries(name):
    """What the indices and the condition of a view say."""
    images, kernel, stride, padding, dilation = GEOMETRIES[name]
    found = im2col_of(product_of(*GEOMETRIES[name]).lhs)
    assert found is not None
    assert (found.shape, found.channels) == (images, images[-1])
    assert found.columns == kernel[0] * kernel[1] * images[-1]
    assert found.images.offset == 0
    for axis, *known in zip(
        found.axes, images[1:3], kernel, stride, padding, dilation, strict=True
    ):
        extent, taps, step, begin, apart = known
        places = (extent + 2 * begin - apart * (taps - 1) - 1) // step + 1
        # Of one place nobody can say how far it is from the next, and of one tap neither.
        step, apart = step if places > 1 else 1, apart if taps > 1 else 1
        assert axis == Axis(extent, places, taps, step, apart, begin)


def test_pixels():
    """The pixels of the map are those of the first tap, up to the last place."""
    found = im2col_of(product_of((3, 17, 23, 64), (3, 3), (2, 1), (1, 2), (1, 2)).lhs)
    assert found is not None
    assert found.pixels == Pixels((-1, -2), (15, 20), (2, 1))


@pytest.mark.parametrize(
    ("columns", "channels", "length", "expected"),
    [
        *((64, 64, 576, True), (64, 128, 1152, True), (128, 128, 1152, True)),
        *((64, 96, 864, False), (128, 64, 576, False), (64, 0, 576, False)),
        (128, 256, 576, False),  # the last tile of a part would be of two
    ],
)
def test_tiles_of_one_tap(columns, channels, length, expected):
    assert has_tiles(columns, channels, length) == expected


def test_parts_of_rows():
    """Rows in parts, as of a sum that is split: taps do not end where parts do."""
    anchor = product_of((1, 14, 14, 256), (3, 3), padding=(1, 1))
    whole = im2col_of(anchor.lhs)
    b = GridBuilder.like(anchor, InsertPoint.before(anchor))
    parts = parts_of(b, anchor.lhs, 2, 4, 1)
    inline_into_loads(anchor.lhs.owner)
    found = im2col_of(parts)
    assert found is not None
    assert shape_of(parts) == (4, 196, 576)
    assert (found.axes, found.shape, found.columns) == (whole.axes, whole.shape, 576)


@pytest.mark.parametrize(
    "geometry",
    [
        ((2, 9, 9, 60), (3, 3)),  # pixels that are no multiple of 16 bytes
        ((2, 27, 27, 64), (3, 3), (9, 9)),  # TMA goes 8 pixels at most
        ((2, 300, 4, 64), (3, 3), (1, 1), (0, 0), (130, 1)),  # offsets are 255 at most
        ((2, 9, 9, 64), (3, 3), (1, 1), (129, 129)),  # corners 128 pixels
    ],
)
def test_what_tma_cannot_follow(geometry):
    assert im2col_of(product_of(*geometry).lhs) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("arith.constant 0.000000e+00 : f16", "arith.constant 1.000000e+00 : f16"),
        ("arith.constant 0.000000e+00 : f16", "arith.constant -0.000000e+00 : f16"),
        ("arith.cmpi sge, %y, %c0", "arith.cmpi sge, %y, %c1"),  # the first row is left out
        ("arith.cmpi slt, %y, %c9", "arith.cmpi slt, %y, %c8"),  # the last one
        ("arith.andi %a0, %a1", "arith.ori %a0, %a1"),
        ("arith.remsi %j, %c64", "arith.remsi %j, %c32"),  # half of the channels, twice
        ("arith.remsi %taps, %c3", "arith.remsi %taps, %c9"),  # taps in another order
        ("compute.load %x[%n, %y, %p, %c]", "compute.load %x[%n, %p, %y, %c]"),
        ("scf.yield %u : f16", "%w = arith.addf %u, %u : f16 scf.yield %w : f16"),
    ],
)
def test_other_views_are_none(before, after):
    """What is nearly such a view."""
    assert im2col_of(_view(VIEW)) is not None
    assert before in VIEW
    assert im2col_of(_view(VIEW.replace(before, after))) is None


VIEW = """cuda.kernel @k(%x : memref<2x9x9x64xf16>) grid(1) block(32) {
  %g = compute.grid (%i, %j) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c8 = arith.constant 8 : index
    %c9 = arith.constant 9 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %c81 = arith.constant 81 : index
    %n = arith.divsi %i, %c81 : index
    %rows = arith.divsi %i, %c9 : index
    %oh = arith.remsi %rows, %c9 : index
    %ow = arith.remsi %i, %c9 : index
    %taps = arith.divsi %j, %c64 : index
    %r = arith.divsi %taps, %c3 : index
    %s = arith.remsi %taps, %c3 : index
    %c = arith.remsi %j, %c64 : index
    %y1 = arith.addi %oh, %r : index
    %y = arith.subi %y1, %c1 : index
    %x1 = arith.addi %ow, %s : index
    %p = arith.subi %x1, %c1 : index
    %a0 = arith.cmpi sge, %y, %c0 : index
    %a1 = arith.cmpi slt, %y, %c9 : index
    %a2 = arith.cmpi sge, %p, %c0 : index
    %a3 = arith.cmpi slt, %p, %c9 : index
    %a4 = arith.andi %a0, %a1 : i1
    %a5 = arith.andi %a2, %a3 : i1
    %inside = arith.andi %a4, %a5 : i1
    %v = scf.if %inside -> (f16) {
      %u = compute.load %x[%n, %y, %p, %c] : memref<2x9x9x64xf16>
      scf.yield %u : f16
    } else {
      %z = arith.constant 0.000000e+00 : f16
      scf.yield %z : f16
    }
    compute.yield %v : f16
  } : tensor<162x576xf16>
}"""


def _view(text):
    """Return the view of a kernel."""
    module = Parser(make_context(), text).parse_module()
    return next(op for op in module.walk() if isinstance(op, GridOp)).result
