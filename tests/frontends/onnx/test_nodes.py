"""ONNX's own tests of its operators, a model of a node each, as far as their types are ours.

Those that are not listed as refused must pass; none may give a wrong number.
"""

import math
import warnings
from collections import Counter
from functools import cache

import onnx
import pytest
import torch
from onnx import TensorProto, numpy_helper

from hidet.errors import UnsupportedDtypeError, UnsupportedOperatorError
from hidet.frontends.onnx.values import tensor_of
from hidet.frontends.torch.storage import Spec
from hidet.frontends.trace.tracing import compile_imported, example_of, import_function
from hidet.graph.frontend import from_onnx

OURS = {
    TensorProto.FLOAT,
    TensorProto.DOUBLE,
    TensorProto.FLOAT16,
    TensorProto.BFLOAT16,
    TensorProto.INT64,
    TensorProto.INT32,
    TensorProto.INT16,
    TensorProto.INT8,
    TensorProto.BOOL,
}
"""The types of tensors that programs have."""


@cache
def node_tests():
    """Return the tests of nodes whose inputs and outputs are tensors of our types, by name."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numbers that overflow on purpose
        tests = load_model_tests(kind="node")
    return {test.name: test for test in tests if is_ours(test.model.graph)}


def is_ours(graph):
    """Tell whether a graph takes and gives tensors of our types."""
    types = [value.type for value in (*graph.input, *graph.output)]
    return all(t.tensor_type.elem_type in OURS for t in types)


def tensor(value):
    """Return a value of a test as a tensor."""
    return tensor_of(value if isinstance(value, TensorProto) else numpy_helper.from_array(value))


def with_constants(model, inputs, kept):
    """Return a model some of whose inputs are constants, and the inputs that are left."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    del changed.graph.input[:]
    left = []
    for number, (value, given) in enumerate(zip(model.graph.input, inputs, strict=False)):
        if number in kept:
            changed.graph.input.append(value)
            left.append(given)
        else:
            proto = TensorProto()
            proto.CopyFrom(
                given if isinstance(given, TensorProto) else numpy_helper.from_array(given)
            )
            proto.name = value.name
            changed.graph.initializer.append(proto)
    return changed, left


def run_test(test, *, compiled):
    """Run a test; raise what its model raises, or an AssertionError where a number is wrong.

    What decides about shapes, such as the axes of a reduction, has to be a constant: where it is an
    input of the test, it is made one.
    """
    for inputs, outputs in test.data_sets:
        choices = [range(len(inputs)), [0], range(1, len(inputs)), []]
        for kept in choices:
            try:
                found = _run(*with_constants(test.model, inputs, set(kept)), compiled=compiled)
                break
            except UnsupportedOperatorError as error:
                if "depends on what the model is given" not in error.what or not kept:
                    raise
        for one, other in zip(found, map(tensor, outputs), strict=True):
            assert one.dtype == other.dtype
            # ONNX compares numbers of 16 bits as closely as others, which its reference can.
            eps = (
                torch.finfo(other.dtype).eps
                if other.dtype in (torch.bfloat16, torch.float16)
                else 0
            )
            rtol, atol = max(test.rtol, 4 * eps), max(test.atol, 1e-6)
            torch.testing.assert_close(one, other, rtol=rtol, atol=atol, equal_nan=True)


def _run(model, inputs, *, compiled):
    """Return the outputs of a model, computed by eager torch, or by a program that is compiled."""
    module, tensors = from_onnx(model).module, [tensor(value) for value in inputs]

    def call(*given):
        results = module(*given)
        return results if isinstance(results, list) else [results]

    if not compiled or not tensors:
        return call(*tensors)
    examples = [example_of(Spec.of(value)) for value in (*tensors, *module.buffers())]
    names = [name for name, _ in module.named_buffers()]

    def functional(*given):
        weights = dict(zip(names, given[len(tensors) :], strict=True))
        results = torch.func.functional_call(module, weights, given[: len(tensors)])
        return results if isinstance(results, list) else [results]

    program = compile_imported(
        import_function(functional, examples, range(len(tensors), len(examples)))
    )
    return list(program([*tensors, *module.buffers()]))


SHARE = 0.8
"""So many of the tests pass at least."""

EAGER_STEP = 16
COMPILED_STEP = 192
"""Which tests are run where time is short: each so many-th."""


def outcomes(names, *, compiled):
    """Run tests; count those that pass, and those that are refused with an error that says why."""
    found = Counter()
    for name in names:
        try:
            run_test(node_tests()[name], compiled=compiled)
            found["passes"] += 1
        except (UnsupportedOperatorError, UnsupportedDtypeError):
            found["refused"] += 1
    return found


def sample(step):
    """Return the names of every so many-th test, beginning with any of them."""
    return sorted(node_tests())[torch.randint(step, ()).item() :: step]


def test_sample_of_nodes():
    """The modules give what ONNX says, or say what is not there."""
    names = sample(EAGER_STEP)
    found = outcomes(names, compiled=False)
    assert found["passes"] >= 0.7 * len(names)  # a sample may hold more of what is refused


@pytest.mark.slow
def test_sample_of_programs():
    names = sample(COMPILED_STEP)
    assert outcomes(names, compiled=True)["passes"] >= 1


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
def test_all_nodes(compiled):
    found = outcomes(node_tests(), compiled=compiled)
    assert found["passes"] >= math.ceil(SHARE * found.total())
