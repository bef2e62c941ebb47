"""Flow graphs: recorded operators between symbolic tensors, and what they compile to."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from typing_extensions import override

import hidet
from hidet.absent import explains_members
from hidet.errors import HidetError, MissingMemberError
from hidet.foreign import plain
from hidet.frontends.torch.storage import Spec
from hidet.frontends.trace.pass_context import GraphSettings, PassContext
from hidet.frontends.trace.recorded import Recorded
from hidet.frontends.trace.recording import Operator, Traced
from hidet.frontends.trace.sizes import Sizes
from hidet.frontends.trace.tracing import compile_imported, example_of, import_function

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from hidet.frontends.torch.imported import ImportedGraph
    from hidet.frontends.torch.program import CompiledProgram
    from hidet.runtime.profile import Profile


@explains_members
class FlowGraph:
    """A dataflow graph of operators.

    By default its inputs are all symbols that the outputs depend on, in order of use.

    Raises:
        HidetError: the outputs depend on a symbol that is not an input.
    """

    def __init__(self, outputs: Sequence[Traced], inputs: Sequence[Traced] | None = None) -> None:
        self.recorded = Recorded.between(outputs, inputs)
        self._shown = self.recorded  # or the graph after the fusion passes
        self._settings = GraphSettings()

    @property
    def nodes(self) -> list[Operator]:
        """The operators in topological order."""
        return self._shown.nodes

    @property
    def inputs(self) -> list[Any]:
        """The inputs."""
        return self._shown.inputs

    @property
    def outputs(self) -> list[Any]:
        """The outputs."""
        return self._shown.outputs

    @property
    def constants(self) -> list[Any]:
        """The concrete operands of operators; they are read in every call."""
        return self._shown.constants

    def __str__(self) -> str:
        return str(self._shown)

    def draw(self, filename: str | PathLike[str]) -> None:
        """Write the graph to a Graphviz file with the suffix `.dot`."""
        path = Path(filename).with_suffix(".dot")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._shown.dot())

    @property
    def module(self) -> ModuleOp:
        """The graph as a module of the graph dialect, before any pass."""
        return self.imported().module

    def imported(self) -> ImportedGraph:
        """Return the graph as an imported module."""
        recorded = self.recorded
        if recorded.has_names:
            raise HidetError(
                "a graph with named sizes cannot be imported before it is called",
                hint="graph.with_sizes([3, 4], ...) returns the graph for inputs of these shapes",
            )
        precision = self._settings.precision

        def run(*tensors: torch.Tensor) -> list[torch.Tensor]:
            if precision is not None:
                tensors = tuple(t.to(precision) if t.dtype == torch.float32 else t for t in tensors)
            results = recorded.replay(*tensors)
            types = [output.example.dtype for output in recorded.outputs]
            return [r if r.dtype == t else r.to(t) for r, t in zip(results, types, strict=True)]

        examples = [example_of(Spec.of(tensor.example)) for tensor in recorded.tensors]
        static = range(len(recorded.inputs), len(examples))
        with self._settings.flags():
            return import_function(run, examples, static)

    def optimized(self) -> FlowGraph:
        """Return the fused graph under the settings of the current `PassContext`."""
        from hidet.frontends.trace.fused import fused

        result = copy.copy(self)
        vars(result).pop("_built", None)
        result._settings = PassContext.current().settings
        if not self.recorded.has_names:
            result._shown = fused(result.imported(), result.recorded)
        return result

    def with_sizes(self, *shapes: Sequence[int]) -> FlowGraph:
        """Return the graph specialized for the shapes of its inputs.

        Raises:
            HidetError: the shapes do not match the inputs.
        """
        recorded = self.recorded
        sizes = Sizes(recorded.inputs, shapes)
        inputs: list[Traced] = []
        for symbol in recorded.inputs:
            spec = Spec.of(symbol.example)
            shape, strides = tuple(map(sizes.of, spec.shape)), tuple(map(sizes.of, spec.strides))
            example = example_of(Spec(shape, strides, spec.dtype, spec.device))
            inputs.append(recorded.tensor_class(example))
        graph = FlowGraph(recorded.reforward(inputs, sizes), inputs)
        graph._settings = self._settings
        return graph

    def build(self, *, space: int | None = None) -> BuiltGraph:
        """Compile the graph; compilation is deferred to calls if it has named sizes.

        The search space is the option `search_space` by default.

        Raises:
            HidetError: it cannot be compiled.
        """
        if self.recorded.has_names:
            return BuiltForSizes(self, space)
        settings = self._settings
        options: dict[str, object] = {}
        if space is not None:
            options["search_space"] = space
        if settings.dump_dir is not None:
            options["dump_dir"] = settings.dump_dir
        program = compile_imported(self.imported(), **options)
        if program.report is not None:
            settings.write_times(program.report)
        return BuiltGraph(program, self)

    @cached_property
    def _built(self) -> BuiltGraph:
        return self.build()

    def __call__(self, *inputs: Any) -> Any:
        """Return the output, or a list of several; they are symbolic if an input is."""
        if any(isinstance(tensor, Traced) and tensor.is_symbolic() for tensor in inputs):
            recorded = self.recorded
            shapes = [tensor.shape for tensor in inputs]
            sizes = Sizes(recorded.inputs, shapes) if recorded.has_names else None
            results = recorded.reforward(inputs, sizes)
            return results[0] if len(results) == 1 else results
        return self._built(*inputs)

    def cuda_graph(self) -> CudaGraph:
        """Return a CUDA graph with static inputs; see `BuiltGraph.cuda_graph`."""
        return self._built.cuda_graph()

    def run_async(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the outputs without synchronization."""
        return self._built.run_async(inputs)

    forward = run_async

    def dummy_inputs(self) -> list[Any]:
        """Return random inputs."""
        return self._built.dummy_inputs()

    def latency(
        self, warmup: int = 25, repeat: int = 100, dummy_inputs: Sequence[Any] | None = None
    ) -> float:
        """Return the median latency of `repeat` calls in milliseconds."""
        from hidet.utils.benchmark import benchmark_func

        inputs = self.dummy_inputs() if dummy_inputs is None else dummy_inputs
        return benchmark_func(lambda: self(*inputs), warmup, 1, repeat)


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
    if spec.dtype.is_floating_point:
        return torch.randn(spec.shape, device=spec.device).to(spec.dtype)
    return torch.randint(2, spec.shape, device=spec.device).to(spec.dtype)


def trace_from(
    tensor: Traced | Sequence[Traced], inputs: Traced | Sequence[Traced] | None = None
) -> FlowGraph:
    """Return the graph that computes one or several symbolic tensors; see `FlowGraph`.

    Raises:
        HidetError: an output is concrete, or depends on other inputs.
    """
    outputs = [tensor] if isinstance(tensor, Traced) else list(tensor)
    for output in outputs:
        if not output.is_symbolic():
            raise HidetError(
                "cannot trace a concrete tensor",
                hint="compute it from hidet.symbol_like(a) instead of the input a",
            )
    return FlowGraph(outputs, [inputs] if isinstance(inputs, Traced) else inputs)


def optimize(graph: FlowGraph) -> FlowGraph:
    """Return an optimized graph, under the settings of the current `PassContext`."""
    return graph.optimized()
