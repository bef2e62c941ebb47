"""Compiles forward and backward graphs, and saves intermediates only if there is a backward pass.

AOTAutograd's forward graph returns the saved intermediates along with its results, which costs
memory and prevents fusion. But most models that are called with gradients enabled never see a
`.backward()`. So at first only the results are compiled, as under `torch.no_grad()`, and a call
keeps its arguments. The first backward pass compiles the full forward graph along with the backward
graph and recomputes forward by it; later calls run the full graph.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import torch
from torch import fx
from torch._guards import TracingContext
from torch._higher_order_ops.effects import with_effects

from hidet.errors import HidetError
from hidet.frontends.torch.compiling import Boxed, Programs, boxed
from hidet.frontends.torch.imported import returning
from hidet.frontends.torch.nodes import draws_numbers
from hidet.frontends.torch.pickled import AtenGraph
from hidet.frontends.torch.traced import TracedGraph, saved_tensors_are_hooked


class CompileGraph(Protocol):
    """The type of `compile_aten` with settings."""

    def __call__(self, graph: AtenGraph, static: Sequence[int], *, changing: bool = False) -> Boxed:
        """Compile a graph, given which of its arguments are parameters or buffers."""
        ...


_CALL = "_hidet_call"
"""The attribute of a dummy tensor, in place of intermediates not computed, that holds a `_Call`."""


class _Call(NamedTuple):
    """A call whose backward pass would recompute forward.

    `versions` are those of the arguments, by number, that autograd itself does not check.
    """

    arguments: list[Any]
    versions: dict[int, int]

    def check(self) -> None:
        """Raise `HidetError` if an argument has been written since."""
        for number, version in self.versions.items():
            if self.arguments[number]._version != version:
                raise HidetError(
                    f"argument {number} of a compiled graph has been changed in place between the "
                    "forward pass and the first backward pass, which computes forward again",
                    hint="copy it before it is changed, or run one training step beforehand",
                )


class TrainingGraphs:
    """The two graphs of one function: provides AOTAutograd's `fw_compiler` and `bw_compiler`."""

    def __init__(self, compile_graph: CompileGraph) -> None:
        self._compile = compile_graph
        self._programs = Programs()
        """The full forward graph, once it is compiled."""
        self._compile_forward: Callable[[], Boxed]
        self._count = 0
        """The number of results of the forward graph."""
        self._missing: list[int] = []
        """The numbers of the saved tensors that calls do not compute at first."""

    def __reduce__(self) -> Any:
        """Pickle it as it is before its graphs are compiled."""
        return TrainingGraphs, (self._compile,)

    def forward(self, module: fx.GraphModule, example_inputs: Sequence[Any]) -> TracedGraph:
        """Compile the forward graph, at first without the saved intermediates."""
        metadata, static = _metadata(), static_inputs()
        compile_whole = partial(self._compile, static=static, changing=_are_trained(static))
        if metadata is None or metadata.num_mutated_inp_runtime_indices or not _is_pure(module):
            return TracedGraph(module, compile_whole)
        return TracedGraph(
            module, partial(self._compile_results, compile_whole, static, metadata.num_forward)
        )

    def _compile_results(
        self,
        compile_whole: Callable[[AtenGraph], Boxed],
        static: Sequence[int],
        count: int,
        graph: AtenGraph,
    ) -> Boxed:
        """Compile the first `count` results of the forward graph, unless nothing else is saved."""
        module = graph.module
        placeholders = list(module.graph.find_nodes(op="placeholder"))
        outputs: Any = module.graph.output_node().args[0]
        self._count = count
        results, saved = outputs[:count], outputs[count:]
        known = [*placeholders, *results]
        self._missing = [n for n, node in enumerate(saved) if node not in known]
        if not self._missing:
            return compile_whole(graph)
        self._compile_forward = partial(compile_whole, graph)
        # Positions among the arguments, the results, and the dummy at the end.
        kept = [known.index(node) if node in known else -1 for node in saved]
        unwatched = {node for node in placeholders if not node.users or node in saved}
        watched = [
            number
            for number, node in enumerate(placeholders)
            if node not in unwatched and isinstance(node.meta["val"], torch.Tensor)
        ]
        device = saved[self._missing[0]].meta["val"].device
        only_results = graph.derived(f"first {count}", partial(_returning, module, results))
        run_results = self._compile(only_results, static)

        def run(arguments: list[Any]) -> Sequence[Any]:
            if self._programs or saved_tensors_are_hooked():
                return self._whole()(arguments)
            dummy = torch.empty(0, device=device)
            setattr(
                dummy, _CALL, _Call(list(arguments), {n: arguments[n]._version for n in watched})
            )
            pool = list(arguments)
            results = run_results(arguments)
            pool += [*results, dummy]
            return [*results, *(pool[number] for number in kept)]

        return boxed(run)

    def _whole(self) -> Boxed:
        """Return the full forward graph, compiled at the first call."""
        return self._programs.at("forward", self._compile_forward)

    def backward(self, module: fx.GraphModule, example_inputs: Sequence[Any]) -> TracedGraph:
        """Return the backward graph, which is compiled when it is first run."""
        metadata = _metadata()
        if metadata is not None:
            metadata.bw_donated_idxs = []  # nothing is overwritten: it may run once more
        return TracedGraph(module, self._compile_backward, later=True)

    def _compile_backward(self, graph: AtenGraph) -> Boxed:
        """Compile the backward graph."""
        run_backward = self._compile(graph, ())
        if not self._missing:
            return run_backward

        def run(arguments: list[Any]) -> Sequence[Any]:
            run_whole = self._whole()
            call: _Call | None = getattr(arguments[self._missing[0]], _CALL, None)
            if call is not None:
                call.check()
                outputs = run_whole(list(call.arguments))
                for number in self._missing:
                    arguments[number] = outputs[self._count + number]
            return run_backward(arguments)

        return boxed(run)


def _returning(module: fx.GraphModule, results: Sequence[Any]) -> fx.GraphModule:
    """Return what computes these results of a graph."""
    part = returning(module, results)
    part.graph.eliminate_dead_code()
    return part


def static_inputs() -> list[int]:
    """Return the numbers of the arguments of the current graph that are parameters or buffers."""
    metadata = _metadata()
    return [] if metadata is None else list(metadata.static_input_indices)


def _are_trained(static: Sequence[int]) -> bool:
    """Return whether some of these arguments require gradients, and so change between steps."""
    metadata = _metadata()
    return any(metadata.input_info[number].requires_grad for number in static)


def _metadata() -> Any:
    """Return AOTAutograd's metadata of the current graph, if there is any."""
    context = TracingContext.try_get()
    return None if context is None else context.fw_metadata


def _is_pure(module: fx.GraphModule) -> bool:
    """Return whether running a graph again gives the same results: no random numbers, no writes.

    Nor ordered effects, which torch threads through a graph as tokens.
    """
    if any(node.target is with_effects for node in module.graph.nodes):
        return False
    schemas: list[Any] = [getattr(node.target, "_schema", None) for node in module.graph.nodes]
    writes = any(schema is not None and schema.is_mutable for schema in schemas)
    return not writes and not any(draws_numbers(node) for node in module.graph.nodes)
