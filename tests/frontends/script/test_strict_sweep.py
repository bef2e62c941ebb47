"""Nothing of what is right is refused: kernels of other tests in the strict mode, by two seeds.

The tests beside this file are called as they are. A few run always, all others by `-m slow`.
"""

import importlib.util
import inspect
from itertools import product
from pathlib import Path

import pytest
import torch

from hidet import option
from hidet.testing.numeric import assert_close

FOLDER = Path(__file__).parent
SEEDS = (0, 1)


def load(name):
    """Import a module beside this file."""
    path = FOLDER / f"{name}.py"
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


FILES = (
    "examples",
    "exits",
    "hopper",
    "language",
    "tensor_core",
    "vectors",
    "verbs",
    "views",
    "warps",
)
"""The files whose tests are called."""

ALWAYS = (
    "examples.matmul_hopper(256, 512, 320, 3)",
    "hopper.boxes()",
    "hopper.dynamic_shared_memory()",
    "hopper.named_barriers()",
    "tensor_core.product_of_tiles()",
    "vectors.arithmetic()",
    "vectors.vectors_in_shared_memory()",
    "verbs.combine()",
    "verbs.groups()",
    "verbs.matmul_in_a_group()",
    "verbs.matmul_numbers()",
    "views.matmul_of_the_original(70, 136, 72)",
    "views.parts()",
    "double_buffer",
    "parts_of_tensors",
)
"""What is not left to the heavier sweep."""

REFUSED = ("nvcc", "programs", "for_gpus")
"""Parts of the names of tests that run no kernel here."""


def arguments_of(function):
    """Return the arguments of a test by its marks; none where it needs a fixture."""
    names, choices = [], []
    for mark in getattr(function, "pytestmark", ()):
        if mark.name != "parametrize":
            return
        given, values = mark.args
        single = isinstance(given, str)
        names += [given] if single else given
        choices.append([(value,) if single else value for value in values])
    others = set(inspect.signature(function).parameters) - set(names) - {"load_example"}
    if others:
        return
    for choice in product(*choices):
        yield dict(zip(names, [value for values in choice for value in values], strict=True))


def parameter(name, *values):
    """Make a parameter of the tests below."""
    marks = () if name in ALWAYS else (pytest.mark.slow,)
    return pytest.param(*values, id=name, marks=marks)


def find_tests():
    """Return the tests of the files, with their arguments."""
    for file in FILES:
        module = load(f"test_{file}")
        for name, function in vars(module).items():
            if not name.startswith("test_") or any(part in name for part in REFUSED):
                continue
            for arguments in arguments_of(function):
                label = ", ".join(str(getattr(v, "name", v)) for v in arguments.values())
                short = name.removeprefix("test_")
                yield parameter(f"{file}.{short}({label})", module, function, arguments)


@pytest.fixture(params=SEEDS)
def _strict(request):
    """Check everything when kernels run."""
    with option.context(strict=True, strict_seed=request.param):
        yield


@pytest.mark.usefixtures("_strict")
@pytest.mark.parametrize(("module", "function", "arguments"), list(find_tests()))
@pytest.mark.sample(6)
def test_scripts(module, function, arguments, load_example, monkeypatch):
    """What tests of scripts run is clean, and the results are right."""
    # Checks stand between what FileCheck looks for.
    monkeypatch.setattr(module, "check_text", lambda *_: None, raising=False)
    if "load_example" in inspect.signature(function).parameters:
        arguments = {**arguments, "load_example": load_example}
    function(**arguments)


PROGRAMS = load("hidet_style").PROGRAMS


@pytest.mark.usefixtures("_strict")
@pytest.mark.parametrize(
    "program", [parameter(program.build.__name__, program) for program in PROGRAMS]
)
def test_scripts_of_the_original(program):
    """So are the scripts of users of the original Hidet."""
    arguments = program.arguments()
    given = [each.clone() if isinstance(each, torch.Tensor) else each for each in arguments]
    expected = program.expected(*given)
    program.build()(*arguments)
    for position, wanted in expected.items():
        assert_close(arguments[position].double(), wanted.double(), program.tolerance)


def test_names():
    """What always runs is there."""
    found = {each.id for each in find_tests()} | {each.build.__name__ for each in PROGRAMS}
    assert set(ALWAYS) <= found
