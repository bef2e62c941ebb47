"""Traces functions of torch tensors, and imports and compiles them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from hidet.frontends.torch.storage import Spec
from hidet.frontends.trace.parts import DECOMPOSITIONS, FunctionOfParts

if TYPE_CHECKING:
    from hidet.frontends.torch.imported import ImportedGraph
    from hidet.frontends.torch.program import CompiledProgram


from hidet.frontends.script.types import tensor_dtype


def example_of(spec: Spec) -> torch.Tensor:
    """Return a fake tensor for a spec."""
    with example_mode():
        return spec.empty()


@cache
def example_mode() -> FakeTensorMode:
    """Return the only fake tensor mode, since torch does not mix tensors of different modes."""
    return FakeTensorMode()


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
    batch_norm = {torch.ops.aten.native_batch_norm.default: native_batch_norm_decomposition}
    table = {**decompositions(), **batch_norm, **DECOMPOSITIONS}
    with (
        compiling(),
        example_mode(),
        torch.no_grad(),
        preserve_node_meta(),
    ):
        parts = FunctionOfParts(function, examples)
        traced: Any = make_fx(parts, decomposition_table=table)
        aten = traced(*parts.examples)
    aten.graph.eliminate_dead_code()  # such as statistics for the backward pass of norms
    return parts.restore(import_whole(aten, static, "compute it with torch, on x.torch()"))


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
