"""Which blocks a machine can run, and the reasons."""

import random
from dataclasses import replace

import pytest
from xdsl.parser import Parser

from hidet.arch.chips import Arch
from hidet.arch.instructions import FMA
from hidet.context import make_context
from hidet.dialects.compute import FusionOp
from hidet.lowering.pipelines import PassOptions, run_pipeline
from hidet.lowering.templates import TEMPLATES, load_template
from hidet.lowering.templates.cost_model import estimate
from hidet.lowering.templates.epilogue import matmuls_of
from hidet.lowering.templates.legality import Footprint
from hidet.lowering.templates.problem import Problem
from hidet.lowering.templates.tilings import candidates, fastest, refused

A100 = Arch.parse("sm_80")
H200 = Arch.parse("sm_90a")


@pytest.mark.parametrize(
    ("footprint", "reason"),
    [
        (Footprint(1024, 166912, 64), None),
        (Footprint(1056, 0, 32), "1056 threads, of 1024"),
        (Footprint(128, 166913, 32), "166913 bytes of shared memory, of 166912"),
        (Footprint(128, 0, 256), "256 registers a thread, of 255"),
        (Footprint(1024, 0, 65), "65 registers a thread, of 64"),
    ],
)
def test_limits(footprint, reason):
    assert footprint.refusal(A100) == reason


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_90a"])
@pytest.mark.parametrize("kind", ["f16", "bf16", "f32"])
def test_each_blocking_fits_or_has_a_reason(arch, kind):
    machine = Arch.parse(arch)
    problem = Problem(1, 512, 512, 512, kind, "f32", 4 if kind == "f32" else 2)
    chosen = candidates(problem, machine)
    rejected = refused(problem, machine)
    assert chosen
    assert all(each.shared_bytes(problem) <= machine.shared_bytes_per_block for each in chosen)
    assert {each.config for each in rejected}.isdisjoint(chosen)
    for each in rejected:
        assert each.reason == each.config.refusal(problem, machine) is not None


def test_the_fastest_is_the_first_candidate():
    """The search skips only tiles that cannot win, whatever limits a problem."""
    chosen = set()
    for _ in range(60):
        m, n, k = (random.choice([1, 7, 49, 64, 196, 777, 1024, 12544]) for _ in range(3))
        kind = random.choice(["f16", "bf16", "tf32", "f32"])
        problem = Problem(
            *(random.choice([1, 1, 12]), m, 8 * n, 8 * k, kind, "f32"),
            element_bytes=2 if kind in ("f16", "bf16") else 4,
            gathered=random.random() < 0.2,
            channels=random.choice([0, 32, 64]),
            parts=random.choice([(), (4 * n, 4 * n)]),
            streams=random.random() < 0.8,
            residuals=random.randrange(3),
            operations=random.choice([0, 1, 20]),
        )
        for arch in (H200, A100, Arch.parse("cpu")):
            found = fastest(problem, arch)
            assert [found] == list(candidates(problem, arch)[:1]), problem
            assert found is not None
            time = estimate(found, problem, arch)
            assert fastest(problem, arch, time * 1.01) == found, problem
            assert fastest(problem, arch, time * 0.99) is None, problem
            chosen.add(found)
    assert len(chosen) > 10


@pytest.mark.parametrize(
    ("kind", "total", "instruction"),
    [("f16", "f16", "m16n8k16_f16_f16"), ("fma", "f32", FMA)],
)
def test_instructions_that_settings_ask_for(kind, total, instruction):
    """Sums of halves, which warp groups do not have; and no tensor cores."""
    problem = Problem(1, 512, 512, 512, kind, total, 2)
    assert {each.instruction for each in candidates(problem, H200)} == {instruction}


