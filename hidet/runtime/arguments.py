"""Kernel arguments, laid out once as both launchers take them.

A launch takes `void**`: an array with the address of each argument, which is a pointer, a scalar or
a tensor map. One array of words holds the arguments of all launches; a second one points into it. A
call only writes the entries whose tensor has moved, which is usually none.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

from hidet.runtime.plan import Argument, Launch, Plan, Space, TensorMap
from hidet.runtime.specs import WORD, Scalar, TensorMapSpec
from hidet.runtime.tensor_maps import MAP_BYTES, Move, WriteMap

NOWHERE = -1
"""An address that no tensor has."""


class Sources:
    """The tensors behind the arguments, numbered: inputs, constants, outputs, arena, prepared.

    These numbers are what `ArgumentTable.move` takes.
    """

    def __init__(self, plan: Plan) -> None:
        self.constant_base = len(plan.inputs)
        self.output_base = self.constant_base + len(plan.constants)
        self.arena = self.output_base + len(plan.outputs)
        self.prepared = self.arena + 1
        self._memories: dict[Space, int] = {
            "packed_input": self.constant_base - 1,
            "packed_output": self.arena - 1,
            "arena": self.arena,
            "prepared": self.prepared,
        }
        self.count = self.arena + 2
        self._constant_numbers = {name: number for number, name in enumerate(plan.constants)}

    def locate(self, argument: Argument) -> tuple[int, int]:
        """Return the number of the tensor that holds an argument, and the byte offset in it."""
        space, at = argument
        if isinstance(at, str):
            return self.constant_base + self._constant_numbers[at], 0
        if space == "input":
            return at, 0
        if space == "output":
            return self.output_base + at, 0
        return self._memories[space], at


class ArgumentTable:
    """The arguments of the launches of one list."""

    def __init__(self, launches: Sequence[Launch], sources: Sources, write_map: WriteMap) -> None:
        arguments = [argument for launch in launches for argument in launch.arguments]
        self._values = (ctypes.c_uint64 * sum(map(_words, arguments)))()
        self._addresses = (ctypes.c_uint64 * len(arguments))()
        self._write_map = write_map
        self._pointers = [0] * sources.count
        self._slots: list[list[tuple[int, int]]] = [[] for _ in range(sources.count)]
        self._maps: list[list[_Map]] = [[] for _ in range(sources.count)]
        self._users: list[set[int]] = [set() for _ in range(sources.count)]
        self.launch_addresses: list[int] = []
        """The `void**` of each launch; the table must outlive its use."""
        self.outdated: set[int] = set()
        """The launches whose arguments have changed; the executor removes those it has updated."""

        entry = slot = 0
        for number, launch in enumerate(launches):
            self.launch_addresses.append(ctypes.addressof(self._addresses) + WORD * entry)
            for argument, buffer in zip(launch.arguments, launch.buffers, strict=True):
                self._addresses[entry] = self._address(slot)
                if buffer is not None:
                    self._users[sources.locate(buffer)[0]].add(number)
                self._fill(slot, argument, sources)
                entry += 1
                slot += _words(argument)

    def _fill(self, slot: int, argument: Argument | Scalar | TensorMap, sources: Sources) -> None:
        """Write the constant words of an argument, and record those that are addresses."""
        match argument:
            case Scalar(bits=bits):
                self._values[slot] = bits
            case TensorMap(buffer, start, spec):
                source, offset = sources.locate(buffer)
                self._maps[source].append(_Map(self._address(slot), offset + start, spec))
            case _:
                source, offset = sources.locate(argument)
                self._values[slot] = offset
                self._slots[source].append((slot, offset))

    def _address(self, slot: int) -> int:
        return ctypes.addressof(self._values) + WORD * slot

    def move(self, source: int, pointer: int) -> None:
        """Set the address of a tensor, given by its number in `Sources`.

        Raises:
            CudaError: the driver rejects a tensor map.
        """
        if pointer == self._pointers[source]:
            return
        # After an interrupt in here, the next call writes the arguments again.
        self._pointers[source] = NOWHERE
        for slot, offset in self._slots[source]:
            self._values[slot] = pointer + offset
        for each in self._maps[source]:
            if each.move is None:
                each.move = self._write_map(each.spec, pointer + each.offset, each.place)
            else:
                each.move(pointer + each.offset)
        self.outdated |= self._users[source]
        self._pointers[source] = pointer


@dataclass
class _Map:
    """A tensor map: its place, the offset of its first element in the tensor, and how it moves."""

    place: int
    offset: int
    spec: TensorMapSpec
    move: Move | None = None


def _words(argument: Argument | Scalar | TensorMap) -> int:
    """Return the number of words that an argument takes."""
    return MAP_BYTES // WORD if isinstance(argument, TensorMap) else 1
