"""Serializes dataclasses as JSON, and checks annotations when deserializing.

Metadata in the cache may be truncated, edited or written by another version. Reading it returns
values of exactly the annotated types, or raises `CacheError` with the path of the offending field.

Supported are int, str, None, `Literal`, `tuple[X, ...]`, `dict[str, X]`, named tuples (as lists),
dataclasses (as objects; a missing or unknown field is an error), and unions of int, str, None,
named tuples and dataclasses.
"""

import dataclasses
import json
import reprlib
import types
import typing
from functools import cache
from typing import Any, Literal, NoReturn, TypeVar, cast

from hidet.errors import CacheError

T = TypeVar("T")


def encode(value: object, indent: int | None = None) -> str:
    """Return a value as JSON."""
    return json.dumps(value, default=vars, indent=indent)


def parse(text: str, path: str) -> object:
    """Parse JSON; errors name it by `path`.

    Raises:
        CacheError: it is not JSON, or nested too deeply.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise CacheError(f"'{path}' is not JSON: {error}") from error
    except RecursionError as error:
        raise CacheError(f"'{path}' is nested too deeply") from error


def decode(expected: type[T], value: object, path: str) -> T:
    """Convert a value read from JSON to the type `expected`; errors name it by `path`.

    Raises:
        CacheError: the value, or a part of it, is not of the annotated type.
    """
    return cast("T", _decode(expected, value, path))


def _refuse(path: str, wanted: str, value: object) -> NoReturn:
    shown = reprlib.repr(value)  # of a few elements and levels
    raise CacheError(f"field '{path}' must be {wanted}, but is {shown}")


def _decode(expected: Any, value: object, path: str) -> object:
    origin = typing.get_origin(expected)
    if expected in (int, bool, str, types.NoneType):
        return _of_type(expected, f"of type {expected.__name__}", value, path)
    if origin is Literal:
        choices = typing.get_args(expected)
        if value not in choices:
            _refuse(path, f"one of {', '.join(map(repr, choices))}", value)
        return value
    if origin is types.UnionType:
        return _decode_union(expected, value, path)
    if origin is tuple:
        kind, _ = typing.get_args(expected)
        entries = enumerate(_of_type(list, "a list", value, path))
        return tuple(_decode(kind, entry, f"{path}[{index}]") for index, entry in entries)
    if origin is dict:
        _, kind = typing.get_args(expected)
        entries = _of_type(dict, "an object", value, path).items()
        return {key: _decode(kind, entry, f"{path}.{key}") for key, entry in entries}
    if dataclasses.is_dataclass(expected):
        return _decode_dataclass(expected, _of_type(dict, "an object", value, path), path)
    return _decode_named_tuple(expected, _of_type(list, "a list", value, path), path)


def _of_type(expected: type[Any], wanted: str, value: object, path: str) -> Any:
    """Return a value if it has exactly this type: a bool is no int here."""
    if type(value) is not expected:
        _refuse(path, wanted, value)
    return value


def _decode_union(expected: Any, value: object, path: str) -> object:
    choices = typing.get_args(expected)
    for choice in choices:
        if _has_form(choice, value):
            return _decode(choice, value, path)
    _refuse(path, f"of type {' or '.join(choice.__name__ for choice in choices)}", value)


def _has_form(choice: Any, value: object) -> bool:
    """Return whether a value has the form of a member of a union."""
    if dataclasses.is_dataclass(choice):
        return isinstance(value, dict) and value.keys() == _field_types(choice).keys()
    return type(value) is (list if hasattr(choice, "_fields") else choice)


@cache
def _field_types(record: Any) -> dict[str, Any]:
    """Return the annotated type of each field; resolving annotations is slow."""
    return typing.get_type_hints(record)


def _decode_dataclass(expected: Any, value: dict[str, object], path: str) -> object:
    """Return a dataclass, or a named tuple, of fields by name."""
    fields = _field_types(expected)
    if value.keys() != fields.keys():
        missing = sorted(fields.keys() - value.keys())
        unknown = sorted(value.keys() - fields.keys())
        raise CacheError(f"object '{path}' lacks fields {missing} and has unknown ones {unknown}")
    return expected(
        **{name: _decode(kind, value[name], f"{path}.{name}") for name, kind in fields.items()}
    )


def _decode_named_tuple(expected: Any, value: list[object], path: str) -> object:
    fields = _field_types(expected)
    if len(value) != len(fields):
        _refuse(path, f"a list of {len(fields)} entries ({', '.join(fields)})", value)
    return _decode_dataclass(expected, dict(zip(fields, value, strict=True)), path)
