"""Snapshots of tensors: their addresses or version counters, which every call compares.

A model has hundreds of weights. Python takes 60 ns to read the address of one, and 40 ns each for
its version counter and its look-up in a module; native code takes 10 ns or less. GPU calls are
short, so they use native code.
"""

import ctypes
from collections.abc import Callable, Sequence
from importlib import import_module
from operator import attrgetter, getitem, itemgetter
from pathlib import Path
from typing import Any

import torch

from hidet.runtime.libraries import load_library

SOURCE = Path(__file__).with_name("snapshots.cpp")
"""The native code, for g++."""

FUNCTION = "hidet_same_values"
"""A function that it defines."""

_data_ptr = torch.Tensor.data_ptr
_version = attrgetter("_version")

LookUp = Callable[[], list[Any]]
"""Returns the current values of some entries of dictionaries."""


class Snapshot:
    """An integer property, which `read` returns, of the tensors at some positions of a list."""

    def __init__(
        self,
        read: Callable[[torch.Tensor], int],
        tensors: Sequence[torch.Tensor],
        positions: Sequence[int],
    ) -> None:
        self._read = read
        self._count = len(tensors)
        self._pick = picker(positions)
        self.values = list(map(read, self._pick(tensors)))

    def matches(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Return whether a list of as many tensors has the same values."""
        if len(tensors) != self._count:
            return False
        try:
            return list(map(self._read, self._pick(tensors))) == self.values
        except RuntimeError:  # a tensor without such a property
            return False


class Snapshots:
    """Takes snapshots, and looks tensors up, in Python."""

    def addresses(self, tensors: Sequence[torch.Tensor]) -> Snapshot:
        """Return a snapshot of where tensors are in memory."""
        return Snapshot(_data_ptr, tensors, range(len(tensors)))

    def versions(self, tensors: Sequence[torch.Tensor], positions: Sequence[int]) -> Snapshot:
        """Return a snapshot of the version counters of the tensors at these positions.

        Raises:
            RuntimeError: a tensor has no version counter.
        """
        return Snapshot(_version, tensors, positions)

    def look_up(self, tables: Sequence[dict[str, Any]], names: Sequence[str]) -> LookUp:
        """Return a function that looks up each name in its dictionary."""
        return lambda: list(map(getitem, tables, names))


class _Values(ctypes.Structure):
    """`Snapshot` of `SOURCE`."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("get_item", "read")),
        *((name, ctypes.c_ssize_t) for name in ("offset", "count")),
        *((name, ctypes.c_void_p) for name in ("positions", "known")),
    )


class _Names(ctypes.Structure):
    """`Names` of `SOURCE`."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("new_list", "set_item", "look_up", "release")),
        ("count", ctypes.c_ssize_t),
        *((name, ctypes.c_void_p) for name in ("tables", "names")),
    )


class _NativeSnapshot(Snapshot):
    """A snapshot that native code compares.

    Args:
        matches: the native function.
        functions: the first fields of the `_Values` that it takes.
        snapshot: the arguments of `Snapshot`.
    """

    def __init__(
        self, matches: Callable[[list[Any], int], int], functions: tuple[int, ...], *snapshot: Any
    ) -> None:
        super().__init__(*snapshot)
        *_, positions = snapshot
        size = len(positions)
        self._arrays = (ctypes.c_ssize_t * size)(*positions), (ctypes.c_uint64 * size)(*self.values)
        self._known = _Values(*functions, size, *map(ctypes.addressof, self._arrays))
        self._known_address = ctypes.addressof(self._known)
        self._matches = matches

    def matches(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Return whether a list of as many tensors has the same values."""
        if len(tensors) != self._count:
            return False
        # PyList_GetItem takes nothing but lists.
        values = tensors if isinstance(tensors, list) else list(tensors)
        return bool(self._matches(values, self._known_address))


