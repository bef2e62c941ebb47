"""Lowers dynamo's graphs through AOTAutograd, which functionalizes and decomposes them.

What only a new graph needs is imported when there is one: a start with stored traces loads neither
the importer, nor dialects, nor decompositions.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx.node import map_arg

from hidet import option
from hidet.frontends.torch.attention import WholeAttention
from hidet.frontends.torch.compiling import Boxed, by_precision
from hidet.frontends.torch.correctness import Reporting
from hidet.frontends.torch.custom_op import looking_inside
from hidet.frontends.torch.gradients import TrainingGraphs, static_inputs
from hidet.frontends.torch.imported import ImportedGraph, updates_of
from hidet.frontends.torch.nodes import Overload
from hidet.frontends.torch.pickled import AtenGraph
from hidet.frontends.torch.program import CompiledProgram
from hidet.frontends.torch.seeds import drawing, lift_draws, merge_draws
from hidet.frontends.torch.settings import Settings
from hidet.frontends.torch.stored_imports import import_key, load_import, store_import
from hidet.frontends.torch.traced import TracedGraph, aot_compiler
from hidet.loading import loading


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
        decompositions=_Decompositions(),
        keep_inference_input_mutations=True,
    )
    lowered = _in_half(module, example_inputs) if settings["use_fp16"] else module
    with looking_inside(), WholeAttention(), option.context(**settings.options):
        program = through_aot(lowered, example_inputs)
    if not settings["correctness_report"]:
        return program
    silent = replace(settings, flags={**settings.flags, "correctness_report": False})
    return Reporting(module, program, partial(compile_torch, settings=silent))


class _Decompositions(Mapping[Overload, Callable[..., Any]]):
    """The table of decompositions, made when it is first read."""

    @cached_property
    def _table(self) -> dict[Overload, Callable[..., Any]]:
        with loading():
            from hidet.frontends.torch.decompositions import decompositions
        return decompositions(composite=False)

    def __getitem__(self, target: Overload) -> Callable[..., Any]:
        return self._table[target]

    def __iter__(self) -> Iterator[Overload]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


def _partition_joint(
    module: fx.GraphModule, joint_inputs: Any, **named: Any
) -> tuple[fx.GraphModule, fx.GraphModule]:
    with loading():
        from hidet.frontends.torch.joint import partition_joint
    return partition_joint(module, joint_inputs, **named)


def _compile_inference(
    settings: Settings, module: fx.GraphModule, example_inputs: Sequence[torch.Tensor]
) -> TracedGraph:
    """Compile a graph without gradients, in which dynamo has marked the weights."""
    merge_draws(module.graph)
    return TracedGraph(module, partial(compile_aten, static=static_inputs(), settings=settings))


def compile_aten(
    graph: AtenGraph, static: Collection[int], settings: Settings, *, changing: bool = False
) -> Boxed:
    """Compile a functional graph of ATen operators.

    Its arguments `static` are parameters or buffers, which change between calls if `changing`.
    """
    if settings["print_input_graph"]:
        graph.module.print_readable()
    compile_now = partial(_compile_for_flags, graph, static, settings, changing)
    program, depends_on_flag = compile_now()
    return by_precision(program, lambda: compile_now()[0]) if depends_on_flag else program


def _compile_for_flags(
    graph: AtenGraph, static: Collection[int], settings: Settings, changing: bool
) -> tuple[Boxed, bool]:
    """Compile a graph under torch's current flags; return whether one of convolutions matters."""
    # torch calls backends in fake tensor mode.
    with unset_fake_temporarily():
        key = import_key(graph, static, settings)
        if (found := load_import(key)) is not None:
            program = CompiledProgram(found, settings, changing=changing)
            return drawing(program, found.draws), found.depends_on_flag
        module, draws = lift_draws(graph.module)
        arguments = module.graph.find_nodes(op="placeholder")
        written = set(updates_of(module.graph).values())
        unwritten = [number for number in static if arguments[number] not in written]
        imported = _imported(module, unwritten)
        imported.draws = draws
        if imported.unsupported or len(imported.used_devices) > 1:
            from hidet.frontends.torch.partition import partition

            program = partition(module, imported, unwritten, settings, changing=changing)
        else:
            program = CompiledProgram(imported, settings, changing=changing)
            if key is not None and program.runnable is not None:
                store_import(key, imported.with_program(program.runnable.text))
        return drawing(program, draws), imported.depends_on_flag


def _imported(module: fx.GraphModule, static: Collection[int]) -> ImportedGraph:
    """Import a graph."""
    with loading():
        from hidet.frontends.torch.importer import import_graph
    return import_graph(module, static)


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
