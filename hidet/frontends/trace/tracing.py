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
    from hidet.frontends.torch.imported import ImportedGraph
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


def of_parts(
    function: Callable[..., Sequence[torch.Tensor]],
    is_complex: Sequence[bool],
    results: list[torch.Tensor],
) -> Callable[..., list[torch.Tensor]]:
    """Return a function that takes and returns complex tensors as their parts.

    `is_complex` tells which of the arguments are; `results` receives those of the function.
    """

    def call(*tensors: torch.Tensor) -> list[torch.Tensor]:
        given = zip(tensors, is_complex, strict=True)
        results[:] = function(*(complex_of(t[..., 0], t[..., 1]) if c else t for t, c in given))
        return [torch.stack([x.real, x.imag], -1) if x.is_complex() else x for x in results]

    return call


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
    of_complex = {aten.complex.default: complex_of, aten._to_copy.default: to_complex}
    table = {**decompositions(), **batch_norm, **of_complex}
    with (
        compiling(),
        example_mode(),
        torch.no_grad(),
        preserve_node_meta(),
    ):
        is_complex, results = [each.is_complex() for each in examples], list[torch.Tensor]()
        traced: Any = make_fx(of_parts(function, is_complex, results), decomposition_table=table)
        graph = traced(*map(parts_of, examples))
    graph.graph.eliminate_dead_code()  # such as statistics for the backward pass of norms
    imported = import_whole(graph, static, "compute it with torch, on x.torch()")
    for sources in (imported.inputs, imported.constants):
        for n, source in enumerate(sources):
            if isinstance(source.origin, int):
                sources[n] = replace(source, is_complex=is_complex[source.origin])
    imported.outputs = [
        replace(returned, dtype=result.dtype) if result.is_complex() else returned
        for returned, result in zip(imported.outputs, results, strict=True)
    ]
    return imported


def compile_imported(imported: ImportedGraph, **options: object) -> CompiledProgram:
    """Return the compiled program, which takes the list of the function's tensors."""
    from hidet.frontends.torch.program import CompiledProgram
    from hidet.frontends.torch.settings import Settings

    return CompiledProgram(imported, Settings(fallback=False, options=options))


def precisions() -> tuple[str, str]:
    """Return torch's float32 precision for matmuls and convolutions: "ieee" or "tf32"."""
    from hidet.frontends.torch.nodes import fp32_precision

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
