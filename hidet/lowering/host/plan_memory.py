"""The pass `plan-memory`: bufferizes host functions and allocates their memory."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import FunctionType, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.memref import CopyOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from hidet.arch.limits import align
from hidet.dialects.cuda import BufferKind, BufferOp, LaunchOp
from hidet.dialects.graph.creation import ConstantOp
from hidet.dialects.host_functions import (
    ARENA_BYTES,
    FORWARD,
    OUTPUT_COUNT,
    PREPARE,
    PREPARED_BYTES,
    prepared_name,
    updates_of,
)
from hidet.dialects.shaped import buffer_type, nbytes_of


class PlanMemoryPass(ModulePass):
    """Assign memory to every tensor of the host functions.

    Expects `@forward`, and `@prepare` if something depends on weights alone, with `graph.constant`,
    `cuda.launch` and `func.return` on tensors, and `arith.constant` for scalar arguments of
    launches. Leaves them on memrefs:

    - inputs are arguments, outputs are further arguments at the end, and nothing is returned;
    - a weight is `cuda.buffer constant "p0"`, a result of `@prepare` is
      `cuda.buffer prepared offset 0` in both functions;
    - any other result of a launch is `cuda.buffer arena offset 4096`; launches list results after
      operands.

    Outputs are never in the arena. A `memref.copy` at the end fills an output that is not the
    result of a launch or is returned twice; at the start, if it is an argument that is overwritten.
    An in-place operand of a launch shares the memory of its result.

    The new content of an argument (the `updates` attribute) is not an output: it is written to the
    argument itself, or copied there at the end if a launch still reads the old content.

    An arena buffer is live from the launch that writes it to the last launch that reads it,
    inclusive, so no kernel overwrites its inputs; `place` shares memory within that
    constraint.

    The functions carry `outputs`, the number of outputs among their arguments, `arena_bytes` and
    `prepared_bytes`; a program with such functions is left as it is. The pass is linear in the
    number of launches while the number of simultaneously live tensors is bounded.
    """

    name = "plan-memory"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {each.sym_name.data: each for each in op.ops if isinstance(each, FuncOp)}
        if any(OUTPUT_COUNT in each.attributes for each in functions.values()):
            return
        found = [functions[name] for name in (PREPARE, FORWARD) if name in functions]
        prepared = _Prepared()
        for function in found:
            _Function(function, prepared).rewrite()
        for function in found:
            function.attributes[PREPARED_BYTES] = IntegerAttr(prepared.size, i64)


@dataclass
class _Prepared:
    """The memory of the results of `@prepare`.

    A place is an offset, or the name of a constant that `@prepare` returns unchanged.
    """

    places: dict[str, int | str] = field(default_factory=dict[str, int | str])
    size: int = 0


class _Function:
    """Bufferizes one host function, which is straight-line code."""

    def __init__(self, function: FuncOp, prepared: _Prepared) -> None:
        self.function = function
        self.prepared = prepared
        self.is_prepare = function.sym_name.data == PREPARE
        self.block = function.body.block
        self.operations = list(self.block.ops)
        self._check()
        self.launches = [op for op in self.operations if isinstance(op, LaunchOp)]
        self.homes = _find_homes(self.launches)
        # The number of the launch that writes a value first.
        self.first_write: dict[SSAValue, int] = {}
        for step, op in enumerate(self.launches):
            for result in op.results:
                self.first_write.setdefault(self.homes.get(result, result), step)
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.arena_bytes = 0

    def rewrite(self) -> None:
        """Replace tensors by memrefs."""
        for argument in list(self.block.args):
            buffer = Rewriter.replace_value_with_new_type(argument, buffer_type(argument))
            self.buffers[buffer] = buffer
        updates, end = updates_of(self.function), self.operations[-1]
        returned = tuple(end.operands)[: -len(updates) or None]
        if self.is_prepare:
            self._keep_results(returned)
        for op in self.operations:
            if isinstance(op, ConstantOp):
                self._place_constant(op)
            elif isinstance(op, arith.ConstantOp):
                self.buffers[op.result] = op.result  # a scalar argument
        copied: dict[SSAValue, SSAValue] = {}
        if not self.is_prepare:
            copied = self._bind_updates(updates)
            self._bind_outputs(returned, {each for each, _ in updates})
        self._place_in_arena(copied)
        for value, argument in copied.items():
            self._insert(CopyOp(self.buffers[value], argument), before=end)
        for op in self.launches:
            buffers = [self.buffers[self.homes.get(v, v)] for v in (*op.passed, *op.results)]
            self._insert(LaunchOp(buffers, kernel=op.kernel.root_reference.data), before=op)
        self._insert(ReturnOp(), before=end)
        for op in reversed(self.operations):
            if not isinstance(op, arith.ConstantOp):
                Rewriter.erase_op(op)
        types = [argument.type for argument in self.block.args]
        self.function.properties["function_type"] = FunctionType.from_lists(types, [])
        output_count = 0 if self.is_prepare else len(returned)
        self.function.attributes[OUTPUT_COUNT] = IntegerAttr(output_count, i64)
        self.function.attributes[ARENA_BYTES] = IntegerAttr(self.arena_bytes, i64)

    def _check(self) -> None:
        """Reject ops that an earlier pass should have lowered."""
        for op in self.operations:
            if not isinstance(op, ConstantOp | arith.ConstantOp | LaunchOp | ReturnOp):
                raise VerifyException(
                    f"'{op.name}' in host function @{self.function.sym_name.data}: only "
                    "graph.constant, arith.constant, cuda.launch and func.return can be there at "
                    "this stage"
                )

    def _keep_results(self, returned: tuple[SSAValue, ...]) -> None:
        """Allocate the results of `@prepare` in memory that outlives the call."""
        for position, value in enumerate(returned):
            name = prepared_name(position)
            if isinstance(value.owner, ConstantOp):
                self.prepared.places[name] = value.owner.key.data
                continue
            if value in self.buffers:
                buffer = self.buffers[value].owner
                assert isinstance(buffer, BufferOp)
                assert buffer.offset is not None
                self.prepared.places[name] = buffer.offset.value.data
                continue
            memref, size = buffer_type(value), nbytes_of(value)
            offset = self.prepared.size if size else 0
            self.prepared.places[name] = offset
            self.prepared.size += align(size)
            buffer = BufferOp(BufferKind.PREPARED, memref, offset=offset)
            self._insert(buffer, before=self.launches[0], named=value)

    def _place_constant(self, op: ConstantOp) -> None:
        """Create the buffer of a weight, or of a result of `@prepare`."""
        memref = buffer_type(op.result)
        place = self.prepared.places.get(op.key.data, op.key.data)
        if isinstance(place, int):
            buffer = BufferOp(BufferKind.PREPARED, memref, offset=place)
        else:
            buffer = BufferOp(BufferKind.CONSTANT, memref, buffer_name=place)
        self._insert(buffer, before=op, named=op.result)

    def _bind_updates(self, updates: Sequence[tuple[SSAValue, int]]) -> dict[SSAValue, SSAValue]:
        """Bind new contents of arguments to their buffers; return those to copy at the end."""
        copied: dict[SSAValue, SSAValue] = {}
        last_read: dict[SSAValue, int] = {}
        for step, op in enumerate(self.launches):
            last_read |= dict.fromkeys(op.passed, step)
        for argument, number in updates:
            value = self.operations[-1].operands[number]
            if isinstance(value.owner, Block):
                raise VerifyException(
                    f"result {number} is an argument, which cannot be what another one holds "
                    "afterwards"
                )
            is_read = last_read.get(argument, -1) >= self.first_write.get(value, -1)
            if value in self.buffers or value not in self.first_write or is_read:
                copied[value] = argument
            else:
                self.buffers[value] = argument
        for op in self.launches:
            for number, value in zip(op.init_numbers, op.init_values, strict=True):
                result = op.results_[number]
                home = self.buffers.get(self.homes.get(result, result))
                if isinstance(value.owner, Block) and home is not value:
                    raise VerifyException(
                        f"result {number} of a launch holds an argument at first, which it must be "
                        "the new content of, and nothing else may read it later"
                    )
        return copied

    def _bind_outputs(self, returned: tuple[SSAValue, ...], written: Collection[SSAValue]) -> None:
        """Add an argument for each output, written by a launch or filled by a copy."""
        for position, value in enumerate(returned):
            is_bound = value in self.buffers
            memref = self.buffers[value].type if is_bound else buffer_type(value)
            output = self.block.insert_arg(memref, len(self.block.args))
            output.name_hint = f"out{position}"
            if is_bound:
                # Before its argument is overwritten.
                place = self.operations[0 if value in written else -1]
                self._insert(CopyOp(self.buffers[value], output), before=place)
            else:
                self.buffers[value] = output

    def _place_in_arena(self, copied: Collection[SSAValue]) -> None:
        """Allocate the remaining results of launches in the arena."""
        last_use: dict[SSAValue, int] = {}
        for step, op in enumerate(self.launches):
            for value in (*op.arguments, *op.results):
                last_use[self.homes.get(value, value)] = step
        last_use |= dict.fromkeys(copied, len(self.launches))
        values = [(step, v) for v, step in self.first_write.items() if v not in self.buffers]
        lifetimes = [Lifetime(step, last_use[v], nbytes_of(v)) for step, v in values]
        offsets, self.arena_bytes = place(lifetimes)
        for (step, value), offset in zip(values, offsets, strict=True):
            buffer = BufferOp(BufferKind.ARENA, buffer_type(value), offset=offset)
            self._insert(buffer, before=self.launches[step], named=value)

    def _insert(self, op: Operation, *, before: Operation, named: SSAValue | None = None) -> None:
        """Insert an op at the location of another; its result becomes the buffer of `named`."""
        op.location = before.location
        Rewriter.insert_op(op, InsertPoint.before(before))
        if named is not None:
            op.results[0].name_hint = named.name_hint
            self.buffers[named] = op.results[0]


def _find_homes(launches: list[LaunchOp]) -> dict[SSAValue, SSAValue]:
    """Map in-place operands to the last result that shares their memory.

    Arguments of the function stay in their own buffers.
    """
    homes: dict[SSAValue, SSAValue] = {}
    for op in reversed(launches):
        for number, value in zip(op.init_numbers, op.init_values, strict=True):
            if isinstance(value.owner, Block):
                continue
            if not isinstance(value.owner, LaunchOp) or not value.has_one_use():
                raise VerifyException(
                    f"what result {number} of a launch holds at first must be the result of "
                    "a launch, and nothing else may read it"
                )
            result = op.results_[number]
            homes[value] = homes.get(result, result)
    return homes


# The arena: offsets of buffers with known lifetimes.


@dataclass(frozen=True)
class Lifetime:
    """A buffer of `size` bytes that is live from step `first` to step `last`, inclusive."""

    first: int
    last: int
    size: int


def place(lifetimes: Sequence[Lifetime]) -> tuple[list[int], int]:
    """Return offsets such that buffers live at the same step do not overlap, and the arena's size.

    Buffers are placed by decreasing size, each at the lowest offset that is free during its
    lifetime. Apart from sorting, the work is proportional to the number of overlapping pairs. Empty
    buffers are at offset 0.
    """
    overlaps = _overlaps(lifetimes)
    offsets: list[int | None] = [None] * len(lifetimes)
    total = 0
    by_size = sorted(range(len(lifetimes)), key=lambda i: (-lifetimes[i].size, lifetimes[i].first))
    for index in by_size:
        size = align(lifetimes[index].size)
        taken = sorted(
            (offset, offset + align(lifetimes[other].size))
            for other in overlaps[index]
            if (offset := offsets[other]) is not None
        )
        offsets[index] = offset = _first_gap(taken, size)
        total = max(total, offset + size)
    return [offset or 0 for offset in offsets], total


def _overlaps(lifetimes: Sequence[Lifetime]) -> list[list[int]]:
    """Return for each buffer those with an overlapping lifetime, by a sweep over the steps."""
    overlaps: list[list[int]] = [[] for _ in lifetimes]
    live: list[int] = []
    for index in sorted(range(len(lifetimes)), key=lambda i: lifetimes[i].first):
        if not lifetimes[index].size:
            continue
        live = [other for other in live if lifetimes[other].last >= lifetimes[index].first]
        for other in live:
            overlaps[index].append(other)
            overlaps[other].append(index)
        live.append(index)
    return overlaps


def _first_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    """Return the lowest offset with `size` free bytes, given sorted occupied ranges."""
    position = 0
    for start, stop in taken:
        if size and position + size <= start:
            break
        position = max(position, stop)
    return position if size else 0
