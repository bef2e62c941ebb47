"""Imports an FX graph of ATen operators as a module of the graph dialect.

One walk builds the operations and collects failures: an operator that cannot be translated gets
placeholders as results, and the walk continues. If anything failed the module is useless, but the
list of failures is complete, and `partition` acts on it.
"""

import operator
from collections.abc import Collection
from functools import partial
from math import inf
from typing import Any

import torch
from torch import fx
from torch.fx.node import map_arg
from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, StringAttr, TensorType, i8, i64
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from hidet.dialects import graph
from hidet.dialects.host_functions import FORWARD, PACKED_INPUTS, PACKED_OUTPUTS, UPDATES
from hidet.errors import (
    DeviceMismatchError,
    HidetError,
    UnsupportedDtypeError,
    UnsupportedOperatorError,
)
from hidet.frontends.torch.constants import fold_constants, held_by, integers_of, simplify_masks
from hidet.frontends.torch.decomposed import DECOMPOSED
from hidet.frontends.torch.dtypes import element_of, type_of
from hidet.frontends.torch.imported import ImportedGraph, Source, updates_of
from hidet.frontends.torch.locations import describe, name_hint
from hidet.frontends.torch.nodes import first_tensor
from hidet.frontends.torch.operators import translation_of
from hidet.frontends.torch.operators.emitter import Emitter, Results, unsupported
from hidet.frontends.torch.outputs import OutputBinder
from hidet.frontends.torch.saved import pack, place_of, unpack
from hidet.frontends.torch.script_calls import ScriptCalls, called_kernel
from hidet.frontends.torch.storage import layout_of, physical_order, span_of
from hidet.frontends.torch.unsigned_bytes import loaded, refuse, wrapped

# Keywords that the type of a node's result already expresses.
_IGNORED_KEYWORDS = {
    "dtype",
    "layout",
    "device",
    "pin_memory",
    "memory_format",
    "non_blocking",
    "requires_grad",
}
_DEVICES = {"cpu", "cuda"}
_ASSERTED = torch.ops.aten._assert_tensor_metadata.default
# Copies of constants of the graph, and parts of complex ones, are folded at import.
_FOLDED = {
    torch.ops.aten.lift_fresh_copy.default,
    torch.ops.aten._to_copy.default,
    torch.ops.aten.alias.default,
    torch.ops.aten.detach.default,
    torch.ops.aten.clone.default,
    torch.ops.aten.view_as_real.default,
    torch.ops.aten.select.int,
}


def import_graph(module: fx.GraphModule, static: Collection[int] = ()) -> ImportedGraph:
    """Translate an FX graph of ATen operators, functional and with static shapes.

    The arguments `static` are parameters or buffers that it does not mutate; they become constants.
    """
    # torch's assertions about tensors follow from the specs of the arguments, which are checked.
    for node in module.graph.find_nodes(op="call_function", target=_ASSERTED):
        module.graph.erase_node(node)
    simplify_masks(module)
    fold_constants(module)
    importer = Importer(module, static)
    for node in module.graph.nodes:
        importer.visit(node)
    return importer.finish()


def import_whole(module: fx.GraphModule, static: Collection[int], hint: str) -> ImportedGraph:
    """Import a graph that must compile as a whole.

    Raises:
        HidetError: an operator is not supported, or operators run on several devices.
    """
    imported = import_graph(module, static)
    for error in imported.unsupported.values():
        error.hint = hint
        raise error
    if len(imported.used_devices) > 1:
        devices = ", ".join(sorted(map(str, imported.used_devices)))
        raise DeviceMismatchError(f"one program on {devices}", hint="move all tensors to one")
    return imported


