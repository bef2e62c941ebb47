"""Pickles graphs of ATen operators.

Torch's own GraphPickler refuses functions that are not torch's, such as `saved.unpack`.
"""

import pickle
from collections.abc import Callable
from functools import cached_property
from hashlib import sha256
from io import BytesIO
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.multiprocessing.reductions import StorageWeakRef

from hidet.frontends.torch.nodes import Overload


class AtenGraph:
    """A graph of ATen operators, whose nodes are made only if they are needed.

    Attributes:
        key: what tells it from others, in any process; None if it cannot be pickled.
    """

    def __init__(self, key: str | None, make: Callable[[], fx.GraphModule]) -> None:
        self.key = key
        self._make = make

    @staticmethod
    def of(module: fx.GraphModule, stored: bytes | None) -> "AtenGraph":
        """Return a graph that is there, given what `pickled` returned."""
        return AtenGraph(None if stored is None else sha256(stored).hexdigest(), lambda: module)

    @staticmethod
    def stored(stored: bytes) -> "AtenGraph":
        """Return the graph of bytes of `pickled`."""
        return AtenGraph(sha256(stored).hexdigest(), lambda: unpickled(stored))

    def derived(self, what: str, make: Callable[[], fx.GraphModule]) -> "AtenGraph":
        """Return a graph that this one and `what` determine."""
        return AtenGraph(None if self.key is None else f"{self.key} {what}", make)

    @cached_property
    def module(self) -> fx.GraphModule:
        """The graph."""
        return self._make()


def pickled(module: fx.GraphModule) -> bytes | None:
    """Return a graph of ATen operators as bytes; None if it holds what cannot be pickled.

    Of the metadata of nodes they have the values, but not the lines of the user: in the process
    that reads them these may be others.
    """
    stream, nodes = BytesIO(), list(module.graph.nodes)
    pickler = _Pickler(stream, nodes)
    names = {str(node.target) for node in nodes if node.op == "get_attr"}
    try:
        pickler.dump((len(nodes), {name: getattr(module, name) for name in names}))
        for node in nodes:
            call = node.op, node.target, node.args, node.kwargs, node.name
            pickler.dump((call, node.meta.get("val")))
    except (TypeError, AttributeError, RuntimeError, pickle.PicklingError):
        return None
    return stream.getvalue()


def unpickled(stored: bytes) -> fx.GraphModule:
    """Return the graph of these bytes."""
    unpickler, graph = _Unpickler(BytesIO(stored)), fx.Graph()
    with unset_fake_temporarily():
        count, held = unpickler.load()
        for _ in range(count):
            call, value = unpickler.load()
            node = graph.create_node(*call)
            if value is not None:
                node.meta["val"] = value
            unpickler.nodes.append(node)
        return fx.GraphModule(held, graph)


class _Pickler(pickle.Pickler):
    """Writes nodes by their position, operators by their name, and fake tensors by their layout."""

    def __init__(self, stream: BytesIO, nodes: list[fx.Node]) -> None:
        super().__init__(stream)
        self._positions = {node: number for number, node in enumerate(nodes)}
        self._storages: dict[StorageWeakRef, int] = {}

    def persistent_id(self, obj: Any) -> tuple[Any, ...] | None:
        """Return how `_Unpickler` finds or makes an object; None if it is pickled as usual.

        Raises:
            TypeError: a fake tensor has more than a layout and a data type.
        """
        if isinstance(obj, fx.Node):
            return "node", self._positions[obj]
        if isinstance(obj, Overload):
            return "operator", obj.name()
        if not isinstance(obj, FakeTensor):
            return None
        if obj.layout is not torch.strided or obj.is_conj() or obj.is_neg():
            raise TypeError("a layout does not describe the tensor")
        storage = obj.untyped_storage()
        number = self._storages.setdefault(StorageWeakRef(storage), len(self._storages))
        layout = int(obj.storage_offset()), tuple(obj.shape), obj.stride()
        return "tensor", number, storage.nbytes(), layout, obj.dtype, obj.device


class _Unpickler(pickle.Unpickler):
    """Reads what `_Pickler` writes, fake tensors on the storages that they share."""

    def __init__(self, stream: BytesIO) -> None:
        super().__init__(stream)
        self.nodes: list[fx.Node] = []
        """Those that are read already."""
        self._mode = FakeTensorMode()
        self._storages: dict[int, torch.UntypedStorage] = {}

    def persistent_load(self, pid: Any) -> Any:
        """Return the object of what `persistent_id` returned."""
        kind, *found = pid
        made: Any = {"node": self._node, "operator": _operator, "tensor": self._tensor}[kind]
        return made(*found)

    def _node(self, position: int) -> fx.Node:
        """Return the node at a position."""
        return self.nodes[position]

    def _tensor(
        self, number: int, size: int, layout: Any, dtype: torch.dtype, device: torch.device
    ) -> FakeTensor:
        """Return a fake tensor."""
        if number not in self._storages:
            base = torch.empty(size, dtype=torch.int8, device="meta")
            self._storages[number] = base.untyped_storage()
        tensor: Any = torch.empty(0, dtype=dtype, device="meta")
        tensor.set_(self._storages[number], *layout)
        return FakeTensor(self._mode, tensor, device)


def _operator(name: str) -> Any:
    """Return the operator of a name, such as "aten::add.Tensor"."""
    namespace, _, name = name.partition("::")
    name, _, overload = name.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")
