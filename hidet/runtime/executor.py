"""Execution of plans: binds tensors to launches, at a low cost per call."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy as shallow_copy
from typing import Self

import torch

from hidet.forks import FORK_HANDLERS
from hidet.runtime.arguments import ArgumentTable, Sources
from hidet.runtime.copies import Copies
from hidet.runtime.keepalive import Inputs, KeepAlive, no_keepalive
from hidet.runtime.plan import Argument, Launch, Plan
from hidet.runtime.snapshots import NO_VERSION, Matches, Snapshots
from hidet.runtime.tensor_maps import WriteMap
from hidet.runtime.tensors import (
    POINTER_ALIGNMENT,
    Layout,
    Layouts,
    check_count,
    check_tensor,
    has_strides,
    output_factories,
)
from hidet.runtime.weights import WeightSet, WeightSets

_data_ptr = torch.Tensor.data_ptr


class Executor(ABC):
    """A plan that is loaded on one device.

    A call compares the addresses of all its tensors, and the version counters of the weights that
    prepared memory depends on, with those of the last call. It checks and binds only tensors at
    another address. A tensor of another type at the same address is therefore not detected: callers
    without guards like torch.compile's check the types.

    Calls from several threads are serialized, since they share the arguments and the arena. Other
    threads may replace the data of a tensor meanwhile (`weight.data = ...`): a call keeps the
    memory alive whose addresses it has read, and mixes old and new weights at worst.

    The device has an index unless it is the CPU; `write_map` writes tensor maps for it.

    Attributes:
        constants: the addresses of the constants that are bound.
        moves: how many times constants at other addresses than before were bound.
    """

    def __init__(
        self, plan: Plan, device: torch.device, write_map: WriteMap, snapshots: Snapshots | None
    ) -> None:
        self.plan = plan
        self.device = device
        self._lock = FORK_HANDLERS.lock()
        self._sources = Sources(plan)
        self._write_map = write_map
        self.lay_out(Layouts())
        self._weight_sets = WeightSets(_positions(plan)) if plan.prepare else None
        self._snapshots = snapshots or Snapshots()
        self._updated = plan.updated_inputs
        self._copied_inputs = plan.copied("input")
        self._is_replica = self._has_replicas = False
        self._arenas: dict[int, torch.Tensor] = {}
        """The arena of this executor, 0, or those of all replicas, by the streams of calls."""

    def _start(self) -> None:
        """Set up the arguments of the launches, none of which is bound to a tensor yet.

        Constructors end with it.
        """
        self.moves = 0
        self._table = ArgumentTable(self.plan.forward, self._sources, self._write_map)
        self._arena: torch.Tensor | None = None
        self._weights: WeightSet | None = None
        # The constants, and the addresses of inputs and outputs, of the last call.
        self.constants: list[int] = []
        self._matches: Matches = lambda _: False
        self._keepalive = no_keepalive
        self._inputs = Inputs()
        self._outputs: list[int] = []
        self._copies_ahead = Copies(self.plan, self._sources, "ahead")
        self._copies_behind = Copies(self.plan, self._sources, "after")
        self._misplaced: dict[int, torch.Tensor] = {}
        """Aligned buffers for misaligned inputs that the program updates."""

    def lay_out(self, layouts: Layouts) -> None:
        """Take and return tensors in other layouts; see `CompiledGraph.lay_out`."""
        self._layouts = layouts
        self._new_outputs = output_factories(self.plan.outputs, self.device, layouts.outputs)

    @property
    def can_replicate(self) -> bool:
        """Whether replicas save time."""
        return True

    def replica(self, arenas: dict[int, torch.Tensor]) -> Self:
        """Return an executor that shares all but its arguments; and its arenas, with replicas.

        Calls on one stream are ordered, so they may share an arena.
        """
        self._has_replicas = True
        other = shallow_copy(self)
        other._is_replica, other._arenas = True, arenas
        other._start()
        return other

    def run(
        self, inputs: Sequence[torch.Tensor], constants: Iterable[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Run the graph and return its outputs, which are new tensors in every call.

        The tensors are in the order of the plan, on this device, contiguous or in their layouts.
        Constants in a list, or a `LookUp`, are the fastest.

        Raises:
            UncountedWeightsError: `prepare` launches read weights without version counters.
            HidetError: a tensor does not match the plan, or a launch failed.
        """
        outputs: list[torch.Tensor] = []
        addresses: list[int] = []
        for new in self._new_outputs:
            outputs.append(output := new())
            addresses.append(output.data_ptr())
        with self._lock:
            copied: list[torch.Tensor] = []
            keepalive = self._keepalive()
            if keepalive is None or not self.is_bound(constants):
                keepalive = self._hold(constants, copied)
            pointers, memory = self._inputs.hold(inputs)
            if pointers is not self._inputs.known:
                self._bind_inputs(inputs, pointers, copied)
            if addresses != self._outputs:
                self._bind_outputs(addresses)
            tensors: Sequence[object] = ()
            if self.plan.copies:
                prepared = self._weights and self._weights.prepared
                tensors = (*inputs, *keepalive.tensors, *outputs, self._arena, prepared)
            self._copies_ahead.run(tensors, self._misplaced)
            self._launch()
            self._copies_behind.run(tensors, self._misplaced)
            for number in self._misplaced:
                inputs[number].detach().copy_(self._misplaced[number])
            del copied, keepalive, memory  # kernels read this memory until here
        return outputs

    def _hold(self, constants: Iterable[torch.Tensor], copied: list[torch.Tensor]) -> KeepAlive:
        """Acquire references to the constants, and bind them unless they are bound."""
        keepalive = KeepAlive(constants)
        if not self.is_bound(tensors := keepalive.tensors):
            self._matches = lambda _: False
            self._bind_constants(tensors, copied)
            versions = self._weights.versions if self._weights else [NO_VERSION] * len(tensors)
            addresses = list(map(_data_ptr, tensors))
            self.moves += addresses != self.constants
            self.constants = addresses
            if not copied:
                self._matches = self._snapshots.matcher(constants, addresses, versions)
        if (before := self._keepalive()) is not None:
            before.release()
        self._keepalive = keepalive.reference
        return keepalive

    def is_bound(self, constants: Iterable[torch.Tensor]) -> bool:
        """Return whether the launches read these constants, and memory prepared from them."""
        return self._matches(constants) and (
            self._weights is None or self._weights.prepared is not None
        )

    def _bind_constants(
        self, constants: Sequence[torch.Tensor], copied: list[torch.Tensor]
    ) -> None:
        """Bind the constants, and memory prepared from them, to the launches."""
        specs = self.plan.constants
        check_count(constants, len(specs), "constants")
        for number, (tensor, name) in enumerate(zip(constants, specs, strict=True)):
            layout = self._layouts.constants.get(number)
            check_tensor(tensor, specs[name], self.device, "constant", repr(name), layout)
        stream = self._stream_of_call()
        key = stream if self._is_replica else 0
        if key not in self._arenas:
            self._arenas[key] = self._allocate(self.plan.arena_bytes)
        self._arena = self._arenas[key]
        self._table.move(self._sources.arena, self._arena.data_ptr())
        if self._weight_sets is not None:
            self._weights = self._weight_sets.select(constants, self._prepare, stream)
            assert self._weights.prepared is not None, "the caller holds the weights"
            self._table.move(self._sources.prepared, self._weights.prepared.data_ptr())
        for number, tensor in enumerate(constants):
            pointer = _aligned(tensor.data_ptr(), tensor, copied)
            self._table.move(self._sources.constant_base + number, pointer)

    def _bind_inputs(
        self, inputs: Sequence[torch.Tensor], pointers: list[int], copied: list[torch.Tensor]
    ) -> None:
        """Bind the inputs, at the addresses `pointers`, to the launches."""
        known, self._inputs.known = self._inputs.known, None
        self._misplaced.clear()
        misaligned = len(copied)
        check_count(inputs, len(self.plan.inputs), "inputs")
        for number, (tensor, pointer) in enumerate(zip(inputs, pointers, strict=True)):
            if known is None or known[number] != pointer:
                spec, layout = self.plan.inputs[number], self._layouts.inputs.get(number)
                if layout is not None and number not in self._copied_inputs:
                    tensor = _laid_out(tensor, layout, copied)
                check_tensor(tensor, spec, self.device, "input", number, layout)
                aligned = _aligned(tensor.data_ptr(), tensor, copied)
                if number in self._updated and aligned != pointer:
                    self._misplaced[number] = copied[-1]
                self._table.move(number, aligned)
        if len(copied) == misaligned:
            self._inputs.known = pointers

    def _bind_outputs(self, pointers: list[int]) -> None:
        """Bind the outputs at these addresses to the launches."""
        self._outputs = []  # after an interrupt in here, the next call binds them again
        for number, pointer in enumerate(pointers, start=self._sources.output_base):
            self._table.move(number, pointer)
        self._outputs = pointers

    def _prepare(self, constants: Sequence[torch.Tensor]) -> torch.Tensor:
        """Compute what depends on weights alone into new memory.

        These launches have their own arena: a call may still be running on another stream.
        """
        prepared = self._allocate(self.plan.prepared_bytes)
        arena = self._allocate(self.plan.arena_bytes)
        copied: list[torch.Tensor] = []
        table = ArgumentTable(self.plan.prepare, self._sources, self._write_map)
        for number, weight in enumerate(constants, start=self._sources.constant_base):
            table.move(number, _aligned(weight.data_ptr(), weight, copied))
        table.move(self._sources.arena, arena.data_ptr())
        table.move(self._sources.prepared, prepared.data_ptr())
        self._launch_in_order(self.plan.prepare, table)
        return prepared

    def _stream_of_call(self) -> int:
        """Return the stream of this call; the CPU has one."""
        return 0

    @abstractmethod
    def _allocate(self, size: int) -> torch.Tensor:
        """Allocate bytes, aligned to 256 bytes, on the stream of this call."""

    @abstractmethod
    def _launch(self) -> None:
        """Run the forward launches with the arguments in `_table`, some of which may be updated."""

    @abstractmethod
    def _launch_in_order(self, launches: Sequence[Launch], table: ArgumentTable) -> None:
        """Run launches sequentially, with the arguments in `table`."""


def _laid_out(tensor: torch.Tensor, layout: Layout, copied: list[torch.Tensor]) -> torch.Tensor:
    """Return a tensor, or a copy in a layout, added to `copied`, if it differs only in strides.

    Hooks on saved tensors return contiguous ones, for example.
    """
    if tensor.shape != layout[0] or has_strides(tensor, layout[1]):
        return tensor
    new = torch.empty_strided(*layout, dtype=tensor.dtype, device=tensor.device)
    copied.append(new.copy_(tensor.detach()))
    return new


def _aligned(pointer: int, tensor: torch.Tensor, copied: list[torch.Tensor]) -> int:
    """Return the address of a tensor, or of a copy, added to `copied`, if it is misaligned."""
    if pointer % POINTER_ALIGNMENT == 0:
        return pointer
    copied.append(tensor.detach().clone())
    return copied[-1].data_ptr()


def _positions(plan: Plan) -> list[int]:
    """Return the positions of the constants that the `prepare` launches read."""
    buffers = {buffer for launch in plan.prepare for buffer in launch.buffers}
    return [n for n, name in enumerate(plan.constants) if Argument("constant", name) in buffers]
