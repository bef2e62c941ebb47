"""The parameters of functions that stand for themselves: kernels, and public functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.ir import BlockArgument

from hidet.errors import ScriptError
from hidet.frontends.script.emitter import Emitter
from hidet.frontends.script.launches import Parameter
from hidet.frontends.script.memory import tensor_of
from hidet.frontends.script.source import Source
from hidet.frontends.script.tensor_maps import TensorMap, TensorMapType
from hidet.frontends.script.types import (
    PointerType,
    ScalarType,
    TensorType,
    VectorType,
    scalar_type,
)
from hidet.frontends.script.values import Pointer, Scalar, VoidPointer, describe


@dataclass(frozen=True)
class TypeList:
    """`meta.types([i32, f32])`: a parameter that is a tuple, one value for each type.

    Callers of the host pass the values one after the other.

    Attributes:
        types: the types.
    """

    types: Sequence[object]

    def __post_init__(self) -> None:
        object.__setattr__(self, "types", tuple(self.types))

    def values(self, what: str, value: object) -> tuple[object, ...]:
        """Return the values of a tuple that a caller gives.

        Raises:
            ScriptError: it is none, or has another number of values.
        """
        is_tuple = isinstance(value, tuple | list)
        values = tuple(cast("Sequence[object]", value)) if is_tuple else ()
        if len(values) != len(self.types):
            raise ScriptError(
                f"{what} is {self}, and got {describe(value)}",
                hint=f"a tuple of {len(self.types)} values",
            )
        return values

    def __str__(self) -> str:
        return f"meta.types({list(self.types)})"


def entry_parameters(
    source: Source, annotations: Mapping[str, object], what: str
) -> tuple[Parameter, ...]:
    """Return the parameters of a function that stands for itself; a list of types gives several.

    Args:
        source: the function.
        annotations: the annotations of its parameters.
        what: "kernel" or "function".

    Raises:
        ScriptError: a parameter has no type that memory or a number can have, or is none of the
            plain ones.
    """
    node = source.function.args
    for each in (node.vararg, *node.kwonlyargs, *node.defaults):
        if each is not None:
            raise source.error(
                each,
                f"a {what} takes plain parameters only",
                "name each of them; meta.types([i32, f32]) is a tuple of several",
            )
    parameters: list[Parameter] = []
    for argument in (*node.posonlyargs, *node.args):
        name, kind = argument.arg, annotations.get(argument.arg)
        try:
            if isinstance(kind, TypeList):
                each = (_parameter(f"{name}{n}", one, what) for n, one in enumerate(kind.types))
                parameters.extend(each)
            else:
                parameters.append(_parameter(name, kind, what))
        except ScriptError as error:
            raise source.locate(argument, error) from error
    return tuple(parameters)


def _parameter(name: str, kind: object, what: str) -> Parameter:
    """Return a parameter of some type."""
    if kind is None:
        raise ScriptError(f"the parameter '{name}' of a {what} has no type", hint=f"{name}: f32[n]")
    if isinstance(kind, TensorType) and kind.is_spread:
        raise ScriptError(
            f"the layout {kind.layout} spreads elements over threads, but '{name}' lies in global "
            "memory",
            hint="use row_major and column_major alone",
        )
    if isinstance(kind, VectorType):
        elements = f"meta.types([{kind.element}] * {kind.lanes})"
        raise ScriptError(
            f"the parameter '{name}' of a {what} is a vector, {kind}",
            hint=f"{name}: ~{kind}, a pointer to it, or {name}: {elements}",
        )
    if isinstance(kind, TensorMapType):
        kind.check()
    is_memory = isinstance(kind, TensorType | PointerType | TensorMapType)
    return Parameter(name, kind if is_memory else scalar_type(kind))


def value_of(emitter: Emitter, argument: BlockArgument, kind: object) -> object:
    """Return what a parameter of the IR is in the script."""
    match kind:
        case TensorType():
            return tensor_of(argument, kind)
        case PointerType(is_void=True):
            return VoidPointer(argument)
        case PointerType(element, lanes):
            return Pointer(argument, element, (0,), lanes)
        case TensorMapType():
            return TensorMap(argument, kind)
        case _:
            assert isinstance(kind, ScalarType)
            return Scalar(emitter, argument, kind)


def grouped(
    node: ast.arguments, annotations: Mapping[str, object], values: Sequence[object]
) -> dict[str, object]:
    """Return the values by the names of the parameters, those of a list of types as a tuple."""
    left = iter(values)
    return {
        name: tuple(next(left) for _ in kind.types) if isinstance(kind, TypeList) else next(left)
        for name, kind in (
            (each.arg, annotations.get(each.arg)) for each in (*node.posonlyargs, *node.args)
        )
    }


def spread(
    annotations: Mapping[str, object],
    given: Mapping[str, object],
    named: Callable[[str], str],
) -> list[object]:
    """Return arguments one after the other, those for a list of types out of their tuple.

    Raises:
        ScriptError: what a list of types gets is no tuple, or has another number of values.
    """
    values: list[object] = []
    for name, value in given.items():
        kind = annotations.get(name)
        values.extend(kind.values(named(name), value) if isinstance(kind, TypeList) else [value])
    return values
