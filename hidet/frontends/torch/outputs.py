"""Binds the outputs of an FX graph to results of the program or to arguments, with their layout.

torch fixes the strides of an output and which outputs share storage. A program returns new
contiguous tensors. So an output that is a view of an argument is made from the argument, and a view
of an intermediate from the whole intermediate, by `as_strided` after the program has run, as eager
torch does.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx
from xdsl.ir import SSAValue

from hidet.frontends.torch.imported import Returned, Source
from hidet.frontends.torch.nodes import first_tensor
from hidet.frontends.torch.operators.emitter import Emitter
from hidet.frontends.torch.saved import pack
from hidet.frontends.torch.storage import View, physical_order, storage_owner, view_from
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
    packed: list[SSAValue] = field(default_factory=list[SSAValue])
    """Those that it returns in one tensor after the others."""
    bounds: list[int] = field(default_factory=list[int])
    """Their offsets in that tensor, and its size."""
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
            Returned("value", output)
            if not isinstance(output, fx.Node)
            else self._pack(output)
            if output.target is pack
            else self._bind(output, storage_owner(output), owners)
            for output in outputs
        ]

    def _pack(self, output: fx.Node) -> Returned:
        """Return the tensor that others are packed into."""
        packed: Any = output.args
        nodes, places, size = packed
        for node in nodes:
            tensor, value = first_tensor(node), self.operand(node)
            order = physical_order(tensor)
            assert order is not None, "saved tensors are packed if they have an order"
            self.packed.append(value if tensor.is_contiguous() else self.g.permute(value, order))
        self.bounds = [*(place.start for place in places), size]
        return Returned("result", -1)

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
        is_source = value in self.sources and self.sources[value].start is None
        if is_source and value not in self.written:
            return Returned("copy", self.sources[value].origin, view)
        dtype = torch.uint8 if first_tensor(output).dtype is torch.uint8 else None
        if dtype is not None:
            if value not in self._bytes:
                self._bytes[value] = stored(self.g, value)
            value = self._bytes[value]
        if value not in self.returned:
            self.returned.append(value)
        return Returned("result", self.returned.index(value), view, dtype)
