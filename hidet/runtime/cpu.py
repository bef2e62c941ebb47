"""Runs a plan on the CPU: the same launches, from shared libraries that g++ made."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from hidet.runtime.arguments import ArgumentTable
from hidet.runtime.executor import Executor
from hidet.runtime.kernels import CpuKernel
from hidet.runtime.library import Library
from hidet.runtime.plan import ALIGNMENT, Launch, Plan
from hidet.runtime.tensor_maps import encode_for_cpu


class CpuExecutor(Executor):
    """A plan whose kernels run on all cores of the CPU, one launch after the other.

    Args:
        plan: what to run.
        artifacts: for each artifact key of the plan the path of its shared library.
    """

    def __init__(self, plan: Plan, artifacts: Mapping[str, Path]) -> None:
        super().__init__(plan, torch.device("cpu"), encode_for_cpu)
        keys = {kernel.artifact_key for kernel in plan.kernels}
        libraries = {key: Library(artifacts[key]) for key in keys}
        self._kernels = [
            CpuKernel(libraries[kernel.artifact_key], kernel.symbol, kernel.shared_bytes)
            for kernel in plan.kernels
        ]

    def _allocate(self, size: int) -> torch.Tensor:
        memory = torch.empty(size + ALIGNMENT, dtype=torch.uint8)
        start = -memory.data_ptr() % ALIGNMENT
        return memory[start : start + size]

    def _launch(self) -> None:
        self._launch_in_order(self.plan.forward, self._table)

    def _launch_in_order(self, launches: Sequence[Launch], table: ArgumentTable) -> None:
        for launch, address in zip(launches, table.launch_addresses, strict=True):
            kernel = self.plan.kernels[launch.kernel]
            self._kernels[launch.kernel].launch(address, kernel.grid, kernel.block)
