"""Binds the outputs of an FX graph to results of the program or to arguments, with their layout.

torch fixes the strides of an output and which outputs share storage. A program returns new
contiguous tensors. So an output that is a view of an argument is made from the argument, and a view
of an intermediate from the whole intermediate, by `as_strided` after the program has run, as eager
torch does.
"""

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx
from xdsl.ir import SSAValue

from hidet.frontends.torch.imported import Returned, Source
from hidet.frontends.torch.operators.emitter import Emitter, first_tensor
from hidet.frontends.torch.storage import View, physical_order, share_storage, view_from
from hidet.frontends.torch.unsigned_bytes import stored


@dataclass
class OutputBinder:
    """Determines the source of each output.

    `operand` returns the value of a node; `held` are the constants of the graph, `sources` the
    tensors behind arguments and constants of the program.
    """

    g: Emitter
    operand: Callable[[fx.Node], SSAValue]
    positions: Mapping[fx.Node, int]
    held: Mapping[fx.Node, torch.Tensor]
    sources: Mapping[SSAValue, Source]
    returned: list[SSAValue] = field(default_factory=list[SSAValue])
    """The values that the program must return."""
    written: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The new content of each argument that the program writes."""
    _stored: dict[fx.Node, SSAValue] = field(default_factory=dict[fx.Node, SSAValue])
    _bytes: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Unsigned bytes, truncated to i8."""

    def write(self, target: fx.Node, value: fx.Node) -> bool:
        """Let the program write an argument; return whether that is possible.

        The argument must be contiguous, and its new content an intermediate result.
        """
        old, new = self.operand(target), self.operand(value)
        if old not in self.sources or new in self.sources or old.type != new.type:
            return False
        self.written[old] = new
        return True

    def bind_all(self, outputs: Sequence[Any]) -> list[Returned]:
        """Return the source of each output, which is a node or a Python value."""
        nodes = {output for output in outputs if isinstance(output, fx.Node)}
        owners = Counter(storage_owner(node) for node in nodes)
        return [
            self._bind(output, storage_owner(output), owners)
            if isinstance(output, fx.Node)
            else Returned("value", output)
            for output in outputs
        ]

    def _bind(self, output: fx.Node, owner: fx.Node, owners: Counter[fx.Node]) -> Returned:
        """Return the source of an output that shares the storage of `owner`."""
        if output in self.held:
            return Returned("copy", self.held[output])
        tensor: Any = output.meta.get("val")
        if owner in self.positions:
            if not isinstance(tensor, torch.Tensor):
                return Returned("source", self.positions[owner])
            return Returned("source", self.positions[owner], view_from(tensor, first_tensor(owner)))
        whole = first_tensor(owner)
        order = physical_order(whole)
        # Without an order there are gaps or overlaps that no view can express.
        if (tensor.is_contiguous() and owners[owner] == 1) or order is None:
            return self.result(output, self.operand(output))
        if owner not in self._stored:
            self._stored[owner] = self.g.permute(self.operand(owner), order)
        if tensor.is_contiguous() and owner is output:
            return self.result(output, self._stored[owner])
        offset = int(tensor.storage_offset() - whole.storage_offset())
        view = View(tuple(tensor.shape), tuple(tensor.stride()), offset)
        return self.result(output, self._stored[owner], view)

    def result(self, output: fx.Node, value: SSAValue, view: View | None = None) -> Returned:
        """Return a value from the program, each once; arguments and constants are copied."""
        if value in self.sources and value not in self.written:
            return Returned("copy", self.sources[value].origin, view)
        dtype = torch.uint8 if first_tensor(output).dtype is torch.uint8 else None
        if dtype is not None:
            if value not in self._bytes:
                self._bytes[value] = stored(self.g, value)
            value = self._bytes[value]
        if value not in self.returned:
            self.returned.append(value)
        return Returned("result", self.returned.index(value), view, dtype)


def storage_owner(node: fx.Node) -> fx.Node:
    """Return the node at the beginning of a chain of views that share its storage."""
    while True:
        source = node
        if source.target is operator.getitem:  # of the results of a split, for example
            source = source.all_input_nodes[0]
        if source.op != "call_function" or not source.all_input_nodes:
            return node
        source = source.all_input_nodes[0]
        old: Any = source.meta.get("val")
        new: Any = node.meta.get("val")
        if not isinstance(old, torch.Tensor) or not isinstance(new, torch.Tensor):
            return node
        if old.dtype != new.dtype or not share_storage(old, new):
            return node
        node = source
