"""The copies of a plan between tensors, which torch executes: one kernel copies many tensors."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from hidet.runtime.arguments import Sources
from hidet.runtime.plan import Argument, Copy, Plan
from hidet.runtime.specs import TensorSpec
from hidet.runtime.tensors import DTYPES, in_memory

_copy_all: Any = torch.ops.aten._foreach_copy_.default


class _End(NamedTuple):
    """The target or source of a copy: the number of a tensor, or of memory and a byte in it."""

    number: int
    start: int | None


class _FromArena:
    """Copies of parts of the arena to whole tensors of one type: new statistics of batch norms.

    Views of the arena are kept while it is the same.
    """

    def __init__(self) -> None:
        self._targets: list[int] = []
        self._parts: list[tuple[int, TensorSpec]] = []
        self._arena: torch.Tensor | None = None
        self._sources: list[torch.Tensor] = []

    def add(self, target: int, start: int, spec: TensorSpec) -> None:
        """Add a copy to the tensor of a number."""
        self._targets.append(target)
        self._parts.append((start, spec))

    def run(self, arena: torch.Tensor, tensors: Sequence[Any]) -> None:
        """Execute the copies."""
        if arena is not self._arena:
            self._sources = [
                arena[start : start + spec.nbytes].view(DTYPES[spec.dtype]).view(spec.shape)
                for start, spec in self._parts
            ]
            self._arena = arena
        _copy_all([tensors[number] for number in self._targets], self._sources)


class Copies:
    """The copies of a plan before its launches, or after them, in any order."""

    def __init__(self, plan: Plan, sources: Sources, when: str) -> None:
        self._arena = sources.arena
        self._from_arena: dict[str, _FromArena] = {}
        self._others: list[tuple[_End, _End, int]] = []
        for copy in plan.copies:
            if copy.when == when:
                self._add(copy, plan, sources)
        self._is_empty = not self._from_arena and not self._others

    def _add(self, copy: Copy, plan: Plan, sources: Sources) -> None:
        target, source = (_end_of(each, sources) for each in (copy.target, copy.source))
        if copy.source.space == "arena" and copy.target.is_whole:
            specs = plan.inputs if copy.target.space == "input" else plan.outputs
            spec = specs[int(copy.target.at)]
            group = self._from_arena.setdefault(spec.dtype, _FromArena())
            group.add(target.number, source.start or 0, spec)
        else:
            self._others.append((target, source, copy.size))

    def run(self, tensors: Sequence[Any], moved: Mapping[int, torch.Tensor]) -> None:
        """Execute the copies of tensors, numbered as in `Sources`; `moved` ones are elsewhere."""
        if self._is_empty:
            return
        if moved:
            tensors = [moved.get(number, tensor) for number, tensor in enumerate(tensors)]
        with torch.no_grad():  # inputs that are updated may require gradients
            for group in self._from_arena.values():
                group.run(tensors[self._arena], tensors)
            for target, source, size in self._others:
                read = _bytes_of(tensors[source.number], source.start, size)
                _bytes_of(tensors[target.number], target.start, size).copy_(read)


def _end_of(argument: Argument, sources: Sources) -> _End:
    number, start = sources.locate(argument)
    return _End(number, None if argument.is_whole else start)


def _bytes_of(tensor: torch.Tensor, start: int | None, size: int) -> torch.Tensor:
    """Return so many bytes of a tensor without gaps, in the order of memory."""
    whole = in_memory(tensor).flatten().view(torch.uint8)
    return whole if start is None else whole[start : start + size]
