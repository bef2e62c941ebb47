"""Imported graphs: a program, and how its inputs and outputs map to torch's tensors."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal

import torch
from torch import fx
from torch.fx.node import map_arg
from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, StringAttr, i64
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import Rewriter

from hidet.dialects import graph
from hidet.dialects.cuda import KernelOp
from hidet.dialects.host_functions import FORWARD, UPDATES
from hidet.errors import HidetError
from hidet.frontends.torch.storage import View


@dataclass(frozen=True)
class Source:
    """A tensor that a program reads.

    Attributes:
        origin: the number of the FX graph's argument, or a constant of the graph.
        span: the number of elements of storage that the program takes; None for a contiguous
            tensor, which it takes as it is.
        is_complex: whether the tensor is complex; the program takes its parts.
    """

    origin: int | torch.Tensor
    span: int | None
    is_complex: bool = False


@dataclass(frozen=True)
class Returned:
    """An output of the FX graph.

    Attributes:
        kind: what `origin` is: the number of a result of the program; an argument or a constant,
            returned itself (`source`) or copied (`copy`); or a Python value.
        view: the view of that tensor that is returned; None for the tensor itself.
        dtype: the data type to reinterpret the elements as, complex for a tensor of parts; None for
            none.
    """

    kind: Literal["result", "source", "copy", "value"]
    origin: Any
    view: View | None = None
    dtype: torch.dtype | None = None


@dataclass
class ImportedGraph:
    """An imported FX graph.

    Attributes:
        module: the program; valid only if nothing is unsupported.
        device: the device of the program.
        inputs: the tensors for the arguments of the program.
        constants: the tensors for its constants "p0", "p1", ...
        outputs: the outputs of the FX graph, in order.
        unsupported: the error of each node that cannot be compiled.
        devices: the device of each node that can; None for a constant scalar.
        is_empty: the program has no results, so that there is nothing to compile.
        updates: the arguments of the FX graph to copy new content into after the program, with that
            content. The program writes others itself.
    """

    module: ModuleOp = field(default_factory=lambda: ModuleOp([]))
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    inputs: list[Source] = field(default_factory=list[Source])
    constants: list[Source] = field(default_factory=list[Source])
    outputs: list[Returned] = field(default_factory=list[Returned])
    unsupported: dict[fx.Node, HidetError] = field(default_factory=dict[fx.Node, HidetError])
    devices: dict[fx.Node, torch.device | None] = field(
        default_factory=dict[fx.Node, torch.device | None]
    )
    is_empty: bool = True
    updates: list[tuple[int, Returned]] = field(default_factory=list[tuple[int, Returned]])

    @property
    def used_devices(self) -> set[torch.device]:
        """The devices that the operators run on."""
        return {device for device in self.devices.values() if device is not None}


def returning(module: fx.GraphModule, results: Sequence[Any]) -> fx.GraphModule:
    """Return a copy of a graph that returns only these results: nodes, or Python values."""
    graph = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}
    graph.graph_copy(module.graph, copies)
    graph.output(tuple(map_arg(list(results), copies.__getitem__)))
    return fx.GraphModule(module, graph)


def updates_of(graph: fx.Graph) -> dict[fx.Node, fx.Node]:
    """Return the nodes that mutate an argument, each with the argument.

    AOTAutograd appends a `copy_` per mutated argument to a graph that is otherwise functional.
    """
    copies = graph.find_nodes(op="call_function", target=torch.ops.aten.copy_.default)
    targets: dict[fx.Node, Any] = {node: node.args[0] for node in copies}
    return {node: target for node, target in targets.items() if target.op == "placeholder"}


def finish(
    result: ImportedGraph,
    block: Block,
    returned: Sequence[SSAValue],
    sources: Mapping[SSAValue, Source],
    kernels: Sequence[KernelOp],
    written: Mapping[SSAValue, SSAValue],
) -> ImportedGraph:
    """Build the module: return the results, erase dead operations, number arguments and constants.

    `result` receives the module, and those of the sources (the tensors behind arguments and
    constants) that are left. `written` is the new content of each argument that the program writes.
    """
    returned = (*returned, *written.values())
    block.add_op(func.ReturnOp(*returned))
    _drop_unused(block, written)
    for number, argument in enumerate(block.args):
        argument.name_hint = f"x{number}"
        result.inputs.append(sources[argument])
    constants = [op for op in block.ops if isinstance(op, graph.ConstantOp)]
    # In the order of the arguments, so that a call takes them by slices.
    constants.sort(key=lambda op: _position(sources.get(op.result)))
    for number, op in enumerate(constants):
        op.properties["name"] = StringAttr(f"p{number}")
        op.result.name_hint = f"p{number}"
        if op.result in sources:
            result.constants.append(sources[op.result])
    inputs = [argument.type for argument in block.args]
    outputs = [value.type for value in returned]
    entry = func.FuncOp(FORWARD, (inputs, outputs), Region(block))
    if written:
        numbers = [block.args.index(argument) for argument in written]
        entry.attributes[UPDATES] = DenseArrayBase.from_list(i64, numbers)
    result.module = ModuleOp([*kernels, entry])
    result.is_empty = not returned
    return result


def _drop_unused(block: Block, written: Collection[SSAValue]) -> None:
    """Erase operations without users, and arguments neither read nor written."""
    for op in reversed(list(block.ops)):
        if isinstance(op, graph.GraphOp | graph.CallKernelOp) and not any(
            result.first_use for result in op.results
        ):
            Rewriter.erase_op(op)
    for argument in reversed(block.args):
        if argument.first_use is None and argument not in written:
            block.erase_arg(argument)


def _position(source: Source | None) -> float:
    """Return the number of the argument that a constant is; infinity if it is not an argument."""
    return source.origin if source is not None and isinstance(source.origin, int) else inf
