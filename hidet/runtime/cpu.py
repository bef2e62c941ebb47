"""Runs a plan on the CPU: the same launches, from shared libraries that g++ made."""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch

from hidet.errors import DivisionByZeroError, HidetError, IndexOutOfRangeError
from hidet.runtime.arguments import ArgumentTable
from hidet.runtime.executor import Executor
from hidet.runtime.library import Library
from hidet.runtime.plan import ALIGNMENT, Kernel, Launch, Plan
from hidet.runtime.strict import StrictLaunches

_FAULTS: dict[int, type[HidetError]] = {13: IndexOutOfRangeError, 14: DivisionByZeroError}
"""Errors that are about what a program is given, by the number that a launch returns
(hidet_cpu_thread.h, Error). The message has two lines: what is wrong, and where."""


class CpuExecutor(Executor):
    """A plan whose kernels run on all cores of the CPU, one launch after the other.

    Args:
        plan: what to run.
        artifacts: for each artifact key of the plan the path of its shared library.
    """

    def __init__(self, plan: Plan, artifacts: Mapping[str, Path]) -> None:
        super().__init__(plan, torch.device("cpu"))
        keys = {kernel.artifact_key for kernel in plan.kernels}
        self._libraries = {key: Library(artifacts[key]) for key in keys}
        self._functions = [
            _Function(self._libraries[k.artifact_key].native, k) for k in plan.kernels
        ]

    def _allocate(self, size: int) -> torch.Tensor:
        memory = torch.empty(size + ALIGNMENT, dtype=torch.uint8)
        start = -memory.data_ptr() % ALIGNMENT
        return memory[start : start + size]

    def _launch(self) -> None:
        self._launch_in_order(self.plan.forward, self._table)

    def _launch_in_order(self, launches: Sequence[Launch], table: ArgumentTable) -> None:
        for launch, address in zip(launches, table.launch_addresses, strict=True):
            self._functions[launch.kernel](address)


class _Function:
    """A kernel of a loaded library."""

    def __init__(self, library: ctypes.CDLL, kernel: Kernel) -> None:
        self._symbol = kernel.symbol
        self._shape = (*kernel.grid, kernel.shared_bytes)
        # int <symbol>_launch(void** arguments, grid x, y, z, shared bytes); 0 where all went well.
        self._launch: Callable[..., int] = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 4
        )((f"{kernel.symbol}_launch", library))
        self._strict = StrictLaunches(library)
        self._last_error: Callable[[], bytes] = ctypes.CFUNCTYPE(ctypes.c_char_p)(
            ("hidet_last_error", library)
        )

    def __call__(self, arguments: int) -> None:
        """Run the kernel over its grid; `arguments` is the `void**`."""
        self._strict.prepare()
        status = self._launch(arguments, *self._shape)
        if status != 0:
            reason = self._last_error().decode(errors="replace")
            if status in _FAULTS:
                what, _, where = reason.partition("\n")
                raise _FAULTS[status](what, where=where)
            raise HidetError(f"kernel '{self._symbol}' failed on the CPU: {reason}")
