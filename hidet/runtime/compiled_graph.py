"""Compiled graphs, which the compile driver creates and frontends call."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import torch

from hidet.errors import DeviceMismatchError, HidetError
from hidet.runtime.cpu import CpuExecutor
from hidet.runtime.plan import Plan
from hidet.runtime.replicas import Replicas
from hidet.runtime.snapshots import load_snapshots
from hidet.runtime.tensors import Layout, Layouts, is_dense, random_tensors
from hidet.runtime.times import CompileTimes
from hidet.runtime.weights import UncountedWeightsError

if TYPE_CHECKING:
    from hidet.runtime.profile import Profile


class CompiledGraph:
    """A plan with its binaries.

    It is loaded on a device at the first call with tensors there. It runs either on the CPU, or on
    all GPUs that can run the plan's architecture. Once it gets weights without version counters, it
    computes what depends on weights alone in every call.

    Args:
        artifacts: for each artifact key of the plan its binary, a shared library or a cubin.
        device: the device of a graph without tensors.
        text: the program before all passes, if known.
        use_cuda_graph: on a GPU, replay a CUDA Graph; otherwise launch kernel by kernel.
        native: the native code of `runtime.snapshots`, for GPUs.

    Raises:
        HidetError: a shared library cannot be loaded.
    """

    def __init__(
        self,
        plan: Plan,
        artifacts: Mapping[str, bytes],
        device: torch.device,
        report: CompileTimes | None = None,
        *,
        text: str = "",
        use_cuda_graph: bool = True,
        native: bytes | None = None,
    ) -> None:
        self._use_cuda_graph = use_cuda_graph
        self._snapshots = load_snapshots(native)
        self.plan = plan
        self.text = text
        self.report = report or CompileTimes()
        self._executed = plan
        self._replicas: dict[int, Replicas] = {}
        self._layouts = Layouts()
        self._binaries = {k.artifact_key: artifacts[k.artifact_key] for k in plan.kernels}
        self._default_index = -1 if plan.target == "cpu" else device.index or 0
        if plan.target == "cpu":
            self._load(-1)

    @property
    def constant_names(self) -> tuple[str, ...]:
        """The names of the weights, in the order in which `run` takes them."""
        return tuple(self.plan.constants)

    def lay_out(
        self,
        outputs: Mapping[int, Layout],
        *,
        inputs: Mapping[int, Layout] | None = None,
        constants: Mapping[int, Layout] | None = None,
    ) -> frozenset[int]:
        """Let `run` take and return tensors in other layouts, by their numbers.

        The elements stay where they are in memory: an output [N, H, W, C] becomes one of [N, C, H,
        W] in channels-last order, say. So a layout has to be dense, and outputs that the plan
        copies stay contiguous. Return the numbers of the outputs that will be laid out so.

        Raises:
            HidetError: an input or constant does not have as many elements in its layout.
        """
        specs, copied = self.plan.outputs, self.plan.copied("output")
        returned = {
            number: layout
            for number, layout in outputs.items()
            if number not in copied and is_dense(layout, specs[number].size)
        }
        self._layouts = Layouts(returned, inputs or {}, constants or {})
        passed = (
            (self.plan.inputs, self._layouts.inputs),
            (tuple(self.plan.constants.values()), self._layouts.constants),
        )
        for specs, layouts in passed:
            for number, layout in layouts.items():
                if not is_dense(layout, specs[number].size):
                    raise HidetError(f"a tensor with {layout} does not hold {specs[number]}")
        for replicas in self._replicas.values():
            for executor in replicas.executors:
                executor.lay_out(self._layouts)
        return frozenset(returned)

    def prepare_in_calls(self) -> None:
        """Compute what depends on weights alone in every call from now on.

        This suits weights that change between calls: they are not compared, nor are launches made
        apart from those of a call.
        """
        if self.plan.prepare:
            self._executed = self.plan.preparing_in_calls()
            self._replicas.clear()

    def run(
        self, inputs: Sequence[torch.Tensor], constants: Iterable[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Run the graph on the device of its tensors, on the caller's current stream there.

        Args:
            inputs: the inputs, of the compiled shapes and types, contiguous but for those that are
                laid out otherwise. The last one may hold others (`packed_inputs` of the program). A
                tensor at the same address as in the last call is not checked again.
            constants: the weights, likewise, in the order of `constant_names`; a list is the
                fastest.

        Returns:
            The outputs: new tensors, contiguous but for those that are laid out otherwise. The last
            one may hold others (`packed_outputs`).

        Raises:
            DeviceMismatchError: the tensors are on several devices, or on one of another kind.
            HidetError: a tensor does not match the graph, or a launch failed.
        """
        try:
            return self._replicas_for(inputs, constants).run(inputs, constants)
        except UncountedWeightsError as error:
            if self._executed is self.plan:  # else another thread was faster
                self.prepare_in_calls()
                warnings.warn(str(error), RuntimeWarning, stacklevel=2)
            return self._replicas_for(inputs, constants).run(inputs, constants)

    def profile(
        self,
        inputs: Sequence[torch.Tensor] | None = None,
        constants: Iterable[torch.Tensor] | None = None,
        *,
        runs: int = 20,
    ) -> Profile:
        """Measure each launch of the graph.

        Args:
            inputs: as for `run`; by default random tensors on the device that the graph was
                compiled for. Each run mutates those that the graph updates.
            constants: the weights; as the inputs.
            runs: the number of runs over which times are medians.

        Raises:
            HidetError: as `run`; or the launches could not be measured.
        """
        from hidet.runtime.profile.measuring import profile_of

        is_cpu = self.plan.target == "cpu"
        device = torch.device("cpu") if is_cpu else torch.device("cuda", self._default_index)
        if inputs is None:
            inputs = random_tensors(self.plan.inputs, self._layouts.inputs, device)
        if constants is None:
            specs = [*self.plan.constants.values()]
            constants = random_tensors(specs, self._layouts.constants, device)
        self.run(inputs, constants)  # which decides what a call executes
        executor = self._replicas_for(inputs, constants).executor_for(constants)
        return profile_of(executor, inputs, constants, runs)

    def _replicas_for(
        self, inputs: Sequence[torch.Tensor], constants: Iterable[torch.Tensor]
    ) -> Replicas:
        """Return the executors for the device of the tensors."""
        tensors = inputs or [*constants]
        index = tensors[0].get_device() if tensors else self._default_index
        return self._replicas.get(index) or self._load(index)

    def _load(self, index: int) -> Replicas:
        """Load the plan on a GPU; index -1 is the CPU."""
        is_cpu = self.plan.target == "cpu"
        if is_cpu != (index < 0):
            where = "the CPU" if index < 0 else f"GPU {index}"
            raise DeviceMismatchError(
                f"the tensors are on {where}, but the graph was compiled for {self.plan.target}"
            )
        if is_cpu:
            executor = CpuExecutor(self._executed, self._binaries, self._snapshots)
        else:
            from hidet.runtime.cuda_graph import CudaGraphExecutor

            executor = CudaGraphExecutor(
                self._executed,
                self._binaries,
                torch.device("cuda", index),
                use_graph=self._use_cuda_graph,
                snapshots=self._snapshots,
            )
        executor.lay_out(self._layouts)
        self._replicas[index] = replicas = Replicas(executor)
        return replicas
