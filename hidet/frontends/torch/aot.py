"""Through AOTAutograd, which makes dynamo's graphs functional and takes operators apart."""

import warnings
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, cast

import torch
from functorch.compile import make_boxed_func
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext
from torch._subclasses.fake_tensor import unset_fake_temporarily

from hidet.errors import UnsupportedOperatorError
from hidet.frontends.torch.by_precision import ProgramsByPrecision
from hidet.frontends.torch.config import dynamo_config
from hidet.frontends.torch.custom_op import looking_inside
from hidet.frontends.torch.decompositions import decompositions
from hidet.frontends.torch.importer import import_graph
from hidet.frontends.torch.notices import GradientWarning
from hidet.frontends.torch.operators.emitter import first_tensor, may_be_tf32
from hidet.frontends.torch.partition import partition, report
from hidet.frontends.torch.program import CompiledProgram
from hidet.frontends.torch.settings import Settings

_CONVOLUTION = torch.ops.aten.convolution.default


def compile_torch(
    module: fx.GraphModule, example_inputs: Sequence[Any], settings: Settings
) -> Callable[..., Any]:
    """Compile a graph of torch operators, with static shapes, in a tracing context.

    Where gradients are wanted, the forward graph is compiled; the backward graph stays in eager
    torch.
    """
    forward = partial(_compile_forward, settings)
    through_aot = aot_autograd(
        inference_compiler=forward,
        fw_compiler=forward,
        bw_compiler=partial(_leave_backward, settings),
        decompositions=decompositions(),
    )
    with looking_inside():
        return through_aot(module, example_inputs)


def compile_aten(
    module: fx.GraphModule, static: Collection[int], settings: Settings
) -> Callable[[list[Any]], Sequence[Any]]:
    """Compile a functional graph of ATen operators.

    Args:
        module: the graph.
        static: the arguments that are parameters or buffers.
        settings: how to compile.

    Returns:
        A function of the list of arguments.
    """
    if dynamo_config["print_input_graph"]:
        module.print_readable()
    compile_now = partial(_compile_for_flags, module, static, settings)
    convolutions = module.graph.find_nodes(op="call_function", target=_CONVOLUTION)
    if any(may_be_tf32(first_tensor(node)) for node in convolutions):
        return ProgramsByPrecision(compile_now)
    return compile_now()


def _compile_for_flags(
    module: fx.GraphModule, static: Collection[int], settings: Settings
) -> Callable[[list[Any]], Sequence[Any]]:
    """Compile a graph under torch's flags of the moment."""
    # torch compiles in a mode in which new tensors have no data.
    with unset_fake_temporarily():
        imported = import_graph(module, static)
        if not imported.unsupported and len(imported.used_devices) <= 1:
            return CompiledProgram(imported, settings)
        report(imported, settings)
        return partition(module, imported, static, settings)


def _compile_forward(
    settings: Settings, module: fx.GraphModule, example_inputs: Sequence[torch.Tensor]
) -> Callable[[list[Any]], Sequence[Any]]:
    """Compile a graph of a forward pass; dynamo has marked which inputs are weights."""
    context = TracingContext.try_get()
    metadata: Any = None if context is None else context.fw_metadata
    static = () if metadata is None else cast("list[int]", metadata.static_input_indices)
    return compile_aten(module, static, settings)


class EagerBackward:
    """A backward graph, which stays in eager torch and warns of it when it is first run.

    Most forward graphs whose gradients could be wanted are run for inference outside of
    torch.no_grad(): they never get here.
    """

    def __init__(self, settings: Settings, module: fx.GraphModule) -> None:
        self._boxed_call = True
        self._settings = settings
        self._run = make_boxed_func(module.forward)
        self._warned = False

    def __call__(self, arguments: list[Any]) -> Sequence[Any]:
        """Run the graph.

        Raises:
            UnsupportedOperatorError: the settings want everything compiled.
        """
        if not self._settings.fallback:
            raise UnsupportedOperatorError(
                "gradients are wanted, but backward graphs are not compiled",
                hint="allow eager torch for them with the option fallback=True",
            )
        if not self._warned:
            self._warned = True
            warnings.warn(
                "the backward pass is not compiled, but left to eager torch",
                GradientWarning,
                stacklevel=2,
            )
        return self._run(arguments)


def _leave_backward(
    settings: Settings, module: fx.GraphModule, example_inputs: Sequence[torch.Tensor]
) -> EagerBackward:
    """Leave a backward graph to eager torch."""
    return EagerBackward(settings, module)
