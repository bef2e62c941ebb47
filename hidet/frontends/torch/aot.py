"""Through AOTAutograd, which makes dynamo's graphs functional and takes operators apart."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, cast

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext
from torch._subclasses.fake_tensor import unset_fake_temporarily

from hidet.frontends.torch.config import dynamo_config
from hidet.frontends.torch.decompositions import decompositions
from hidet.frontends.torch.importer import import_graph
from hidet.frontends.torch.partition import partition, report
from hidet.frontends.torch.program import CompiledProgram
from hidet.frontends.torch.settings import Settings


def compile_torch(
    module: fx.GraphModule, example_inputs: Sequence[Any], settings: Settings
) -> Callable[..., Any]:
    """Compile a graph of torch operators, with static shapes, in a tracing context.

    Where a gradient is wanted, forward and backward graph are compiled alike.
    """
    forward = partial(_compile_forward, settings)
    backward = partial(_compile_backward, settings)
    through_aot = aot_autograd(
        fw_compiler=forward,
        inference_compiler=forward,
        bw_compiler=backward,
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


def _compile_backward(
    settings: Settings, module: fx.GraphModule, example_inputs: Sequence[torch.Tensor]
) -> Callable[[list[Any]], Sequence[Any]]:
    """Compile a graph of a backward pass, all of whose inputs are new in every call."""
    return compile_aten(module, (), settings)
