"""The memory of a call's tensors, held while its kernels may read it.

A tensor can be given other memory at any moment (`weight.data = ...`, `module.to(...)`); then its
old memory is freed, unless somebody else holds it. To take hold of hundreds of tensors in every
call would take long. To hold them between calls as well would keep memory that nobody uses, as that
of a model that has been moved away.

So what is held is a cycle, which the executor refers to weakly: the next call takes hold of all of
it at once, or else Python's garbage collector has freed it meanwhile. Inputs may be large, and
others in each call: they are held between calls once they have stayed where they are, and no longer
than the caller has them.
"""

import _thread
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial

import torch
from tqdm import tqdm

MAX_PATIENCE = 256
"""After at most so many calls, inputs that have stayed where they are are held between calls.
Fewer would not pay for what that takes where the inputs turn out to be others in each call."""

_data_ptr = torch.Tensor.data_ptr
_detach = torch.Tensor.detach
_storage = torch.Tensor.untyped_storage
_thread_count = _thread._count  # pyright: ignore[reportPrivateUsage]
"""Give the number of threads but the main one."""
_threads = threading._active.values()  # pyright: ignore
"""The threads of Python's own module, the main one among them."""


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


def others_may_replace() -> bool:
    """Tell whether there is a thread beside this one that may know the tensors of a call.

    That which moves the progress bars of tqdm does not. Each compilation of torch makes a bar, and
    so this thread, whether or not the bar is shown.
    """
    others = _thread_count()
    return others > 1 or (others == 1 and tqdm.monitor not in _threads)


def nothing_held() -> Held | None:
    """Give nothing, as the reference of what has been freed does."""
    return None


class Inputs:
    """The addresses of a call's inputs, and their memory as long as the call is at work.

    Attributes:
        known: the addresses that the launches have; None, which is unlike any addresses, where they
            have to be given all of them.
    """

    def __init__(self) -> None:
        self.known: list[int] | None = None
        self._held = nothing_held
        self._watches: list[weakref.ref[torch.Tensor]] = []
        self._unmoved = 0  # so many calls in a row have held these inputs for themselves alone
        self._patience = 1

    def hold(self, inputs: Sequence[torch.Tensor]) -> tuple[list[int], object]:
        """Give the addresses of inputs, `known` itself where they are equal, and what holds them.

        Nothing holds them while no other thread can free them.
        """
        held = self._held()
        if held is None and others_may_replace():
            storages, addresses = map(_storage, inputs), map(_data_ptr, inputs)
            # Python changes threads where calls end: none comes between what is held and where it
            # is, since nothing is called here.
            memory, pointers = [*storages], [*addresses]
        else:
            memory, pointers = held, [*map(_data_ptr, inputs)]
        if self.known is None or pointers != self.known:
            self._unmoved = 0
            if held is None:
                return pointers, memory
            self._release()
            return self.hold(inputs)
        if memory and held is None:
            self._unmoved += 1
            if self._unmoved > self._patience:
                self._hold_between_calls(inputs)
        return self.known, memory

    def _hold_between_calls(self, inputs: Sequence[torch.Tensor]) -> None:
        """Hold the memory of inputs until one of them is gone, or has been moved."""
        self._unmoved = 0
        held = Held(inputs)
        if list(map(_data_ptr, held.tensors)) == self.known:
            expire = partial(_expire, weakref.ref(self))
            self._watches = [weakref.ref(tensor, expire) for tensor in inputs]
            self._held = held.reference

    def _release(self) -> None:
        """Hold nothing between calls."""
        if (held := self._held()) is not None:
            held.release()
        self._held, self._watches = nothing_held, []

    def expire(self) -> None:
        """Release inputs one of which is gone; the next ones have to stay for longer."""
        self._patience = min(2 * self._patience, MAX_PATIENCE)
        self._release()


def _expire(owner: "weakref.ref[Inputs]", tensor: object) -> None:
    """Release the inputs of a call, one of which is gone."""
    if (inputs := owner()) is not None:
        inputs.expire()
