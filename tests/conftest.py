"""What all tests share."""

import importlib.util
import os
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import settings

from hidet import option

EXAMPLES = Path(__file__).parents[1] / "examples" / "script"

# The workers of pytest-xdist share the cores: threads of OpenMP that wait must not spin on them.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# No test asserts a time, so none may fail for being slow.
settings.register_profile("hidet", deadline=None, max_examples=50)
settings.load_profile("hidet")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    """Make most cases of sampled tests slow; skip tests that need a CUDA device without one."""
    _sample(items)
    result = yield
    gpu_items = [item for item in items if item.get_closest_marker("gpu")]
    if gpu_items:
        import torch

        if not torch.cuda.is_available():
            for item in gpu_items:
                item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))
    return result


def _has_own_place(item):
    """Return whether a test runs elsewhere: with the slow ones, or on a GPU."""
    return any(item.get_closest_marker(name) for name in ("slow", "gpu"))


def _sample(items):
    """Mark the cases of a sampled test `slow`, but for so many of them, evenly spaced."""
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sample") and not _has_own_place(item):
            cases[item.path, item.originalname].append(item)
    for found in cases.values():
        count = found[0].get_closest_marker("sample").args[0]
        kept = {number * len(found) // count for number in range(count)}
        for number, item in enumerate(found):
            if number not in kept:
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory):
    """Give the cache that all tests of a run share, those of other workers too."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "hidet-cache"


@pytest.fixture(autouse=True)
def _own_settings(shared_cache, monkeypatch):
    """Keep tests away from the user's cache and settings, and from each other's settings."""
    for name in list(os.environ):
        if name.startswith("HIDET_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HIDET_CACHE_DIR", str(shared_cache))
    before = dict(option._PROCESS_SCOPE)
    yield
    option._PROCESS_SCOPE.clear()
    option._PROCESS_SCOPE.update(before)


@pytest.fixture
def load_example():
    """Give a function that imports an example of scripts by its name."""

    def load(name):
        specification = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        return module

    return load
