"""Complex tensors of programs: their real and imaginary parts, in a last dimension of 2.

The elements of programs are real. While a function is traced, torch's `ComplexTensor` decomposes
its complex operators into operators on the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from hidet.frontends.torch.storage import parts_of

if TYPE_CHECKING:
    from hidet.frontends.torch.imported import ImportedGraph, Source


aten = torch.ops.aten


def complex_of(real: torch.Tensor, imag: torch.Tensor) -> torch.Tensor:
    """Return the complex tensor with these parts."""
    from torch._subclasses.complex_tensor import ComplexTensor

    return ComplexTensor(real, imag)


def to_complex(x: torch.Tensor, *, dtype: torch.dtype | None = None, **_: object) -> Any:
    """Return a real tensor as a complex one; the decomposition of `_to_copy`, of no other copy."""
    if dtype is None or not dtype.is_complex or x.is_complex():
        return NotImplemented
    real = x.to(dtype.to_real())
    return complex_of(real, torch.zeros_like(real))


DECOMPOSITIONS = {aten.complex.default: complex_of, aten._to_copy.default: to_complex}
"""Those of operators that make complex tensors of real ones."""


class FunctionOfParts:
    """A function of tensors that takes and returns complex tensors as their parts.

    Its `examples` are the parts of those of the function that it wraps.
    """

    def __init__(
        self, function: Callable[..., Sequence[torch.Tensor]], examples: Sequence[torch.Tensor]
    ) -> None:
        self._function = function
        self._complex = [example.is_complex() for example in examples]
        self._results: list[torch.dtype | None] = []
        self.examples = [parts_of(example) for example in examples]

    def __call__(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        """Call the function; note which of its results are complex."""
        given = [
            complex_of(tensor[..., 0], tensor[..., 1]) if is_complex else tensor
            for tensor, is_complex in zip(tensors, self._complex, strict=True)
        ]
        results: list[Any] = list(self._function(*given))
        self._results = [each.dtype if each.is_complex() else None for each in results]
        return [
            each if dtype is None else torch.stack([each.real, each.imag], -1)
            for each, dtype in zip(results, self._results, strict=True)
        ]

    def restore(self, imported: ImportedGraph) -> ImportedGraph:
        """Let an imported graph of the function take and return complex tensors; return it."""
        if any(self._complex) or any(self._results):
            imported.inputs = [*map(self._source, imported.inputs)]
            imported.constants = [*map(self._source, imported.constants)]
            imported.outputs = [
                returned if dtype is None else replace(returned, dtype=dtype)
                for returned, dtype in zip(imported.outputs, self._results, strict=True)
            ]
        return imported

    def _source(self, source: Source) -> Source:
        """Return a source, of the parts where an argument is complex."""
        is_complex = isinstance(source.origin, int) and self._complex[source.origin]
        return replace(source, is_complex=is_complex)
