"""Packs the tensors that a forward graph saves for its backward graph into one.

Networks save hundreds of tensors, and the host takes some 4 us for each in a training step: it is
allocated, recorded by autograd, and read in the backward pass. Packed, they are one allocation,
and the launches of both programs access them at offsets that are known when these are compiled.
"""

from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor, fx

from hidet.frontends.torch.philox import DRAW
from hidet.frontends.torch.storage import physical_order, storage_owner
from hidet.runtime.plan import align
from hidet.runtime.tensors import DTYPES

_STORED = frozenset(DTYPES.values())
"""The data types that programs store as they are."""


class Place(NamedTuple):
    """Where a tensor lies in a packed one: its first byte there, and its layout."""

    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype


def pack(tensors: Sequence[Tensor], places: Sequence[Place], size: int) -> Tensor:
    """Return a tensor of so many bytes that holds the others at these places.

    Programs write them there in the first place. This is for graphs that are not compiled as a
    whole.
    """
    packed = tensors[0].new_empty(size, dtype=torch.int8)
    for tensor, place in zip(tensors, places, strict=True):
        unpack(packed, place).copy_(tensor)
    return packed


def unpack(packed: Tensor, place: Place) -> Tensor:
    """Return the tensor at a place of a packed one, a view."""
    start, shape, strides, dtype = place
    part = packed[start : start + prod(shape) * dtype.itemsize].view(dtype)
    return part.as_strided(shape, strides)


def place_of(node: fx.Node) -> tuple[fx.Node, Place]:
    """Return the packed tensor that a call of `unpack` reads, and the place there."""
    arguments: Any = node.args
    packed, place = arguments
    return packed, place


def pack_saved(forward: fx.GraphModule, backward: fx.GraphModule, count: int) -> None:
    """Let a forward graph of `count` results save one tensor for its backward graph, if it can.

    What the two graphs share with others stays apart: arguments, results, and views of them.
    """
    end = forward.graph.output_node()
    returned: Any = end.args[0]
    outputs = list[Any](returned)
    results, saved = outputs[:count], outputs[count:]
    arguments = backward.graph.find_nodes(op="placeholder")[: len(saved)]
    if [node.name for node in arguments] != [getattr(node, "name", None) for node in saved]:
        return  # other values than tensors are saved, which have an order of their own
    chosen = _own(results, saved)
    if len(chosen) < 2:
        return
    size, places = 0, dict[fx.Node, Place]()
    for node in chosen:
        tensor: Tensor = node.meta["val"]
        places[node] = Place(size, tuple(tensor.shape), tensor.stride(), tensor.dtype)
        size += align(tensor.nbytes)
    meta = {**chosen[0].meta, "val": chosen[0].meta["val"].new_empty(size, dtype=torch.int8)}
    with forward.graph.inserting_before(end):
        packed = forward.graph.call_function(pack, (chosen, [*places.values()], size))
    packed.meta = dict(meta)
    others = [count + number for number, node in enumerate(saved) if node not in places]
    end.args = ((*results, packed, *(outputs[number] for number in others)),)
    if descriptions := end.meta.get("desc"):
        kept = [*range(count), outputs.index(chosen[0]), *others]  # that of one stands for all
        end.meta["desc"] = [descriptions[number] for number in kept]
    _read_packed(backward.graph, dict(zip(arguments, saved, strict=True)), places, meta)
    forward.recompile()
    backward.recompile()


def _own(results: Sequence[Any], saved: Sequence[fx.Node]) -> list[fx.Node]:
    """Return the saved tensors on one device that share memory with no argument or result."""
    nodes = {node for node in (*results, *saved) if isinstance(node, fx.Node)}
    owners = Counter(storage_owner(node) for node in nodes)
    found = [
        node
        for node in saved
        if owners[owner := storage_owner(node)] == 1
        and owner.op == node.op == "call_function"
        and node.target is not DRAW
        and _may_be_packed(node.meta["val"])
    ]
    return [node for node in found if node.meta["val"].device == found[0].meta["val"].device]


def _may_be_packed(tensor: object) -> bool:
    """Return whether this is a tensor without gaps, of a data type that programs store as it is."""
    return (
        isinstance(tensor, Tensor)
        and tensor.layout is torch.strided
        and tensor.dtype in _STORED
        and tensor.numel() > 0
        and physical_order(tensor) is not None
    )


def _read_packed(
    graph: fx.Graph,
    arguments: dict[fx.Node, fx.Node],
    places: dict[fx.Node, Place],
    meta: dict[str, Any],
) -> None:
    """Let a backward graph take the packed tensor, first, instead of the arguments in it."""
    first = next(iter(arguments))
    with graph.inserting_before(first):
        packed = graph.placeholder("packed")
    packed.meta = meta
    start = next(node for node in graph.nodes if node.op != "placeholder")
    for argument, node in arguments.items():
        if node in places:
            with graph.inserting_before(start):
                value = graph.call_function(unpack, (packed, places[node]), name=argument.name)
            value.meta = argument.meta
            argument.replace_all_uses_with(value)
            graph.erase_node(argument)
