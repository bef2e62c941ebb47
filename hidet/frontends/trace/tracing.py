"""Traces functions of torch tensors, and imports and compiles them.

The elements of programs are real. While a function is traced, torch's `ComplexTensor` decomposes
its complex operators into operators on the real and imaginary parts, in a last dimension of 2.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from hidet.frontends.script.types import tensor_dtype
from hidet.frontends.torch.storage import Spec, parts_of

if TYPE_CHECKING:
    from hidet.frontends.torch.imported import ImportedGraph, Source
    from hidet.frontends.torch.program import CompiledProgram


aten = torch.ops.aten


def example_of(spec: Spec) -> torch.Tensor:
    """Return a fake tensor for a spec."""
    with example_mode():
        return spec.empty()


@cache
def example_mode() -> FakeTensorMode:
    """Return the only fake tensor mode, since torch does not mix tensors of different modes."""
    return FakeTensorMode()


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


def import_function(
    function: Callable[..., Sequence[torch.Tensor]],
    examples: Sequence[torch.Tensor],
    static: Collection[int] = (),
) -> ImportedGraph:
    """Trace a function and import it into the graph dialect.

    It takes tensors like the examples, fake tensors of `example_mode`, and returns a list of
    tensors. The examples with a number in `static` are constants.

    Raises:
        HidetError: the function uses an unsupported operator, or mixes devices.
    """
    # Imported lazily, since creating tensors does not need them.
    from torch._decomp.decompositions import native_batch_norm_decomposition
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.fx.traceback import preserve_node_meta

    from hidet.frontends.torch.compiling import compiling
    from hidet.frontends.torch.decompositions import decompositions
    from hidet.frontends.torch.importer import import_whole

    # AOTAutograd applies this decomposition itself.
    batch_norm = {aten.native_batch_norm.default: native_batch_norm_decomposition}
    table = {**decompositions(), **batch_norm, **DECOMPOSITIONS}
    with (
        compiling(),
        example_mode(),
        torch.no_grad(),
        preserve_node_meta(),
    ):
        parts = FunctionOfParts(function, examples)
        traced: Any = make_fx(parts, decomposition_table=table)
        graph = traced(*parts.examples)
    graph.graph.eliminate_dead_code()  # such as statistics for the backward pass of norms
    return parts.restore(import_whole(graph, static, "compute it with torch, on x.torch()"))


def compile_imported(imported: ImportedGraph, **options: object) -> CompiledProgram:
    """Return the compiled program, which takes the list of the function's tensors."""
    from hidet.frontends.torch.program import CompiledProgram
    from hidet.frontends.torch.settings import Settings

    return CompiledProgram(imported, Settings(fallback=False, options=options))


def precisions() -> tuple[str, str]:
    """Return torch's float32 precision for matmuls and convolutions: "ieee" or "tf32"."""
    from hidet.frontends.torch.operators.emitter import fp32_precision

    return fp32_precision("matmul"), fp32_precision("conv")


def torch_dtype(dtype: object) -> torch.dtype:
    """Return the torch type of a hidet type or its name."""
    if isinstance(dtype, torch.dtype):
        return dtype
    found: torch.dtype = getattr(torch, tensor_dtype(dtype).name)
    return found


def torch_device(device: object) -> torch.device:
    """Return the torch device of a device or its name."""
    return device if isinstance(device, torch.device) else torch.device(str(device))
