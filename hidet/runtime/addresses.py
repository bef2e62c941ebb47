"""Whether the weights are where they were in the last call, which every call asks.

Python takes 60 ns for the address of one tensor, native code 10 ns. A model has hundreds of
weights, so on a GPU, where a call is short, native code looks.
"""

import ctypes
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

import torch

SOURCE = Path(__file__).with_name("addresses.cpp")
"""The native code, for g++."""

FUNCTION = "hidet_same_addresses"
"""The function that it defines."""

_data_ptr = torch.Tensor.data_ptr


class Addresses:
    """The addresses of a list of tensors, as they were when they were last kept."""

    def __init__(self) -> None:
        self._known: list[int] | None = None

    def same(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Tell whether these tensors are at the addresses that were kept."""
        return list(map(_data_ptr, tensors)) == self._known

    def keep(self, tensors: Sequence[torch.Tensor]) -> None:
        """Keep the addresses of these tensors."""
        self._known = list(map(_data_ptr, tensors))

    def forget(self) -> None:
        """Keep no addresses; no tensors are the same then."""
        self._known = None


class NativeAddresses(Addresses):
    """The same, compared by native code.

    Args:
        library: what g++ made of `SOURCE`.
    """

    def __init__(self, library: Path) -> None:
        super().__init__()
        # It holds the interpreter's lock, since it looks into Python's objects.
        self._compare: Callable[..., int] = ctypes.PyDLL(str(library)).hidet_same_addresses
        self._compare.argtypes = [  # pyright: ignore[reportFunctionMemberAccess]
            ctypes.py_object,
            ctypes.c_ssize_t,
            *[ctypes.c_void_p] * 3,
        ]
        self._get_item = ctypes.cast(ctypes.pythonapi.PyList_GetItem, ctypes.c_void_p).value
        self._read = data_ptr_function()
        self._count = -1
        self._address = 0

    def same(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Tell whether these tensors are at the addresses that were kept."""
        if len(tensors) != self._count:
            return False
        # PyList_GetItem takes nothing but lists.
        values = tensors if isinstance(tensors, list) else list(tensors)
        return bool(self._compare(values, self._count, self._address, self._get_item, self._read))

    def keep(self, tensors: Sequence[torch.Tensor]) -> None:
        """Keep the addresses of these tensors."""
        self._values = (ctypes.c_uint64 * len(tensors))(*map(_data_ptr, tensors))
        self._address = ctypes.addressof(self._values)
        self._count = len(tensors)

    def forget(self) -> None:
        """Keep no addresses; no tensors are the same then."""
        self._count = -1


def data_ptr_function() -> int | None:
    """Give the address of torch's own function from a tensor to the address of its data.

    The code that torch's inductor generates calls it too. None where this torch has none.
    """
    guards = import_module("torch._C._dynamo.guards")
    return getattr(guards, "_torchinductor_pyobject_tensor_data_ptr", None)


def make_addresses(library: Path | None) -> Addresses:
    """Give native code's way where there is a library and torch has the function for it."""
    if library is None or data_ptr_function() is None:
        return Addresses()
    return NativeAddresses(library)
