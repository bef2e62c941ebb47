"""What fusions compute and move: products are counted, and what is read is where indices lead."""

import pytest
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, i64
from xdsl.parser import Parser

from hidet.analysis.work import work_of
from hidet.arch.chips import Arch
from hidet.arch.roofline import Work
from hidet.context import make_context
from hidet.dialects.compute import FusionOp
from hidet.dialects.cuda import KernelOp
from hidet.lowering.pipelines import PassOptions, run_pipeline


@pytest.fixture
def works_of():
    """Give a function that returns the work of each fusion that a program becomes."""

    def find(text, arch="sm_90a"):
        module = Parser(make_context(), text).parse_module()
        for pipeline in ("graph-pipeline", "compute-pipeline"):
            run_pipeline(module, make_context(), PassOptions(arch), pipeline=pipeline)
        return [work_of(op) for op in module.walk() if isinstance(op, FusionOp)]

    return find


def fusion(inputs, body, result, end="%y"):
    """Return the text of a fusion of one result."""
    arguments = ", ".join(f"%{name} : {kind}" for name, kind in inputs.items())
    passed = ", ".join(f"%{name}_ = %{name} : {kind}" for name, kind in inputs.items())
    return f"""func.func @forward({arguments}) -> {result} {{
      %out = compute.fusion ({passed}) -> ({result}) {{
        {body}
        compute.yield {end} : {result}
      }}
      func.return %out : {result}
    }}"""


@pytest.fixture
def work_of_text():
    """Give a function that returns the work of a fusion that is given as text."""

    def find(*arguments):
        module = Parser(make_context(), fusion(*arguments)).parse_module()
        module.verify()
        (found,) = [op for op in module.walk() if isinstance(op, FusionOp)]
        return work_of(found)

    return find


def matmul(element, precision=""):
    """Return a program of a product with a bias."""
    x, w, b, y = (f"tensor<{s}x{element}>" for s in ("32x64", "64x48", "48", "32x48"))
    return f"""func.func @forward(%x: {x}, %w: {w}, %b: {b}) -> {y} {{
      %p = graph.matmul %x, %w {precision} : ({x}, {w}) -> {y}
      %y = graph.add %p, %b : ({y}, {b}) -> {y}
      func.return %y : {y}
    }}"""


@pytest.mark.parametrize(
    ("element", "precision", "kind"),
    [
        ("f16", "", "f16"),
        ("f32", "", "f32"),
        ("f32", '{precision = "tf32"}', "tf32"),
        ("f16", '{precision = "fma"}', "f32"),
    ],
)
def test_product(works_of, element, precision, kind):
    """The product with its epilogue; its rate is that of its factors."""
    size = 2 if element == "f16" else 4
    moved = size * (32 * 64 + 64 * 48 + 48 + 32 * 48)
    assert works_of(matmul(element, precision)) == [Work(2 * 32 * 64 * 48, moved, kind)]


@pytest.mark.parametrize("causal", [False, True])
def test_attention(works_of, causal):
    """Both products, and of a causal one those scores alone that are not hidden."""
    q, k = "tensor<2x4x8x16xf16>", "tensor<2x4x32x16xf16>"
    text = f"""func.func @forward(%q: {q}, %k: {k}, %v: {k}) -> {q} {{
      %y = graph.scaled_dot_product_attention %q, %k, %v {{causal = {str(causal).lower()}}}
        : ({q}, {k}, {k}) -> {q}
      func.return %y : {q}
    }}"""
    scores = sum(range(1, 9)) if causal else 8 * 32
    moved = 2 * 2 * 4 * (2 * 8 * 16 + 2 * 32 * 16)
    assert works_of(text) == [Work(2 * 2 * 4 * scores * 32, moved, "f16")]


def test_gradients_of_attention(works_of):
    """Scores and their gradients are computed in each kernel, and what is summed over them."""
    x, s = "tensor<2x8x16xf16>", "tensor<2x8x1xf32>"
    types = f"({x}, {x}, {x}, {x}, {s}, {s})"
    text = f"""func.func @forward(%q: {x}, %s: {s}) -> ({s}, {x}, tensor<2x2x8x16xf16>) {{
      %a = graph.attention_logsumexp %q, %q : ({x}, {x}) -> {s}
      %b = graph.attention_query_gradient %q, %q, %q, %q, %s, %s : {types} -> {x}
      %c = graph.attention_key_value_gradients %q, %q, %q, %q, %s, %s {{causal = true}}
        : {types} -> tensor<2x2x8x16xf16>
      func.return %a, %b, %c : {s}, {x}, tensor<2x2x8x16xf16>
    }}"""
    found = [work.operations for work in works_of(text)]
    assert found == [2 * 2 * 64 * 16, 2 * 2 * 64 * 48, 2 * 2 * 36 * 64]


def test_convolution(works_of):
    """A window sees a pixel many times; it is read once, and what is around images is not."""
    x, w, y = "tensor<1x16x10x10xf16>", "tensor<32x16x3x3xf16>", "tensor<1x32x10x10xf16>"
    text = f"""func.func @forward(%x: {x}) -> {y} {{
      %w = graph.constant "p0" : {w}
      %y = graph.conv2d %x, %w {{padding = array<i64: 1, 1>}} : ({x}, {w}) -> {y}
      func.return %y : {y}
    }}"""
    (product,) = [work for work in works_of(text, "cpu") if work.operations]
    assert product.operations == 2 * 100 * 32 * 16 * 9
    assert product.moved == 2 * (16 * 100 + 32 * 16 * 9 + 32 * 100)


