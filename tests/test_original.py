"""The paths of the original Hidet lead to what is defined here."""

import importlib
import subprocess
import sys

import numpy as np
import pytest
import torch

import hidet
from hidet.errors import HidetError
from hidet.utils.benchmark import benchmark_func

PATHS = {
    "hidet.drivers:build_ir_module": "hidet.driver:build_ir_module",
    "hidet.ir:Function": "hidet.frontends.script.kernels:ScriptFunction",
    "hidet.ir.func:Function": "hidet.frontends.script.kernels:ScriptFunction",
    "hidet.ir.module:IRModule": "hidet.frontends.script.module:IRModule",
    "hidet.ir.type:data_type": "hidet.lang:data_type",
    "hidet.ir.type:tensor_type": "hidet.lang:TensorType",
    "hidet.ir.dtypes:bfloat16": "hidet.lang:bf16",
    "hidet.ir.expr:cast": "hidet.lang:cast",
    "hidet.ir.expr:if_then_else": "hidet.frontends.script.functional:if_then_else",
    "hidet.ir.stmt:DeclareScope": "hidet.lang:DeclareScope",
    "hidet.ir.layout:row_major": "hidet.mapping:row_repeat",
    "hidet.ir.mapping:TaskMapping": "hidet.lang.mapping:TaskMapping",
    "hidet.ir.primitives:printf": "hidet.lang:printf",
    "hidet.ir.primitives:max": "hidet.lang.math:max",
    "hidet.ir.primitives.debug:printf": "hidet.lang:printf",
    "hidet.ir.primitives.math:exp2": "hidet.lang.math:exp2",
    "hidet.ir.primitives.cuda:threadIdx": "hidet.lang.cuda:threadIdx",
    "hidet.ir.primitives.cuda.shfl:shfl_down_sync": "hidet.lang.cuda:shfl_down_sync",
    "hidet.ir.primitives.cuda.sync:syncthreads": "hidet.lang.cuda:syncthreads",
    "hidet.lang.constructs:meta": "hidet.lang:meta",
    "hidet.lang.constructs.declare:shared_tensor": "hidet.lang:shared_tensor",
    "hidet.lang.constructs.loops:grid": "hidet.lang:grid",
    "hidet.lang.layout:col_layout": "hidet.lang:column_major",
    "hidet.lang.types:tensor_pointer": "hidet.lang:tensor_pointer",
    "hidet.utils:benchmark_func": "hidet.utils.benchmark:benchmark_func",
}
"""A path of the original for each of its modules, and where the name is defined."""


def load(path):
    """Give what a path `module:name` names."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("path", PATHS)
def test_paths(path):
    assert load(path) is load(PATHS[path])


def test_import_of_a_deep_path():
    """A program may begin with the deepest module."""
    program = "import hidet.ir.primitives.cuda.mma as m; from hidet.ir.expr import cast; m.printf"
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_python_probes_import_nothing():
    """`inspect` asks every loaded module for `__file__`, also while a source is being imported."""
    program = (
        "import sys, hidet.cuda\n"
        "assert [hasattr(each, '__file__') for each in list(sys.modules.values())]\n"
        "assert 'hidet.graph' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_names_that_are_nowhere():
    with pytest.raises(ImportError, match="cannot import name 'warp'"):
        from hidet.ir.primitives.cuda.mma import warp  # noqa: F401
    with pytest.raises(AttributeError, match=r"no attribute 'warp'; it re-exports"):
        _ = importlib.import_module("hidet.ir.primitives").warp


def test_cuda():
    """The machine has as many GPUs as torch says."""
    assert hidet.cuda.available() is hidet.cuda.is_available() is torch.cuda.is_available()
    assert hidet.cuda.device_count() == torch.cuda.device_count()
    hidet.cuda.synchronize()


def test_helpers():
    assert hidet.utils.cdiv(7, 3) == 3
    assert hidet.utils.prod([2, 3, 4]) == 24
    assert hidet.utils.prod([]) == 1
    hidet.utils.assert_close(hidet.ones([2]), torch.ones(2))
    hidet.utils.assert_close(np.ones(2), hidet.full([2], 1.1).to("float64"), rtol=0.2)
    with pytest.raises(AssertionError):
        hidet.utils.assert_close(hidet.ones([2]), hidet.zeros([2]))


def test_benchmark_func():
    """It calls the function as often as it says, and gives milliseconds."""
    calls = []
    times = benchmark_func(lambda: calls.append(1), warmup=2, number=3, repeat=4, median=False)
    assert len(calls) == 2 + 3 * 4
    assert len(times) == 4
    assert min(times) > 0
    assert benchmark_func(lambda: None) > 0
    with pytest.raises(HidetError, match="measure nothing"):
        benchmark_func(lambda: None, repeat=0)
