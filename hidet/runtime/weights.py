"""Weight sets: one compiled graph serves many modules, each with its own weights.

What depends on weights alone (folded batch norms, repacked matrices) is computed once per weight
set, by the `prepare` launches, into the set's prepared memory, and again when a weight has been
changed in place.

A set is identified by the addresses of its weights. Addresses are reused when a weight dies, so a
set also has weak references to the storages of its weights, and is dropped with its memory when one
dies. Changes are detected by torch's version counters, with two limitations:

- writes through `weight.data`, or another alias with a counter of its own, are not detected;
- weights created in `torch.inference_mode()` have no counter, so they cannot be in a set: a
  compiled graph computes what depends on them in every call (`Plan.preparing_in_calls`).
"""

import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial

import torch

from hidet.errors import HidetError
from hidet.runtime.snapshots import NO_VERSION

CAPACITY = 128
"""The number of sets to keep: more than the blocks of a large transformer compiled block by
block."""

_Tensor = torch.Tensor


class UncountedWeightsError(HidetError):
    """A weight has no version counter: it was made in `torch.inference_mode()`."""


class WeightSet:
    """The weights of one module, and what was computed from them.

    `versions` are the version counters of the constants at that time, `NO_VERSION` for those that
    were not read; `stream` is that of the computation.
    """

    def __init__(
        self,
        prepared: torch.Tensor,
        versions: list[int],
        weights: Sequence[torch.Tensor],
        stream: int,
    ) -> None:
        self._prepared: object = prepared
        self.versions = versions
        self.stream = stream
        # The callback runs no Python code, so that a Ctrl-C cannot prevent it: it replaces the
        # memory by the dead reference.
        expire = partial(setattr, weakref.proxy(self), "_prepared")
        # torch keeps one Python object for a storage while the storage lives.
        self._guards = [weakref.ref(weight.untyped_storage(), expire) for weight in weights]

    @property
    def prepared(self) -> torch.Tensor | None:
        """The memory that the `prepare` launches filled; None once a weight has died."""
        return self._prepared if type(self._prepared) is _Tensor else None

    def is_current(self, versions: list[int]) -> bool:
        """Return whether prepared memory is valid for the weights, which have these versions."""
        return self.versions == versions and self.prepared is not None


class WeightSets:
    """The most recently used weight sets of a compiled graph.

    Its `prepare` launches read the constants at `positions`.
    """

    def __init__(self, positions: Sequence[int], capacity: int = CAPACITY) -> None:
        self._positions = positions
        self._capacity = capacity
        self._sets: OrderedDict[tuple[int, ...], WeightSet] = OrderedDict()

    def select(
        self,
        constants: Sequence[torch.Tensor],
        prepare: Callable[[Sequence[torch.Tensor]], torch.Tensor],
        stream: int = 0,
    ) -> WeightSet:
        """Return the set of these constants with its prepared memory up to date.

        `prepare` fills new prepared memory from all constants, on the stream, and returns it. The
        result's `prepared` is not None while the caller holds the constants.

        Raises:
            UncountedWeightsError: a weight has no version counter.
        """
        weights = [constants[position] for position in self._positions]
        key = tuple(weight.data_ptr() for weight in weights)
        versions = self._versions(constants)
        known = self._sets.get(key)
        if known is None or not known.is_current(versions):
            for dead in [k for k, each in self._sets.items() if each.prepared is None]:
                del self._sets[dead]
            known = WeightSet(prepare(constants), versions, weights, stream)
            self._sets[key] = known
        self._sets.move_to_end(key)
        while len(self._sets) > self._capacity:
            self._sets.popitem(last=False)
        return known

    def _versions(self, constants: Sequence[torch.Tensor]) -> list[int]:
        """Return the version counters of constants."""
        versions = [NO_VERSION] * len(constants)
        for position in self._positions:
            if constants[position].is_inference():
                raise UncountedWeightsError(
                    "weights made in torch.inference_mode() have no version counter, so what is "
                    "derived from them is computed in every call",
                    hint="make the model outside of torch.inference_mode(), and call it inside",
                )
            versions[position] = constants[position]._version
        return versions

    def __len__(self) -> int:
        return sum(weight_set.prepared is not None for weight_set in self._sets.values())
