"""The table of operators: functions of torch by name and opset."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import torch

T: TypeAlias = torch.Tensor
Ints: TypeAlias = list[int]
"""A constant operand: a tensor of rank 1, as a list."""
Number: TypeAlias = float
"""A constant operand: a tensor of one element, as a number."""
KnownTensor: TypeAlias = torch.Tensor
"""A constant operand, as a tensor on the CPU."""

_KINDS: dict[str, Callable[[torch.Tensor], Any]] = {
    "Ints": torch.Tensor.tolist,
    "Number": torch.Tensor.item,
    "KnownTensor": torch.clone,
}


@dataclass(frozen=True)
class Row:
    """An operator.

    Attributes:
        function: takes the operands by position and the attributes by name; returns one tensor or
            several.
        since: the first opset of this form.
        of_shapes: it depends only on the shapes and types of its operands, so that its results are
            constants.
    """

    function: Callable[..., Any]
    since: int
    of_shapes: bool

    def readers(self, count: int) -> list[Callable[[T], Any] | None]:
        """Return how each of `count` operands is read, if it has to be constant."""
        try:
            parameters = list(inspect.signature(self.function).parameters.values())
        except ValueError:  # of torch's own functions, which are written in C++
            return [None] * count
        kinds = [str(p.annotation).removesuffix(" | None") for p in parameters]
        named = [p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters]
        found = [_KINDS.get(kind) for kind, is_named in zip(kinds, named, strict=True) if is_named]
        return [*found, *[None] * count][:count]

    def with_outputs(self, attributes: Mapping[str, Any], count: int) -> dict[str, Any]:
        """Return attributes with the number of the outputs, if the function asks for it."""
        asks = "outputs" in getattr(self.function, "__annotations__", {})
        return {**attributes, "outputs": count} if asks else dict(attributes)


TABLE: dict[str, list[Row]] = {}
"""The rows of each operator, the latest first."""

F = TypeVar("F", bound=Callable[..., Any])


def row(name: str, since: int = 1, *, of_shapes: bool = False) -> Callable[[F], F]:
    """Add a function to the table; see `Row`."""

    def enter(function: F) -> F:
        rows = TABLE.setdefault(name, [])
        assert since not in {each.since for each in rows}, f"two rows for {name}, opset {since}"
        rows.append(Row(function, since, of_shapes))
        rows.sort(key=lambda each: -each.since)
        return function

    return enter


def rows(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Add functions of torch with the same semantics and attributes in all opsets."""
    for name, function in functions.items():
        row(name)(function)


def find(name: str, opset: int) -> Row | None:
    """Return the row of an operator, None if there is none."""
    return next((each for each in TABLE.get(name, []) if each.since <= opset), None)
