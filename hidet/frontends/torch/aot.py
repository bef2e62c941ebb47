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

    Where gradients are wanted, the graph stays in eager torch.
    """
    through_aot = aot_autograd(
        inference_compiler=partial(_compile_inference, settings),
        fw_compiler=partial(_leave_forward, settings),
        bw_compiler=_leave_backward,
        decompositions=decompositions(),
    )
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


def _compile_inference(
    settings: Settings, module: fx.GraphModule, example_inputs: Sequence[torch.Tensor]
) -> Callable[[list[Any]], Sequence[Any]]:
    """Compile a graph without gradients; dynamo has marked which inputs are weights."""
    context = TracingContext.try_get()
    metadata: Any = None if context is None else context.fw_metadata
    static = () if metadata is None else cast("list[int]", metadata.static_input_indices)
    return compile_aten(module, static, settings)


def _leave_forward(
    settings: Settings, module: fx.GraphModule, example_inputs: Sequence[torch.Tensor]
) -> Callable[[list[Any]], Sequence[Any]]:
    """Leave the forward graph of a training step to eager torch.

    Raises:
        UnsupportedOperatorError: the settings want everything compiled.
    """
    what = "a graph whose gradients are wanted is not compiled"
    hint = "call the model under torch.no_grad(), or in torch.inference_mode()"
    if not settings.fallback:
        raise UnsupportedOperatorError(what, hint=hint)
    warnings.warn(f"{what}, but left to eager torch; {hint}", GradientWarning, stacklevel=2)
    return make_boxed_func(module.forward)


def _leave_backward(
    module: fx.GraphModule, example_inputs: Sequence[torch.Tensor]
) -> Callable[[list[Any]], Sequence[Any]]:
    """Leave a backward graph to eager torch, of which the forward graph has warned."""
    return make_boxed_func(module.forward)
