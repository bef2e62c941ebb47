"""Graphs whose gradients may be wanted: a forward graph, and the backward graph that belongs to it.

AOTAutograd's forward graph returns what the backward graph needs of it beside its results, which
costs memory and keeps operators from being fused. But most models that are called while gradients
are on never see a `.backward()`. So at first the results alone are compiled, as under
`torch.no_grad()`, and a call only keeps its arguments. The first backward pass computes forward
once more, by the whole forward graph, which is compiled then, together with the backward graph;
calls from then on run that one.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch._guards import TracingContext
from torch._higher_order_ops.effects import with_effects
from torch.fx.node import map_arg

from hidet.errors import HidetError
from hidet.frontends.torch.late import compiling
from hidet.frontends.torch.operators.emitter import draws_numbers

Boxed = Callable[[list[Any]], Sequence[Any]]
"""A function of the list of its arguments."""
CompileGraph = Callable[[fx.GraphModule, Sequence[int]], Boxed]
"""Compiles a graph, given which of its arguments are parameters or buffers."""

_KEPT = "_hidet_kept"
"""The attribute of a stand-in for what is not computed, which holds a `_Call`."""


class _Call:
    """A call whose backward pass would compute forward anew.

    Args:
        arguments: those of the call.
        watched: the numbers of arguments that autograd itself does not watch.
    """

    def __init__(self, arguments: Sequence[Any], watched: Sequence[int]) -> None:
        self.arguments = arguments
        self._watched = watched
        self._versions = [arguments[n]._version for n in watched]

    def check(self) -> None:
        """Refuse to go on with other numbers than those that forward was computed of.

        Raises:
            HidetError: an argument has been written since.
        """
        for number, version in zip(self._watched, self._versions, strict=True):
            if self.arguments[number]._version != version:
                raise HidetError(
                    f"argument {number} of a compiled graph has been changed in place between the "
                    "forward pass and the first backward pass, which computes forward again",
                    hint="copy it before it is changed, or run one training step beforehand",
                )


class TrainingGraphs:
    """The two graphs of one function, as `fw_compiler` and `bw_compiler` of AOTAutograd.

    Args:
        compile_graph: compiles either of them.
    """

    def __init__(self, compile_graph: CompileGraph) -> None:
        self._compile = compile_graph
        self._run_forward: Boxed | None = None
        """The whole forward graph; None until it is compiled."""
        self._compile_forward: Callable[[], Boxed] | None = None
        self._count = 0
        """How many results the forward graph has."""
        self._missing: list[int] = []
        """Which of the tensors for the backward graph calls do not compute at first."""

    def forward(self, module: fx.GraphModule, example_inputs: Sequence[Any]) -> Boxed:
        """Compile the forward graph, at first as far as its results need it."""
        metadata, static = _metadata(), static_inputs()
        if metadata is None or metadata.num_mutated_inp_runtime_indices or not _is_pure(module):
            return self._compile(module, static)
        placeholders = list(module.graph.find_nodes(op="placeholder"))
        outputs: Any = module.graph.output_node().args[0]
        self._count = metadata.num_forward
        results, saved = outputs[: self._count], outputs[self._count :]
        known = [*placeholders, *results]
        self._missing = [n for n, node in enumerate(saved) if node not in known]
        if not self._missing:
            return self._compile(module, static)
        self._compile_forward = lambda: self._compile(module, static)
        # Of arguments, results, and a stand-in at the end.
        kept = [known.index(node) if node in known else -1 for node in saved]
        unwatched = {node for node in placeholders if not node.users or node in saved}
        watched = [
            number
            for number, node in enumerate(placeholders)
            if node not in unwatched and isinstance(node.meta["val"], torch.Tensor)
        ]
        device = saved[self._missing[0]].meta["val"].device
        run_results = self._compile(_without_saved(module, results), static)

        def run(arguments: list[Any]) -> Sequence[Any]:
            if self._run_forward is not None or _are_saved_tensors_hooked():
                return self._whole()(arguments)
            stand_in = torch.empty(0, device=device)
            setattr(stand_in, _KEPT, _Call(list(arguments), watched))
            pool = list(arguments)
            results = run_results(arguments)
            pool += [*results, stand_in]
            return [*results, *(pool[number] for number in kept)]

        return _boxed(run)

    def _whole(self) -> Boxed:
        """Give the whole forward graph, compiled if this is the first time."""
        if self._run_forward is None:
            assert self._compile_forward is not None
            with compiling():
                if self._run_forward is None:
                    self._run_forward = self._compile_forward()
        return self._run_forward

    def backward(self, module: fx.GraphModule, example_inputs: Sequence[Any]) -> Boxed:
        """Compile the backward graph, which torch asks for when it is first run."""
        run_backward = self._compile(module, ())
        if not self._missing:
            return run_backward

        def run(arguments: list[Any]) -> Sequence[Any]:
            run_whole = self._whole()
            call: _Call | None = getattr(arguments[self._missing[0]], _KEPT, None)
            if call is not None:
                call.check()
                outputs = run_whole(list(call.arguments))
                for number in self._missing:
                    arguments[number] = outputs[self._count + number]
            return run_backward(arguments)

        return _boxed(run)


def static_inputs() -> list[int]:
    """Give the arguments of the graph being compiled that are parameters or buffers."""
    metadata = _metadata()
    return [] if metadata is None else list(metadata.static_input_indices)


def _metadata() -> Any:
    """Give what AOTAutograd says of the graph being compiled; None if there is nothing."""
    context = TracingContext.try_get()
    return None if context is None else context.fw_metadata


def _boxed(function: Boxed) -> Boxed:
    """Tell torch to pass one list."""
    function._boxed_call = True  # pyright: ignore[reportFunctionMemberAccess]
    return function


def _is_pure(module: fx.GraphModule) -> bool:
    """Tell whether a graph computes the same when it is run once more: nothing drawn or written.

    Nor may it have effects, of which torch keeps the order by tokens among its arguments.
    """
    if any(node.target is with_effects for node in module.graph.nodes):
        return False
    schemas: list[Any] = [getattr(node.target, "_schema", None) for node in module.graph.nodes]
    writes = any(schema is not None and schema.is_mutable for schema in schemas)
    return not writes and not any(draws_numbers(node) for node in module.graph.nodes)


def _are_saved_tensors_hooked() -> bool:
    """Tell whether somebody looks at what is saved for the backward pass, or keeps it elsewhere."""
    autograd: Any = torch._C._autograd  # pyright: ignore
    return autograd._top_saved_tensors_default_hooks(True) is not None


def _without_saved(module: fx.GraphModule, results: Sequence[fx.Node]) -> fx.GraphModule:
    """Give a graph that returns nothing but its results."""
    graph = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}
    graph.graph_copy(module.graph, copies)
    graph.output(tuple(map_arg(list(results), copies.__getitem__)))
    graph.eliminate_dead_code()
    return fx.GraphModule(module, graph)
