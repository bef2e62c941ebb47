"""Flow graphs after the fusion passes, with one node per kernel."""

import re
from collections.abc import Iterable
from typing import Any

import torch
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from hidet.context import make_context
from hidet.dialects.compute import FusionOp, YieldOp
from hidet.dialects.graph import ConstantOp
from hidet.dialects.graph.base import GraphOp
from hidet.dialects.host_functions import FORWARD, prepared_name
from hidet.dialects.shaped import element_of, shape_of
from hidet.driver.options import CompileOptions
from hidet.driver.plan_types import dtype_name
from hidet.driver.target import find_arch
from hidet.errors import HidetError
from hidet.frontends.torch.imported import ImportedGraph
from hidet.frontends.trace.recorded import Recorded
from hidet.frontends.trace.recording import Operator
from hidet.frontends.trace.tracing import example_mode
from hidet.lowering.pipelines import PassOptions, run_pipeline
from hidet.runtime.tensors import DTYPES


def fused(imported: ImportedGraph, recorded: Recorded) -> Recorded:
    """Return a recorded graph after the fusion passes; the imported one is lowered in place."""
    arch = find_arch(imported.device, CompileOptions.current())
    for pipeline in ("graph-pipeline", "compute-pipeline"):
        options = PassOptions(str(arch))
        run_pipeline(imported.module, make_context(), options, pipeline=pipeline)
    return Reader(imported, recorded).read()


class Reader:
    """Converts a lowered module to a graph; see `fused`."""

    def __init__(self, imported: ImportedGraph, recorded: Recorded) -> None:
        self.imported = imported
        self.recorded = recorded
        self.values: dict[SSAValue, Any] = {}
        # Constants by name: those of the graph and those computed by `@prepare`.
        self.constants = {
            f"p{number}": self._tensor(source.origin)
            for number, source in enumerate(imported.constants)
        }
        self.nodes: list[Operator] = []

    def read(self) -> Recorded:
        """Return the operations of the module as a graph."""
        functions = [op for op in self.imported.module.ops if isinstance(op, FuncOp)]
        results: list[Any] = []
        for function in sorted(functions, key=lambda op: op.sym_name.data == FORWARD):
            results = self._read_function(function)
        outputs: list[Any] = [
            results[each.origin] if each.kind == "result" else self._tensor(each.origin)
            for each in self.imported.outputs
        ]
        taken = {id(tensor) for node in self.nodes for tensor in node.inputs}
        constants = [c for c in self.recorded.constants if id(c) in taken | set(map(id, outputs))]
        return Recorded(self.recorded.inputs, outputs, self.nodes, constants)

    def _read_function(self, function: FuncOp) -> list[Any]:
        """Convert a function, and return its results; those of `@prepare` become constants."""
        block = function.body.block
        is_forward = function.sym_name.data == FORWARD
        if is_forward:
            for argument, source in zip(block.args, self.imported.inputs, strict=True):
                self.values[argument] = self._tensor(source.origin)
        *body, end = block.ops
        for op in body:
            if isinstance(op, ConstantOp):
                self.values[op.result] = self.constants[op.key.data]
            else:
                self._add(op)
        results = [self.values[value] for value in end.operands]
        if not is_forward:
            self.constants |= {prepared_name(n): value for n, value in enumerate(results)}
        return results

    def _add(self, op: Operation) -> None:
        inputs = [self.values[value] for value in op.operands]
        names = list(_names(op))
        attributes = {"fused_graph": f"FlowGraph({', '.join(names)})"} if len(names) > 1 else {}
        name = f"Fused{''.join(dict.fromkeys(names))}" if len(names) > 1 else names[0]
        node = Operator(name, _refuse, attributes, inputs, {})
        for number, result in enumerate(op.results):
            dtype, shape = DTYPES[dtype_name(element_of(result))], shape_of(result)
            with example_mode():
                example = torch.empty(shape, dtype=dtype, device=self.imported.device)
            symbol = self.recorded.tensor_class(example, (node, number))
            self.values[result] = symbol
            node.outputs.append(symbol)
        self.nodes.append(node)

    def _tensor(self, origin: int | torch.Tensor) -> Any:
        """Return an input or a constant by its number, or a constant tensor."""
        if isinstance(origin, int):
            return self.recorded.tensors[origin]
        return self.recorded.tensor_class(origin)


def _names(op: Operation) -> Iterable[str]:
    """Return the names of the operators in an operation, from the name hints of its values."""
    parts = list(op.body.block.ops) if isinstance(op, FusionOp) else [op]
    for part in parts:
        if isinstance(part, YieldOp):
            continue
        hint = part.results[0].name_hint if part.results else None
        own = part.name.removeprefix("graph.") if isinstance(part, GraphOp) else None
        words = re.sub(r"\d+$", "", own or hint or part.name.partition(".")[2]).split("_")
        yield "".join(word.capitalize() for word in words)


def _refuse(*_: object) -> None:
    """Raise an error: a node of an optimized graph cannot run."""
    raise HidetError("operators of an optimized graph cannot run separately", hint="call the graph")