def test_convolution_of_groups(works_of):
    """Each sum has the channels of its group alone; those of a gradient, the pixels of its part."""
    x, w, y = "tensor<1x10x10x16xf16>", "tensor<3x3x4x32xf16>", "tensor<1x8x8x32xf16>"
    part = "tensor<2x3x3x4x32xf32>"
    text = f"""func.func @forward(%x: {x}, %w: {w}, %g: {y}) -> ({y}, {part}) {{
      %y = graph.grouped_conv2d %x, %w : ({x}, {w}) -> {y}
      %p = graph.grouped_filter_gradient %x, %g {{kernel = array<i64: 3, 3>, groups = 4 : i64,
        parts = 2 : i64}} : ({x}, {y}) -> {part}
      func.return %y, %p : {y}, {part}
    }}"""
    forward, gradient = works_of(text)
    assert forward.operations == gradient.operations == 2 * 64 * 32 * 4 * 9
    assert forward.kind == gradient.kind == "f32"


LOAD = """%y = compute.grid (%i) {{
          {index}
          %v = compute.load %x_[{place}] : {kind}
          compute.yield %v : f32
        }} : tensor<8xf32>"""


@pytest.mark.parametrize(
    ("index", "place", "kind", "elements"),
    [
        ("", "%i", "tensor<8xf32>", 8),
        ("", "%i", "tensor<64xf32>", 8),  # the first ones
        (
            "%c = arith.constant 5 : index\n%j = arith.muli %i, %c : index",
            "%j",
            "tensor<64xf32>",
            8,
        ),
        (
            "%c = arith.constant 2 : index\n%j = arith.divsi %i, %c : index",
            "%j",
            "tensor<64xf32>",
            4,
        ),
        ("%c = arith.constant 3 : index", "%c", "tensor<64xf32>", 1),
        ("%c = arith.constant 3 : index", "%c, %i", "tensor<4x8xf32>", 8),
    ],
    ids=["all", "range", "steps", "repeated", "one", "row"],
)
def test_parts(work_of_text, index, place, kind, elements):
    """Of a tensor counts what is read."""
    body = LOAD.format(index=index, place=place, kind=kind)
    found = work_of_text({"x": kind}, body, "tensor<8xf32>")
    assert found == Work(0, 4 * (elements + 8), "f32")


def test_two_loads(work_of_text):
    """What is read twice counts once; two parts count both."""
    body = """%y = compute.grid (%i) {
          %c = arith.constant 8 : index
          %j = arith.addi %i, %c : index
          %a = compute.load %x_[%i] : tensor<64xf32>
          %b = compute.load %x_[%OTHER] : tensor<64xf32>
          %v = arith.addf %a, %b : f32
          compute.yield %v : f32
        } : tensor<8xf32>"""
    for other, elements in (("i", 8), ("j", 16)):
        text = body.replace("OTHER", other)
        found = work_of_text({"x": "tensor<64xf32>"}, text, "tensor<8xf32>")
        assert found.moved == 4 * (elements + 8)


PLACES = {"p": "tensor<8xindex>", "x": "tensor<64xf32>", "m": "tensor<8xi1>"}

LOOK_UP = """%y = compute.grid (%i) {
          %j = compute.load %p_[%i] : tensor<8xindex>
          %v = compute.load %x_[%j] : tensor<64xf32>
          compute.yield %v : f32
        } : tensor<8xf32>"""

CHOICE = """%y = compute.grid (%i) {
          %c = compute.load %m_[%i] : tensor<8xi1>
          %v = scf.if %c -> (f32) {
            %a = compute.load %x_[%i] : tensor<64xf32>
            scf.yield %a : f32
          } else {
            %z = arith.constant 0.0 : f32
            scf.yield %z : f32
          }
          compute.yield %v : f32
        } : tensor<8xf32>"""


@pytest.mark.parametrize("body", [LOOK_UP, CHOICE], ids=["place", "condition"])
def test_what_depends_on_data_is_not_known(work_of_text, body):
    found = work_of_text(PLACES, body, "tensor<8xf32>")
    assert found == Work(0, None, "f32")
    assert found.floor(Arch.parse("sm_90a")) is None


def test_rooflines():
    """By products or by bytes; nothing is known of a CPU, or of a type without a rate."""
    arch = Arch.parse("sm_90a")
    assert Work(989 * 10**6, 0, "f16").floor(arch) == pytest.approx(1.0)
    assert Work(989 * 10**6, 0, "f16").is_bound_by_products(arch)
    assert Work(1, 4800 * 10**3, "f16").floor(arch) == pytest.approx(1.0)
    assert not Work(1, 4800 * 10**3, "f16").is_bound_by_products(arch)
    assert Work(1, 1, "i64").floor(arch) is None
    assert Work(1, 1, "f32").floor(Arch.parse("cpu")) is None


def test_kernels_keep_it():
    """A kernel holds it as text; what is no work is none."""
    text = "cuda.kernel @f() grid(1) block(1) {\n}"
    (kernel,) = Parser(make_context(), text).parse_module().ops
    assert isinstance(kernel, KernelOp)
    assert kernel.work is None
    for work in (Work(1, 2, "f16"), Work(0, None, "f32")):
        kernel.work = work
        (again,) = Parser(make_context(), str(kernel)).parse_module().ops
        assert again.work == work
    kernel.attributes["work"] = DictionaryAttr({"operations": IntegerAttr(1, i64)})
    assert kernel.work is None
