"""The pointers that kernels get, laid out once as both launchers want them.

A launch takes `void**`: the address of an array that holds the address of each argument. All
arguments here are pointers. One array holds all of them, for every launch; a second array points at
its entries. A call only writes the entries whose tensor has moved, which is mostly none.
"""

import ctypes
from collections.abc import Sequence

from hidet.runtime.plan import Argument, Launch, Plan

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
        self.count = self.arena + 2
        self._constant_numbers = {name: number for number, name in enumerate(plan.constants)}

    def locate(self, argument: Argument) -> tuple[int, int]:
        """Give the number of the tensor that holds an argument, and the byte offset in it."""
        space, at = argument
        if isinstance(at, str):
            return self.constant_base + self._constant_numbers[at], 0
        if space == "input":
            return at, 0
        if space == "output":
            return self.output_base + at, 0
        return (self.arena if space == "arena" else self.prepared), at


class ArgumentTable:
    """The arguments of the launches of one list."""

    def __init__(self, launches: Sequence[Launch], sources: Sources) -> None:
        total = sum(len(launch.arguments) for launch in launches)
        self._values = (ctypes.c_uint64 * total)()
        self._addresses = (ctypes.c_uint64 * total)()
        self._pointers = [0] * sources.count
        self._slots: list[list[tuple[int, int]]] = [[] for _ in range(sources.count)]
        self._users: list[set[int]] = [set() for _ in range(sources.count)]
        self.launch_addresses: list[int] = []
        """For each launch the `void**` to pass; the table must outlive its use."""
        self.outdated: set[int] = set()
        """The launches that have got other arguments; who passes them on takes them out."""

        slot = 0
        for number, launch in enumerate(launches):
            self.launch_addresses.append(ctypes.addressof(self._addresses) + 8 * slot)
            for argument in launch.arguments:
                source, offset = sources.locate(argument)
                self._values[slot] = offset
                self._addresses[slot] = ctypes.addressof(self._values) + 8 * slot
                self._slots[source].append((slot, offset))
                self._users[source].add(number)
                slot += 1

    def move(self, source: int, pointer: int) -> None:
        """Note that a tensor, by its number in `Sources`, is at this address now."""
        if pointer == self._pointers[source]:
            return
        # An interrupt in here leaves an address that no later call takes for that of its tensor.
        self._pointers[source] = NOWHERE
        for slot, offset in self._slots[source]:
            self._values[slot] = pointer + offset
        self.outdated |= self._users[source]
        self._pointers[source] = pointer
