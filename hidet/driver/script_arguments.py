"""Arguments of script functions: checks, and conversion to addresses, numbers and tensor maps."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import inf

import torch

from hidet.dialects.cuda.tensor_map import ALIGNMENT
from hidet.driver.host_code import wrap
from hidet.driver.plan_types import tensor_map_spec
from hidet.errors import DeviceMismatchError, HidetError, UnsupportedDtypeError
from hidet.frontends.script.async_copy import TensorMapType
from hidet.frontends.script.launches import Parameter
from hidet.frontends.script.types import TF32, PointerType, ScalarType, TensorType, plain_number
from hidet.runtime.cuda_services import CudaServices
from hidet.runtime.tensor_maps import encode_for_cpu, encode_for_gpu
from hidet.runtime.tensors import POINTER_ALIGNMENT

MAX_KEPT = 64
"""The capacity of the cache of a parameter; a program rarely passes more tensors for it."""


class TensorMaps:
    """Encodes the tensor maps of one parameter, with a cache by address and strides."""

    def __init__(self, what: str, kind: TensorMapType) -> None:
        self._what = what
        self._type = kind.ir
        self._encode = lru_cache(MAX_KEPT)(self._encoded)
        self._checked: set[tuple[int, ...]] = set()

    def check(self, tensor: torch.Tensor) -> None:
        """Check that TMA can access a tensor of the right type and shape, which may be fake.

        Raises:
            HidetError: it is empty, or has strides that TMA does not support.
        """
        if tensor.stride() in self._checked:
            return
        if tensor.numel() == 0:
            raise HidetError(f"{self._what} has no elements that could be copied")
        for extent, stride in zip(tensor.shape[:-1], tensor.stride()[:-1], strict=True):
            if extent > 1 and (stride * tensor.element_size() % ALIGNMENT or stride == 0):
                raise HidetError(
                    f"{self._what} has strides {tensor.stride()}, but TMA takes "
                    f"multiples of {ALIGNMENT} bytes",
                    hint="pad the rows of the tensor, or load its elements one by one",
                )
        if tensor.shape[-1] > 1 and tensor.stride(-1) != 1:
            raise HidetError(
                f"{self._what} has strides {tensor.stride()}, but the last one must be 1",
                hint="pass x.contiguous()",
            )
        self._checked.add(tensor.stride())

    def map_of(self, tensor: torch.Tensor) -> bytes:
        """Return the map of a checked tensor, of 128 bytes.

        Raises:
            HidetError: its address is misaligned for TMA.
            CudaError: the driver rejects it.
        """
        return self._encode(tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.device)

    def _encoded(
        self, address: int, shape: torch.Size, strides: tuple[int, ...], device: torch.device
    ) -> bytes:
        """Return the map of the tensor at an address; see `map_of`."""
        if address % ALIGNMENT:
            raise HidetError(
                f"{self._what} starts at an address that is no multiple of {ALIGNMENT} bytes",
                hint="pass x.clone()",
            )
        # The stride of a dimension of extent 1 is irrelevant, and replaced by a valid one.
        pairs = zip(shape, strides, strict=True)
        steps = [stride if extent > 1 else ALIGNMENT for extent, stride in pairs]
        spec = tensor_map_spec(self._type, steps)
        if device.type == "cuda":
            return encode_for_gpu(CudaServices(device), spec, address)
        return encode_for_cpu(spec, address)


# Symbolic numbers of torch.compile.
_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)


@dataclass(eq=False)
class Arguments:
    """The parameters of a function, which check its arguments.

    Attributes:
        name: the name in messages: "kernel 'f'".
        written: for each whether the function may write its memory.
        optional: for each whether it may be None.
        may_alias: whether written tensors may overlap others.
    """

    name: str
    parameters: Sequence[Parameter]
    written: Sequence[bool]
    optional: Sequence[bool]
    may_alias: bool

    def __post_init__(self) -> None:
        self._maps = {
            parameter.name: TensorMaps(self._name_of(parameter), parameter.type)
            for parameter in self.parameters
            if isinstance(parameter.type, TensorMapType)
        }

    def _name_of(self, parameter: Parameter) -> str:
        """Return the name of an argument in messages."""
        return f"argument '{parameter.name}' of {self.name}"

    def check(self, arguments: Sequence[object], *, on_cpu: bool) -> torch.device:
        """Check the arguments of a call; return their device.

        Without tensors it is the current GPU if the function can run there.

        Raises:
            HidetError: see `check_types`; or a written tensor overlaps another one.
            DeviceMismatchError: they are on different devices.
            UnsupportedDtypeError: one has another data type.
        """
        device = self.check_types(arguments)
        if not self.may_alias:
            self._check_overlap(arguments)
        if device is not None:
            return device
        if torch.cuda.is_available() and not on_cpu:
            return torch.device("cuda", torch.cuda.current_device())
        return torch.device("cpu")

    def check_types(self, arguments: Sequence[object]) -> torch.device | None:
        """Check all that does not depend on data; return the device, None without tensors.

        Raises:
            HidetError: their number, a shape, strides or a scalar are wrong.
            DeviceMismatchError: they are on different devices.
            UnsupportedDtypeError: one has another data type.
        """
        if len(arguments) != len(self.parameters):
            takes = ", ".join(map(str, self.parameters))
            raise HidetError(
                f"{self.name} got {len(arguments)} arguments, and takes "
                f"{len(self.parameters)}: {takes}"
            )
        device: torch.device | None = None
        for number, (parameter, value) in enumerate(zip(self.parameters, arguments, strict=True)):
            if isinstance(parameter.type, ScalarType):
                self._check_number(parameter, parameter.type, value)
                continue
            if value is None and self.optional[number]:
                continue
            if isinstance(parameter.type, PointerType) and type(value) is int:
                if not 0 <= value < 1 << 64 or value % POINTER_ALIGNMENT:
                    raise HidetError(
                        f"{self._name_of(parameter)} is the address {value:#x}",
                        hint=f"an address is a positive multiple of {POINTER_ALIGNMENT}",
                    )
                continue
            tensor = self._check_tensor(parameter, value)
            if device is not None and tensor.device != device:
                raise DeviceMismatchError(
                    f"argument '{parameter.name}' of {self.name} is on {tensor.device}, "
                    f"an earlier one on {device}",
                    hint="move all tensors of one call to one device",
                )
            device = tensor.device
        return device

    def _check_tensor(self, parameter: Parameter, value: object) -> torch.Tensor:
        if not isinstance(value, torch.Tensor):
            raise HidetError(
                f"{self._name_of(parameter)} is a {type(value).__name__}, not a tensor "
                f"{parameter.type}"
            )
        kind = parameter.type
        if isinstance(kind, TensorMapType):
            kind = kind.tensor
        assert not isinstance(kind, ScalarType)
        wanted = _torch_type(kind.element)
        takes_any = isinstance(kind, PointerType) and kind.is_void
        # torch barely supports unsigned integers: signed ones of the same width are accepted.
        as_well = getattr(torch, kind.element.name.removeprefix("u"), wanted)
        if not takes_any and value.dtype not in (wanted, as_well):
            raise UnsupportedDtypeError(
                f"{self._name_of(parameter)} has data type {value.dtype}, not {wanted}"
            )
        if isinstance(kind, TensorType) and tuple(value.shape) not in kind.accepted_shapes:
            wanted = " or ".join(map(str, kind.accepted_shapes))
            raise HidetError(
                f"{self._name_of(parameter)} has shape {tuple(value.shape)}, not {wanted}"
            )
        if parameter.name in self._maps:
            self._maps[parameter.name].check(value)
        elif not value.is_contiguous():
            raise HidetError(
                f"{self._name_of(parameter)} has strides {value.stride()}, but must be contiguous",
                hint="pass x.contiguous()",
            )
        return value

    def _check_number(self, parameter: Parameter, kind: ScalarType, value: object) -> None:
        if not isinstance(value, int | float | bool):
            value = plain_number(value)
        if not isinstance(value, int | float | bool) or (
            isinstance(value, float) and not kind.is_float
        ):
            if isinstance(value, _SYMBOLS):  # checked when the graph runs
                return
            shown = repr(value) if isinstance(value, float | str) else f"a {type(value).__name__}"
            raise HidetError(f"{self._name_of(parameter)} is {shown}, not a number of type {kind}")
        low, high = (kind.min_value, kind.max_value) if kind.is_float else kind.limits
        if (value < low or value > high) and abs(value) != inf:
            raise HidetError(f"{self._name_of(parameter)} is {value}, which does not fit {kind}")

    def _check_overlap(self, arguments: Sequence[object]) -> None:
        """Check that written tensors overlap no others, which kernels assume."""
        spans: list[tuple[int, int, int]] = []
        for number, value in enumerate(arguments):
            if isinstance(value, torch.Tensor) and value.numel():
                start = value.data_ptr()
                spans.append((start, start + _bytes_spanned(value), number))
        spans.sort()
        for (_, stop, one), (start, _, other) in pairwise(spans):
            if start < stop and (self.written[one] or self.written[other]):
                names = [f"'{self.parameters[number].name}'" for number in sorted((one, other))]
                raise HidetError(
                    f"arguments {' and '.join(names)} of {self.name} share memory, and "
                    "it is written",
                    hint="pass tensors of their own, such as x.clone(), or set "
                    "attrs.cuda.may_alias = True in the kernel",
                )

    @contextmanager
    def values(self, arguments: Sequence[object]) -> Generator[list[int | float | bytes]]:
        """Yield the arguments of the host function: addresses, numbers, tensor maps.

        Tensors that are not aligned to 16 bytes, as kernels assume, are copied.
        """
        copies: list[tuple[torch.Tensor, torch.Tensor, bool]] = []
        values: list[int | float | bytes] = []
        for number, (parameter, value) in enumerate(zip(self.parameters, arguments, strict=True)):
            if isinstance(parameter.type, ScalarType):
                if not isinstance(value, int | float):
                    value = plain_number(value)
                assert isinstance(value, int | float)
                values.append(_number(parameter.type, value))
                continue
            if value is None or isinstance(value, int):
                values.append(value or 0)
                continue
            assert isinstance(value, torch.Tensor)
            if parameter.name in self._maps:
                values.append(self._maps[parameter.name].map_of(value))
                continue
            tensor = value.detach()
            if tensor.data_ptr() % POINTER_ALIGNMENT:
                copies.append((tensor, tensor.clone(), self.written[number]))
                tensor = copies[-1][1]
            values.append(tensor.data_ptr())
        yield values
        for original, copy, is_written in copies:
            if is_written:
                original.copy_(copy)


def _torch_type(kind: ScalarType) -> torch.dtype:
    found: torch.dtype = torch.float32 if kind == TF32 else getattr(torch, kind.name)
    return found


def _bytes_spanned(tensor: torch.Tensor) -> int:
    """Return the bytes from the first element of a tensor to the end of its last."""
    if tensor.is_contiguous():
        return tensor.numel() * tensor.element_size()
    last = sum((e - 1) * s for e, s in zip(tensor.shape, tensor.stride(), strict=True))
    return (last + 1) * tensor.element_size()


def _number(kind: ScalarType, value: int | float) -> int | float:
    """Return a number as host functions take it: integers are signed, as in the IR."""
    if kind.is_float:
        return float(value)
    if kind.kind == "bool":
        return bool(value)
    return wrap(int(value), kind.bits)


def number_of(kind: ScalarType, value: int | float) -> int | float:
    """Return a result of a host function in its type: rounded, with its sign."""
    if kind.is_float:
        rounded: float = torch.tensor(value, dtype=_torch_type(kind)).item()
        return rounded
    if kind.kind == "bool":
        return bool(value)
    return int(value) & kind.limits[1] if kind.kind == "unsigned" else int(value)