@pytest.mark.parametrize(
    ("m", "n", "k", "residuals", "tile"),
    [
        (4096, 4096, 4096, 0, (128, 256, 2)),
        (8192, 8192, 8192, 0, (128, 256, 2)),
        (4096, 16384, 4096, 1, (128, 192, 2)),
        (16384, 3072, 768, 0, (128, 256, 1)),
        (100352, 512, 128, 1, (128, 256, 1)),
        (25088, 1024, 256, 1, (128, 128, 1)),
        (6272, 2048, 512, 1, (64, 256, 1)),
        (12608, 768, 768, 1, (128, 192, 1)),
        (12608, 768, 3072, 1, (128, 192, 1)),
    ],
)
def test_the_first_choice_is_near_the_fastest_measured(m, n, k, residuals, tile):
    """Tiles and clusters: long matmuls run in clusters (H100), large residuals are staged (H200).

    They were the fastest of those measured, or 3% slower.
    """
    operations = 10 * residuals  # bias, residual, ReLU, and casts
    problem = Problem(1, m, n, k, "f16", "f32", 2, residuals=residuals, operations=operations)
    found = candidates(problem, H200)[0]
    assert (found.block_m, found.block_n, found.cluster_rows) == tile
    assert found.epilogue == ("staged-residual" if residuals else "staged")


def test_the_cache_bounds_long_convolutions():
    """One of 640 channels took 44 us with the tile 64 x 192, and 31 us with this one (H100)."""
    problem = Problem(1, 2048, 640, 5760, "f16", "f32", 2, gathered=True, channels=640)
    found = candidates(problem, H200)[0]
    assert (found.block_m, found.block_n, found.stages) == (128, 96, 6)


@pytest.mark.parametrize(("n", "is_staged"), [(16, False), (24, True)])
def test_rows_of_a_sector_are_not_staged(n, is_staged):
    """Of groups of 16 channels, a mask took 49 us staged and 34 us not; 24 are faster staged."""
    problem = Problem(32, 6272, n, 9 * n, "f16", "f32", 2, gathered=True, residuals=1)
    staged = [each for each in candidates(problem, H200) if each.epilogue != "direct"]
    assert bool(staged) == is_staged


def test_narrow_rows_of_weights_are_avoided():
    """TMA loads 32 columns or 16 of a row-major weight as slowly as 64 (H100)."""
    problem = Problem(1, 128, 2304, 768, "f16", "f32", 2)
    widths = [
        candidates(replace(problem, is_row_major=is_row_major), H200)[0].block_n
        for is_row_major in (False, True)
    ]
    assert widths == [48, 64]


def test_epilogues_with_many_operations_take_turns():
    """GELU has some 20 operations; for one image, latency dominates and nothing changes."""
    large, small = (Problem(1, m, 3072, 768, "f16", "f32", 2) for m in (12608, 128))
    assert candidates(large, H200)[0].schedule == "cooperative"
    assert candidates(replace(large, operations=20), H200)[0].schedule == "pingpong"
    assert candidates(replace(small, operations=20), H200) == candidates(small, H200)


def test_residuals_are_operands_of_the_size_of_the_result():
    """A residual is one, a bias and what the matmul itself reads are none."""
    matrix, row = "tensor<64x64xf16>", "tensor<64xf16>"
    module = Parser(
        make_context(),
        f"""func.func @forward(%x: {matrix}, %w: {matrix}, %b: {row}, %r: {matrix}) -> {matrix} {{
          %y = graph.linear %x, %w, %b : ({matrix}, {matrix}, {row}) -> {matrix}
          %z = graph.add %y, %r : ({matrix}, {matrix}) -> {matrix}
          func.return %z : {matrix}
        }}""",
    ).parse_module()
    for pipeline in ("graph-pipeline", "compute-pipeline"):
        run_pipeline(module, make_context(), PassOptions(arch="sm_90a"), pipeline=pipeline)
    (fusion,) = (op for op in module.walk() if isinstance(op, FusionOp))
    problem = Problem.of(*matmuls_of(fusion))
    assert (problem.residuals, problem.operations) == (1, 7)  # two sums and five casts


def test_other_templates_reject_nothing():
    """They have a config for everything that they accept."""
    for name in set(TEMPLATES) - {"matmul"}:
        assert load_template(name).rejected(FusionOp, A100) == ()
