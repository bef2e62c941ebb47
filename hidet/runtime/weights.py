"""Sets of weights: one compiled graph serves many modules, each with its own weights.

What a graph derives from weights alone (folded batch norms, repacked matrices) is computed once for
a set of weights, by the `prepare` launches, into the set's prepared memory. It is computed anew
when a weight of the set has been changed in place.

A set is recognised by the addresses of its weights. Addresses can be used again when a weight dies,
so a set also watches the storages of its weights, by weak references, and is dropped, memory and
all, as soon as one of them is gone. Changes show in torch's version counters. Two things these
counters do not count:

- writes through `weight.data` or another alias that has a counter of its own are not noticed;
- weights made in `torch.inference_mode()` have no counter, so what depends on them is computed in
  every call, after one warning.
"""

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter

import torch

CAPACITY = 128
"""How many sets are kept: more than the blocks of a large transformer compiled block by block."""

_Tensor = torch.Tensor


class WeightSet:
    """The weights of one module, and what was computed from them.

    Attributes:
        versions: the version counters at that time; None for weights without counters.
    """

    def __init__(
        self,
        prepared: torch.Tensor,
        versions: list[int] | None,
        weights: Sequence[torch.Tensor],
    ) -> None:
        self._prepared: object = prepared
        self.versions = versions
        # What is called is no code of Python, in which a Ctrl-C might keep it from being done: it
        # puts the dead reference in the place of the memory.
        expire = partial(setattr, weakref.proxy(self), "_prepared")
        # torch keeps one Python object for a storage as long as the storage lives.
        self._guards = [weakref.ref(weight.untyped_storage(), expire) for weight in weights]

    @property
    def prepared(self) -> torch.Tensor | None:
        """The memory that the `prepare` launches filled; None once a weight has died."""
        return self._prepared if type(self._prepared) is _Tensor else None

    @property
    def is_tracked(self) -> bool:
        """Whether nothing but a counter can tell that what was computed does not hold any more."""
        return self.versions is not None and type(self._prepared) is _Tensor

    def is_current(self, versions: list[int] | None) -> bool:
        """Tell whether what was computed still holds for weights with these version counters."""
        known = versions is not None and versions == self.versions
        return known and type(self._prepared) is _Tensor


def read_versions(weights: Sequence[torch.Tensor]) -> list[int] | None:
    """Give the version counters, or None where a weight has none."""
    try:
        return [weight._version for weight in weights]
    except RuntimeError:
        if any(weight.is_inference() for weight in weights):
            return None
        raise


class WeightSets:
    """The sets that a compiled graph has seen lately.

    Args:
        positions: which of the constants the `prepare` launches read.
        prepare: fills new prepared memory from all constants of a call, and returns it.
        capacity: how many sets to keep.
    """

    def __init__(
        self,
        positions: Sequence[int],
        prepare: Callable[[Sequence[torch.Tensor]], torch.Tensor],
        capacity: int = CAPACITY,
    ) -> None:
        # itemgetter is the fastest way, but wants two positions at least.
        self._pick: Callable[[Sequence[torch.Tensor]], Sequence[torch.Tensor]] = (
            itemgetter(*positions)
            if len(positions) > 1
            else lambda constants: [constants[position] for position in positions]
        )
        self._prepare = prepare
        self._capacity = capacity
        self._sets: OrderedDict[tuple[int, ...], WeightSet] = OrderedDict()
        self._warned = False

    def is_current(self, known: WeightSet, constants: Sequence[torch.Tensor]) -> bool:
        """Tell whether a set, whose weights are at the addresses of `constants`, still holds."""
        return known.is_current(read_versions(self._pick(constants)))

    def select(self, constants: Sequence[torch.Tensor]) -> WeightSet:
        """Give the set of these constants with its prepared memory up to date.

        The result's `prepared` is no None as long as the caller holds the constants.
        """
        weights = self._pick(constants)
        key = tuple(weight.data_ptr() for weight in weights)
        versions = read_versions(weights)
        known = self._sets.get(key)
        if known is None or not known.is_current(versions):
            self._drop_dead()
            if versions is None:
                self._warn_untracked()
            known = WeightSet(self._prepare(constants), versions, weights)
            self._sets[key] = known
        self._sets.move_to_end(key)
        while len(self._sets) > self._capacity:
            self._sets.popitem(last=False)
        return known

    def __len__(self) -> int:
        return sum(weight_set.prepared is not None for weight_set in self._sets.values())

    def _drop_dead(self) -> None:
        dead = [key for key, weight_set in self._sets.items() if weight_set.prepared is None]
        for key in dead:
            del self._sets[key]

    def _warn_untracked(self) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                "weights made in torch.inference_mode() have no version counter, so what is "
                "derived from them is computed in every call; make them outside of it",
                RuntimeWarning,
                stacklevel=2,
            )
