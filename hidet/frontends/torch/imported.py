"""What the walk over an FX graph gives: a program, and how it meets torch's tensors."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal

import torch
from torch import fx
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
        origin: the number of the FX graph's argument, or a tensor that the graph itself holds.
        span: how many elements of storage the program takes; None for a contiguous tensor, which it
            takes as it is.
    """

    origin: int | torch.Tensor
    span: int | None


@dataclass(frozen=True)
class Returned:
    """An output of the FX graph.

    Attributes:
        kind: what `origin` is: the number of a result of the program; an argument or a tensor that
            the graph holds, returned itself (`source`) or copied (`copy`); or a Python value.
        origin: see `kind`.
        view: how the output looks at that tensor; None if it is the tensor.
        dtype: the data type that its elements are taken for; None if it is theirs.
    """

    kind: Literal["result", "source", "copy", "value"]
    origin: Any
    view: View | None = None
    dtype: torch.dtype | None = None


@dataclass
class ImportedGraph:
    """What the walk over an FX graph gives.

    Attributes:
        module: the program; of use only where nothing is unsupported.
        device: where the program runs.
        inputs: the tensors for the arguments of the program.
        constants: the tensors for its constants "p0", "p1", ...
        outputs: the outputs of the FX graph, in order.
        unsupported: for each node that cannot be compiled, why.
        devices: for each node that can, where it runs; None for a scalar that is known now.
        is_empty: the program has no results, so that there is nothing to compile.
        updates: the arguments of the FX graph that get a new content when the program has run, and
            what that is. Others are written by the program itself.
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


def finish(
    result: ImportedGraph,
    block: Block,
    returned: Sequence[SSAValue],
    sources: Mapping[SSAValue, Source],
    kernels: Sequence[KernelOp] = (),
    written: Mapping[SSAValue, SSAValue] | None = None,
) -> None:
    """Close the program: return the results, drop what nobody needs, number what is left.

    Args:
        result: gets the program, and the tensors for its arguments and constants.
        block: the operations.
        returned: what the program gives.
        sources: the tensors behind arguments and constants.
        kernels: the kernels that are called.
        written: for arguments that the program writes, what they hold afterwards.
    """
    written = written or {}
    returned = (*returned, *written.values())
    block.add_op(func.ReturnOp(*returned))
    _drop_unused(block, written)
    for number, argument in enumerate(block.args):
        argument.name_hint = f"x{number}"
        result.inputs.append(sources[argument])
    constants = [op for op in block.ops if isinstance(op, graph.ConstantOp)]
    # In the order of the arguments, so that picking them out takes next to nothing.
    constants.sort(key=lambda op: _place(sources.get(op.result)))
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


def _drop_unused(block: Block, written: Collection[SSAValue]) -> None:
    """Erase operations without users, which are pure, and arguments neither read nor written."""
    for op in reversed(list(block.ops)):
        if isinstance(op, graph.GraphOp | graph.CallKernelOp) and not any(
            result.first_use for result in op.results
        ):
            Rewriter.erase_op(op)
    for argument in reversed(block.args):
        if argument.first_use is None and argument not in written:
            block.erase_arg(argument)


def _place(source: Source | None) -> float:
    """Give the number of the argument that a constant is; those that are none come last."""
    return source.origin if source is not None and isinstance(source.origin, int) else inf
