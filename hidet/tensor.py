"""`hidet.Tensor`: the tensor API of the original Hidet on top of torch tensors.

    a = hidet.randn([3, 4], device="cuda")
    module(a, hidet.zeros([3, 4], device="cuda"))
    a.torch(), a.numpy()

What Python's operators and the methods compute is in `hidet.ops`. A tensor without elements is a
symbol; what is computed with one is noted, for `hidet.trace_from` to make a graph of.

    x = hidet.symbol([3, 4])
    y = hidet.ops.relu(x) + a
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from operator import methodcaller
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeAlias

import torch as _torch

from hidet.absent import explains_members
from hidet.errors import HidetError
from hidet.foreign import HoldsTensor, plain
from hidet.frontends.script.types import COMPLEX_TYPES, SCALAR_TYPES, ScalarType, tensor_dtype
from hidet.frontends.trace.operators import arithmetic, contraction, reduce, transform
from hidet.frontends.trace.recording import Operator, Traced
from hidet.frontends.trace.sizes import printable, recording_mode, symbol_var
from hidet.frontends.trace.tracing import torch_device as _device
from hidet.frontends.trace.tracing import torch_dtype as _dtype

if TYPE_CHECKING:
    import numpy as np

Shape = Sequence[int]
complex64, complex128 = COMPLEX_TYPES.values()
Key: TypeAlias = "Tensor | slice | int | EllipsisType | None"
"""An index of a tensor, or an element of a tuple of indices."""


def _reflected(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the method of a reflected operator, whose left operand is not a tensor."""

    def method(right: Tensor, left: object) -> Tensor:
        return function(left, right)

    return method


