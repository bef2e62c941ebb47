"""Replicas: executors of one graph, each bound to another set of weights.

Blocks of a model that torch compiles one by one share a graph, but not their weights. To bind
hundreds of tensors to the launches of a CUDA Graph takes longer than to launch it. So each set of
weights that comes back gets an executor of its own. They share what was prepared from weights, and
the memory of intermediate results.
"""

from collections.abc import Iterable, Sequence

import torch

from hidet.runtime.executor import Executor

CAPACITY = 128
"""The most executors of a graph, more than the blocks of a large transformer."""

REMEMBERED = 1024
"""The most sets of weights without an executor whose addresses are remembered."""


class Replicas:
    """The executors of a graph on one device.

    Attributes:
        executors: the first one also runs what no other one is bound to.
    """

    def __init__(self, first: Executor) -> None:
        self.executors = [first]
        self._arenas: dict[int, torch.Tensor] = {}
        self._last = 0
        self._seen: set[tuple[int, ...]] = set()
        """The addresses of sets of weights that the first executor has been bound to."""

    def run(
        self, inputs: Sequence[torch.Tensor], constants: Iterable[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Run the graph by the executor that is bound to its constants; see `Executor.run`."""
        return self.executor_for(constants).run(inputs, constants)

    def executor_for(self, constants: Iterable[torch.Tensor]) -> Executor:
        """Return the executor that is bound to constants, if there is one."""
        executors, first = self.executors, self.executors[0]
        is_alone = len(executors) == 1
        if is_alone and first.moves < 2:
            return first
        # Sets of weights mostly come in the same order: one after the last executor's.
        for step in range(1, len(executors) + 1):
            number = (self._last + step) % len(executors)
            if executors[number].is_bound(constants):
                self._last = number
                if is_alone:  # its weights have moved for good
                    first.moves = 1
                return executors[number]
        return self._unbound(list(constants))

    def _unbound(self, constants: Sequence[torch.Tensor]) -> Executor:
        """Return the executor of constants that none is bound to, as they are new or updated."""
        addresses = [tensor.data_ptr() for tensor in constants]
        executor = next((each for each in self.executors if each.constants == addresses), None)
        if executor is not None:
            return executor
        first = self.executors[0]
        if (key := tuple(addresses)) not in self._seen:
            if len(self._seen) == REMEMBERED:
                self._seen.clear()
            self._seen.add(key)
            return first
        if len(self.executors) == CAPACITY or not first.can_replicate:
            return first
        self.executors = [*self.executors, first.replica(self._arenas)]
        return self.executors[-1]
