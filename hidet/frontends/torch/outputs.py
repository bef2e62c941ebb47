"""What gives each output of an FX graph, and how it lies in memory.

torch fixes the strides of an output and which outputs share storage. A program returns contiguous
tensors that are its own. So an output that is a view of an argument is made from the argument, and
one that is a view of an intermediate from the whole intermediate, both when the program has run, at
no cost but a call of `as_strided`; this is also what eager torch does.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import fx
from xdsl.ir import SSAValue

from hidet.frontends.torch.imported import Returned, Source
from hidet.frontends.torch.operators.emitter import Emitter, first_tensor
from hidet.frontends.torch.storage import View, physical_order, share_storage, view_from


class OutputBinder:
    """Decides what gives each output.

    Args:
        g: where to write operations that change the order of dimensions.
        operand: gives the value of a node.
        positions: the numbers of the graph's arguments.
        held: the tensors that the graph holds.
        sources: the tensors behind the values that the program only reads.
    """

    def __init__(
        self,
        g: Emitter,
        operand: Callable[[fx.Node], SSAValue],
        positions: Mapping[fx.Node, int],
        held: Mapping[fx.Node, torch.Tensor],
        sources: Mapping[SSAValue, Source],
    ) -> None:
        self.g = g
        self.operand = operand
        self.positions = positions
        self.held = held
        self.sources = sources
        self.returned: list[SSAValue] = []
        """The values that the program must return."""
        self._numbers: dict[object, int] = {}

    def bind(self, output: Any) -> Returned:
        """Decide what gives one output: a node, or a Python value."""
        if not isinstance(output, fx.Node):
            return Returned("value", output)
        if output in self.held:
            return Returned("copy", self.held[output])
        owner = storage_owner(output)
        tensor: Any = output.meta.get("val")
        if owner in self.positions:
            if not isinstance(tensor, torch.Tensor):
                return Returned("source", self.positions[owner])
            return Returned("source", self.positions[owner], view_from(tensor, first_tensor(owner)))
        if tensor.is_contiguous():
            return self._whole(output)
        whole = first_tensor(owner)
        order = physical_order(whole)
        if order is None:
            # A layout with gaps or overlaps that no view explains: the values count.
            return self._whole(output)
        number = self._number((owner, "storage"), lambda: self._in_order(owner, order))
        offset = int(tensor.storage_offset() - whole.storage_offset())
        view = View(tuple(tensor.shape), tuple(tensor.stride()), offset)
        return Returned("result", number, view)

    def _whole(self, node: fx.Node) -> Returned:
        """Return the value of a node as it is; what the program only reads is copied."""
        value = self.operand(node)
        if value in self.sources:
            return Returned("copy", self.sources[value].origin)
        return Returned("result", self._number(value, lambda: value))

    def _in_order(self, node: fx.Node, order: tuple[int, ...]) -> SSAValue:
        """Give the value of a node with its dimensions in the order of its storage."""
        return self.g.permute(self.operand(node), order)

    def _number(self, key: object, make: Callable[[], SSAValue]) -> int:
        """Give the number of a result of the program, a new one for a new key."""
        if key not in self._numbers:
            self._numbers[key] = len(self.returned)
            self.returned.append(make())
        return self._numbers[key]


def storage_owner(node: fx.Node) -> fx.Node:
    """Follow a chain of views back to the node whose storage they look at."""
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