@explains_members
class Tensor(Traced):
    """A tensor; what holds it is one of torch's, which is not copied.

    `trace` is, of a symbol, the operator that gives it, and the number of its result.

    Raises:
        HidetError: scripts have no type for its elements.
    """

    __slots__ = ()

    def __init__(self, data: _torch.Tensor, trace: tuple[Operator, int] | None = None) -> None:
        name = str(data.dtype).removeprefix("torch.")
        if name not in SCALAR_TYPES and name not in COMPLEX_TYPES:
            known = ", ".join((*SCALAR_TYPES, *COMPLEX_TYPES))
            raise HidetError(f"a tensor of {data.dtype}", hint=f"the types are {known}")
        super().__init__(data, trace)

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the tensor as an array of numpy, in the same memory.

        Raises:
            TypeError: it is on a GPU.
        """
        return self.torch().detach().numpy()

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return tuple(self._data.shape)

    @property
    def dtype(self) -> ScalarType:
        """The data type."""
        return tensor_dtype(str(self._data.dtype).removeprefix("torch."))

    @property
    def device(self) -> _torch.device:
        """The device."""
        return self._data.device

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._data.numel()

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return self._data.nbytes

    @property
    def storage(self) -> _torch.UntypedStorage | None:
        """The storage; None for a symbol."""
        return None if self.is_symbolic() else self._data.untyped_storage()

    @property
    def op(self) -> Operator | None:
        """The operator that produces it; None for inputs and for tensors with data."""
        return None if self.trace is None else self.trace[0]

    def signature(self) -> str:
        """Return type, shape and device as graphs print them: `float32[2, 3][cuda]`."""
        return f"{self.dtype.name}{[*map(printable, self.shape)]}[{self.device.type}]"

    def to(self, dtype: object = None, device: object = None) -> Tensor:
        """Return the tensor with another data type or device; itself if nothing changes.

        Raises:
            HidetError: a symbol is to move to another device.
        """
        if self.is_symbolic():
            if device is not None and _device(device).type != self.device.type:
                raise HidetError(f"a symbol on {self.device} does not move to {device}")
            return self if dtype is None or _dtype(dtype) == self._data.dtype else self.cast(dtype)
        data = self._data if dtype is None else self._data.to(_dtype(dtype))
        return Tensor(data if device is None else data.to(_device(device)))

    def to_device(self, device: object, /) -> Tensor:
        """Return the tensor on another device."""
        return self.to(device=device)

    def cpu(self) -> Tensor:
        """Return the tensor on the CPU."""
        return self.to(device="cpu")

    def cuda(self, device: int | None = None) -> Tensor:
        """Return the tensor on a GPU, the current one if none is named."""
        return self.to(device="cuda" if device is None else f"cuda:{device}")

    def copy(self) -> Tensor:
        """Return a copy."""
        return Tensor(self.torch().clone())

    def copy_(self, src: Tensor) -> Tensor:
        """Copy the elements of another tensor into this one, and return it."""
        self.torch().copy_(src.torch())
        return self

    def detach(self) -> Tensor:
        """Return a tensor that shares its memory."""
        return Tensor(self.torch().detach())

    def contiguous(self) -> Tensor:
        """Return the tensor with its elements in row-major order."""
        return self if self.is_symbolic() else Tensor(self._data.contiguous())

    def view(self, dtype: object = None, shape: Shape | None = None) -> Tensor:
        """Return a view with another data type or shape."""
        if self.is_symbolic():
            return transform.view(self, dtype, shape)
        seen = self if dtype is None else self._view("view", _dtype(dtype))
        return seen if shape is None else seen.reshape(shape)

    def reshape(self, shape: Shape) -> Tensor:
        """Return the tensor with another shape."""
        return (
            transform.reshape(self, shape) if self.is_symbolic() else self._view("reshape", shape)
        )

    def item(self) -> Any:
        """Return the only element."""
        return self.torch().item()

    def tolist(self) -> Any:
        """Return the elements as nested lists."""
        return methodcaller("tolist")(self.torch())

    def expand(self, *sizes: int) -> Tensor:
        """Return the tensor broadcast to a shape; -1 keeps a size."""
        front = len(sizes) - len(self.shape)
        kept = [
            self.shape[n - front] if type(size) is int and size == -1 else size
            for n, size in enumerate(sizes)
        ]
        return transform.broadcast(self, kept)

    def float(self) -> Tensor:
        """Return the elements as float32."""
        return self.to("float32")

    def masked_fill(self, mask: Tensor, value: builtins.float) -> Tensor:
        """Return the tensor with a value where a mask is true."""
        return arithmetic.where(mask, value, self)

    def transpose(self, dim0: int, dim1: int) -> Tensor:
        """Return the tensor with two dimensions swapped."""
        axes = list(range(len(self.shape)))
        axes[dim0], axes[dim1] = axes[dim1], axes[dim0]
        return transform.permute_dims(self, axes)

    astype = cast = transform.cast
    mean = reduce.mean
    rearrange = transform.rearrange
    squeeze = transform.squeeze
    sum = reduce.sum
    unsqueeze = transform.unsqueeze

    __pos__ = arithmetic.positive
    __neg__ = arithmetic.negative
    __abs__ = arithmetic.abs
    __invert__ = arithmetic.bitwise_invert
    __add__ = __radd__ = arithmetic.add
    __sub__, __rsub__ = arithmetic.subtract, _reflected(arithmetic.subtract)
    __mul__ = __rmul__ = arithmetic.multiply
    __truediv__, __rtruediv__ = arithmetic.divide, _reflected(arithmetic.divide)
    __mod__ = arithmetic.remainder
    __pow__, __rpow__ = arithmetic.pow, _reflected(arithmetic.pow)
    __matmul__ = contraction.matmul
    __and__ = __rand__ = arithmetic.bitwise_and
    __or__ = __ror__ = arithmetic.bitwise_or
    __xor__ = __rxor__ = arithmetic.bitwise_xor
    __lshift__ = arithmetic.bitwise_left_shift
    __rshift__ = arithmetic.bitwise_right_shift
    __lt__, __le__ = arithmetic.less, arithmetic.less_equal
    __gt__, __ge__ = arithmetic.greater, arithmetic.greater_equal
    __eq__, __ne__ = arithmetic.equal, arithmetic.not_equal
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> builtins.float:
        return builtins.float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        return self.torch().__index__()

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, key: Key | tuple[Key, ...]) -> Tensor:
        keys = key if isinstance(key, tuple) else (key,)
        if not self.is_symbolic() and not any(isinstance(each, Tensor) for each in keys):
            return self._view("__getitem__", keys)
        parts = (
            transform.Slice(each.start, each.stop, each.step) if isinstance(each, slice) else each
            for each in keys
        )
        return transform.index(self, *parts)

    def _view(self, method: str, argument: object) -> Tensor:
        """Return the result of a torch tensor method that only makes a view."""
        return Tensor(methodcaller(method, argument)(self._data))

    def __getstate__(self) -> _torch.Tensor:
        return self.torch()

    def __setstate__(self, state: _torch.Tensor) -> None:
        self._data, self.trace = state, None

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: object, args: Sequence[Any], kwargs: Any = None
    ) -> Any:
        from torch.utils._pytree import tree_map

        args, kwargs = tree_map(plain, (tuple(args), kwargs or {}))
        return func(*args, **kwargs)

    def __dlpack__(self, **options: Any) -> object:
        return self.torch().__dlpack__(**options)  # pyright: ignore[reportUnknownVariableType]

    def __dlpack_device__(self) -> object:
        return self._data.__dlpack_device__()

    def __repr__(self) -> str:
        shape = tuple(map(printable, self.shape))
        head = f"Tensor(shape={shape}, dtype='{self.dtype.name}', device='{self.device}')"
        if self.is_symbolic():
            return head if self.trace is None else f"{head}\nfrom {self.trace}"
        import numpy as np

        wide = self._data.detach().cpu()
        if wide.dtype is _torch.bfloat16:
            wide = wide.float()
        return f"{head}\n{np.array2string(wide.numpy(), precision=2, suppress_small=True)}"


def from_torch(torch_tensor: _torch.Tensor) -> Tensor:
    """Return a tensor that shares the memory of a torch tensor."""
    return Tensor(torch_tensor)


def asarray(obj: object, *, dtype: object = None, device: object = None) -> Tensor:
    """Return a tensor of nested lists, an array or a tensor."""
    data = obj.torch() if isinstance(obj, HoldsTensor) else _torch.asarray(obj)
    return Tensor(data).to(dtype, device)


def empty(shape: Shape, dtype: object = "float32", device: object = "cpu") -> Tensor:
    """Return an uninitialized tensor."""
    return Tensor(_torch.empty(tuple(shape), dtype=_dtype(dtype), device=_device(device)))


def full(
    shape: Shape, fill_value: float, dtype: object = "float32", device: object = "cpu"
) -> Tensor:
    """Return a tensor filled with a number."""
    where = _device(device)
    return Tensor(_torch.full(tuple(shape), fill_value, dtype=_dtype(dtype), device=where))


def zeros(shape: Shape, dtype: object = "float32", device: object = "cpu") -> Tensor:
    """Return a tensor of zeros."""
    return full(shape, 0, dtype, device)


def ones(shape: Shape, dtype: object = "float32", device: object = "cpu") -> Tensor:
    """Return a tensor of ones."""
    return full(shape, 1, dtype, device)


def randn(
    shape: Shape,
    dtype: object = "float32",
    mean: float = 0.0,
    stddev: float = 1.0,
    device: object = "cpu",
) -> Tensor:
    """Return a tensor of normally distributed random numbers, drawn by torch's generator."""
    kind = _dtype(dtype)
    drawn = kind if kind.is_complex else None
    data = _torch.randn(tuple(shape), dtype=drawn, device=_device(device)) * stddev + mean
    return Tensor(data.to(kind))


