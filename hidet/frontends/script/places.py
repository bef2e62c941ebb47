"""Where elements lie in a memory with a layout, and in a part of one."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.frontends.script.values import Index
from hidet.mapping import TaskMap


def digits_of(layout: TaskMap, indices: Sequence[Index]) -> list[Index]:
    """Return the digits of an element's place in a memory with a layout."""
    numbers: list[Index] = []
    for digit in layout.repeat_digits:
        number = indices[digit.dim]
        if digit.stride > 1:
            number = number // digit.stride
        if digit.stride * digit.extent < layout.shape[digit.dim]:
            number = number % digit.extent
        numbers.append(number)
    return numbers


def placed(base: Sequence[Index], indices: Sequence[Index]) -> list[Index]:
    """Return the indices of an element of a part of a memory that begins somewhere inside."""
    outer = len(base) - len(indices)
    inner = [
        index if isinstance(first, int) and first == 0 else first + index
        for first, index in zip(base[outer:], indices, strict=True)
    ]
    return [*base[:outer], *inner]
