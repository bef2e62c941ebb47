"""The table of machines, and how they are named."""

from dataclasses import FrozenInstanceError, replace

import pytest
from xdsl.utils.arg_spec import parse_pipeline

from hidet.arch.chips import ARCHS, GB, KIB, MAX_SHARED_BYTES, TERA, Arch
from hidet.arch.limits import ACCESS_BYTES, STATIC_SHARED_BYTES, WARP
from hidet.errors import OptionError
from hidet.lowering.task.schedule import SchedulePass


@pytest.mark.parametrize("arch", ARCHS.values(), ids=str)
def test_table(arch):
    """Every row is what a chip can be, is frozen, and is found by its name alone."""
    assert str(arch) == arch.name
    assert Arch.parse(arch.name) == arch
    assert hash(Arch.parse(arch.name)) == hash(arch)
    with pytest.raises(FrozenInstanceError):
        arch.processors = 1
    assert STATIC_SHARED_BYTES < arch.shared_bytes_per_block <= MAX_SHARED_BYTES
    assert arch.shared_bytes_per_block <= arch.shared_bytes_per_processor
    assert arch.threads_per_block <= arch.threads_per_processor <= 64 * WARP
    assert arch.threads_per_processor % WARP == 0
    assert arch.blocks_per_processor >= 1
    assert arch.registers_per_processor * 4 >= arch.threads_per_processor * ACCESS_BYTES
    assert arch.bandwidth >= 100 * GB
    assert arch.l2_bytes >= 1024 * KIB
    assert arch.rates["f32"] >= TERA
    # Narrower factors are no slower, on tensor cores.
    cores = [arch.rates[kind] for kind in ("tf32", "f16", "f8", "f4") if kind in arch.rates]
    assert cores == sorted(cores)
    with pytest.raises(TypeError):
        arch.rates["f32"] = 0


def test_text_form():
    """A part that differs from the table says how; passes take that as their option."""
    part = replace(Arch.parse("sm_90a"), processors=114, l2_bytes=50 * 10**6)
    assert str(part) == "sm_90a/processors=114/l2_bytes=50000000"
    assert Arch.parse(str(part)) == part
    schedule = SchedulePass(str(part))
    (spec,) = parse_pipeline(str(schedule.pipeline_pass_spec()))
    assert SchedulePass.from_pass_spec(spec) == schedule


@pytest.mark.parametrize("name", ["sm_1", "sm_90aa", "", "gfx942", "sm_60"])
def test_unknown(name):
    with pytest.raises(OptionError, match=f"unknown architecture '{name}'") as raised:
        Arch.parse(name)
    assert raised.value.hint == f"one of {', '.join(ARCHS)}"


@pytest.mark.parametrize("text", ["sm_80/cores=3", "sm_80/processors", "sm_80/processors=-1"])
def test_unknown_field(text):
    with pytest.raises(OptionError, match="says nothing about an architecture"):
        Arch.parse(text)
