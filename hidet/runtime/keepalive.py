"""Keeps the memory of a call's tensors alive while kernels may read it.

Another thread can replace the memory of a tensor at any time (`weight.data = ...`,
`module.to(...)`), which frees the old memory unless there are other references. Acquiring
references to hundreds of tensors in every call would be slow, and keeping them between calls would
waste memory, such as that of a model that has been moved to another device.

So the references are in a reference cycle, which the executor refers to weakly: the next call
acquires all of them at once, unless Python's garbage collector has freed them meanwhile. Inputs may
be large, and differ in each call: references are kept between calls once inputs have stayed the
same for some calls, and until the caller frees them.
"""

import _thread
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import torch
from tqdm import tqdm

MAX_PATIENCE = 256
"""The maximal number of calls with the same inputs before references to them are kept between
calls. With fewer, the cost would not pay off if inputs change often."""

_data_ptr = torch.Tensor.data_ptr
_detach = torch.Tensor.detach
_storage = torch.Tensor.untyped_storage
_thread_count = _thread._count  # pyright: ignore[reportPrivateUsage]
"""Returns the number of threads except the main one."""
_threads = threading._active.values()  # pyright: ignore
"""The threads of the module threading, including the main one."""


class KeepAlive:
    """References to the current memory of tensors.

    Attributes:
        tensors: aliases of the tensors, which no other thread can access. Those of a list are read
            in native code, without a thread switch in between.
        reference: returns this object while it lives.
    """

    __slots__ = ("__weakref__", "_cycle", "reference", "tensors")

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        self.tensors = list(map(_detach, tensors))
        self.reference: Callable[[], KeepAlive | None] = weakref.ref(self)
        self._cycle: KeepAlive | None = self

    def release(self) -> None:
        """Break the cycle: the memory is freed when no call uses it any more."""
        self._cycle = None


def others_may_replace() -> bool:
    """Return whether there is another thread that may access the tensors of a call.

    tqdm's monitor thread does not; each compilation of torch creates a bar and so this thread.
    """
    others = _thread_count()
    return others > 1 or (others == 1 and tqdm.monitor not in _threads)


def no_keepalive() -> KeepAlive | None:
    """Return None, like a dead weak reference."""
    return None


class Inputs:
    """The addresses of a call's inputs, and references to their memory.

    `known` are those in the arguments of the launches; None if they must all be written.
    """

    def __init__(self) -> None:
        self.known: list[int] | None = None
        self._keepalive = no_keepalive
        self._watches: list[weakref.ref[torch.Tensor]] = []
        self._unmoved = 0  # consecutive calls with these inputs that acquired references
        self._patience = 1

    def hold(self, inputs: Sequence[torch.Tensor]) -> tuple[list[int], object]:
        """Return the addresses of inputs, `known` itself if they are equal, and references to them.

        There are no references if no other thread can free the inputs.
        """
        keepalive = self._keepalive()
        if keepalive is None and others_may_replace():
            storages, addresses = map(_storage, inputs), map(_data_ptr, inputs)
            # Python switches threads at the end of calls, so not between these two expressions.
            memory, pointers = [*storages], [*addresses]
        else:
            memory, pointers = keepalive, [*map(_data_ptr, inputs)]
        if (known := self.known) is None or pointers != known:
            self._unmoved = 0
            if keepalive is None:
                return pointers, memory
            self._release()
            return self.hold(inputs)
        if memory and keepalive is None:
            self._unmoved += 1
            if self._unmoved > self._patience:
                self._hold_between_calls(inputs)
        return known, memory

    def _hold_between_calls(self, inputs: Sequence[torch.Tensor]) -> None:
        """Keep references to inputs until one of them dies or moves."""
        self._unmoved = 0
        keepalive = KeepAlive(inputs)
        if list(map(_data_ptr, keepalive.tensors)) == self.known:
            expire = partial(_expire, weakref.ref(self))
            self._watches = [weakref.ref(tensor, expire) for tensor in inputs]
            self._keepalive = keepalive.reference

    def _release(self) -> None:
        """Keep no references between calls."""
        if (keepalive := self._keepalive()) is not None:
            keepalive.release()
        self._keepalive, self._watches = no_keepalive, []

    def expire(self) -> None:
        """Release inputs, one of which has died; the next ones must stay the same for longer."""
        self._patience = min(2 * self._patience, MAX_PATIENCE)
        self._release()


def _expire(owner: "weakref.ref[Inputs]", tensor: object) -> None:
    """Release the inputs of a call, one of which has died."""
    if (inputs := owner()) is not None:
        inputs.expire()
