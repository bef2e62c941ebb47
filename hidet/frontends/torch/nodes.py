"""Queries on FX nodes and on torch's flags, which need no compiler."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

import torch
from torch import fx
from torch._higher_order_ops.effects import with_effects

Overload: TypeAlias = torch._ops.OpOverload  # pyright: ignore[reportPrivateUsage]
"""One signature of an ATen operator, such as `aten.add.Tensor`."""


def overloads_of(name: str, operands: int) -> list[Overload]:
    """Return the ATen overloads of a name that map tensors, or numbers, to one tensor.

    The name may be that of an operation, such as `graph.add`; `operands` is their number.
    """
    packet = getattr(torch.ops.aten, name.removeprefix("graph."), None)
    found = [getattr(packet, name) for name in packet.overloads()] if packet is not None else []
    return [
        target
        for target in found
        if [str(result.type) for result in target._schema.returns] == ["Tensor"]
        and [str(argument.type) in ("Tensor", "number") for argument in target._schema.arguments]
        == [True] * operands
    ]


def first_tensor(node: fx.Node) -> torch.Tensor:
    """Return the fake tensor of a node's result, the first of several."""
    value: Any = node.meta["val"]
    if isinstance(value, tuple | list):
        parts = cast("Sequence[Any]", value)
        value = next((part for part in parts if isinstance(part, torch.Tensor)), parts[0])
    return cast("torch.Tensor", value)


def named(target: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by the names in the schema of its operator, if it has one."""
    schema: Any = getattr(target, "_schema", None)
    names = () if schema is None else (each.name for each in schema.arguments)
    return {**dict(zip(names, arguments, strict=False)), **keywords}


def draws_numbers(node: fx.Node) -> bool:
    """Return whether a call draws from torch's generators; attention does so only for dropout."""
    target: Any = node.target
    if torch.Tag.nondeterministic_seeded not in getattr(target, "tags", ()):
        return False
    if all(argument.name != "dropout_p" for argument in target._schema.arguments):
        return True
    return bool(named(target, node.args, node.kwargs).get("dropout_p"))


_CHECKS = (
    torch.ops.aten._assert_async.default,
    torch.ops.aten._assert_async.msg,
    torch.ops.aten._linalg_check_errors.default,
)


def raises_errors(node: fx.Node) -> bool:
    """Return whether a call only raises an error of torch if data are invalid."""
    return node.target in _CHECKS or (node.target is with_effects and node.args[1] in _CHECKS)


def may_be_tf32(result: torch.Tensor) -> bool:
    """Return whether torch's flags for TF32 apply to a contraction with this result."""
    return result.dtype is torch.float32 and result.device.type == "cuda"


# Every call with a convolution reads them, and attributes of torch's modules take 0.5 us.
_FLAGS: dict[str, Any] = {
    "matmul": torch.backends.cuda.matmul,
    "conv": torch.backends.cudnn.conv,  # pyright: ignore[reportAttributeAccessIssue]
}


def fp32_precision(kind: Literal["matmul", "conv"]) -> str:
    """Return torch's precision of a kind of contractions: "ieee" or "tf32"."""
    return "tf32" if _FLAGS[kind].fp32_precision == "tf32" else "ieee"
