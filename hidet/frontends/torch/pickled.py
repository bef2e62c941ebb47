"""Pickles graphs of ATen operators.

Torch's own GraphPickler refuses functions that are not torch's, such as `saved.unpack`.
"""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.fx.node import map_aggregate
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_map_only

from hidet.frontends.torch.operators.emitter import Overload


def pickled(module: fx.GraphModule) -> bytes | None:
    """Return a graph of ATen operators as bytes; None if it holds what cannot be pickled.

    Of the metadata of nodes they have the values, but not the lines of the user: in the process
    that reads them these may be others.
    """
    try:
        return pickle.dumps(_flattened(module))
    except (TypeError, AttributeError, RuntimeError, pickle.PicklingError):
        return None


def unpickled(stored: bytes) -> fx.GraphModule:
    """Return the graph of these bytes."""
    flat: _Graph = pickle.loads(stored)
    return _restored(flat)


@dataclass(frozen=True)
class _Operator:
    """An operator, such as "aten::add.Tensor"."""

    name: str

    def find(self) -> Any:
        """Return the operator."""
        namespace, name = self.name.split("::")
        name, _, overload = name.partition(".")
        return getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")


@dataclass(frozen=True)
class _Result:
    """The result of a node, by its position in the graph."""

    position: int


@dataclass(frozen=True)
class _Value:
    """A fake tensor: a view, in elements, of a storage, which has a number."""

    storage: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: torch.dtype
    device: torch.device


@dataclass(frozen=True)
class _Node:
    """A node; `arguments` are positional and keyword ones."""

    operation: str
    name: str
    target: Any
    arguments: Any
    value: Any


@dataclass(frozen=True)
class _Graph:
    """A graph: its nodes, the tensors that it holds, and the bytes of each storage of values."""

    nodes: list[_Node]
    held: dict[str, torch.Tensor]
    sizes: list[int]


class _Describer:
    """Describes fake tensors, and numbers their storages."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        """The bytes of each storage."""
        self._numbers: dict[StorageWeakRef, int] = {}

    def __call__(self, tensor: torch.Tensor) -> _Value:
        """Return the value of a tensor."""
        storage = _plain(tensor).untyped_storage()
        number = self._numbers.setdefault(StorageWeakRef(storage), len(self.sizes))
        if number == len(self.sizes):
            self.sizes.append(storage.nbytes())
        layout = tuple(tensor.shape), tensor.stride(), int(tensor.storage_offset())
        return _Value(number, *layout, tensor.dtype, tensor.device)


class _Maker:
    """Makes fake tensors of values, on as many storages."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._mode = FakeTensorMode()
        bases = (torch.empty(size, dtype=torch.int8, device="meta") for size in sizes)
        self._storages = [base.untyped_storage() for base in bases]

    def __call__(self, value: _Value) -> FakeTensor:
        """Return the tensor of a value."""
        tensor: Any = torch.empty(0, dtype=value.dtype, device="meta")
        tensor.set_(self._storages[value.storage], value.offset, value.shape, value.strides)
        return FakeTensor(self._mode, tensor, value.device)


def _flattened(module: fx.GraphModule) -> _Graph:
    """Return a graph without references between its nodes.

    Raises:
        TypeError: it holds other values than plain tensors.
    """
    positions = {node: number for number, node in enumerate(module.graph.nodes)}
    holding = module.graph.find_nodes(op="get_attr")
    held = {str(node.target): _plain(getattr(module, str(node.target))) for node in holding}
    describe = _Describer()

    def result(each: Any) -> Any:
        return _Result(positions[each]) if isinstance(each, fx.Node) else each

    nodes: list[_Node] = []
    for node in module.graph.nodes:
        is_operator = isinstance(node.target, Overload)
        target = _Operator(node.target.name()) if is_operator else node.target
        arguments = map_aggregate((node.args, node.kwargs), result)
        value = tree_map_only(torch.Tensor, describe, node.meta.get("val"))
        nodes.append(_Node(node.op, node.name, target, arguments, value))
    return _Graph(nodes, held, describe.sizes)


def _restored(flat: _Graph) -> fx.GraphModule:
    """Return the graph that was flattened."""
    graph, nodes = fx.Graph(), list[fx.Node]()

    def result(each: Any) -> Any:
        return nodes[each.position] if isinstance(each, _Result) else each

    with unset_fake_temporarily():
        make = _Maker(flat.sizes)
        for each in flat.nodes:
            args, kwargs = map_aggregate(each.arguments, result)
            target = each.target.find() if isinstance(each.target, _Operator) else each.target
            node = graph.create_node(each.operation, target, args, kwargs, each.name)
            if each.value is not None:
                node.meta["val"] = tree_map_only(_Value, make, each.value)
            nodes.append(node)
        return fx.GraphModule(flat.held, graph)


def _plain(tensor: object) -> torch.Tensor:
    """Return a tensor that its sizes, strides and data type describe."""
    if (
        type(tensor) not in (torch.Tensor, torch.nn.Parameter, FakeTensor)
        or not isinstance(tensor, torch.Tensor)
        or tensor.layout is not torch.strided
        or tensor.is_conj()
        or tensor.is_neg()
    ):
        raise TypeError(f"{type(tensor).__name__} is no plain tensor")
    return tensor
