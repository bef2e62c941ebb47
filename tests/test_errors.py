"""The catalogue of errors: complete, raised, tested, and readable."""

import ast
import inspect
import pickle
import re
from pathlib import Path

import pytest

from hidet import errors
from hidet.errors import CompilationError, CudaError, HidetError, PassError

ROOT = Path(__file__).parents[1]
CATALOGUE = [
    error
    for _, error in inspect.getmembers(errors, inspect.isclass)
    if issubclass(error, HidetError) and error is not HidetError
]


def names_called(path):
    """Give the names of everything that a Python file calls, or has as a value of a dictionary."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    functions = [node.func for node in nodes if isinstance(node, ast.Call)]
    functions += [value for node in nodes if isinstance(node, ast.Dict) for value in node.values]
    return {
        function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        for function in functions
    }


@pytest.fixture(scope="module")
def names_called_in_hidet():
    """Everything that the package calls."""
    return set().union(*map(names_called, (ROOT / "hidet").rglob("*.py")))


@pytest.fixture(scope="module")
def test_texts():
    """The text of all tests but this file."""
    paths = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "lit_tests").rglob("*.mlir")]
    return "\n".join(path.read_text() for path in paths if path != Path(__file__))


@pytest.mark.parametrize("error", CATALOGUE)
def test_error_is_raised_somewhere(error, names_called_in_hidet):
    """An error that nothing raises does not belong in the catalogue."""
    assert error.__name__ in names_called_in_hidet


@pytest.mark.parametrize("error", CATALOGUE)
def test_error_has_a_test(error, test_texts):
    """Some test names the error, and so shows its message."""
    assert re.search(rf"\b{error.__name__}\b", test_texts)


@pytest.mark.parametrize("error", CATALOGUE)
def test_error_has_a_docstring(error):
    """A reader of the catalogue learns what each error means."""
    assert error.__doc__
    assert error.__doc__ != HidetError.__doc__


def test_text():
    """An error says what, where, and what would be right."""
    assert str(HidetError("it is wrong")) == "it is wrong"
    error = HidetError("it is wrong", where="model.py:3", hint="make it right")
    assert str(error) == "it is wrong\n  at: model.py:3\n  hint: make it right"


def test_pass_error_names_the_pass():
    """PassError starts with the name of the pass."""
    error = PassError("no rule", pass_name="fuse", where="model.py:3")
    assert str(error) == "pass 'fuse' failed: no rule\n  at: model.py:3"


def test_compilation_error_shows_the_log():
    """CompilationError names the source and ends with what the compiler printed."""
    error = CompilationError("nvcc failed", log="line 1: no\n", source_path="/tmp/a.cu")
    assert str(error) == "nvcc failed\n  at: /tmp/a.cu\nline 1: no"


def test_cuda_error():
    """CudaError tells the call and the code."""
    assert str(CudaError("cuInit", 100, "no device")) == "cuInit failed: no device (100)"
    assert str(CudaError("cuInit", 100)) == "cuInit failed: error 100"


@pytest.mark.parametrize(
    "error",
    [
        HidetError("what", where="where", hint="hint"),
        PassError("what", pass_name="fuse"),
        CompilationError("what", log="log", source_path="path"),
        CudaError("cuInit", 100, "no device", hint="hint"),
    ],
)
def test_errors_travel_between_processes(error):
    """A build in another process raises the same error here."""
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
    assert copy.args == (error.what,)
