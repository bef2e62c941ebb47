"""Problems: what is one, when two are the same, and what a machine cannot run of it."""

from xdsl.parser import Parser

from hidet.arch.chips import Arch
from hidet.arch.roofline import Work
from hidet.context import make_context
from hidet.dialects.compute import FusionOp
from hidet.lowering.templates.blocking import Blocking
from hidet.tuning.problem import Setting, open_fusions, weight_bytes

NARROW = """
func.func @forward(%x: tensor<64x512xf16>, %w: tensor<512x64xf16>) -> tensor<64x64xf16> {
  %y = graph.matmul %x, %w : (tensor<64x512xf16>, tensor<512x64xf16>) -> tensor<64x64xf16>
  func.return %y : tensor<64x64xf16>
}
"""


def test_names_and_places_do_not_count(problem):
    renamed = """
    func.func @forward(%input: tensor<33x20xf32>, %bias: tensor<33x36xf32>) -> tensor<33x36xf32> {
      %weight = graph.constant "p7" : tensor<20x36xf32>
      %product = graph.matmul %input, %weight
        : (tensor<33x20xf32>, tensor<20x36xf32>) -> tensor<33x36xf32> loc("model.py":3:1)
      %sum = graph.add %product, %bias : (tensor<33x36xf32>, tensor<33x36xf32>) -> tensor<33x36xf32>
      func.return %sum : tensor<33x36xf32>
    }
    """
    assert problem(renamed).text == problem().text
    assert problem(renamed).key == problem().key


def test_all_that_decides_is_in_the_key(problem):
    keys = {
        problem().key,
        problem(version="2").key,
        problem(cold=True).key,
        problem(arch="cpu/processors=3").key,
        problem(NARROW).key,
        problem(NARROW, arch="sm_80").key,
        problem(NARROW.replace("64", "65")).key,
    }
    assert len(keys) == 7


def test_weights_are_told_from_inputs(problem):
    """A weight may come from memory, so it is not the same problem."""
    given = """
    func.func @forward(%x: tensor<33x20xf32>, %b: tensor<33x36xf32>, %w: tensor<20x36xf32>)
        -> tensor<33x36xf32> {
      %y = graph.matmul %x, %w : (tensor<33x20xf32>, tensor<20x36xf32>) -> tensor<33x36xf32>
      %z = graph.add %y, %b : (tensor<33x36xf32>, tensor<33x36xf32>) -> tensor<33x36xf32>
      func.return %z : tensor<33x36xf32>
    }
    """
    assert "graph.constant" not in problem(given).text
    assert problem().text.count("graph.constant") == 1
    assert problem(given).key != problem().key


def test_the_text_is_a_program(problem):
    text = problem().text
    module = Parser(make_context(), text).parse_module()
    module.verify()
    assert str(module) == text
    assert sum(isinstance(op, FusionOp) for op in module.walk()) == 1


def test_what_has_a_config_is_left_alone(fusions):
    module = fusions()
    (fusion,) = (op for op in module.walk() if isinstance(op, FusionOp))
    ((found, template),) = open_fusions(module, Arch.parse("cpu"))
    assert found is fusion
    fusion.config = template.configs(fusion, Arch.parse("cpu"))[0].attribute("matmul")
    assert not list(open_fusions(module, Arch.parse("cpu")))


def test_weight_bytes(fusions):
    assert weight_bytes(fusions()) == 20 * 36 * 4


def test_rejected_blockings_say_why(problem):
    """On a chip with 64 KiB a block, deep rings of large tiles do not fit, and say so."""
    found = problem(NARROW, arch="sm_80/shared_bytes_per_block=98304")
    assert found.rejected
    for each in found.rejected:
        assert isinstance(each.config, Blocking)
        tile = (each.config.block_m + each.config.block_n) * each.config.block_k
        assert each.reason == f"{tile * each.config.stages * 2} bytes of shared memory, of 98304"
    largest = {config for config in found.configs if config.block_m * config.block_n == 1 << 15}
    assert largest  # in few stages they fit
    assert not {each.config for each in found.rejected} & set(found.configs)


def test_roofline():
    arch = Arch.parse("sm_90a")
    product = Work(2 * 4096**3, 3 * 4096**2 * 2, "f16")
    assert product.floor(arch) == 2 * 4096**3 / 989e12 * 1e6
    assert product.share(2 * product.floor(arch), arch) == "50%"
    copy = Work(0, 48 * 10**9, "f32")
    assert copy.floor(arch) == 10_000
    assert product.floor(Arch.parse("cpu")) is None
    assert product.share(1.0, Arch.parse("cpu")) == ""


def test_a_problem_knows_its_work(problem):
    work = problem().work
    assert work == Work(2 * 33 * 36 * 20, 4 * (33 * 20 + 20 * 36 + 2 * 33 * 36), "f32")
    assert problem().length == 20
    assert problem().title == "matmul 33 x 36 x 20 f32"
    setting = Setting(Arch.parse("cpu"), "1", False)
    assert problem().setting == setting


def test_a_sum_of_a_gradient_of_filters_is_as_long_as_its_part(problem):
    """The tuner allows for as many roundings where candidates add up in another order."""
    program = """
    func.func @forward(%x: tensor<2x10x10x16xf16>, %g: tensor<2x8x8x32xf16>)
        -> tensor<4x3x3x4x32xf32> {
      %y = graph.grouped_filter_gradient %x, %g
        {kernel = array<i64: 3, 3>, groups = 4 : i64, parts = 4 : i64}
        : (tensor<2x10x10x16xf16>, tensor<2x8x8x32xf16>) -> tensor<4x3x3x4x32xf32>
      func.return %y : tensor<4x3x3x4x32xf32>
    }
    """
    assert problem(program).length == 2 * 8 * 8 // 4
