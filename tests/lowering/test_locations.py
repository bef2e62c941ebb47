"""Passes keep source locations: each new op has one if all ops of the input do."""

import pytest
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.parser import Parser

from hidet.context import make_context
from hidet.dialects.locations import line_location
from hidet.lowering.pipelines import PassOptions, passes_of

PROGRAMS = {
    "convolution": """
        func.func @forward(%x : tensor<1x8x16x16xf32>) -> tensor<1x16x8x8xf32> {
          %w = graph.constant "w" : tensor<16x8x3x3xf32>
          %b = graph.constant "b" : tensor<16xf32>
          %c = graph.conv2d %x, %w, %b {padding = array<i64: 1, 1>, stride = array<i64: 2, 2>} :
            (tensor<1x8x16x16xf32>, tensor<16x8x3x3xf32>, tensor<16xf32>) -> tensor<1x16x8x8xf32>
          %r = graph.relu %c : tensor<1x16x8x8xf32>
          func.return %r : tensor<1x16x8x8xf32>
        }""",
    "attention": """
        func.func @forward(%q : tensor<4x256x64xf16>, %k : tensor<4x64x256xf16>,
                           %v : tensor<4x256x64xf16>) -> tensor<4x256x64xf16> {
          %s = graph.matmul %q, %k :
            (tensor<4x256x64xf16>, tensor<4x64x256xf16>) -> tensor<4x256x256xf16>
          %p = graph.softmax %s {axis = 2 : i64} : tensor<4x256x256xf16>
          %y = graph.matmul %p, %v :
            (tensor<4x256x256xf16>, tensor<4x256x64xf16>) -> tensor<4x256x64xf16>
          func.return %y : tensor<4x256x64xf16>
        }""",
    "matmul": """
        func.func @forward(%x : tensor<256x512xf16>, %b : tensor<1024xf16>)
            -> tensor<256x1024xf16> {
          %w = graph.constant "w" : tensor<512x1024xf16>
          %m = graph.matmul %x, %w :
            (tensor<256x512xf16>, tensor<512x1024xf16>) -> tensor<256x1024xf16>
          %a = graph.add %m, %b :
            (tensor<256x1024xf16>, tensor<1024xf16>) -> tensor<256x1024xf16>
          %g = graph.gelu %a : tensor<256x1024xf16>
          func.return %g : tensor<256x1024xf16>
        }""",
}


def locate(module):
    """Give each op without a location one."""
    for number, op in enumerate(module.walk()):
        if isinstance(op.location, UnknownLoc):
            op.location = line_location("model.py", number + 1)


@pytest.mark.parametrize("arch", ["cpu", "sm_80", "sm_90a"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_new_ops_have_locations(program, arch):
    """No pass of the pipeline makes ops that an error or a listing could not trace back."""
    context = make_context()
    module = Parser(context, PROGRAMS[program]).parse_module()
    lost = {}
    for each in passes_of("hidet-pipeline", PassOptions(arch=arch)):
        locate(module)
        each.apply(context, module)
        for op in module.walk():
            if isinstance(op.location, UnknownLoc) and not isinstance(op, ModuleOp):
                lost.setdefault(each.name, set()).add(op.name)
    assert not lost
