"""What the tests of scripts share."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples" / "script"


@pytest.fixture
def load_example():
    """Give a function that imports an example of scripts by its name."""

    def load(name):
        specification = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        return module

    return load