class Importer:
    """The walk over one FX graph; see `import_graph`."""

    def __init__(self, module: fx.GraphModule, static: Collection[int]) -> None:
        self.holder = module
        self.block = Block()
        self.g = Emitter(self.block, partial(integers_of, module))
        self.result = ImportedGraph()
        self.positions: dict[fx.Node, int] = {
            node: position
            for position, node in enumerate(module.graph.find_nodes(op="placeholder"))
        }
        self.updates = updates_of(module.graph)
        self.static = set(static)
        # Tensors that are attributes of the graph, and copies of them.
        self.held: dict[fx.Node, torch.Tensor] = {}
        self.values: dict[fx.Node, Results | None] = {}
        self.sources: dict[SSAValue, Source] = {}
        self.packed: fx.Node | None = None
        self.calls = ScriptCalls(self.g, self.operand)
        self.binder = OutputBinder(self.g, self.operand, self.positions, self.held, self.sources)

    def visit(self, node: fx.Node) -> None:
        """Translate one node."""
        self.g.start(node)
        if node.op == "get_attr":
            value = held_by(self.holder, node)
            if isinstance(value, torch.Tensor):
                self._keep(node, value)
        elif node.op == "output":
            self._bind_outputs(node)
        elif node.target in (pack, unpack):
            pass  # the first is an output, the second an input, read at its first use
        elif node.op == "call_function" and node not in self.updates:
            self._call(node)
        elif node.op not in ("placeholder", "call_function"):
            self._refuse(node, unsupported(f"nodes of kind {node.op} are not supported"))

    def finish(self) -> ImportedGraph:
        """Build the module: erase dead operations, number arguments and constants."""
        result, block, written = self.result, self.block, self.binder.written
        returned = (*self.binder.returned, *self.binder.packed, *written.values())
        block.add_op(func.ReturnOp(*returned))
        for op in reversed(list(block.ops)):
            if isinstance(op, graph.GraphOp | graph.CallKernelOp) and not any(
                result.first_use for result in op.results
            ):
                Rewriter.erase_op(op)
        for argument in reversed(block.args):
            if argument.first_use is None and argument not in written:
                block.erase_arg(argument)
        for number, argument in enumerate(block.args):
            argument.name_hint = f"x{number}"

        def position(op: graph.ConstantOp) -> float:
            source = self.sources.get(op.result)
            return source.origin if source is not None and isinstance(source.origin, int) else inf

        # In the order of the arguments, so that a call takes them by slices.
        constants = [op for op in block.ops if isinstance(op, graph.ConstantOp)]
        for number, op in enumerate(sorted(constants, key=position)):
            op.properties["name"] = StringAttr(f"p{number}")
            op.result.name_hint = f"p{number}"
            if op.result in self.sources:
                result.constants.append(self.sources[op.result])
        inputs = [argument.type for argument in block.args]
        outputs = [value.type for value in returned]
        entry = func.FuncOp(FORWARD, (inputs, outputs), Region(block))
        bounds = {PACKED_INPUTS: self._place_inputs(), PACKED_OUTPUTS: self.binder.bounds}
        for name, offsets in bounds.items():
            if offsets:
                entry.attributes[name] = DenseArrayBase.from_list(i64, offsets)
        if written:
            numbers = [block.args.index(argument) for argument in written]
            entry.attributes[UPDATES] = DenseArrayBase.from_list(i64, numbers)
        result.program = ModuleOp([*self.calls.kernels, entry])
        result.is_empty = not returned
        result.depends_on_flag = "conv" in self.g.flags
        return result

    def _place_inputs(self) -> list[int]:
        """List the sources of the arguments; return the bounds of those that are packed."""
        sources = [self.sources[argument] for argument in self.block.args]
        starts = [source.start for source in sources if source.start is not None]
        self.result.inputs = [source for source in sources if source.start is None]
        if self.packed is None or not starts:
            return []
        self.result.inputs.append(Source(self.positions[self.packed], None))
        return [*starts, len(first_tensor(self.packed))]

    def _call(self, node: fx.Node) -> None:
        """Translate a call, or record why that fails."""
        if node.target is operator.getitem and not node.users:
            return
        source = node.args[0] if node.args else None
        if node.target in _FOLDED and source in self.held:
            self._keep(node, node.target(self.held[source], *node.args[1:], **node.kwargs))
            return
        translate = self._pick if node.target is operator.getitem else self._translate
        try:
            self.values[node] = translate(node)
        except (
            DeviceMismatchError,
            UnsupportedDtypeError,
            UnsupportedOperatorError,
            VerifyException,
        ) as error:
            self._refuse(node, error)

    def _translate(self, node: fx.Node) -> Results:
        """Build the operations for a call of an ATen operator or of a script kernel."""
        if (function := called_kernel(node)) is not None:
            self.result.devices[node] = self._device_of(node)
            return self.calls.translate(node, function)
        translation = translation_of(node.target)
        if translation is None:
            is_decomposed = node.target in DECOMPOSED
            reason = "it is not decomposed for these arguments"
            raise unsupported(reason if is_decomposed else "it has no translation")
        type_of(first_tensor(node))
        self.result.devices[node] = self._device_of(node)
        keywords = {k: v for k, v in node.kwargs.items() if k not in _IGNORED_KEYWORDS}
        arguments: Any = map_arg(node.args, self.operand)  # pyright: ignore[reportArgumentType]
        keywords = map_arg(keywords, self.operand)  # pyright: ignore[reportArgumentType]
        refuse(node)
        results = wrapped(self.g, node, translation(self.g, *arguments, **keywords))
        first = results[0] if isinstance(results, tuple) else results
        if first is not None and first.type != type_of(first_tensor(node)):
            raise unsupported(f"its translation has the wrong type {first.type}")
        return results

    def _pick(self, node: fx.Node) -> SSAValue:
        """Return one result of an operator with several."""
        producer, number = node.args
        if not isinstance(producer, fx.Node) or not isinstance(number, int):
            raise unsupported("it indexes something other than results")
        self.result.devices[node] = self.result.devices.get(producer)
        results = self.values.get(producer)
        value = results[number] if isinstance(results, tuple) and number < len(results) else None
        if value is None:
            error = unsupported(f"its result {number} is not computed")
            self.result.unsupported.setdefault(producer, _located(error, producer))
            raise error
        return value

    def _refuse(self, node: fx.Node, error: Exception) -> None:
        """Record why a node cannot be compiled, and create placeholders for its results."""
        if node.target is not operator.getitem:
            self.result.unsupported[node] = _located(error, node)
        self.result.devices.pop(node, None)
        value: Any = node.meta.get("val")
        if isinstance(value, tuple | list):
            parts: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
            self.values[node] = tuple(self._placeholder(part) for part in parts)
        else:
            self.values[node] = self._placeholder(value)

    def _placeholder(self, tensor: object) -> SSAValue | None:
        """Return a value of a tensor's type, or None if the dialect has no such type."""
        try:
            if isinstance(tensor, torch.Tensor):
                return self.g.emit(graph.ConstantOp("placeholder", result=type_of(tensor)))
        except (UnsupportedDtypeError, UnsupportedOperatorError):
            return None
        return None

    def operand(self, node: fx.Node) -> SSAValue:
        """Return the value of a node with one result; inputs are read at their first use."""
        is_input = node in self.positions or node in self.held or node.target is unpack
        if node not in self.values and is_input:
            self.values[node] = self._read(node)
        value = self.values.get(node)
        if not isinstance(value, SSAValue):
            raise unsupported(f"its operand {node.name} is of an unsupported kind")
        return value

    def _read(self, node: fx.Node) -> SSAValue:
        """Read an input or a constant of the graph."""
        held = self.held.get(node)
        tensor = first_tensor(node) if held is None else held
        if not isinstance(tensor, torch.Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise unsupported(f"its operand {node.name} is {tensor!r}, not a tensor")
        if tensor.is_neg():  # such as the imaginary part of a conjugated tensor
            raise unsupported(f"its operand {node.name} is stored with the opposite sign")
        element = element_of(tensor.dtype)
        if held is not None and held.dim() == 0:
            return self.g.scalar(held.item(), element)
        span = span_of(tensor)
        is_bytes = tensor.dtype is torch.uint8
        stored = TensorType(i8 if is_bytes else element, tensor.shape if span is None else [span])
        position, layout = self.positions.get(node), layout_of(tensor)
        taken = span if layout is None else None
        if node.target is unpack:
            self.packed, place = place_of(node)
            source = Source(self.positions[self.packed], None, start=place.start)
        else:
            source = Source(tensor if position is None else position, taken, layout)
        if source.start is None and (position is None or position in self.static):
            value = self.g.emit(graph.ConstantOp("p", result=stored))
        else:
            before = [s for v, s in self.sources.items() if v.owner is self.block]
            index = sum(s.order < source.order for s in before)
            value = self.block.insert_arg(stored, index)
        self.sources[value] = source
        if span is not None:
            value = self._strided(value, tensor, name_hint(node))
        return loaded(self.g, value) if is_bytes else value

    def _strided(self, storage: SSAValue, tensor: torch.Tensor, hint: str | None) -> SSAValue:
        """Return the view of flat storage that a tensor is: permuted dimensions, if that is all."""
        if (order := physical_order(tensor)) is None:
            x = self.g.emit(graph.AsStridedOp(storage, tuple(tensor.shape), tensor.stride()))
        else:
            stored = self.g.reshape(storage, tensor.permute(order).shape)
            stored.name_hint = hint
            x = self.g.emit(graph.PermuteOp(stored, [order.index(n) for n in range(tensor.dim())]))
        x.name_hint = hint  # that of the current node would be of one that reads it
        return x

    def _keep(self, node: fx.Node, tensor: torch.Tensor) -> None:
        """Record a tensor as the value of a node."""
        self.held[node] = tensor
        self.result.devices[node] = None if tensor.dim() == 0 else tensor.device

    def _device_of(self, node: fx.Node) -> torch.device | None:
        """Return the device of a call; None for constant scalars, which may be on any.

        Raises:
            DeviceMismatchError: operands and result are on different devices.
            UnsupportedOperatorError: the type of device is not supported.
        """
        devices: dict[torch.device, str] = {}
        for operand in node.all_input_nodes:
            tensor: Any = self.held.get(operand, operand.meta.get("val"))
            on_any_device = self.result.devices.get(operand, tensor) is None
            if isinstance(tensor, torch.Tensor) and not on_any_device:
                devices.setdefault(tensor.device, operand.name)
        result = first_tensor(node)
        if not devices and result.dim() == 0:
            return None
        devices.setdefault(result.device, f"the result {node.name}")
        if len(devices) > 1:
            found = ", ".join(f"{name} on {device}" for device, name in devices.items())
            raise DeviceMismatchError(f"it mixes devices: {found}")
        if result.device.type not in _DEVICES:
            raise unsupported(f"it runs on device {result.device}; supported are cpu and cuda")
        return result.device

    def _bind_outputs(self, node: fx.Node) -> None:
        """Determine the source of each output."""
        outputs: Any = node.args[0]
        updates: list[Any] = [(target, update.args[1]) for update, target in self.updates.items()]
        devices = self.result.used_devices
        for output in (*outputs, *(value for _, value in updates)):
            if isinstance(output, fx.Node) and isinstance(output.meta.get("val"), torch.Tensor):
                self._check_output_device(output, devices)
        if devices:
            self.result.device = min(devices, key=str)
        if self.result.unsupported or len(devices) > 1:
            return
        left = [pair for pair in updates if not self.binder.write(*pair)]
        self.result.outputs = self.binder.bind_all(outputs)
        self.result.updates = [
            (self.positions[target], self.binder.result(value, self.operand(value)))
            for target, value in left
        ]

    def _check_output_device(self, output: fx.Node, devices: set[torch.device]) -> None:
        """Refuse to return a constant scalar from a program on another device."""
        device = first_tensor(output).device
        if self.result.devices.get(output, device) is not None:
            return
        if not devices:
            self.result.device = device
        elif device not in devices:
            error = unsupported(f"it is returned on {device} by a program on another device")
            self.result.unsupported[output] = _located(error, output)


def _located(error: Exception, node: fx.Node) -> HidetError:
    """Return an error with the operator and the source line of a node."""
    if not isinstance(error, HidetError):
        error = unsupported(str(error).splitlines()[0])
    error.where = error.where or describe(node)
    return error
