"""The memory of a call's weights, held while its kernels may read it.

A tensor can be given other memory at any moment (`weight.data = ...`, `module.to(...)`); then its
old memory is freed, unless somebody else holds it. To take hold of hundreds of weights in every
call would take long. To hold them between calls as well would keep memory that nobody uses, as that
of a model that has been moved away.

So what is held is a cycle, which the executor refers to weakly: the next call takes hold of all of
it at once, or else Python's garbage collector has freed it meanwhile.
"""

import weakref
from collections.abc import Callable, Sequence

import torch

_detach = torch.Tensor.detach


class Held:
    """The memory that tensors have at this moment.

    Args:
        tensors: the tensors; in native code, so that no other thread comes between two of them.

    Attributes:
        tensors: the same memory, as tensors that nobody else knows.
        reference: gives this object as long as it lives.
    """

    __slots__ = ("__weakref__", "_cycle", "reference", "tensors")

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        self.tensors = list(map(_detach, tensors))
        self.reference: Callable[[], Held | None] = weakref.ref(self)
        self._cycle: Held | None = self

    def release(self) -> None:
        """Free it as soon as no call holds it any more."""
        self._cycle = None


def nothing_held() -> Held | None:
    """Give nothing, as the reference of what has been freed does."""
    return None
