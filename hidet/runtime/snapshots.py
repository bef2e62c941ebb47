"""Whether tensors are those of the last call, by their addresses and version counters.

A model has hundreds of weights. Python takes 60 ns to read the address of one, and 40 ns each for
its version counter and its look-up in a module; native code takes 15 ns for all of it. GPU calls
are short, so they use native code, also to launch their CUDA Graphs.
"""

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import compress
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeAlias

import torch

from hidet.runtime.cuda_services import CudaServices
from hidet.runtime.kernels import load_library

SOURCE = Path(__file__).with_name("snapshots.cpp")
"""The native code, for g++."""

SYMBOL = "hidet_matches"
"""A symbol that it defines."""

NO_VERSION = (1 << 64) - 1
"""Stands for a version counter that does not matter."""

_data_ptr = torch.Tensor.data_ptr
_version = attrgetter("_version")

Matches: TypeAlias = Callable[[Iterable[torch.Tensor]], bool]
"""Returns whether tensors have known addresses and version counters."""


class LookUp:
    """Tensors that are looked up whenever this is iterated over.

    Each entry is the dictionary that holds a tensor, its key there, and the number of elements of
    its storage to take; None for the tensor as it is.
    """

    def __init__(self, entries: Sequence[tuple[dict[str, Any], str, int | None]]) -> None:
        self.tables = [table for table, _, _ in entries]
        self.positions = [list(table).index(key) for table, key, _ in entries]
        self.keys = [list(t)[n] for t, n in zip(self.tables, self.positions, strict=True)]
        self._spans = [span for _, _, span in entries]

    def __iter__(self) -> Iterator[Any]:
        for table, key, span in zip(self.tables, self.keys, self._spans, strict=True):
            yield table[key] if span is None else table[key].as_strided((span,), (1,))


class Snapshots:
    """Compares tensors, and launches CUDA Graphs, in Python."""

    def matcher(
        self, tensors: Iterable[torch.Tensor], addresses: Sequence[int], versions: Sequence[int]
    ) -> Matches:
        """Return a function that compares tensors with known addresses and version counters.

        It takes lists, and `tensors` if that is a `LookUp`. A version may be `NO_VERSION`.
        """
        counted = [version != NO_VERSION for version in versions]
        known = list(addresses), list(compress(versions, counted))

        def matches(tensors: Iterable[torch.Tensor]) -> bool:
            found = list(tensors)
            try:
                read = list(map(_data_ptr, found)), list(map(_version, compress(found, counted)))
            except RuntimeError:  # a tensor without a version counter
                return False
            return read == known

        return matches

    def launcher(self, services: CudaServices, executable: Any) -> Callable[[int], int]:
        """Return a function that launches a CUDA Graph on a stream, and returns the status."""
        launch = services.driver.cuGraphLaunch
        return lambda stream: launch(executable, stream)[0]


class NativeSnapshots(Snapshots):
    """Compares tensors, and launches CUDA Graphs, in native code.

    Its functions are built-in functions of Python: ctypes needs 250 ns more for a call.

    Args:
        library: what g++ made of `SOURCE`.
        address: the C function that returns the address of a tensor's data.
        version: the C function that returns the version counter of an `at::Tensor`.
        offset: where the `at::Tensor` is in the Python object of a tensor.
    """

    def __init__(self, library: bytes, address: int, version: int, offset: int) -> None:
        self._library = load_library(library)  # ctypes never unloads it
        self._readers = (address, version, offset)
        self._new_function: Any = ctypes.pythonapi.PyCFunction_NewEx
        self._new_function.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        self._new_function.restype = ctypes.py_object

    def matcher(
        self, tensors: Iterable[torch.Tensor], addresses: Sequence[int], versions: Sequence[int]
    ) -> Matches:
        """Return a function that compares tensors; see `Snapshots.matcher`."""
        count = len(addresses)
        numbers, objects = ctypes.c_uint64 * count, ctypes.py_object * count
        known = numbers(*addresses), numbers(*versions)
        words = [*self._readers, count, *map(ctypes.addressof, known)]
        # The native code reads dictionaries directly, whatever a subclass does.
        if not isinstance(tensors, LookUp) or any(
            type(table).__getitem__ is not dict.__getitem__ for table in tensors.tables
        ):
            return self._function("matches", [*words, 0, 0, 0, 0], known)
        held = objects(*tensors.tables), objects(*tensors.keys), numbers(*tensors.positions)
        words += [id(tensors), *map(ctypes.addressof, held)]
        return self._function("matches", words, known, tensors, held)

    def launcher(self, services: CudaServices, executable: Any) -> Callable[[int], int]:
        """Return a function that launches a CUDA Graph; see `Snapshots.launcher`."""
        return self._function("launch", [services.function("cuGraphLaunch"), int(executable)])

    def _function(self, name: str, words: Sequence[int], *held: object) -> Any:
        """Return a function of `SOURCE`, with the words of its structure and what they refer to."""
        definition = ctypes.c_char.in_dll(self._library, f"hidet_{name}")
        state = bytes((ctypes.c_uint64 * len(words))(*words))
        return self._new_function(ctypes.addressof(definition), (state, *held), None)


def load_snapshots(library: bytes | None) -> Snapshots:
    """Return native snapshots if there is a library and they work with this torch."""
    if library is None:
        return Snapshots()
    address, version = address_function(), version_function()
    if address is None or version is None:
        return Snapshots()
    native = NativeSnapshots(library, address, *version)
    with torch.inference_mode(False):  # a graph may be loaded inside, where tensors have no version
        tensor = torch.zeros(1)
    matches = native.matcher([tensor], [tensor.data_ptr()], [tensor._version])
    sees_writes = matches([tensor]) and not matches([tensor.add_(1)])
    return native if sees_writes else Snapshots()


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
        symbol = library._ZNK2at10TensorBase8_versionEv
    except (OSError, AttributeError):
        return None
    (offset, *others) = offsets
    if offset is None or others:
        return None
    return ctypes.cast(symbol, ctypes.c_void_p).value or 0, offset


def _tensor_offset(tensor: torch.Tensor) -> int | None:
    """Return where in a tensor's Python object the pointer to its `TensorImpl` is, in bytes.

    An `at::Tensor` is this pointer.
    """
    size = object.__sizeof__(tensor) & ~7
    words = (ctypes.c_uint64 * (size // 8)).from_address(id(tensor))
    offsets = [8 * n for n, word in enumerate(words) if word == tensor._cdata]
    return offsets[0] if offsets else None
