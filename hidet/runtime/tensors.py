"""Torch tensors of callers: data types and checks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
"""The torch data type of each element type."""

UNSIGNED = ("i8", torch.uint8)
"""An additional accepted pair: programs interpret the bits of bytes themselves."""

Layout = tuple[tuple[int, ...], tuple[int, ...]]
"""The shape and the strides of a tensor without gaps and overlaps, in any order of memory."""


@dataclass(frozen=True)
class Layouts:
    """The layouts of tensors that are passed or returned in other ones than the program's."""

    outputs: Mapping[int, Layout] = field(default_factory=dict[int, Layout])
    inputs: Mapping[int, Layout] = field(default_factory=dict[int, Layout])
    constants: Mapping[int, Layout] = field(default_factory=dict[int, Layout])


POINTER_ALIGNMENT = ACCESS_BYTES
"""The alignment of tensors in bytes: kernels access vectors of up to this size."""


def check_tensor(
    tensor: torch.Tensor,
    spec: TensorSpec,
    device: torch.device,
    kind: str,
    name: object,
    layout: Layout | None = None,
) -> None:
    """Check that a caller's tensor matches its spec, and its layout if that is not contiguous.

    Errors name it by `kind` and `name`.

    Raises:
        DeviceMismatchError: it is on another device.
        UnsupportedDtypeError: it has another data type.
        HidetError: it has another shape, or other strides.
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
    shape, strides = layout or (spec.shape, None)
    if tensor.shape != shape:
        raise HidetError(
            f"{kind} {name} has shape {tuple(tensor.shape)}, but the graph was compiled for {shape}"
        )
    if strides is None and not tensor.is_contiguous():
        raise HidetError(f"{kind} {name} has strides {tensor.stride()}, but must be contiguous")
    if strides is not None and not has_strides(tensor, strides):
        raise HidetError(
            f"{kind} {name} has strides {tensor.stride()}, but the graph was compiled for "
            f"{strides}",
            hint="compile it once more after changing the memory format of weights",
        )


def has_strides(tensor: torch.Tensor, strides: Sequence[int]) -> bool:
    """Return whether a tensor has these strides where it has more than one element."""
    order = zip(tensor.shape, tensor.stride(), strides, strict=True)
    return all(size < 2 or stride == wanted for size, stride, wanted in order)


def in_memory(tensor: torch.Tensor) -> torch.Tensor:
    """Return the elements of a tensor without gaps in the order of memory, flat; or itself."""
    return tensor if tensor.is_contiguous() else tensor.as_strided((tensor.numel(),), (1,))


def check_count(tensors: Sequence[torch.Tensor], expected: int, what: str) -> None:
    """Raise `HidetError` unless a caller passes the expected number of tensors."""
    if len(tensors) != expected:
        raise HidetError(f"{len(tensors)} {what} were passed to a graph that takes {expected}")


def output_factories(
    specs: Sequence[TensorSpec], device: torch.device, layouts: Mapping[int, Layout]
) -> list[Callable[[], torch.Tensor]]:
    """Return a function for each output that allocates it, uninitialized.

    Outputs are contiguous, but for those with a layout. Every call allocates, so these are the
    fastest functions of torch: on a GPU that of inductor's generated code, elsewhere a method of an
    empty tensor, which heeds `torch.utils.deterministic.fill_uninitialized_memory`.
    """
    plain = [(spec.shape, torch.empty(spec.shape, device="meta").stride()) for spec in specs]
    chosen = [layouts.get(number, layout) for number, layout in enumerate(plain)]
    kinds = [DTYPES[spec.dtype] for spec in specs]
    if device.type == "cuda":
        new: Any = import_module("torch._C._dynamo.guards")._empty_strided_cuda
        return [partial(new, *each, kind) for each, kind in zip(chosen, kinds, strict=True)]
    return [
        partial(torch.empty(0, dtype=kind, device=device).new_empty_strided, *each)
        for each, kind in zip(chosen, kinds, strict=True)
    ]


def is_dense(layout: Layout, size: int) -> bool:
    """Return whether a tensor of a layout has each of `size` adjacent elements once."""
    extent = 1
    for stride, length in sorted(zip(layout[1], layout[0], strict=True)):
        if length > 1 and stride != extent:
            return False
        extent *= length
    return extent == size > 0


def random_tensor(
    spec: TensorSpec, device: torch.device, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Return a tensor of random numbers; integers are 0, which is a valid index everywhere."""
    kind = DTYPES[spec.dtype]
    if kind.is_floating_point:
        return torch.randn(spec.shape, dtype=kind, device=device, generator=generator)
    return torch.zeros(spec.shape, dtype=kind, device=device)


def random_tensors(
    specs: Sequence[TensorSpec], layouts: Mapping[int, Layout], device: torch.device
) -> list[torch.Tensor]:
    """Return tensors of random numbers, in these layouts; see `random_tensor`."""
    tensors = [random_tensor(spec, device) for spec in specs]
    return [
        tensor.as_strided(*layouts[number]) if number in layouts else tensor
        for number, tensor in enumerate(tensors)
    ]
