"""Compiled flow graphs."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import torch
from typing_extensions import override

import hidet
from hidet.absent import explains_members
from hidet.errors import HidetError, MissingMemberError
from hidet.foreign import plain
from hidet.frontends.torch.storage import Spec

if TYPE_CHECKING:
    from hidet.frontends.torch.program import CompiledProgram
    from hidet.frontends.trace.flow_graph import FlowGraph
    from hidet.runtime.profile import Profile


@explains_members
class BuiltGraph:
    """A compiled flow graph; the constants of the program are passed after its inputs."""

    def __init__(self, program: CompiledProgram, graph: FlowGraph) -> None:
        self.program = program
        self.specs = [Spec.of(symbol.example) for symbol in graph.recorded.inputs]
        self.constants = [tensor.torch() for tensor in graph.recorded.constants]
        self._tensor_class = graph.recorded.tensor_class
        self._graph = graph

    def __str__(self) -> str:
        return str(self._graph)

    def __call__(self, *inputs: Any) -> Any:
        """Return the output, or a list of several.

        Raises:
            HidetError: the inputs do not match the specs.
        """
        results = self.run_async(inputs)
        return results[0] if len(results) == 1 else results

    def run_async(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the outputs without synchronization."""
        return [self._tensor_class(r) for r in self.program(self._arguments(inputs))]

    def profile(self, *inputs: Any, runs: int = 20) -> Profile:
        """Measure each launch; times are medians over some runs, on random inputs by default.

        Raises:
            HidetError: the inputs are invalid, or the launches could not be measured.
        """
        return self.program.profile(self._arguments(inputs or self.dummy_inputs()), runs)

    def _arguments(self, inputs: Sequence[Any]) -> list[torch.Tensor]:
        """Return the arguments of the program."""
        if len(inputs) != len(self.specs):
            raise HidetError(f"{len(inputs)} inputs for a graph that takes {len(self.specs)}")
        tensors = [
            spec.checked(plain(given), "input", number)
            for number, (given, spec) in enumerate(zip(inputs, self.specs, strict=True))
        ]
        return [*tensors, *self.constants]

    def dummy_inputs(self) -> list[Any]:
        """Return random inputs; integers are 0 or 1, so that they are valid indices."""
        return [self._tensor_class(_random(spec)) for spec in self.specs]

    def save(self, path: str | PathLike[str]) -> None:
        """Save the graph with its binaries, as `hidet.save_compiled` does."""
        hidet.save_compiled(self, path)

    def clear_dispatch_table(self) -> None:
        """Do nothing: kernels are chosen when the graph is compiled."""

    def cuda_graph(self) -> CudaGraph:
        """Return a CUDA graph with static inputs.

        Raises:
            HidetError: the graph is for the CPU.
        """
        if any(spec.device.type != "cuda" for spec in self.specs):
            raise HidetError(
                "a graph for the CPU has no CUDA graph", hint="use symbols on device='cuda'"
            )
        return CudaGraph(self)


class BuiltForSizes(BuiltGraph):
    """A flow graph with named sizes, which is specialized for the shapes of each call."""

    def __init__(self, graph: FlowGraph, space: int | None) -> None:
        self._graph = graph
        self._space = space
        self._built: dict[tuple[tuple[int, ...], ...], BuiltGraph] = {}

    def __getattr__(self, name: str) -> object:
        raise MissingMemberError(
            f"a graph with named sizes has no '{name}'",
            hint="graph.with_sizes([3, 4]).build() is compiled for fixed shapes",
        )

    @override
    def run_async(self, inputs: Sequence[Any]) -> list[Any]:
        return self._for(inputs).run_async(inputs)

    @override
    def profile(self, *inputs: Any, runs: int = 20) -> Profile:
        return self._for(inputs).profile(*inputs, runs=runs)

    def _for(self, inputs: Sequence[Any]) -> BuiltGraph:
        """Return the graph specialized for the shapes of the inputs."""
        shapes = tuple(tuple(tensor.shape) for tensor in inputs)
        if shapes not in self._built:
            self._built[shapes] = self._graph.with_sizes(*shapes).build(space=self._space)
        return self._built[shapes]


@explains_members
class CudaGraph:
    """A compiled graph with static inputs, launched as one CUDA graph."""

    def __init__(self, built: BuiltGraph) -> None:
        self._built = built
        self.inputs = built.dummy_inputs()
        self.outputs: list[Any] = built.run_async(self.inputs)

    def run(self, inputs: Sequence[Any] | None = None) -> list[Any]:
        """Return the outputs as new tensors, after synchronization."""
        outputs = self.run_async(inputs)
        torch.cuda.synchronize()
        return outputs

    def run_async(self, inputs: Sequence[Any] | None = None) -> list[Any]:
        """Return the outputs without synchronization."""
        self.outputs = self._built.run_async(self.inputs if inputs is None else inputs)
        return self.outputs

    def __call__(self, *inputs: Any) -> Any:
        """Return the output, or a list of several."""
        outputs = self.run_async(inputs)
        return outputs[0] if len(outputs) == 1 else outputs


def _random(spec: Spec) -> torch.Tensor:
    """Return a random tensor."""
    if spec.dtype.is_floating_point:
        return torch.randn(spec.shape, device=spec.device).to(spec.dtype)
    return torch.randint(2, spec.shape, device=spec.device).to(spec.dtype)
