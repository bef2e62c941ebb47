"""A reference interpreter of the compute dialect, on numpy arrays.

    outputs = evaluate(module, [x], {"p0": weight})

It supports `compute.grid`, `compute.fusion`, `graph.constant` and matmuls, grouped ones too, as
produced by `lower-graph-to-compute` and `fuse`, and is an oracle for later passes. The body of a
grid runs vectorized over all elements, a branch over the elements that take it, a reduction once
per element of its domain; loads out of bounds are errors. Intended for small tensors.

Elements have the numpy type of their name; bf16 is float32, rounded to bf16.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod

import numpy as np
from scalar_semantics import SCALARS, Array, combine, converted, neutral, numpy_type
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from hidet.dialects import graph
from hidet.dialects.compute import FusionOp, GridOp, LoadOp, ReduceOp, YieldOp
from hidet.dialects.graph.base import element_type, shape_of
from hidet.dialects.host_functions import FORWARD, PREPARE, prepared_name


class EvaluationError(Exception):
    """A load is out of bounds, or an operation is not supported."""


def evaluate(
    module: ModuleOp, inputs: Sequence[Array], constants: Mapping[str, Array] | None = None
) -> list[Array]:
    """Run @forward on arrays, after @prepare if there is one.

    Args:
        module: the program.
        inputs: the arguments of @forward.
        constants: the data of each `graph.constant`, by name.

    Raises:
        EvaluationError: see there; or an array does not match its type.
    """
    functions = {f.sym_name.data: f for f in module.ops if isinstance(f, FuncOp)}
    data = dict(constants or {})
    with np.errstate(all="ignore"):
        if PREPARE in functions:
            prepared = _run_function(functions[PREPARE], [], data)
            data |= {prepared_name(number): value for number, value in enumerate(prepared)}
        return _run_function(functions[FORWARD], inputs, data)


def _run_function(
    function: FuncOp, inputs: Sequence[Array], constants: Mapping[str, Array]
) -> list[Array]:
    """Run one function on arrays."""
    block = function.body.block
    for argument, value in zip(block.args, inputs, strict=True):
        _check(argument, value)
    tensors: dict[SSAValue, Array] = dict(zip(block.args, inputs, strict=True))
    return _run_tensors(block, tensors, constants)


def _run_tensors(
    block: Block, tensors: dict[SSAValue, Array], constants: Mapping[str, Array]
) -> list[Array]:
    """Run a block of operations on whole tensors; return the operands of its terminator."""
    scalars = _Lanes(tensors, 1)
    for op in block.ops:
        match op:
            case ReturnOp() | YieldOp():
                return [tensors[operand] for operand in op.operands]
            case graph.ConstantOp():
                tensors[op.result] = constants[op.key.data]
            case graph.MatmulOp():
                lhs, rhs = (tensors[value].astype(np.float64) for value in (op.lhs, op.rhs))
                tensors[op.result] = converted(np.matmul(lhs, rhs), element_type(op.result))
            case graph.GroupedMatmulOp():
                tensors[op.result] = _grouped_matmul(op, tensors)
            case GridOp():
                tensors[op.result] = _grid(op, scalars)
            case FusionOp():
                inputs = [tensors[value] for value in op.arguments]
                inner: dict[SSAValue, Array] = dict(zip(op.body.block.args, inputs, strict=True))
                outputs = _run_tensors(op.body.block, inner, constants)
                tensors.update(zip(op.results_, outputs, strict=True))
            case _:
                scalars.run_op(op)  # hoisted out of a grid, such as a constant
                continue
        for result in op.results:
            _check(result, tensors[result])
    raise EvaluationError("a block of tensors must end in func.return or compute.yield")


def _grouped_matmul(op: graph.GroupedMatmulOp, tensors: Mapping[SSAValue, Array]) -> Array:
    """Multiply each group of rows by its matrix."""
    lhs, rhs = (tensors[value].astype(np.float64) for value in (op.lhs, op.rhs))
    product = np.zeros(shape_of(op.result))
    ends = [0, *tensors[op.ends]]
    for group, (begin, end) in enumerate(pairwise(ends)):
        product[begin:end] = lhs[begin:end] @ rhs[group]
    return converted(product, element_type(op.result))


def _check(value: SSAValue, array: Array) -> None:
    """Raise `EvaluationError` unless an array matches the type of a tensor."""
    expected = numpy_type(element_type(value))
    if array.shape != shape_of(value) or array.dtype != expected:
        raise EvaluationError(f"{value.type} cannot be {array.dtype} of shape {array.shape}")


def _grid(op: GridOp, outside: "_Lanes") -> Array:
    """Run the body of a grid for all its elements."""
    count = prod(op.shape)
    indices = np.indices(op.shape).reshape(len(op.shape), count)
    lanes = replace(outside, count=count, values={**outside.values})
    lanes.values.update(zip(op.indices, indices, strict=True))
    (element,) = lanes.run(op.body.block)
    return np.broadcast_to(element, (count,)).reshape(op.shape)


@dataclass
class _Lanes:
    """A vectorized evaluation of a body.

    Attributes:
        tensors: the tensors that can be loaded.
        count: the number of lanes.
        values: each scalar, as an array over the lanes, or of rank 0 if it is uniform.
    """

    tensors: Mapping[SSAValue, Array]
    count: int
    values: dict[SSAValue, Array] = field(default_factory=dict[SSAValue, Array])

    def run(self, block: Block) -> list[Array]:
        """Run a body; return what it yields."""
        for op in block.ops:
            if isinstance(op, YieldOp | scf.YieldOp):
                return [self.values[operand] for operand in op.operands]
            self.run_op(op)
        raise EvaluationError("a body must end in a yield")

    def run_op(self, op: Operation) -> None:
        """Run one operation on scalars."""
        match op:
            case LoadOp():
                self.values[op.result] = self._load(op)
            case ReduceOp():
                self.values[op.result] = self._reduce(op)
            case scf.IfOp():
                self.values.update(zip(op.results, self._branch(op), strict=True))
            case _ if type(op) in SCALARS:
                operands = [self.values[operand] for operand in op.operands]
                self.values[op.results[0]] = np.asarray(SCALARS[type(op)](op, *operands))
            case _:
                raise EvaluationError(
                    f"{op.name} is not known here: tests/support/scalar_semantics.py has what "
                    "operations on scalars mean"
                )

    def _load(self, op: LoadOp) -> Array:
        """Load an element in each lane; a branch that no lane takes loads nothing."""
        tensor = self.tensors[op.source]
        if self.count == 0:
            return np.empty(0, tensor.dtype)
        indices = tuple(self.values[index] for index in op.indices)
        for index, size in zip(indices, tensor.shape, strict=True):
            if np.any((index < 0) | (index >= size)):
                raise EvaluationError(
                    f"a load from {op.source.type} goes to {index.min()}...{index.max()} in a "
                    f"dimension of {size}"
                )
        return np.asarray(tensor[indices])

    def _reduce(self, op: ReduceOp) -> Array:
        """Reduce the values of a body over its domain, sequentially."""
        kind = op.kind.data
        total = np.broadcast_to(neutral(kind, op.result.type), (self.count,))
        for index in np.ndindex(*op.shape):
            self.values.update(zip(op.indices, map(np.asarray, index), strict=True))
            (element,) = self.run(op.body.block)
            total = combine(kind, total, element)
        return total

    def _branch(self, op: scf.IfOp) -> list[Array]:
        """Run each branch in the lanes that take it."""
        condition = np.broadcast_to(self.values[op.cond], (self.count,))
        results = [np.empty(self.count, numpy_type(result.type)) for result in op.results]
        for region, taken in ((op.true_region, condition), (op.false_region, ~condition)):
            chosen = {v: a[taken] if a.ndim else a for v, a in self.values.items()}
            lanes = replace(self, count=int(taken.sum()), values=chosen)
            for result, value in zip(results, lanes.run(region.block), strict=True):
                result[taken] = value
        return results
