"""Recorded operators in topological order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch.fx.traceback import set_stack_trace
from torch.utils._pytree import tree_leaves, tree_map

from hidet.errors import HidetError
from hidet.frontends.trace.recording import Operator, Traced, with_operator_errors
from hidet.frontends.trace.sizes import Sizes, has_names, printable


@dataclass(frozen=True)
class Recorded:
    """A recorded graph; its constants are the concrete tensors that are operands or outputs."""

    inputs: list[Any]
    outputs: list[Any]
    nodes: list[Operator]
    constants: list[Any]

    @staticmethod
    def between(outputs: Sequence[Traced], inputs: Sequence[Traced] | None) -> Recorded:
        """Return the graph from inputs to outputs; None stands for all inputs that are used.

        Raises:
            HidetError: the outputs depend on a symbol that is not an input.
        """
        known = {id(tensor) for tensor in inputs or ()}
        found: list[Traced] = []
        nodes: dict[int, Operator] = {}
        constants: dict[int, Traced] = {}
        # An iterative depth-first search, since graphs may exceed Python's recursion limit.
        stack: list[Traced | Operator] = list(reversed(outputs))
        while stack:
            top = stack.pop()
            if isinstance(top, Operator):
                nodes.setdefault(id(top), top)
            elif id(top) in known or (top.trace is not None and id(top.trace[0]) in nodes):
                continue
            elif top.trace is not None:
                node = top.trace[0]
                stack.append(node)
                stack.extend(reversed(node.inputs))
            elif not top.is_symbolic():
                constants.setdefault(id(top), top)
            else:
                if inputs is not None:
                    raise HidetError(f"{top} is required but is not an input")
                known.add(id(top))
                found.append(top)
        given = found if inputs is None else list(inputs)
        return Recorded(given, list(outputs), list(nodes.values()), list(constants.values()))

    @property
    def tensors(self) -> list[Any]:
        """The inputs, then the constants."""
        return [*self.inputs, *self.constants]

    @property
    def tensor_class(self) -> type[Traced]:
        """The class of the tensors."""
        found: Traced = [*self.outputs, *self.tensors][0]
        return type(found)

    def replay(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        """Evaluate the graph with torch tensors in place of inputs and constants."""
        values = {id(t): value for t, value in zip(self.tensors, tensors, strict=True)}
        for node in self.nodes:
            if node.where is not None:
                set_stack_trace(['  File "{}", line {}, in call\n'.format(*node.where)])
            taken = [values[id(tensor)] for tensor in node.inputs]
            results = tree_leaves(with_operator_errors(node.name, node.apply, taken))
            values |= zip(map(id, node.outputs), results, strict=True)
        return [values[id(output)] for output in self.outputs]

    @cached_property
    def has_names(self) -> bool:
        """Whether an input has a named size."""
        return any(has_names(tensor.example) for tensor in self.inputs)

    def reforward(self, inputs: Sequence[Traced], sizes: Sizes | None = None) -> list[Any]:
        """Re-record the graph with other inputs; named sizes without a value remain symbolic."""
        values: dict[int, Traced] = {id(t): t for t in self.constants}
        values |= zip(map(id, self.inputs), inputs, strict=True)
        for node in self.nodes:
            taken = [values[id(tensor)] for tensor in node.inputs]
            results = tree_leaves(node.reforward(taken, sizes))
            values |= zip(map(id, node.outputs), results, strict=True)
        return [values[id(output)] for output in self.outputs]

    def dot(self) -> str:
        """Return the dataflow graph in the DOT language of Graphviz."""
        lines: list[str] = []
        sources: dict[int, str] = {}

        def add(name: str, label: str, shape: str) -> None:
            lines.append(f"  {name} [shape={shape}, label={json.dumps(label)}];")

        for kind, tensors in (("input", self.inputs), ("constant", self.constants)):
            for number, tensor in enumerate(tensors):
                sources[id(tensor)] = f"{kind}{number}"
                add(f"{kind}{number}", f"{kind} {tensor.signature()}", "ellipse")
        for number, node in enumerate(self.nodes):
            results: list[Any] = list(node.outputs)
            types: list[str] = [result.signature() for result in results]
            add(f"op{number}", "\n".join([node.name, *types]), "box")
            lines += [f"  {sources[id(tensor)]} -> op{number};" for tensor in node.inputs]
            sources |= {id(output): f"op{number}" for output in node.outputs}
        for number, output in enumerate(self.outputs):
            add(f"output{number}", f"output {number}", "ellipse")
            lines.append(f"  {sources[id(output)]} -> output{number};")
        return "\n".join(["digraph {", *lines, "}", ""])

    def __str__(self) -> str:
        names: dict[int, str] = {}
        for letter, tensors in (("x", self.inputs), ("c", self.constants)):
            names |= {id(tensor): numbered(letter, n) for n, tensor in enumerate(tensors)}
        lines = [f"  {names[id(each)]} = Constant({each.signature()})" for each in self.constants]
        count = len(self.inputs)
        for node in self.nodes:
            for number, output in enumerate(node.outputs, count):
                names[id(output)] = numbered("x", number)
            count += len(node.outputs)
            taken = [names[id(tensor)] for tensor in node.inputs]
            taken += [f"{name}={shown(value)}" for name, value in node.attributes.items()]
            lines.append(f"  {_typed(node.outputs, names)} = {node.name}({', '.join(taken)})")
        results = ", ".join(names[id(output)] for output in self.outputs)
        head = f"Graph({_typed(self.inputs, names)}){{"
        return "\n".join([head, *lines, f"  return {results}", "}"])


def shown(value: object) -> str:
    """Return the printed form of an attribute."""
    return value if isinstance(value, str) else repr(tree_map(printable, value))


def numbered(letter: str, number: int) -> str:
    """Return a numbered name: `x`, `x_1`, `x_2` ..."""
    return f"{letter}_{number}" if number else letter


def _typed(tensors: Iterable[Any], names: dict[int, str]) -> str:
    """Return the printed names of tensors with their types."""
    return ", ".join(f"{names[id(tensor)]}: {tensor.signature()}" for tensor in tensors)