def randint(
    low: int, high: int | None = None, shape: Shape = (), dtype: object = "int32"
) -> Tensor:
    """Return a tensor of random integers in [low, high), or [0, low) with one bound."""
    first, last = (0, low) if high is None else (low, high)
    return Tensor(_torch.randint(first, last, tuple(shape), dtype=_dtype(dtype)))


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: object = None,
    device: object = "cpu",
) -> Tensor:
    """Return the numbers in [start, stop), or [0, start) with one bound."""
    first, last = (0, start) if stop is None else (start, stop)
    kind = None if dtype is None else _dtype(dtype)
    return Tensor(_torch.arange(first, last, step, dtype=kind, device=_device(device)))


def from_dlpack(dltensor: Any) -> Tensor:
    """Return a tensor that shares the memory of another library's."""
    return Tensor(_torch.from_dlpack(dltensor))


def symbol(
    shape: Sequence[int | str | _torch.SymInt],
    dtype: object = "float32",
    device: object = "cpu",
) -> Tensor:
    """Return a symbol: a placeholder tensor without data, for tracing.

    Its sizes are numbers, names, or what is computed from sizes that have a name. A graph of
    symbols with named sizes is compiled for each shape that it is called with.

    Raises:
        HidetError: a size is neither.
    """
    sizes = [symbol_var(size) if isinstance(size, str) else size for size in shape]
    if not all(type(size) is int or isinstance(size, _torch.SymInt) for size in sizes):
        raise HidetError(f"a symbol of shape {list(shape)}", hint="sizes are numbers or names")
    kind, where = _dtype(dtype), _device(device)
    if where.type == "cuda":  # tensors have the index of their device
        where = _torch.empty(0, device=where).device
    with recording_mode(sizes):
        return Tensor(_torch.empty(sizes, dtype=kind, device=where))


