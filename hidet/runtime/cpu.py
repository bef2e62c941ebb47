"""Executes a plan on the CPU, with kernels from shared libraries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from time import perf_counter_ns

import torch

from hidet.arch.limits import BUFFER_ALIGNMENT
from hidet.runtime.arguments import ArgumentTable
from hidet.runtime.executor import Executor
from hidet.runtime.kernels import CpuKernel, Extents, Library
from hidet.runtime.plan import Launch, Plan
from hidet.runtime.snapshots import Snapshots
from hidet.runtime.specs import Span
from hidet.runtime.tensor_maps import write_for_cpu


class CpuExecutor(Executor):
    """A plan on the CPU: launches run sequentially, each on all cores.

    `artifacts` are the shared libraries, by the artifact keys of the plan.
    """

    def __init__(
        self, plan: Plan, artifacts: Mapping[str, bytes], snapshots: Snapshots | None = None
    ) -> None:
        super().__init__(plan, torch.device("cpu"), write_for_cpu, snapshots)
        keys = {kernel.artifact_key for kernel in plan.kernels}
        libraries = {key: Library(artifacts[key]) for key in keys}
        self._kernels: Sequence[CpuKernel | _Timed] = [
            CpuKernel(libraries[kernel.artifact_key], kernel.symbol, kernel.shared_bytes)
            for kernel in plan.kernels
        ]
        self._start()

    def timed(
        self, inputs: Sequence[torch.Tensor], constants: Iterable[torch.Tensor]
    ) -> list[Span]:
        """Run the graph, and return the start and end of each launch; see `run`.

        No other thread may run it meanwhile, and no weight may change.
        """
        spans: list[Span] = []
        kernels, self._kernels = self._kernels, [_Timed(each, spans) for each in self._kernels]
        try:
            self.run(inputs, constants)
        finally:
            self._kernels = kernels
        return spans

    def _allocate(self, size: int) -> torch.Tensor:
        memory = torch.empty(size + BUFFER_ALIGNMENT, dtype=torch.uint8)
        start = -memory.data_ptr() % BUFFER_ALIGNMENT
        return memory[start : start + size]

    def _launch(self) -> None:
        self._launch_in_order(self.plan.forward, self._table)

    def _launch_in_order(self, launches: Sequence[Launch], table: ArgumentTable) -> None:
        for launch, address in zip(launches, table.launch_addresses, strict=True):
            kernel = self.plan.kernels[launch.kernel]
            self._kernels[launch.kernel].launch(address, kernel.grid, kernel.block)


class _Timed:
    """A kernel that records the start and end of each of its launches."""

    def __init__(self, kernel: CpuKernel | _Timed, spans: list[Span]) -> None:
        self._kernel = kernel
        self._spans = spans

    def launch(self, arguments: int, grid: Extents, block: Extents) -> None:
        """Run the kernel; see `CpuKernel.launch`."""
        start = perf_counter_ns()
        self._kernel.launch(arguments, grid, block)
        self._spans.append(Span(start, perf_counter_ns()))
