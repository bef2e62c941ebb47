"""What all tests share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from hidet import option

# No test asserts a time, so none may fail for being slow.
settings.register_profile("hidet", deadline=None, max_examples=50)
settings.load_profile("hidet")


KNOWN_GAPS = Path(__file__).with_name("known_gaps.txt")
"""What is known to be missing: the ids of tests that fail until it is there, one a line."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Expect the known gaps to fail, and skip tests that need a CUDA device where there is none.

    A gap that has been closed fails too, until its line is taken out of the list.
    """
    gaps = set(KNOWN_GAPS.read_text().splitlines()) if KNOWN_GAPS.exists() else set()
    for item in items:
        if item.nodeid in gaps:
            item.add_marker(pytest.mark.xfail(reason="a known gap", strict=True))
    gpu_items = [item for item in items if item.get_closest_marker("gpu")]
    if not gpu_items:
        return
    import torch

    if not torch.cuda.is_available():
        for item in gpu_items:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


@pytest.fixture(autouse=True)
def _own_settings(tmp_path_factory, monkeypatch):
    """Keep tests away from the user's cache and settings, and from each other's."""
    for name in list(os.environ):
        if name.startswith("HIDET_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HIDET_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "hidet-cache"))
    before = dict(option._PROCESS_SCOPE)
    yield
    option._PROCESS_SCOPE.clear()
    option._PROCESS_SCOPE.update(before)
