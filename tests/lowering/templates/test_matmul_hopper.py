"""The kernel that the passes make of a large product on Hopper: its structure, its registers."""

import re
from dataclasses import replace

import pytest
from xdsl.parser import Parser

from hidet.backend.printer import print_kernels
from hidet.context import make_context
from hidet.dialects.cuda import KernelOp
from hidet.lowering.pipelines import PassOptions, run_pipeline
from hidet.lowering.templates.blocking import Blocking
from hidet.lowering.templates.matmul import MatmulTemplate

SIZE = 4096
BEST = Blocking(
    "m64n256k16_f16_f32", 128, 256, 64, 2, 1, 3, grid=132, epilogue="staged"
)  # the choice of examples/script/matmul_hopper.py


TURNS = replace(BEST, block_m=64, rows=1, stages=4, schedule="pingpong")


@pytest.fixture
def source(request, monkeypatch):
    """Return the CUDA C++ of a linear layer of 4096 x 4096 x 4096 with a residual, or without."""
    blocking = getattr(request, "param", BEST)
    monkeypatch.setattr(MatmulTemplate, "best", lambda *_: blocking)
    matrix = f"tensor<{SIZE}x{SIZE}xf16>"
    result = "%z" if blocking is TURNS else "%y"
    text = f"""func.func @forward(%x: {matrix}, %w: {matrix}, %r: {matrix}) -> {matrix} {{
      %y = graph.linear %x, %w : ({matrix}, {matrix}) -> {matrix}
      %z = graph.add %y, %r : ({matrix}, {matrix}) -> {matrix}
      func.return {result} : {matrix}
    }}"""
    context = make_context()
    module = Parser(context, text).parse_module()
    run_pipeline(module, context, PassOptions(arch="sm_90a"))
    return print_kernels(*(op for op in module.ops if isinstance(op, KernelOp)))


def calls(source):
    """Return the instructions that a kernel calls, in the order in which it first does."""
    names = re.findall(r"hidet::([a-z]\w*)(?:<[^>]*>)?\(", source)
    plain = {"cast", "copy_vector", "dynamic_shared"}
    return [name for name in dict.fromkeys(names) if name not in plain]


def test_the_structure_is_that_of_the_script(source, load_example):
    """Roles, barriers, copies and products are those of the kernel that an expert has written."""
    script = load_example("matmul_hopper").build(SIZE, SIZE, SIZE).source()
    assert calls(source) == calls(script)
    for text in (source, script):  # both roles go through the tiles of the block
        assert len(re.findall(r"for \(int tile = bid; tile < 512; tile \+= 132\)", text)) == 2
        # Each warp group waits for itself alone, before and after it writes what is stored.
        assert set(re.findall(r"barrier_sync<(\d+)>", text)) == {"128"}


@pytest.mark.parametrize("source", [TURNS], indirect=True)
def test_consumers_take_turns(source):
    """The producer goes through all tiles of a block, each consumer through every other one."""
    assert re.findall(r"for \(int tile = (.*);.*tile \+= (\d+)\)", source) == [
        ("bid; tile < 1024", "132"),
        ("bid + thread_div128 * 132 - 132; tile < 1024", "264"),
    ]
    assert len(re.findall(r"mbarrier_(?:wait|arrive)\(&turn", source)) == 2


@pytest.mark.parametrize("source", [BEST, TURNS], indirect=True)
def test_products_are_not_serialized_and_nothing_is_spilled(source, check_ptxas):
    """What ptxas says of the kernel: no warning (C7508, C7511), no spill, no stack."""
    check_ptxas(source)