class NativeSnapshots(Snapshots):
    """Takes snapshots, and looks tensors up, in native code.

    Its functions take one structure each: ctypes needs 90 ns to convert an argument.

    Args:
        library: what g++ made of `SOURCE`.
        address: the C function that returns the address of a tensor's data.
        version: the C function that returns the version counter of an `at::Tensor`.
        offset: where the `at::Tensor` is in the Python object of a tensor.
    """

    def __init__(self, library: bytes, address: int, version: int, offset: int) -> None:
        # PyDLL keeps the interpreter's lock, which is needed to look into Python's objects.
        native: Any = load_library(library, ctypes.PyDLL)
        api = ctypes.pythonapi
        self._same = native.hidet_same_values
        self._same.argtypes = [ctypes.py_object, ctypes.c_void_p]
        get_item = _address_of(api.PyList_GetItem)
        self._address, self._version = (get_item, address, 0), (get_item, version, offset)
        self._look_up = native.hidet_look_up
        self._look_up.argtypes = [ctypes.c_void_p]
        self._look_up.restype = ctypes.py_object
        used = (api.PyList_New, api.PyList_SetItem, api.PyObject_GetItem, api.Py_DecRef)
        self._list_functions = tuple(map(_address_of, used))

    def addresses(self, tensors: Sequence[torch.Tensor]) -> Snapshot:
        """Return a snapshot of where tensors are in memory."""
        positions = range(len(tensors))
        return _NativeSnapshot(self._same, self._address, _data_ptr, tensors, positions)

    def versions(self, tensors: Sequence[torch.Tensor], positions: Sequence[int]) -> Snapshot:
        """Return a snapshot of version counters; see `Snapshots.versions`."""
        return _NativeSnapshot(self._same, self._version, _version, tensors, positions)

    def look_up(self, tables: Sequence[dict[str, Any]], names: Sequence[str]) -> LookUp:
        """Return a function that looks up each name in its dictionary."""
        count = len(names)
        arrays = [(ctypes.py_object * count)(*objects) for objects in (tables, names)]
        entries = _Names(*self._list_functions, count, *map(ctypes.addressof, arrays))
        call, address = self._look_up, ctypes.addressof(entries)
        return lambda _=(arrays, entries): call(address)  # they must outlive the function


def load_snapshots(library: bytes | None) -> Snapshots:
    """Return native snapshots if there is a library and they work with this torch."""
    if library is None:
        return Snapshots()
    address, version = address_function(), version_function()
    if address is None or version is None:
        return Snapshots()
    native = NativeSnapshots(library, address, *version)
    return native if _sees_writes(native) else Snapshots()


def _sees_writes(snapshots: Snapshots) -> bool:
    """Return whether snapshots of versions match until a tensor is written in place."""
    tensor = torch.zeros(1)
    known = snapshots.versions([tensor], [0])
    return known.matches([tensor]) and not known.matches([tensor.add_(1)])


def address_function() -> int | None:
    """Return torch's C function from a tensor's Python object to the address of its data.

    The code that torch's inductor generates calls it too. None if this torch has none.
    """
    guards = import_module("torch._C._dynamo.guards")
    return getattr(guards, "_torchinductor_pyobject_tensor_data_ptr", None)


def version_function() -> tuple[int, int] | None:
    """Return the address of `at::TensorBase::_version`, and where an object has its `at::Tensor`.

    None if this torch has no such function, or not the same place in objects of all kinds.
    """
    tensors = [torch.empty(0), torch.empty(1)[:0], torch.nn.Parameter(torch.empty(0))]
    offsets = set(map(_tensor_offset, tensors))
    try:
        library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
        function = _address_of(library._ZNK2at10TensorBase8_versionEv)
    except (OSError, AttributeError):
        return None
    (offset, *others) = offsets
    return None if offset is None or others else (function, offset)


def _tensor_offset(tensor: torch.Tensor) -> int | None:
    """Return where in a tensor's Python object the pointer to its `TensorImpl` is, in bytes.

    An `at::Tensor` is this pointer.
    """
    size = object.__sizeof__(tensor) & ~7
    words = (ctypes.c_uint64 * (size // 8)).from_address(id(tensor))
    offsets = [8 * n for n, word in enumerate(words) if word == tensor._cdata]
    return offsets[0] if offsets else None


def _address_of(function: Any) -> int:
    """Return the address of a C function."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def picker(positions: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return the fastest function that picks the elements at some positions."""
    if len(positions) > 1:
        return itemgetter(*positions)
    return lambda values: [values[position] for position in positions]
