"""The entry point: torch.compile calls `hidet_backend` for `backend="hidet"`.

Programs have static shapes. When a model is called with a second shape, dynamo traces it with
symbols for the sizes that changed, and expects one program for all sizes. Here the graph is
compiled at a call, once per combination of sizes; dynamo, which would stop recompiling after a few
shapes, sees one graph.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import fx
from torch._guards import TracingContext, tracing
from torch._subclasses import FakeTensorMode

from hidet.frontends.torch.aot import compile_torch
from hidet.frontends.torch.compiling import Programs
from hidet.frontends.torch.settings import Settings
from hidet.limits import resource_errors

MANY_SHAPES = 32
"""The number of shapes of one graph at which a warning is issued."""


class ManyShapesWarning(UserWarning):
    """One graph has been compiled for many shapes, each of which took a compilation."""


def is_symbolic(value: object) -> bool:
    """Return whether an example input has symbolic sizes, or is a symbolic number."""
    if isinstance(value, torch.Tensor):
        return not all(type(n) is int for n in (*value.shape, *value.stride()))
    return isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool)


def _numbers_of(graph: fx.Graph) -> dict[int, list[fx.Node]]:
    """Return the positions of tensor arguments that wrap a float, with their `item()` nodes.

    dynamo passes floats that vary as tensors.
    """
    found: dict[int, list[fx.Node]] = {}
    for position, node in enumerate(graph.find_nodes(op="placeholder")):
        items = [user for user in node.users if (user.op, user.target) == ("call_method", "item")]
        if items and len(items) == len(node.users):
            found[position] = items
    return found


class ProgramsByShape:
    """The programs of one of dynamo's graphs, by the sizes that they are specialized to."""

    def __init__(
        self, module: fx.GraphModule, example_inputs: Sequence[Any], settings: Settings
    ) -> None:
        self._module = module
        self._settings = settings
        self._numbers = _numbers_of(module.graph)
        self._varying = [
            n for n, value in enumerate(example_inputs) if is_symbolic(value) or n in self._numbers
        ]
        self._programs = Programs()

    def __call__(self, *arguments: Any) -> Any:
        """Run the program for these sizes."""
        key = tuple(self._sizes(position, arguments[position]) for position in self._varying)
        return self._programs.at(key, partial(self._compile, arguments))(*arguments)

    def _sizes(self, position: int, argument: Any) -> object:
        """Return what a program is specialized to in an argument that varies."""
        if not isinstance(argument, torch.Tensor):
            return argument
        if position in self._numbers:
            return argument.item()
        return argument.shape, argument.stride()

    def _compile(self, arguments: Sequence[Any]) -> Callable[..., Any]:
        """Compile for the sizes of these arguments."""
        if len(self._programs) == MANY_SHAPES:
            warnings.warn(
                f"one graph has been compiled for {MANY_SHAPES} different shapes; every "
                "new shape is compiled anew, so pad inputs to a few sizes",
                ManyShapesWarning,
                stacklevel=2,
            )
        with tracing(TracingContext(FakeTensorMode())):
            module = self._with_numbers(arguments)
            return compile_torch(module, list(arguments), self._settings)

    def _with_numbers(self, arguments: Sequence[Any]) -> fx.GraphModule:
        """Return the graph with the floats of a call as constants."""
        if not self._numbers:
            return self._module
        graph = fx.Graph()
        values: dict[fx.Node, Any] = {}
        number_of = {item: n for n, items in self._numbers.items() for item in items}
        for node in self._module.graph.nodes:
            if node in number_of:
                values[node] = arguments[number_of[node]].item()
            else:
                values[node] = graph.node_copy(node, values.__getitem__)
        return fx.GraphModule(self._module, graph)


@resource_errors("the program cannot be compiled")
def hidet_backend(
    module: fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, object] | None = None,
) -> Callable[..., Any]:
    """Compile one of dynamo's graphs, given the fake arguments of its first call.

    The mode is one of `hidet.frontends.torch.settings.MODES`; options are those of the backend and
    of `hidet.option`, by name.

    Raises:
        OptionError: no such mode or option, or a value that the option cannot take.
        UnsupportedOperatorError: the option `fallback` is off, and an operator is not supported.
        HidetError: the compiler failed otherwise.

    torch wraps the errors in `BackendCompilerFailed`, whose `inner_exception` they are.
    """
    settings = Settings.of(mode, options)
    if any(is_symbolic(value) for value in example_inputs):
        return torch.compiler.disable(ProgramsByShape(module, example_inputs, settings))
    return compile_torch(module, example_inputs, settings)
