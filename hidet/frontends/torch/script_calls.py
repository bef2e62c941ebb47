"""Imports calls of script functions in functional FX graphs.

torch makes `hidet_script.f(x, y)`, which writes y, into

    auto_functionalized_v2(hidet_script.f, x=x, _y_base_index=0, _all_bases=[y])

whose results are None and the new values of the bases. Here the kernels that `f` launches are added
to the module, with scalars as constants, and each launch becomes a `graph.call_kernel`. They are
found by running `f`, a host function, without launching anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import fx
from torch._higher_order_ops.auto_functionalize import auto_functionalized_v2
from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.dialects import graph
from hidet.dialects.cuda import KernelOp, TensorMapType
from hidet.dialects.cuda.marks import ON_CPU
from hidet.dialects.graph.base import Number, number
from hidet.frontends.torch.dtypes import type_of
from hidet.frontends.torch.nodes import Overload, first_tensor
from hidet.frontends.torch.operators.emitter import Emitter, Results, before_reshape, unsupported

if TYPE_CHECKING:
    from hidet.driver.script import CompiledFunction, RecordedLaunch

_EMPTY = (
    torch.ops.aten.empty.memory_format,
    torch.ops.aten.empty_permuted.default,
    torch.ops.aten.empty_strided.default,
)
# The address range of each tensor has this many bits.
_ADDRESS_BITS = 48
# Keywords that mark a mutated argument as a view of part of its base. Calls of kernels have none,
# as each argument is detached, but others may call the operators.
_VIEWS = ("slice_dim", "storage_offset")


def called_kernel(node: fx.Node) -> CompiledFunction | None:
    """Return the kernel that a node calls, if any."""
    if node.target is not auto_functionalized_v2:
        return None
    from hidet.driver.script_operator import kernel_of_operator  # which most graphs do not need

    return kernel_of_operator(node.args[0])


class ScriptCalls:
    """Translates the calls of kernels in one graph, and collects the kernels."""

    def __init__(self, g: Emitter, operand: Callable[[fx.Node], SSAValue]) -> None:
        self.kernels: list[KernelOp] = []
        """The kernels, specialized to their scalar arguments."""
        self._g = g
        self._operand = operand
        self._names: dict[object, str] = {}

    def translate(self, node: fx.Node, function: CompiledFunction) -> Results:
        """Build calls of the kernels that a function launches, and return the results of the node.

        Raises:
            UnsupportedOperatorError: a scalar is not constant, part of a tensor is written, or the
                function does more than launch kernels.
            UnsupportedDtypeError: the graph dialect lacks the data type of a tensor.
        """
        from hidet.frontends.script.types import ScalarType  # as above

        if function.prints:
            raise unsupported("it prints")
        keywords: dict[str, Any] = dict(node.kwargs)
        bases: list[Any] = list(keywords["_all_bases"])
        schema: Any = cast("Overload", node.args[0])._schema  # pyright: ignore[reportPrivateUsage]
        names: list[str] = [argument.name for argument in schema.arguments]
        tensors = _Tensors(self._operand)
        values: list[int | float] = []
        base_of: dict[int, int] = {}
        for position, parameter in enumerate(function.arguments.parameters):
            name = names[position]
            if isinstance(parameter.type, ScalarType):
                if not isinstance(keywords[name], int | float | bool):
                    raise unsupported(f"its argument '{parameter.name}' is not constant")
                values.append(keywords[name])
                continue
            if name in keywords and keywords[name] is None:
                raise unsupported(f"its argument '{parameter.name}' is None")
            if function.arguments.written[position]:
                base = _base_of(keywords, name)
                base_of[base] = position
                values.append(tensors.add(bases[base], position))
            else:
                values.append(tensors.add(keywords[name], position))
        if len(base_of) < sum(function.arguments.written):
            raise unsupported("it writes one tensor through two arguments")
        on_cpu = self._g.meta.device.type == "cpu"
        for launch in function.record(values):
            if ON_CPU in launch.kernel.attributes and not on_cpu:
                raise unsupported("it is a function of the CPU")
            self._call(launch, tensors)
        results: list[SSAValue | None] = [None] * (1 + len(bases))
        for base, position in base_of.items():
            results[1 + base] = tensors.read(position)
        return tuple(results)

    def _call(self, launch: RecordedLaunch, tensors: _Tensors) -> None:
        """Build the call of one kernel, whose results replace the tensors that it writes."""
        reads: list[int] = []
        writes: list[int] = []
        numbers: dict[int, Number] = {}
        for n, value in enumerate(launch.values):
            if not isinstance(launch.kernel.arguments[n].type, MemRefType | TensorMapType):
                numbers[n] = value
            elif launch.lowered.is_readonly(n):
                reads.append(tensors.position_at(value))
            else:
                writes.append(tensors.position_at(value))
        if len(set(writes)) < len(writes) or not set(writes).isdisjoint(reads):
            raise unsupported("a kernel gets what it writes twice")
        inits = [n for n, position in enumerate(writes) if not tensors.is_empty(position)]
        operands = [before_reshape(tensors.read(position)) for position in reads]
        operands += [tensors.read(writes[n]) for n in inits]
        types = [type_of(first_tensor(tensors.nodes[position])) for position in writes]
        name = self._kernel(launch, numbers)
        call = graph.CallKernelOp(operands, types, inits, name)
        results = self._g.emit_all(call, launch.kernel.sym_name.data)
        for position, value in zip(writes, results, strict=True):
            tensors.values[position] = value

    def _kernel(self, launch: RecordedLaunch, numbers: Mapping[int, Number]) -> str:
        """Return the name of a kernel, which is added to the module at its first use."""
        key = (str(launch.lowered), launch.extents, tuple(numbers.items()))
        if key not in self._names:
            own = name = launch.kernel.sym_name.data
            while name in self._names.values():
                name = f"{own}_{len(self._names)}"
            self._names[key] = name
            self.kernels.append(_specialized(launch, numbers, name))
        return self._names[key]


class _Tensors:
    """The tensors of one call, by the position of the function's parameter.

    The host function sees them as fake addresses, far from each other.
    """

    def __init__(self, operand: Callable[[fx.Node], SSAValue]) -> None:
        self._operand = operand
        self.nodes: dict[int, fx.Node] = {}
        self.values: dict[int, SSAValue] = {}
        """The current values of those that a kernel has written."""

    def add(self, node: fx.Node, position: int) -> int:
        """Add a tensor; return its address."""
        if first_tensor(node).dtype is torch.uint8:
            raise unsupported("unsigned bytes, which programs represent by another type")
        self.nodes[position] = node
        return (position + 1) << _ADDRESS_BITS

    def position_at(self, address: int | float) -> int:
        """Return the position of the tensor at an address.

        Raises:
            UnsupportedOperatorError: the address points into a tensor.
        """
        position, offset = divmod(int(address), 1 << _ADDRESS_BITS)
        if offset:
            raise unsupported("a kernel gets a part of a tensor")
        return position - 1

    def is_empty(self, position: int) -> bool:
        """Return whether a tensor is uninitialized."""
        node = self.nodes[position]
        while isinstance(node.target, Overload) and node.target.is_view:
            node = node.all_input_nodes[0]
        return position not in self.values and node.target in _EMPTY

    def read(self, position: int) -> SSAValue:
        """Return the current value of a tensor."""
        value = self.values.get(position)
        return self._operand(self.nodes[position]) if value is None else value


def _base_of(keywords: Mapping[str, Any], name: str) -> int:
    """Return the number of the base that a mutated argument refers to."""
    base: int = keywords[f"_{name}_base_index"]
    if any(f"_{name}_{key}" in keywords for key in _VIEWS):
        raise unsupported(f"it writes a part of a tensor through its argument '{name}'")
    return base


def _specialized(launch: RecordedLaunch, numbers: Mapping[int, Number], name: str) -> KernelOp:
    """Return a kernel with scalars as constants; read-only arguments come first."""
    kernel = launch.kernel.clone()
    block = kernel.body.block
    before = list(block.args)
    for position, value in numbers.items():
        constant = arith.ConstantOp(number(value, before[position].type))
        constant.result.name_hint = before[position].name_hint
        Rewriter.insert_op(constant, InsertPoint.at_start(block))
        before[position].replace_all_uses_with(constant.result)
    tensors = [position for position in range(len(before)) if position not in numbers]
    for position in sorted(tensors, key=lambda n: not launch.lowered.is_readonly(n)):
        moved = block.insert_arg(before[position].type, len(block.args))
        moved.name_hint = before[position].name_hint
        before[position].replace_all_uses_with(moved)
    for argument in before:
        block.erase_arg(argument)
    grid, threads = kernel.launch_shape(launch.extents)
    named = KernelOp(name, grid, threads, kernel.detach_region(kernel.body))
    named.attributes |= kernel.attributes
    named.location = kernel.location
    return named
