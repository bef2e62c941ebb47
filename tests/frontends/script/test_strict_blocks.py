"""The strict mode knows verbs, groups, clusters, vectors and parts of tensors."""

import importlib.util
from pathlib import Path

import pytest
import torch

import hidet
from hidet import option
from hidet.errors import HidetError
from hidet.lowering.task.insert_barriers import InsertBarriersPass
from hidet.testing.numeric import assert_close, poison


def load_scripts():
    """Import the scripts beside this file."""
    path = Path(__file__).with_name("strict_blocks.py")
    specification = importlib.util.spec_from_file_location("strict_blocks", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


MODULE = load_scripts()
SCRIPTS = {**MODULE.SCRIPTS, **MODULE.VERBS}


@pytest.fixture(autouse=True)
def _strict():
    """Check everything when kernels run. (`verify_level` would refuse some bugs ahead of that.)"""
    with option.context(strict=True, verify_level=False):
        yield


def build(define, bug):
    """Build a script with or without its bug."""
    with hidet.script_module() as module:
        define(bug)
    return module.build()


def arguments_of(define):
    """Make inputs, the poisoned output, and what it should become."""
    specs, wanted_of, _ = SCRIPTS[define]
    inputs = [torch.rand(shape).sub_(0.5).to(dtype) for dtype, *shape in specs]
    wanted = wanted_of(*inputs)
    return inputs, poison(torch.empty(wanted.shape)), wanted


@pytest.mark.parametrize("define", SCRIPTS, ids=lambda define: define.__name__)
def test_bug_is_found(define, monkeypatch):
    """Whatever the order of threads, the call is an error that names script, line and seed."""
    if define in MODULE.VERBS:
        monkeypatch.setattr(InsertBarriersPass, "apply", lambda self, ctx, op: None)
    kernel = build(define, bug=True)
    for seed in (0, 1, 12345678901234567890):
        inputs, output, _ = arguments_of(define)
        with option.context(strict_seed=seed), pytest.raises(HidetError) as caught:
            kernel(*inputs, output)
        assert caught.match(SCRIPTS[define][2])
        assert caught.match(rf"strict_blocks\.py:\d+.*\(seed {seed}\)")


@pytest.mark.parametrize("define", SCRIPTS, ids=lambda define: define.__name__)
def test_script_without_the_bug_is_right(define):
    """Nothing is found where nothing is wrong."""
    kernel = build(define, bug=False)
    for seed in range(3):
        inputs, output, wanted = arguments_of(define)
        with option.context(strict_seed=seed):
            kernel(*inputs, output)
        assert_close(output, wanted, 1e-5)
