"""The entry point: torch.compile calls `hidet_backend` for `backend="hidet"`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import fx

from hidet.frontends.torch.aot import compile_torch
from hidet.frontends.torch.by_shape import ProgramsByShape, is_symbolic
from hidet.frontends.torch.settings import Settings
from hidet.limits import resource_errors


@resource_errors("the program cannot be compiled")
def hidet_backend(
    module: fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, object] | None = None,
) -> Callable[..., Any]:
    """Compile one of dynamo's graphs.

    Args:
        module: the graph of torch operators.
        example_inputs: the arguments of the first call, as fake tensors.
        mode: one of `hidet.frontends.torch.settings.MODES`.
        options: options of the backend and of `hidet.option`, by name.

    Returns:
        A function that replaces the graph.

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
