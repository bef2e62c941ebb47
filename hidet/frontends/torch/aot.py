"""Lowers dynamo's graphs through AOTAutograd, which functionalizes and decomposes them."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import fx
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx.node import map_arg
from torch.utils.checkpoint import CheckpointPolicy

from hidet import option
from hidet.frontends.torch.attention import WholeAttention
from hidet.frontends.torch.compiling import Boxed, by_precision
from hidet.frontends.torch.constants import simplify_masks
from hidet.frontends.torch.correctness import Reporting
from hidet.frontends.torch.custom_op import looking_inside
from hidet.frontends.torch.decompositions import decompositions
from hidet.frontends.torch.gradients import TrainingGraphs, static_inputs
from hidet.frontends.torch.imported import updates_of
from hidet.frontends.torch.importer import import_graph
from hidet.frontends.torch.operators.emitter import first_tensor, may_be_tf32
from hidet.frontends.torch.partition import partition, report
from hidet.frontends.torch.program import CompiledProgram
from hidet.frontends.torch.saved import pack_saved
from hidet.frontends.torch.seeds import drawing, lift_draws, merge_draws, save_seeds
from hidet.frontends.torch.settings import Settings
from hidet.frontends.torch.traced import TracedGraph, aot_compiler

_CONVOLUTION = torch.ops.aten.convolution.default


def compile_torch(
    module: fx.GraphModule, example_inputs: Sequence[Any], settings: Settings
) -> Callable[..., Any]:
    """Compile a graph of torch operators, with static shapes, in a tracing context.

    If gradients may be needed, the graph is partitioned into a forward and a backward graph that
    recomputes cheap values instead of saving them.
    """
    training = TrainingGraphs(partial(compile_aten, settings=settings))
    through_aot = aot_compiler(
        str(settings),
        inference_compiler=partial(_compile_inference, settings),
        fw_compiler=training.forward,
        bw_compiler=training.backward,
        partition_fn=_partition_joint,
        decompositions=decompositions(composite=False),
        keep_inference_input_mutations=True,
    )
    lowered = _in_half(module, example_inputs) if settings["use_fp16"] else module
    with looking_inside(), WholeAttention(), option.context(**settings.options):
        program = through_aot(lowered, example_inputs)
    if not settings["correctness_report"]:
        return program
    silent = replace(settings, flags={**settings.flags, "correctness_report": False})
    return Reporting(module, program, partial(compile_torch, settings=silent))


def compile_aten(
    module: fx.GraphModule, static: Collection[int], settings: Settings, *, changing: bool = False
) -> Boxed:
    """Compile a functional graph of ATen operators.

    Its arguments `static` are parameters or buffers, which change between calls if `changing`.
    """
    if settings["print_input_graph"]:
        module.print_readable()
    module, draws = lift_draws(module)
    arguments = module.graph.find_nodes(op="placeholder")
    written = set(updates_of(module.graph).values())
    static = [number for number in static if arguments[number] not in written]
    compile_now = partial(_compile_for_flags, module, static, settings, changing)
    convolutions = module.graph.find_nodes(op="call_function", target=_CONVOLUTION)
    if any(may_be_tf32(first_tensor(node)) for node in convolutions):
        return drawing(by_precision(compile_now), draws)
    return drawing(compile_now(), draws)


def _compile_for_flags(
    module: fx.GraphModule, static: Collection[int], settings: Settings, changing: bool
) -> Boxed:
    """Compile a graph under torch's current flags."""
    # torch calls backends in fake tensor mode.
    with unset_fake_temporarily():
        imported = import_graph(module, static)
        if not imported.unsupported and len(imported.used_devices) <= 1:
            return CompiledProgram(imported, settings, changing=changing)
        report(imported, settings)
        return partition(module, imported, static, settings, changing=changing)


def _compile_inference(
    settings: Settings, module: fx.GraphModule, example_inputs: Sequence[torch.Tensor]
) -> TracedGraph:
    """Compile a graph without gradients, in which dynamo has marked the weights."""
    merge_draws(module.graph)
    return TracedGraph(module, partial(compile_aten, static=static_inputs(), settings=settings))


def _partition_joint(
    module: fx.GraphModule, joint_inputs: Any, **named: Any
) -> tuple[fx.GraphModule, fx.GraphModule]:
    """Partition a joint graph into a forward and a backward graph; seeds are saved for backward."""
    _keep_old_content(module.graph)
    simplify_masks(module)  # the backward graph has no constants, but tensors that are saved
    merge_draws(module.graph)
    save_seeds(module.graph)
    forward, backward = min_cut_rematerialization_partition(module, joint_inputs, **named)
    pack_saved(forward, backward, named["num_fwd_outputs"])
    return forward, backward


def _keep_old_content(graph: fx.Graph) -> None:
    """Let a backward graph read what arguments held before the forward graph wrote them.

    It finds the new content in an argument. So what it reads of the old one is saved.
    """
    first = next(node for node in graph.nodes if node.op != "placeholder")
    for write, argument in updates_of(graph).items():
        with graph.inserting_before(first):
            old = graph.call_function(torch.ops.aten.clone.default, (argument,))
        value = argument.meta["val"].clone()
        old.meta = {**argument.meta, "val": value, "recompute": CheckpointPolicy.MUST_SAVE}
        for user in set(argument.users) - {write, old}:
            user.replace_input_with(argument, old)


def _in_half(module: fx.GraphModule, example_inputs: Sequence[Any]) -> fx.GraphModule:
    """Return one of dynamo's graphs under torch's autocast to float16.

    Matmuls and convolutions compute in float16; what needs a wider range stays in float32. Weights
    keep their type, since a program converts them once, and so do results.
    """
    devices = {each.device.type for each in example_inputs if isinstance(each, torch.Tensor)}
    device = "cuda" if "cuda" in devices else "cpu"
    autocast: Any = torch.amp.autocast_mode
    new = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}
    mode = None
    for node in module.graph.nodes:
        if mode is None and node.op != "placeholder":
            mode = new.call_function(autocast._enter_autocast, (device, torch.float16, True, True))
        if node.op == "output":
            new.call_function(autocast._exit_autocast, (mode,))
            new.output(map_arg(node.args[0], lambda each: _restored(new, each, copies[each])))
        else:
            copies[node] = new.node_copy(node, copies.__getitem__)
    return fx.GraphModule(module, new)


def _restored(new: fx.Graph, node: fx.Node, copy: fx.Node) -> fx.Node:
    """Return the copy of a node, cast back to float32 if that is the node's data type."""
    value: Any = node.meta.get("example_value")
    if not isinstance(value, torch.Tensor) or value.dtype is not torch.float32:
        return copy
    return new.call_method("to", (copy, torch.float32))
