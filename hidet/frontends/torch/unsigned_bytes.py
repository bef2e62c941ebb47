"""Unsigned bytes, `torch.uint8`: in memory they are i8, in programs i16 from 0 to 255.

The IR has no signs. So bytes are widened where they are read, and cut where they are returned; in
between, what may have left 0 to 255 is brought back there, as torch's bytes wrap around.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch.fx.node import map_arg
from xdsl.dialects.builtin import i8, i16
from xdsl.ir import SSAValue

from hidet.dialects import graph
from hidet.frontends.torch.operators.emitter import Emitter, Results, unsupported

aten = torch.ops.aten

WRAPPING = {"add", "sub", "mul", "fill", "full", "full_like", "scalar_tensor"}
"""The operators that do the same with a number and what is left of it in a byte."""
NUMBERS = ("other", "self", "min", "max", "value", "exponent")
"""The parameters that are an operand as a tensor would be one."""
LOOKS_UP = ("index", "_unsafe_index", "index_put", "_unsafe_index_put")
"""The operators whose second argument is a list of positions or of a mask."""


def loaded(g: Emitter, stored: SSAValue) -> SSAValue:
    """Give bytes as programs compute them, of bytes as they are in memory."""
    return _in_range(g, g.cast(stored, i16))


def stored(g: Emitter, value: SSAValue) -> SSAValue:
    """Give bytes as they are in memory, of bytes as programs compute them."""
    return g.cast(value, i8)


def wrapped(g: Emitter, node: fx.Node, results: Results) -> Results:
    """Give the results of a node with bytes brought back to 0 to 255."""
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
    """Refuse what means something else for bytes.

    Raises:
        UnsupportedOperatorError: the node takes bytes for a mask, or a number that is none.
    """
    if not any(map(_holds_bytes, node.all_input_nodes)):
        return
    name = getattr(node.target, "_opname", "")
    if name in LOOKS_UP and any(map(_holds_bytes, _nodes(node.args[1]))):
        raise unsupported("an index of unsigned bytes, which is a mask")
    if name in WRAPPING:
        return
    schema: Any = getattr(node.target, "_schema", None)
    parameters = [] if schema is None else [each.name for each in schema.arguments]
    given = dict(zip(parameters, node.args, strict=False)) | node.kwargs
    numbers = [value for name, value in given.items() if name in NUMBERS]
    if any(isinstance(number, int) and not 0 <= number < 256 for number in numbers):
        raise unsupported("a number that is no unsigned byte")


def _nodes(value: Any) -> Sequence[fx.Node]:
    """Give the nodes in a list of them."""
    found: list[fx.Node] = []
    map_arg(value, found.append)  # pyright: ignore[reportArgumentType]
    return found


def _holds_bytes(node: fx.Node) -> bool:
    value: Any = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype is torch.uint8
