"""Tensors at the border: the data types of torch, the checks on what a caller passes."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import torch

from hidet.arch.limits import ACCESS_BYTES
from hidet.errors import DeviceMismatchError, HidetError, UnsupportedDtypeError
from hidet.runtime.specs import DtypeName, TensorSpec

DTYPES: dict[DtypeName, torch.dtype] = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "i1": torch.bool,
}
"""torch's data type for each element type of a plan."""

UNSIGNED = ("i8", torch.uint8)
"""What else is let in: programs say themselves what the bits of their bytes mean."""

POINTER_ALIGNMENT = ACCESS_BYTES
"""Kernels read and write vectors of up to so many bytes, so every tensor begins at a multiple."""


def check_tensor(
    tensor: torch.Tensor, spec: TensorSpec, device: torch.device, kind: str, name: object
) -> None:
    """Check a tensor that a caller passes, which may be another one in every call.

    Args:
        tensor: the tensor.
        spec: what the compiled graph takes there.
        device: where the tensor must be.
        kind: what errors call the tensor, "input" or "constant".
        name: and its number or name, which become a text only there.

    Raises:
        DeviceMismatchError: it is on another device.
        UnsupportedDtypeError: it has another data type.
        HidetError: it has another shape, or is not contiguous.
    """
    if tensor.device != device:
        raise DeviceMismatchError(
            f"{kind} {name} is on {tensor.device}, but the call runs on {device}",
            hint="move all tensors of one call to one device",
        )
    if tensor.dtype is not DTYPES[spec.dtype] and (spec.dtype, tensor.dtype) != UNSIGNED:
        raise UnsupportedDtypeError(
            f"{kind} {name} has data type {tensor.dtype}, but the graph was compiled for "
            f"{DTYPES[spec.dtype]}"
        )
    if tensor.shape != spec.shape:
        raise HidetError(
            f"{kind} {name} has shape {tuple(tensor.shape)}, but the graph was compiled for "
            f"{spec.shape}"
        )
    if not tensor.is_contiguous():
        raise HidetError(f"{kind} {name} has strides {tensor.stride()}, but must be contiguous")


def check_count(tensors: Sequence[torch.Tensor], expected: int, what: str) -> None:
    """Check the number of tensors that a caller passes.

    Raises:
        HidetError: it is another number.
    """
    if len(tensors) != expected:
        raise HidetError(f"{len(tensors)} {what} were passed to a graph that takes {expected}")


def output_factories(
    specs: Sequence[TensorSpec], device: torch.device
) -> list[Callable[[], torch.Tensor]]:
    """Give for each output a function that allocates it: contiguous, not initialised.

    Every call allocates, so this takes torch's cheapest ways: on a GPU the one that torch's own
    generated code takes, elsewhere `new_empty` of an empty tensor.
    """
    if device.type == "cuda":
        guards: Any = import_module("torch._C._dynamo.guards")
        return [
            partial(guards._empty_strided_cuda, spec.shape, _strides(spec), DTYPES[spec.dtype])
            for spec in specs
        ]
    return [
        partial(torch.empty(0, dtype=DTYPES[spec.dtype], device=device).new_empty, spec.shape)
        for spec in specs
    ]


def _strides(spec: TensorSpec) -> tuple[int, ...]:
    """Give the strides of a contiguous tensor, in elements."""
    return torch.empty(spec.shape, device="meta").stride()


def view_bytes(memory: torch.Tensor, offset: int, like: torch.Tensor) -> torch.Tensor:
    """View a part of a tensor of bytes as a tensor of the type and shape of another one."""
    return memory[offset : offset + like.nbytes].view(like.dtype).view(like.shape)


def random_tensor(
    spec: TensorSpec, device: torch.device, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Return a tensor of random numbers; integers are 0, which is a position in everything."""
    kind = DTYPES[spec.dtype]
    if kind.is_floating_point:
        return torch.randn(spec.shape, dtype=kind, device=device, generator=generator)
    return torch.zeros(spec.shape, dtype=kind, device=device)