def _like(
    data: Tensor, shape: Shape | None, dtype: object, device: object
) -> tuple[Shape, object, object]:
    """Return the shape, data type and device of a tensor, with the given ones replaced."""
    return (
        data.shape if shape is None else shape,
        data.dtype if dtype is None else dtype,
        data.device if device is None else device,
    )


def linspace(
    start: float,
    stop: float,
    /,
    num: int,
    *,
    dtype: object = None,
    device: object = "cpu",
    endpoint: bool = True,
) -> Tensor:
    """Return evenly spaced numbers, with `stop` or without."""
    count = num if endpoint else num + 1
    kind = None if dtype is None else _dtype(dtype)
    return Tensor(_torch.linspace(start, stop, count, dtype=kind, device=_device(device))[:num])


def full_like(
    data: Tensor,
    fill_value: float,
    shape: Shape | None = None,
    dtype: object = None,
    device: object = None,
) -> Tensor:
    """Return a tensor filled with a number, like another tensor but for the given arguments."""
    where, kind, place = _like(data, shape, dtype, device)
    return full(where, fill_value, kind, place)


def randn_like(
    data: Tensor,
    mean: float = 0.0,
    stddev: float = 1.0,
    shape: Shape | None = None,
    dtype: object = None,
    device: object = None,
) -> Tensor:
    """Return normally distributed random numbers, like a tensor but for the given arguments."""
    where, kind, place = _like(data, shape, dtype, device)
    return randn(where, kind, mean, stddev, place)


def _as_like(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def call(
        data: Tensor, shape: Shape | None = None, dtype: object = None, device: object = None
    ) -> Tensor:
        return make(*_like(data, shape, dtype, device))

    call.__name__ = call.__qualname__ = f"{make.__name__}_like"
    first = (make.__doc__ or "").partition("\n")[0]
    call.__doc__ = f"{first}\n\n    Its kind is that of `data`, but for what is given."
    return call


empty_like, ones_like, symbol_like, zeros_like = map(_as_like, (empty, ones, symbol, zeros))

__all__ = [
    "Tensor",
    "arange",
    "asarray",
    "complex64",
    "complex128",
    "empty",
    "empty_like",
    "from_dlpack",
    "from_torch",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "randint",
    "randn",
    "randn_like",
    "symbol",
    "symbol_like",
    "zeros",
    "zeros_like",
]
