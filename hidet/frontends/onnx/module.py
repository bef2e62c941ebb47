"""An ONNX model as a PyTorch module, which interprets the nodes at every call.

Nodes that depend on weights, constants and shapes alone are constant-folded by torch on the CPU,
invisible to a tracer. So a traced model has only the operators that depend on its inputs.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from os import PathLike
from typing import Any, TypeAlias

import onnx
import torch
from google.protobuf.message import DecodeError
from torch import nn
from torch.utils._python_dispatch import _disable_current_modes as untraced  # pyright: ignore[reportPrivateUsage]

from hidet.errors import HidetError, UnsupportedOperatorError
from hidet.frontends.onnx.functions import function_of, with_attributes
from hidet.frontends.onnx.operators import find
from hidet.frontends.onnx.table import Row
from hidet.frontends.onnx.values import Known, attributes_of, dtype_of, tensor_of

Scope: TypeAlias = dict[str, Any]
"""Values by name: tensors, `Known` constants, and None for omitted ones."""
Opsets: TypeAlias = Mapping[str, int]
"""The version of the operators of each domain."""

_STANDARD = ("", "ai.onnx")
_CONTROL = ("If", "Loop")
_MISTAKES = (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError, KeyError)


class OnnxModule(nn.Module):
    """An ONNX model, whose external data are loaded.

    Attributes:
        input_specs: the type and shape of each input except weights; -1 is a dynamic size.

    Raises:
        HidetError: the model is malformed.
        UnsupportedOperatorError: it has an unsupported operator.
        UnsupportedDtypeError: it has tensors of an unsupported type.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        super().__init__()
        self._opsets = {entry.domain: entry.version for entry in model.opset_import}
        self._functions = {(f.domain, f.name): f for f in model.functions}
        self._known: Scope = {}
        self._weights = _weights(model.graph.node)
        for initializer in model.graph.initializer:
            self._keep(initializer.name, tensor_of(initializer))
        self.input_specs = {
            value.name: _spec(value) for value in model.graph.input if value.name not in self._known
        }
        self.output_names = [value.name for value in model.graph.output]
        self._nodes: list[onnx.NodeProto] = []
        for node in model.graph.node:
            names = [name for name in node.input if name]
            if node.op_type in _CONTROL or any(name not in self._known for name in names):
                self._nodes.append(node)
                continue
            for name, value in self._evaluate(node, self._known, self._opsets).items():
                if _is_uniform(value.tensor):
                    self._known[name] = value
                else:
                    self._keep(name, value.tensor)

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs."""
        return list(self.input_specs)

    def _keep(self, name: str, tensor: torch.Tensor) -> None:
        """Register a tensor as a buffer, which becomes a constant of programs.

        The columns of weights become contiguous, as in torch: tiles of any width have long runs.
        """
        if name in self._weights and tensor.dim() == 2:
            tensor = tensor.t().contiguous().t()
        buffer = f"_{len(self._known)}"
        self.register_buffer(buffer, tensor)
        self._known[name] = Known(tensor, buffer)

    def forward(self, *inputs: torch.Tensor) -> Any:
        """Return the output, or a list of several."""
        if len(inputs) != len(self.input_names):
            names = ", ".join(self.input_names)
            raise HidetError(f"{len(inputs)} inputs; the model takes {names}")
        scope: Scope = {**self._known, **dict(zip(self.input_names, inputs, strict=True))}
        self._run(self._nodes, scope, self._opsets)
        device = inputs[0].device if inputs else torch.device("cpu")
        outputs = [self._traced(scope[name], device) for name in self.output_names]
        return outputs[0] if len(outputs) == 1 else outputs

    def _run(self, nodes: Iterable[onnx.NodeProto], scope: Scope, opsets: Opsets) -> None:
        """Run nodes in a scope, and add their results to it."""
        for node in nodes:
            scope |= self._evaluate(node, scope, opsets)

    def _evaluate(self, node: onnx.NodeProto, scope: Scope, opsets: Opsets) -> Scope:
        """Return the results of a node, by name."""
        opset = opsets.get(node.domain, 1)
        where = f"node '{node.name or node.output[0]}' ({node.op_type}, opset {opset})"
        try:
            values = [scope[name] if name else None for name in node.input]
            results = self._results(node, values, scope, opsets)
        except HidetError as error:
            error.where = error.where or where
            raise
        except _MISTAKES as error:
            what = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            raise HidetError(f"it cannot be computed: {what}", where=where) from error
        if len(results) < len(node.output):
            raise UnsupportedOperatorError(f"it only gives {len(results)} outputs", where=where)
        return dict(zip(node.output, results, strict=False))

    def _results(
        self, node: onnx.NodeProto, values: Sequence[Any], scope: Scope, opsets: Opsets
    ) -> Sequence[Any]:
        """Return the results of a node, by the table, or a function of the model or of ONNX."""
        opset, is_standard = opsets.get(node.domain, 1), node.domain in _STANDARD
        with untraced():  # tensors in attributes are constants
            attributes = attributes_of(node)
        if is_standard and node.op_type in _CONTROL:
            take = self._if if node.op_type == "If" else self._loop
            return take(values, scope, opsets, **attributes)
        row = find(node.op_type, opset) if is_standard else None
        if row is not None:
            return self._call(row, values, row.with_outputs(attributes, len(node.output)))
        body = self._functions.get((node.domain, node.op_type)) or function_of(node, values, opset)
        if body is None:
            domain = "" if is_standard else f" of '{node.domain}'"
            raise UnsupportedOperatorError(
                f"there is no operator {node.op_type}{domain}",
                hint="replace it in the model, or compute this part with torch",
            )
        inner: Scope = {**dict.fromkeys(body.input), **dict(zip(body.input, values, strict=False))}
        versions = {**opsets, **{e.domain: e.version for e in body.opset_import}}
        self._run(with_attributes(body, node), inner, versions)
        return [inner.get(name) for name in body.output]

    def _call(self, row: Row, values: Sequence[Any], attributes: Mapping[str, Any]) -> list[Any]:
        """Return the results of the function of a row, which are `Known` if its operands are."""
        traced = [value for value in values if isinstance(value, torch.Tensor)]
        is_known = row.of_shapes or not traced
        operands: list[Any] = []
        for number, (value, reader) in enumerate(
            zip(values, row.readers(len(values)), strict=True)
        ):
            if reader is not None and isinstance(value, torch.Tensor):
                raise UnsupportedOperatorError(
                    f"input {number} depends on what the model is given",
                    hint="it decides about shapes: it has to be a constant, or made of shapes",
                )
            if reader is not None and value is not None:
                with untraced():
                    operands.append(reader(value.tensor))
            elif is_known:
                operands.append(value.tensor if isinstance(value, Known) else value)
            else:
                operands.append(None if value is None else self._traced(value, traced[0].device))
        with untraced() if is_known else nullcontext():
            found = row.function(*operands, **attributes)
        results = [found] if isinstance(found, torch.Tensor) else list(found)
        return list(map(Known, results)) if is_known else results

    def _traced(self, value: Any, device: torch.device) -> torch.Tensor:
        """Return a value as the operand of a traced operator."""
        if not isinstance(value, Known):
            return value
        known = value.tensor
        with untraced():
            number = known.flatten()[0].item() if _is_uniform(known) else None
        if number is not None and (value.buffer is None or known.numel() == 1):
            # A program knows it, as the scale of attention.
            return torch.full(known.shape, number, dtype=known.dtype, device=device)
        if value.buffer is not None:
            return self.get_buffer(value.buffer)
        return torch.tensor(known.tolist(), dtype=known.dtype, device=device)

    def _graph(
        self, graph: onnx.GraphProto, values: Sequence[Any], scope: Scope, opsets: Opsets
    ) -> list[Any]:
        """Return the results of a subgraph, which captures the values of the outer scope."""
        inner = {**scope, **{t.name: Known(tensor_of(t)) for t in graph.initializer}}
        inner |= zip((value.name for value in graph.input), values, strict=True)
        self._run(graph.node, inner, opsets)
        return [inner[value.name] for value in graph.output]

    def _if(
        self,
        values: Sequence[Any],
        scope: Scope,
        opsets: Opsets,
        *,
        then_branch: onnx.GraphProto,
        else_branch: onnx.GraphProto,
    ) -> list[Any]:
        """Return the results of one of two subgraphs."""
        branch = then_branch if _known(values[0], "the condition") else else_branch
        return self._graph(branch, (), scope, opsets)

    def _loop(
        self, values: Sequence[Any], scope: Scope, opsets: Opsets, *, body: onnx.GraphProto
    ) -> list[Any]:
        """Return the final values of a loop, and the stacked results of its iterations."""
        limit, goes_on, *state = values
        count, number = len(state), 0
        rows: list[list[Any]] = []
        while (limit is None or number < _known(limit, "the number of runs")) and (
            goes_on is None or _known(goes_on, "the condition")
        ):
            with untraced():
                taken = [Known(torch.tensor(number)), goes_on, *state]
            goes_on, *results = self._graph(body, taken, scope, opsets)
            state, number = results[:count], number + 1
            rows.append(results[count:])
        stack = Row(lambda *xs: torch.stack(xs), 1, of_shapes=False)
        return [*state, *(self._call(stack, column, {})[0] for column in zip(*rows, strict=True))]


def read_model(model: onnx.ModelProto | str | PathLike[str]) -> onnx.ModelProto:
    """Load and check a model, with its external data.

    Raises:
        HidetError: it is malformed.
        OSError: the file cannot be read.
    """
    where = None if isinstance(model, onnx.ModelProto) else os.fspath(model)
    try:
        found = model if isinstance(model, onnx.ModelProto) else onnx.load(model)
        onnx.checker.check_model(found if where is None else where)
    except (onnx.checker.ValidationError, DecodeError, ValueError, TypeError) as error:
        what = str(error).partition("\n")[0]
        raise HidetError(f"it is no model of ONNX: {what}", where=where) from error
    return found


def _weights(nodes: Iterable[onnx.NodeProto]) -> set[str]:
    """Return the names of the right operands of matrix products that are not transposed."""
    products = (node for node in nodes if node.op_type in ("MatMul", "Gemm"))
    return {
        name
        for node in products
        if not any(each.name == "transB" and each.i for each in node.attribute)
        for name in node.input[1:2]
    }


def _spec(value: onnx.ValueInfoProto) -> tuple[torch.dtype, list[int]]:
    """Return the type and the shape of an input; a dynamic size is -1."""
    kind = value.type.tensor_type
    sizes = [d.dim_value if d.HasField("dim_value") else -1 for d in kind.shape.dim]
    return dtype_of(kind.elem_type), sizes


def _is_uniform(tensor: torch.Tensor) -> bool:
    """Return whether all elements are one number."""
    return tensor.numel() > 0 and bool((tensor == tensor.flatten()[0]).all())


def _known(value: Any, what: str) -> Any:
    """Return the number in a constant tensor."""
    if not isinstance(value, Known):
        raise UnsupportedOperatorError(f"{what} depends on what the model is given")
    return value.tensor.item()
