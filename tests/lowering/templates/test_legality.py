"""Which blocks a machine can run, and the reasons."""

import pytest

from hidet.arch.chips import Arch
from hidet.arch.instructions import FMA
from hidet.dialects.compute import FusionOp
from hidet.lowering.templates import TEMPLATES, load_template
from hidet.lowering.templates.blocking import candidates, refused
from hidet.lowering.templates.legality import Footprint
from hidet.lowering.templates.problem import Problem

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


@pytest.mark.parametrize(
    ("kind", "total", "instruction"),
    [("f16", "f16", "m16n8k16_f16_f16"), ("fma", "f32", FMA)],
)
def test_instructions_that_settings_ask_for(kind, total, instruction):
    """Sums of halves, which warp groups do not have; and no tensor cores."""
    problem = Problem(1, 512, 512, 512, kind, total, 2)
    assert {each.instruction for each in candidates(problem, H200)} == {instruction}


def test_other_templates_reject_nothing():
    """They have a config for everything that they accept."""
    for name in set(TEMPLATES) - {"matmul"}:
        assert load_template(name).rejected(FusionOp, A100) == ()
