"""What all tests share."""

import pytest
from hypothesis import settings

# No test asserts a time, so none may fail for being slow.
settings.register_profile("hidet", deadline=None, max_examples=50)
settings.load_profile("hidet")


def pytest_collection_modifyitems(items):
    """Skip tests that need a CUDA device where there is none."""
    gpu_items = [item for item in items if item.get_closest_marker("gpu")]
    if not gpu_items:
        return
    import torch

    if not torch.cuda.is_available():
        for item in gpu_items:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


@pytest.fixture(autouse=True)
def _own_folders(tmp_path_factory, monkeypatch):
    """Keep tests away from the user's cache and settings."""
    import os

    for name in os.environ:
        if name.startswith("HIDET_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HIDET_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "hidet-cache"))
