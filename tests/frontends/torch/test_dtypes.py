"""Every operator in the tables with every data type: left to eager torch, or printed as CUDA C++.

The cases are also run: several of them go through one call of g++.
"""

import runpy
from pathlib import Path

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from xdsl.dialects.builtin import StringAttr, SymbolRefAttr

from hidet.analysis.kernels import kernels_of
from hidet.backend.build import build_kernels
from hidet.backend.cache import Store
from hidet.backend.printer import print_kernels
from hidet.backend.toolchains import Gxx, Nvcc
from hidet.context import make_context
from hidet.dialects.cuda import LaunchOp
from hidet.driver.extract import extract_plan
from hidet.frontends.torch.dtypes import ELEMENTS
from hidet.frontends.torch.importer import import_graph
from hidet.frontends.torch.operators.elementwise import BINARY, UNARY
from hidet.lowering.pipelines import PassOptions, run_pipeline
from hidet.runtime.compiled_graph import CompiledGraph
from hidet.testing.numeric import assert_close

OPERATORS = runpy.run_path(str(Path(__file__).with_name("test_operators.py")))
CASES, TRACE, IMPORT_AND_RUN = (OPERATORS[name] for name in ("CASES", "trace", "import_and_run"))
PER_FILE = 40
"""So many cases are compiled at once."""


def with_dtype(value, dtype, others):
    """Give arguments with their tensors of floats, or all others, in a data type."""
    if isinstance(value, list | tuple):
        return type(value)(with_dtype(part, dtype, others) for part in value)
    if not isinstance(value, torch.Tensor) or value.dtype.is_floating_point is others:
        return value
    return torch.ones_like(value, dtype=dtype)


def calls_of(example, dtypes):
    """Give the calls of an operator that eager torch takes and can trace, with each data type."""
    for others in (False, True):
        for dtype in dtypes:
            arguments = with_dtype(example.arguments, dtype, others)
            try:
                example.target(*arguments, **example.keywords)
                with FakeTensorMode(allow_non_fake_inputs=True):
                    example.target(*arguments, **example.keywords)
            except (RuntimeError, TypeError, IndexError):
                continue
            yield type(example)(example.target, arguments, example.keywords, example.results)


def lowered(module, target):
    """Run all passes; give the kernels that have something to do."""
    run_pipeline(module, make_context(), PassOptions(target))
    return [kernel for kernel in kernels_of(module) if 0 not in kernel.grid_dims]


def check_calls(examples, dtypes, target):
    """Print the kernels of all calls that are not left to eager torch; give their sources."""
    calls = {str(call): call for example in examples for call in calls_of(example, dtypes)}
    sources = []
    for call in calls.values():
        imported = import_graph(TRACE(call)[0])
        if not imported.unsupported and not imported.is_empty:
            sources += map(print_kernels, lowered(imported.module, target))
    return sources


@pytest.mark.slow
def test_elementwise_operators_are_printed():
    """Whatever the data type, there is an instruction, or the operator is left alone."""
    examples = {case.target: case for case in CASES if case.target in UNARY | BINARY}
    assert check_calls(examples.values(), [torch.float16, torch.int64], "cpu")


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
def test_all_operators_are_printed(target):
    """The same of all operators and data types, for both targets."""
    assert check_calls(CASES, ELEMENTS, target)


@pytest.mark.slow
def test_a_handful_is_compiled_by_nvcc(tmp_path):
    """What has been printed is what nvcc takes: a look-up, quotients, powers, booleans."""
    wanted = ("gather.default", "remainder.Tensor", "pow.Tensor_Tensor", "where.self")
    examples = [case for case in CASES if str(case.target).removeprefix("aten.") in wanted]
    sources = check_calls(examples, [torch.float16, torch.float64, torch.int16], "sm_90a")
    distinct = {f"kernel{number}": text for number, text in enumerate(dict.fromkeys(sources))}
    store = Store(tmp_path / "cache")
    assert len(build_kernels(distinct, Nvcc("sm_90a"), store.kernels)) == len(distinct)


def renamed(module, prefix):
    """Put a prefix in front of the names of all kernels; give those that have something to do."""
    kernels = lowered(module, "cpu")
    for kernel in kernels_of(module):
        kernel.sym_name = StringAttr(prefix + kernel.sym_name.data)
    for op in module.walk():
        if isinstance(op, LaunchOp):
            op.kernel = SymbolRefAttr(prefix + op.kernel.string_value())
    return kernels


def check_compiled(examples, folder):
    """Compile calls all at once, run each, and compare it with eager torch."""
    programs, kernels = [], []
    for number, example in enumerate(examples):
        imported = import_graph(TRACE(example)[0])
        programs.append(imported.module)
        if not imported.is_empty:
            kernels += renamed(imported.module, f"case{number}_")
    sources = {"cases": print_kernels(*kernels)}
    (binary,) = build_kernels(sources, Gxx(), Store(folder / "cache").kernels).values()
    for kernel in kernels:
        kernel.replace_body("cases")
    for module, example in zip(programs, examples, strict=True):

        def run(again, inputs, constants, module=module):
            plan = extract_plan(module, target="cpu")
            return CompiledGraph(plan, {"cases": binary}, torch.device("cpu")).run(inputs, [])

        actual, _ = IMPORT_AND_RUN(example, run)
        expected = example.target(*example.arguments, **example.keywords)
        expected = [expected] if isinstance(expected, torch.Tensor) else expected
        for tensor, result in zip(actual, example.results, strict=True):
            reference = expected[result]
            is_half = reference.dtype in (torch.float16, torch.bfloat16)
            if reference.dtype.is_floating_point:
                reference = reference.double()
            assert tensor.dtype is expected[result].dtype
            assert_close(tensor, reference, 2e-2 if is_half else 1e-5)


def test_compiled_operators(tmp_path):
    """Some cases, of look-ups, quotients, powers and conversions, compute what torch does."""
    words = ("index", "gather", "remainder", "fmod", "div", "pow", "erfc", "where", "_to_copy")
    chosen = [case for case in CASES if any(word in str(case.target) for word in words)]
    check_compiled(chosen[::2][:20], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, len(CASES), PER_FILE))
def test_all_compiled_operators(start, tmp_path):
    """All cases, run as compiled code."""
    check_compiled(CASES[start : start + PER_FILE], tmp_path)
