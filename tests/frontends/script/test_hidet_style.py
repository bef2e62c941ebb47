"""Scripts that users of the original Hidet write run here as they are; see `hidet_style.py`."""

import importlib.util
import shutil
from pathlib import Path

import pytest
import torch

from hidet import option
from hidet.backend.toolchains import Nvcc
from hidet.testing.numeric import assert_close


def load(name):
    """Import a module of this folder, which is no package."""
    path = Path(__file__).with_name(f"{name}.py")
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


PROGRAMS = load("hidet_style").PROGRAMS


def copy(value):
    return value.clone() if isinstance(value, torch.Tensor) else value


@pytest.fixture(autouse=True)
def _verified():
    """Check the legality of every kernel between the stages."""
    with option.context(verify_level=True):
        yield


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.build.__name__)
@pytest.mark.sample(10)
def test_numbers(program):
    """The results are right on the CPU, against float64."""
    arguments = program.arguments()
    expected = program.expected(*map(copy, arguments))
    program.build()(*arguments)
    assert expected
    for position, wanted in expected.items():
        given = arguments[position]
        if given.dtype.is_floating_point:
            assert_close(given, wanted, program.tolerance)
        else:
            assert torch.equal(given.to(torch.int64), wanted.to(torch.int64))


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.slow
def test_nvcc_takes_the_sources(architecture, tmp_path):
    """All of them are CUDA C++ for an old and a new GPU."""
    sources = [program.build().source() for program in PROGRAMS]
    Nvcc(architecture).compile("\n".join(sources), tmp_path / "kernels.cubin")
    assert (tmp_path / "kernels.cubin").stat().st_size > 0
