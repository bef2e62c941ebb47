"""What a caller passes to a kernel of a script: checked, and laid out as a launch wants it."""

from __future__ import annotations

import ctypes
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import torch

from hidet.dialects.cuda.kernel import KernelOp
from hidet.errors import DeviceMismatchError, HidetError, UnsupportedDtypeError
from hidet.frontends.script.kernels import Parameter
from hidet.frontends.script.types import ScalarType, TensorType
from hidet.runtime.tensors import POINTER_ALIGNMENT

TORCH_TYPES: dict[str, torch.dtype] = {
    "bool": torch.bool,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "u16": torch.uint16,
    "u32": torch.uint32,
    "u64": torch.uint64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "tf32": torch.float32,
}
"""torch's data type for each element type."""

_C_TYPES: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "u8": ctypes.c_uint8,
    "u16": ctypes.c_uint16,
    "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
    "tf32": ctypes.c_float,
}


class Arguments:
    """The arguments of one kernel.

    Args:
        name: the name of the kernel, for messages.
        parameters: its parameters.
        op: the kernel, lowered: it says which arguments are only read.
    """

    def __init__(self, name: str, parameters: Sequence[Parameter], op: KernelOp) -> None:
        self._name = name
        self._parameters = parameters
        self._written = [not op.is_readonly(number) for number in range(len(parameters))]

    def check(self, arguments: Sequence[object]) -> torch.device:
        """Check the arguments of a call; return the device that they are on.

        Raises:
            HidetError: their number, a shape, strides or a number are wrong, or a tensor that is
                written overlaps another one.
            DeviceMismatchError: they are on different devices.
            UnsupportedDtypeError: one has another data type.
        """
        if len(arguments) != len(self._parameters):
            takes = ", ".join(map(str, self._parameters))
            raise HidetError(
                f"kernel '{self._name}' got {len(arguments)} arguments, and takes "
                f"{len(self._parameters)}: {takes}"
            )
        device: torch.device | None = None
        for parameter, value in zip(self._parameters, arguments, strict=True):
            if isinstance(parameter.type, ScalarType):
                self._check_number(parameter, parameter.type, value)
                continue
            tensor = self._check_tensor(parameter, value)
            if device is not None and tensor.device != device:
                raise DeviceMismatchError(
                    f"argument '{parameter.name}' of kernel '{self._name}' is on {tensor.device}, "
                    f"an earlier one on {device}",
                    hint="move all tensors of one call to one device",
                )
            device = tensor.device
        self._check_overlap(arguments)
        if device is not None:
            return device
        if torch.cuda.is_available():
            return torch.device("cuda", torch.cuda.current_device())
        return torch.device("cpu")

    def _check_tensor(self, parameter: Parameter, value: object) -> torch.Tensor:
        what = f"argument '{parameter.name}' of kernel '{self._name}'"
        if not isinstance(value, torch.Tensor):
            raise HidetError(f"{what} is a {type(value).__name__}, not a tensor {parameter.type}")
        kind = parameter.type
        assert not isinstance(kind, ScalarType)
        if value.dtype != TORCH_TYPES[kind.element.name]:
            raise UnsupportedDtypeError(
                f"{what} has data type {value.dtype}, not {TORCH_TYPES[kind.element.name]}"
            )
        if isinstance(kind, TensorType) and tuple(value.shape) != kind.shape:
            raise HidetError(f"{what} has shape {tuple(value.shape)}, not {kind.shape}")
        if not value.is_contiguous():
            raise HidetError(
                f"{what} has strides {value.stride()}, but must be contiguous",
                hint="pass x.contiguous()",
            )
        return value

    def _check_number(self, parameter: Parameter, kind: ScalarType, value: object) -> None:
        what = f"argument '{parameter.name}' of kernel '{self._name}'"
        if not isinstance(value, int | float | bool) or (
            isinstance(value, float) and not kind.is_float
        ):
            raise HidetError(f"{what} is {value!r}, not a number of type {kind}")
        if kind.is_integer and not kind.limits[0] <= value <= kind.limits[1]:
            raise HidetError(f"{what} is {value}, which does not fit {kind}")

    def _check_overlap(self, arguments: Sequence[object]) -> None:
        """Check that what is written overlaps nothing else, as the kernel takes for granted."""
        spans: list[tuple[int, int, int]] = []
        for number, value in enumerate(arguments):
            if isinstance(value, torch.Tensor) and value.numel():
                start = value.data_ptr()
                spans.append((start, start + value.numel() * value.element_size(), number))
        spans.sort()
        for (_, stop, one), (start, _, other) in pairwise(spans):
            if start < stop and (self._written[one] or self._written[other]):
                names = [f"'{self._parameters[number].name}'" for number in sorted((one, other))]
                raise HidetError(
                    f"arguments {' and '.join(names)} of kernel '{self._name}' share memory, and "
                    "the kernel writes it",
                    hint="pass tensors of their own, such as x.clone()",
                )

    @contextmanager
    def pointers(self, arguments: Sequence[object]) -> Generator[int]:
        """Give the address of the `void**` of a launch.

        A tensor whose address is not aligned to 16 bytes, as kernels want it, goes through a copy.
        """
        copies: list[tuple[torch.Tensor, torch.Tensor, bool]] = []
        values: list[Any] = []
        for number, (parameter, value) in enumerate(zip(self._parameters, arguments, strict=True)):
            if isinstance(parameter.type, ScalarType):
                values.append(_c_value(parameter.type, value))
                continue
            assert isinstance(value, torch.Tensor)
            tensor = value.detach()
            if tensor.data_ptr() % POINTER_ALIGNMENT:
                copies.append((tensor, tensor.clone(), self._written[number]))
                tensor = copies[-1][1]
            values.append(ctypes.c_uint64(tensor.data_ptr()))
        table = (ctypes.c_void_p * max(len(values), 1))()
        for number, value in enumerate(values):
            table[number] = ctypes.addressof(value)
        yield ctypes.addressof(table)
        for original, copy, is_written in copies:
            if is_written:
                original.copy_(copy)


def _c_value(kind: ScalarType, value: object) -> Any:
    """Return a number in the form that a kernel takes it; short floats as their bits."""
    if kind.bits == 16 and kind.is_float:
        bits = torch.tensor(value, dtype=TORCH_TYPES[kind.name]).view(torch.int16)
        return ctypes.c_int16(int(bits))
    return _C_TYPES[kind.name](value)
