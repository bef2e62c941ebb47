"""Unsigned bytes, `torch.uint8`: i8 in memory, i16 from 0 to 255 in programs.

The IR has signless integers. So bytes are extended where they are read, and truncated where they
are returned; in between, results are masked to 0 to 255, as torch's bytes wrap around.
"""

from typing import Any

import torch
from torch import fx
from torch.fx.node import map_arg
from xdsl.dialects.builtin import i8, i16
from xdsl.ir import SSAValue

from hidet.dialects import graph
from hidet.frontends.torch.nodes import named
from hidet.frontends.torch.operators.emitter import Emitter, Results, unsupported

WRAPPING = {"add", "sub", "mul", "fill", "full", "full_like", "scalar_tensor"}
"""The operators for which a scalar may be reduced modulo 256."""
NUMBERS = ("other", "self", "min", "max", "value", "exponent")
"""The scalar parameters that are operands."""
LOOKS_UP = ("index", "_unsafe_index", "index_put", "_unsafe_index_put")
"""The operators whose second argument is a list of indices or a mask."""


def loaded(g: Emitter, stored: SSAValue) -> SSAValue:
    """Return bytes in memory as i16."""
    return _in_range(g, g.cast(stored, i16))


def stored(g: Emitter, value: SSAValue) -> SSAValue:
    """Return bytes as they are in memory."""
    return g.cast(value, i8)


def wrapped(g: Emitter, node: fx.Node, results: Results) -> Results:
    """Return the results of a node, with bytes masked to 0 to 255."""
    value: Any = node.meta["val"]
    if not isinstance(results, tuple):
        return _wrapped(g, value, results)
    return tuple(
        None if result is None else _wrapped(g, tensor, result)
        for tensor, result in zip(value, results, strict=False)
    )


def _wrapped(g: Emitter, tensor: Any, result: SSAValue) -> SSAValue:
    if not isinstance(tensor, torch.Tensor) or tensor.dtype is not torch.uint8:
        return result
    is_view = isinstance(result.owner, graph.ReshapeOp | graph.PermuteOp | graph.SliceOp)
    return result if is_view else _in_range(g, g.cast(result, i16))


def _in_range(g: Emitter, value: SSAValue) -> SSAValue:
    return g.emit(graph.BitwiseAndOp(value, g.scalar(255, i16)))


def refuse(node: fx.Node) -> None:
    """Check that a node computes the same on bytes as on i16.

    Raises:
        UnsupportedOperatorError: the node uses bytes as a mask, or a scalar that is not a byte.
    """
    if not any(map(_holds_bytes, node.all_input_nodes)):
        return
    name = getattr(node.target, "_opname", "")
    indices: list[fx.Node] = []
    if name in LOOKS_UP:
        map_arg(node.args[1], indices.append)  # pyright: ignore[reportArgumentType]
    if any(map(_holds_bytes, indices)):
        raise unsupported("an index of unsigned bytes, which is a mask")
    if name in WRAPPING:
        return
    given = named(node.target, node.args, node.kwargs)
    numbers = [value for name, value in given.items() if name in NUMBERS]
    if any(isinstance(number, int) and not 0 <= number < 256 for number in numbers):
        raise unsupported("a number that is not an unsigned byte")


def _holds_bytes(node: fx.Node) -> bool:
    value: Any = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype is torch.uint8
