"""Extracts the plan of a program from its host functions, after `plan-memory`."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import CopyOp
from xdsl.ir import SSAValue
from xdsl.utils.symbol_table import SymbolTable

from hidet.arch.limits import BUFFER_ALIGNMENT
from hidet.dialects.cuda import BufferKind, BufferOp, KernelOp, LaunchOp, TensorMapOp
from hidet.dialects.cuda.names import symbol_of
from hidet.dialects.host_functions import (
    ARENA_BYTES,
    FORWARD,
    OUTPUT_COUNT,
    PACKED_INPUTS,
    PACKED_OUTPUTS,
    PREPARE,
    PREPARED_BYTES,
    packing_of,
)
from hidet.driver.plan_types import scalar, tensor_map_spec, tensor_spec
from hidet.errors import LegalityError
from hidet.runtime.dependencies import Access, find_dependencies
from hidet.runtime.plan import WRITTEN, Argument, Copy, Kernel, Launch, Plan, Space, TensorMap
from hidet.runtime.specs import Scalar, TensorSpec


def extract_plan(module: ModuleOp, *, target: str) -> Plan:
    """Extract the plan of a lowered program: compiled kernels, `@forward`, possibly `@prepare`.

    Raises:
        LegalityError: the host functions are not in the form that `plan-memory` produces, or a
            kernel has no binary.
        UnsupportedDtypeError: torch does not have the element type of an input or output.
    """
    return _Extraction(module).plan(target)


class _Extraction:
    """The extraction of one plan."""

    def __init__(self, module: ModuleOp) -> None:
        self.symbols = SymbolTable(module)
        self.kernels: list[Kernel] = []
        self.numbers: dict[str, int] = {}

    def plan(self, target: str) -> Plan:
        forward = self._function(FORWARD)
        if forward is None:
            raise LegalityError(f"the program has no host function @{FORWARD}")
        prepare = self._function(PREPARE)
        output_count = _attribute(forward, OUTPUT_COUNT)
        buffers = forward.body.block.args
        input_count = len(buffers) - output_count
        inputs = _Tensors("input", buffers[:input_count], packing_of(forward, PACKED_INPUTS))
        outputs = _Tensors("output", buffers[input_count:], packing_of(forward, PACKED_OUTPUTS))
        hosts = [_Host(forward, {**inputs.arguments, **outputs.arguments})]
        if prepare is not None:
            hosts.insert(0, _Host(prepare, {}))
        constants: dict[str, TensorSpec] = {}
        for value, argument in chain.from_iterable(host.arguments.items() for host in hosts):
            if argument.space == "constant":
                name, spec = str(argument.at), tensor_spec(value.type)
                if constants.setdefault(name, spec) != spec:
                    raise LegalityError(f"constant '{name}' is {constants[name]} and {spec}")
        launches = {host.function: self._launches(host) for host in hosts}
        return Plan(
            target=target,
            inputs=inputs.specs,
            outputs=outputs.specs,
            # In the order of the caller's arguments: p2 before p10.
            constants=dict(sorted(constants.items(), key=lambda each: (len(each[0]), each[0]))),
            kernels=tuple(self.kernels),
            prepare=() if prepare is None else launches[prepare],
            forward=launches[forward],
            copies=tuple(hosts[-1].copies()),
            arena_bytes=max(_attribute(host.function, ARENA_BYTES) for host in hosts),
            prepared_bytes=_attribute(forward, PREPARED_BYTES),
        )

    def _function(self, name: str) -> FuncOp | None:
        function = self.symbols.lookup(name)
        return function if isinstance(function, FuncOp) else None

    def _launches(self, host: "_Host") -> tuple[Launch, ...]:
        """Return the launches of a function, except those with an empty grid."""
        ops = (op for op in host.function.body.block.ops if isinstance(op, LaunchOp))
        launched = ((op, self._kernel_op(op)) for op in ops)
        found = [(op, kernel) for op, kernel in launched if 0 not in kernel.grid_dims]
        dependencies = find_dependencies([host.accesses(op, kernel) for op, kernel in found])
        return tuple(
            Launch(
                kernel=self._kernel_number(kernel),
                arguments=tuple(host.passed(value) for value in op.arguments),
                writes=tuple(_written(op, kernel)),
                dependencies=waits_for,
                edges="programmatic" if op.programmatic and waits_for else "full",
            )
            for (op, kernel), waits_for in zip(found, dependencies, strict=True)
        )

    def _kernel_op(self, op: LaunchOp) -> KernelOp:
        name = op.kernel.root_reference.data
        kernel = self.symbols.lookup(name)
        if not isinstance(kernel, KernelOp):
            raise LegalityError(f"a launch names @{name}, which is no kernel")
        if op.results or len(kernel.arguments) != len(op.arguments):
            raise LegalityError(
                f"a launch of @{name} passes {len(op.arguments)} arguments and returns "
                f"{len(op.results)} tensors, where the kernel takes {len(kernel.arguments)} "
                "arguments and plan-memory leaves nothing to return"
            )
        return kernel

    def _kernel_number(self, kernel: KernelOp) -> int:
        """Return the position of a kernel in the plan, which is added at its first use."""
        symbol, key = kernel.sym_name.data, kernel.binary
        if key is None:
            raise LegalityError(f"a launch names @{symbol}, which has not been compiled")
        if symbol not in self.numbers:
            self.numbers[symbol] = len(self.kernels)
            self.kernels.append(
                Kernel(
                    symbol=symbol_of(symbol),
                    artifact_key=key,
                    grid=kernel.grid_dims,
                    block=kernel.block_dims,
                    cluster=kernel.cluster,
                    shared_bytes=kernel.shared_bytes,
                    work=kernel.work,
                )
            )
        return self.numbers[symbol]


class _Tensors:
    """The inputs or outputs of a plan, the last of which may hold what `bounds` describe.

    Attributes:
        specs: those of the tensors that callers pass or get.
        arguments: where each memref of `@forward` lies.
    """

    def __init__(
        self, space: Literal["input", "output"], values: Sequence[SSAValue], bounds: Sequence[int]
    ) -> None:
        own = len(values) - len(bounds[1:])
        if own < 0:
            raise LegalityError(f"{len(bounds) - 1} {space}s are packed, of {len(values)}")
        packed: Space = "packed_input" if space == "input" else "packed_output"
        self.specs = tuple(tensor_spec(value.type) for value in values[:own])
        self.arguments = {value: Argument(space, n) for n, value in enumerate(values[:own])}
        if not bounds:
            return
        self.specs += (TensorSpec((bounds[-1],), "i8"),)
        for value, start, stop in zip(values[own:], bounds, bounds[1:], strict=False):
            if start % BUFFER_ALIGNMENT or start + tensor_spec(value.type).nbytes > stop:
                raise LegalityError(f"{value.type} cannot lie in the bytes {start} to {stop}")
            self.arguments[value] = Argument(packed, start)


class _Host:
    """A host function, with the argument of a plan for each of its memrefs."""

    def __init__(self, function: FuncOp, tensors: Mapping[SSAValue, Argument]) -> None:
        self.function = function
        block = function.body.block
        buffers = {op.result: _buffer(op) for op in block.ops if isinstance(op, BufferOp)}
        self.arguments: dict[SSAValue, Argument] = {**tensors, **buffers}

    def passed(self, value: SSAValue) -> Argument | Scalar | TensorMap:
        """Return the argument of a plan for an operand of a launch."""
        match value.owner:
            case arith.ConstantOp() as op:
                return scalar(op)
            case TensorMapOp() as op:
                spec = tensor_map_spec(op.kind, op.steps)
                offset = op.first * op.kind.element_bytes
                return TensorMap(self.argument(op.buffer), offset, spec)
            case _:
                return self.argument(value)

    def argument(self, value: SSAValue) -> Argument:
        """Return the location of a memref."""
        if value not in self.arguments:
            raise LegalityError(
                f"a launch in @{self.function.sym_name.data} uses a value that is no buffer, "
                "input, output, constant or tensor map"
            )
        return self.arguments[value]

    def accesses(self, op: LaunchOp, kernel: KernelOp) -> list[Access]:
        """Return the accesses of a launch to memory that launches write."""
        written = set(_written(op, kernel))
        found: list[Access] = []
        for number, value in enumerate(op.arguments):
            if isinstance(value.owner, arith.ConstantOp):
                continue
            if isinstance(value.owner, TensorMapOp):
                value = value.owner.buffer
            space, at = self.argument(value)
            nbytes = tensor_spec(value.type).nbytes
            if space in ("output", "input") and nbytes:
                found.append(Access((space, at), 0, 1, number in written))
            elif space != "constant" and isinstance(at, int):
                found.append(Access(space, at, at + nbytes, number in written))
        return found

    def copies(self) -> Iterator[Copy]:
        """Yield the copies of elements before the launches and at the end of the function."""
        when = "ahead"
        for op in self.function.body.block.ops:
            if isinstance(op, LaunchOp):
                when = "after"
            if isinstance(op, CopyOp) and (size := tensor_spec(op.source.type).nbytes):
                target = self.argument(op.destination)
                if target.space not in WRITTEN:
                    raise LegalityError(f"a memref.copy fills {target}, no output or input")
                yield Copy(self.argument(op.source), target, size, when)


def _written(op: LaunchOp, kernel: KernelOp) -> Iterator[int]:
    """Yield the positions of the arguments that the kernel writes."""
    for number, value in enumerate(op.arguments):
        if not kernel.is_readonly(number) and not isinstance(value.owner, arith.ConstantOp):
            yield number


def _buffer(op: BufferOp) -> Argument:
    if op.buffer_name is not None:
        return Argument("constant", op.buffer_name.data)
    assert op.offset is not None, "the verifier of cuda.buffer"
    space = "arena" if op.kind.data is BufferKind.ARENA else "prepared"
    return Argument(space, op.offset.value.data)


def _attribute(op: FuncOp, name: str) -> int:
    value = op.attributes.get(name)
    return value.value.data if isinstance(value, IntegerAttr) else 0
