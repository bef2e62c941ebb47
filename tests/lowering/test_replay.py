"""The text of any stage, fed back, gives the same kernels: all decisions are in the IR."""

import pytest
from xdsl.parser import Parser

from hidet.analysis.kernels import kernels_of
from hidet.backend.printer import print_kernels
from hidet.context import make_context
from hidet.dialects.alias_printer import module_text
from hidet.lowering.pipelines import PassOptions, passes_of

PROGRAMS = {
    "softmax": """
      func.func @forward(%x : tensor<6x200xf16>) -> tensor<6x200xf16> {
        %y = graph.softmax %x {axis = 1 : i64} : tensor<6x200xf16>
        func.return %y : tensor<6x200xf16>
      }""",
    "matmul": """
      func.func @forward(%x : tensor<33x40xf16>, %w : tensor<40x50xf16>) -> tensor<33x50xf16> {
        %b = graph.constant "p0" : tensor<50xf16>
        %p = graph.matmul %x, %w
          : (tensor<33x40xf16>, tensor<40x50xf16>) -> tensor<33x50xf16>
        %s = graph.add %p, %b : (tensor<33x50xf16>, tensor<50xf16>) -> tensor<33x50xf16>
        %y = graph.relu %s : tensor<33x50xf16>
        func.return %y : tensor<33x50xf16>
      }""",
    "conv": """
      func.func @forward(%x : tensor<2x3x9x9xf32>) -> tensor<2x8x5x5xf32> {
        %w = graph.constant "p0" : tensor<8x3x3x3xf32>
        %m = graph.constant "p1" : tensor<8xf32>
        %v = graph.constant "p2" : tensor<8xf32>
        %p = graph.conv2d %x, %w {padding = array<i64: 1, 1>, stride = array<i64: 2, 2>}
          : (tensor<2x3x9x9xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x5x5xf32>
        %s = graph.mul %m, %v : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
        %r = graph.rsqrt %s : tensor<8xf32>
        %c = graph.reshape %r : (tensor<8xf32>) -> tensor<8x1x1xf32>
        %n = graph.mul %p, %c : (tensor<2x8x5x5xf32>, tensor<8x1x1xf32>) -> tensor<2x8x5x5xf32>
        %y = graph.relu %n : tensor<2x8x5x5xf32>
        func.return %y : tensor<2x8x5x5xf32>
      }""",
}


def parse(text):
    """Read a program in a context of its own."""
    module = Parser(make_context(), text).parse_module()
    module.verify()
    return module


def run(module, passes):
    """Run passes; give the text ahead of each and after the last."""
    context = make_context()
    texts = [module_text(module)]
    for each in passes:
        each.apply(context, module)
        texts.append(module_text(module))
    return texts


def sources_of(module):
    """The CUDA of every kernel."""
    return {kernel.sym_name.data: print_kernels(kernel) for kernel in kernels_of(module)}


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        pytest.param("softmax", "cpu", marks=pytest.mark.slow),
        pytest.param("matmul", "sm_80", marks=pytest.mark.slow),
        pytest.param("conv", "sm_90a", marks=pytest.mark.slow),
    ],
)
def test_replay(name, arch):
    """From the dump of every stage on, the remaining passes lead to the same source."""
    passes = list(passes_of("hidet-pipeline", PassOptions(arch)))
    straight = parse(PROGRAMS[name])
    texts = run(straight, passes)
    sources = sources_of(straight)
    assert sources
    for number, text in enumerate(texts):
        replayed = parse(text)
        run(replayed, passes[number:])
        stage = passes[number - 1].name if number else "graph"
        assert sources_of(replayed) == sources, f"other kernels from the text after {stage}"


@pytest.mark.parametrize("arch", ["cpu", "sm_80", "sm_90a"])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.sample(2)
def test_step(name, arch):
    """Every pass makes the same of the dump ahead of it as of the program in memory."""
    passes = list(passes_of("hidet-pipeline", PassOptions(arch)))
    texts = run(parse(PROGRAMS[name]), passes)
    for each, before, after in zip(passes, texts, texts[1:], strict=False):
        replayed = parse(before)
        (_, again) = run(replayed, [each])
        if each.name == "form-expressions":  # which of two equal ops a user has is not told apart
            assert sources_of(replayed) == sources_of(parse(after))
        else:
            assert again == after, f"{each.name} makes another program of its input's text"
