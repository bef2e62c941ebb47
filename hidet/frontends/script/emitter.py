"""Writes the IR of a kernel: constants, conversions, operators, and accesses to memory."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import cast

from xdsl.dialects import arith, math, memref, scf
from xdsl.dialects.builtin import (
    FileLineColLoc,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    LocationAttr,
    TensorType,
    UnknownLoc,
)
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from hidet.dialects.compute import LoadOp, StoreOp
from hidet.dialects.cuda import BlockDimOp, BlockIdOp, GridDimOp, ThreadIdOp
from hidet.dialects.cuda.attributes import Dimension
from hidet.dialects.cuda.instructions import IdOp
from hidet.dialects.locations import line_location
from hidet.errors import ScriptError
from hidet.frontends.script.loads_and_stores import load_vector, store_vector
from hidet.frontends.script.operators import (
    ARITHMETIC,
    COMPARISONS,
    FUNCTIONS,
    HINTS,
    OPPOSITES,
    conversion_path,
)
from hidet.frontends.script.types import (
    BOOL,
    F32,
    I32,
    INDEX,
    ScalarType,
    common_type,
    plain_number,
)
from hidet.frontends.script.values import (
    Index,
    Pointer,
    Scalar,
    Tensor,
    Variable,
    check_rank,
    describe,
    digits_of,
    is_number,
    placed,
)
from hidet.frontends.script.variables import make_variable, read_variable, write_variable
from hidet.frontends.script.vectors import Vector, elementwise
from hidet.rewriting.builder import KernelBuilder, integer_type

MAX_DEPTH = 32
"""So many functions of a script may call each other; what goes deeper calls itself."""


@dataclass
class LaunchShape:
    """What the attributes of a kernel have said so far."""

    grid: tuple[Index, ...] | None = None
    block: tuple[Index, ...] | None = None
    name: str | None = None
    kind: str | None = None
    label: str | None = None
    min_blocks: int | None = None
    dynamic_bytes: int = 0
    may_alias: bool = False
    cluster: tuple[int, int, int] = (1, 1, 1)


class Emitter(KernelBuilder):
    """Builds the ops of one kernel, each with the location of the user's line.

    Attributes:
        kind: the kind of the function that is traced.
        module: the module that it belongs to.
        shape: what the attributes of the kernel have said so far.
        shared_bytes: the shared memory that the kernel has allocated by `shared_tensor`.
        in_parallel: whether the iterations of a loop around are shared by the cores of the CPU.
        entry: the first block of the kernel.
    """

    def __init__(self, entry: Block, kind: str = "cuda_kernel") -> None:
        super().__init__(InsertPoint.at_end(entry))
        self.entry = entry
        self.kind = kind
        self.module: object = None
        self.shape = LaunchShape()
        self.shared_bytes = 0
        self.in_parallel = False
        self._depth = 0
        self._ids: dict[tuple[type[IdOp], Dimension], Scalar] = {}
        self._location: LocationAttr = UnknownLoc()
        self._locations: dict[tuple[str, int], LocationAttr] = {}
        self.operation_insertion_handler = [self.locate]

    @property
    def is_nested(self) -> bool:
        """Whether a function is traced that the one being built calls."""
        return self._depth > 0

    # Where ops come from.

    def locate(self, op: Operation) -> None:
        """Give an op the location of the line that is being traced."""
        if isinstance(op.location, UnknownLoc):
            op.location = self._location

    def set_line(self, file: str, line: int) -> None:
        """Note which line of the user is being traced."""
        known = self._locations.get((file, line))
        if known is None:
            known = line_location(file, line)
            self._locations[file, line] = known
        self._location = known

    def set_column(self, column: int) -> None:
        """Note the column too, for an op that a later check may blame."""
        line = self._location
        if isinstance(line, FileLineColLoc):
            self._location = FileLineColLoc(line.filename, line.line, IntAttr(column))

    @contextmanager
    def nested(self, name: str) -> Generator[None]:
        """Trace a function that is called, and come back to the line of the call.

        Raises:
            ScriptError: functions call each other without an end.
        """
        if self._depth == MAX_DEPTH:
            raise ScriptError(
                f"'{name}' calls itself", hint="functions of a script cannot be recursive"
            )
        line = self._location
        self._depth += 1
        yield
        self._depth -= 1
        self._location = line

    # Numbers and conversions.

    def constant(self, value: float, kind: ScalarType) -> Scalar:
        """Return a number as a constant of a type.

        Raises:
            ScriptError: the type cannot hold the number.
        """
        if kind.is_float:
            op = arith.ConstantOp(FloatAttr(float(value), kind.ir))  # pyright: ignore[reportArgumentType, reportUnknownVariableType, reportCallIssue]
            return Scalar(self, self.insert(op).result, kind)
        low, high = kind.limits
        if not low <= value <= high:
            raise ScriptError(f"the number {value} does not fit {kind}, from {low} to {high}")
        # The attribute of an integer type takes it as signed.
        number = int(value)
        if kind.kind == "unsigned" and number > high // 2:
            number -= high + 1
        attribute = IntegerAttr(number, integer_type(kind.ir))
        return Scalar(self, self.insert(arith.ConstantOp(attribute)).result, kind)

    def scalar_of(self, value: object, kind: ScalarType | None = None) -> Scalar:
        """Return a value as a scalar; a Python number gets the type, or else one of its own.

        Raises:
            ScriptError: it is neither a scalar nor a number.
        """
        if isinstance(value, Scalar):
            return value
        if isinstance(value, Variable):
            return self.read(value)
        value = plain_number(value)
        if not isinstance(value, bool | int | float):
            raise ScriptError(
                f"{describe(value)} stands where a number should",
                hint="a scalar, or a number that is known when the script is defined",
            )
        if isinstance(value, bool):
            return self.constant(value, kind or BOOL)
        if isinstance(value, int):
            return self.constant(value, I32 if kind is None or kind is BOOL else kind)
        return self.constant(value, kind if kind is not None and kind.is_float else F32)

    def cast(self, value: Scalar, target: ScalarType) -> Scalar:
        """Convert a scalar to a type, as C does; to `bool` by comparison with zero."""
        if value.type == target:
            return value
        owner = value.ssa.owner
        if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
            number = owner.value.value.data
            if (target.is_float or target.kind in ("signed", "index")) and (
                value.type.kind in ("signed", "index")
                and (target.is_float or target.limits[0] <= number <= target.limits[1])
            ):
                return self.constant(number, target)
        if target.kind == "bool":
            return self.binary("!=", value, 0)
        result = value.ssa
        for make, kind in conversion_path(value.type, target):
            result = self.insert(make(result, kind.ir)).results[0]
        return Scalar(self, result, target)

    def index_of(self, value: object) -> SSAValue:
        """Return an index or an integer as a value of type index."""
        if isinstance(value, SSAValue):
            return cast("SSAValue", value)
        if isinstance(value, int) and not isinstance(value, bool):
            return self.index(value)
        return self.cast(self.scalar_of(value), INDEX).ssa

    # Operators.

    def together(self, lhs: object, rhs: object) -> tuple[Scalar, Scalar, ScalarType]:
        """Return two operands in the type in which they are computed; a number adapts.

        As in C, integers of less than 32 bits are computed in 32.
        """
        known = [self.scalar_of(v) if isinstance(v, Variable) else v for v in (lhs, rhs)]
        types = [value.type for value in known if isinstance(value, Scalar)]
        kind = common_type(types[0] if types else None, types[-1] if types else None)
        for value in known:
            if isinstance(value, Scalar):
                continue
            if isinstance(value, float) and (kind is None or not kind.is_float):
                kind = F32
            elif kind is None or (kind is BOOL and not isinstance(value, bool)):
                kind = I32 if isinstance(value, int) and not isinstance(value, bool) else BOOL
        assert kind is not None
        if kind.is_integer and kind.bits < 32:
            kind = I32
        left, right = (self.cast(self.scalar_of(value, kind), kind) for value in known)
        return left, right, kind

    def binary(self, name: str, lhs: object, rhs: object) -> Scalar:
        """Compute an operator or a comparison of two operands.

        Raises:
            ScriptError: there is no such operator for the types.
        """
        lhs, rhs = plain_number(lhs), plain_number(rhs)
        if isinstance(lhs, Vector) or isinstance(rhs, Vector):  # it has the operators of a scalar
            return cast("Scalar", elementwise(self, name, lhs, rhs))
        for operand in (lhs, rhs):
            if not isinstance(operand, Scalar | Variable) and not is_number(operand):
                raise ScriptError(
                    f"'{name}' takes numbers and scalars, not {describe(operand)}",
                    hint="load an element first, as in x[i]"
                    if isinstance(operand, Tensor)
                    else None,
                )
        if name == "**" and isinstance(rhs, int) and rhs == 2:
            base = self.scalar_of(lhs)
            return self.binary("*", base, base)
        left, right, kind = self.together(lhs, rhs)
        if name in COMPARISONS:
            return self._compare(name, left, right)
        if name in ("+", "-", "*", "max", "min", "//", "%") and kind is BOOL:
            left, right, kind = self.cast(left, I32), self.cast(right, I32), I32
        return self._compute(name, left, right, kind)

    def _compute(self, name: str, left: Scalar, right: Scalar, kind: ScalarType) -> Scalar:
        """Compute an operator of operands of one type; short floats are computed in `f32`."""
        operator = ARITHMETIC[name]
        make = {
            "float": operator.floats,
            "unsigned": operator.unsigned,
            "bool": operator.booleans,
        }.get(kind.kind, operator.signed)
        if make is None:
            raise ScriptError(
                f"there is no '{name}' of {kind}",
                hint=HINTS.get(name, "the operands are of another type than the operator wants"),
            )
        if kind.is_float and kind.bits == 16:
            wide = self._compute(name, self.cast(left, F32), self.cast(right, F32), F32)
            return self.cast(wide, kind)
        return Scalar(self, self.insert(make(left.ssa, right.ssa)).results[0], kind)

    def _compare(self, name: str, left: Scalar, right: Scalar) -> Scalar:
        kind = left.type
        if kind.is_float:
            if kind.bits == 16:
                left, right = self.cast(left, F32), self.cast(right, F32)
            op = arith.CmpfOp(left.ssa, right.ssa, COMPARISONS[name].floats)
        else:
            row = COMPARISONS[name]
            is_unsigned = kind.kind in ("unsigned", "bool")
            op = arith.CmpiOp(left.ssa, right.ssa, row.unsigned if is_unsigned else row.signed)
        return Scalar(self, self.insert(op).result, BOOL)

    def unary(self, name: str, operand: Scalar) -> Scalar:
        """Compute `-x`, `~x`, `not x` or `abs(x)`."""
        kind = operand.type
        if name == "not":
            return self.binary("^", self.cast(operand, BOOL), True)
        if name == "~":
            return self.binary("^", operand, _all_bits(kind))
        if kind.is_float:
            wide = self.cast(operand, F32) if kind.bits == 16 else operand
            make = arith.NegfOp if name == "-" else math.AbsFOp
            result = Scalar(self, self.insert(make(wide.ssa)).results[0], wide.type)
            return self.cast(result, kind)
        if name == "-":
            return self.binary("-", 0, operand)
        return self.binary("max", operand, self.binary("-", 0, operand))

    def negated(self, condition: Scalar) -> Scalar:
        """Return the opposite of a condition, of integers as a comparison."""
        op = condition.ssa.owner
        if not isinstance(op, arith.CmpiOp):
            return self.unary("not", condition)
        name = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
        opposite = arith.CmpiOp(op.lhs, op.rhs, OPPOSITES[name])
        return Scalar(self, self.insert(opposite).result, BOOL)

    def function(self, name: str, operand: object) -> Scalar:
        """Compute an elementary function; of an integer in `f32`."""
        if isinstance(operand, Vector):
            return cast("Scalar", operand.map(partial(self.function, name)))
        value = self.scalar_of(operand)
        kind = value.type if value.type.is_float else F32
        wide = self.cast(value, F32 if kind.bits == 16 else kind)
        result = Scalar(self, self.insert(FUNCTIONS[name](wide.ssa)).results[0], wide.type)
        return self.cast(result, kind)

    # Ids.

    def thread_id(self, dimension: Dimension) -> Scalar:
        """Return the thread's number in the block along a dimension."""
        return self._id(ThreadIdOp, dimension)

    def block_id(self, dimension: Dimension) -> Scalar:
        """Return the block's number in the grid along a dimension."""
        return self._id(BlockIdOp, dimension)

    def extent(self, kind: type[BlockDimOp | GridDimOp], dimension: Dimension) -> Scalar:
        """Return an extent of block or grid that the launch gives."""
        return self._id(kind, dimension)

    def _id(self, kind: type[IdOp], dimension: Dimension) -> Scalar:
        """Return an id, of which there is one operation, at the top of the kernel."""
        known = self._ids.get((kind, dimension))
        if known is None:
            op = kind(dimension)
            self.locate(op)
            first = self.entry.first_op
            if first is None:
                self.entry.add_op(op)
            else:
                self.entry.insert_op_before(op, first)
            known = self._ids[kind, dimension] = Scalar(self, op.result, INDEX)
        return known

    def name_ids(self) -> None:
        """Name the ids that the user has given no name."""
        for (kind, dimension), value in self._ids.items():
            if kind not in (ThreadIdOp, BlockIdOp):
                continue
            letter = "t" if kind is ThreadIdOp else "b"
            is_only = sum(other is kind for other, _ in self._ids) == 1
            short = is_only and dimension is Dimension.X
            name = f"{letter}id" if short else f"{letter}{dimension.value}"
            value.ssa.name_hint = value.ssa.name_hint or name

    # Memory.

    def address(self, tensor: Tensor, indices: Sequence[object]) -> Pointer:
        """Return the address of an element of a tensor.

        Raises:
            ScriptError: the indices do not belong to the tensor.
        """
        check_rank(tensor, indices)
        if tensor.part is not None:
            return self.address(tensor.part.tensor, tensor.part.indices(indices))
        at = [self._as_index(index) for index in indices]
        if tensor.swizzle is not None:
            at = tensor.swizzle.moved(at)
        if tensor.start is not None:
            at = [self._linear(tensor, at)]
        elif tensor.layout is not None:
            at = digits_of(tensor.layout, at)
        if tensor.start is None and tensor.lanes > 1:
            at = [*at, 0]
        if tensor.base:
            at = placed(tensor.base, at)
        return Pointer(tensor.memory, tensor.element, tuple(at), tensor.lanes)

    def _as_index(self, value: object) -> Index:
        """Return an index as a known number or as a scalar of type index."""
        value = plain_number(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        return self.cast(self.scalar_of(value), INDEX)

    def _linear(self, tensor: Tensor, indices: Sequence[Index]) -> Index:
        """Return the place of an element of a tensor behind a pointer."""
        assert tensor.start is not None
        terms: list[Index] = []
        if tensor.layout is not None:
            digits = tensor.layout.repeat_digits
            numbers = digits_of(tensor.layout, indices)
            terms = [number * d.weight for number, d in zip(numbers, digits, strict=True)]
        else:
            place: Index | None = None
            for index, extent in zip(indices, tensor.shape, strict=True):
                size = self._as_index(extent)
                place = index if place is None else self._as_index(place * size + index)
            terms = [] if place is None else [place]
        total = tensor.start
        if tensor.lanes > 1:
            terms = [term * tensor.lanes for term in terms]
        for term in terms:
            total = term if _is_zero(total) else total + term
        return total

    def load(self, source: SSAValue, indices: Sequence[object] = ()) -> SSAValue:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Load an element of a memref or a view."""
        load = LoadOp if isinstance(source.type, TensorType) else memref.LoadOp.get
        return self.insert(load(source, [self.index_of(i) for i in indices])).results[0]

    def load_at(self, pointer: Pointer) -> Scalar:
        """Load what a pointer points to; a vector has the operators of a scalar."""
        if pointer.lanes > 1:
            return cast("Scalar", load_vector(self, pointer))
        return Scalar(self, self.load(pointer.memory, pointer.indices), pointer.element)

    def store_at(self, value: object, pointer: Pointer) -> None:
        """Store a value where a pointer points to, converted to the type of the elements."""
        if pointer.lanes > 1:
            store_vector(self, pointer, value)
            return
        scalar = self.cast(self.scalar_of(value, pointer.element), pointer.element)
        indices = [self.index_of(index) for index in pointer.indices]
        store = StoreOp if isinstance(pointer.memory.type, TensorType) else memref.StoreOp.get
        self.insert(store(scalar.ssa, pointer.memory, indices))

    def variable(self, name: str, value: object, kind: ScalarType | None = None) -> Variable:
        """Make a variable of the thread; without a value it holds anything."""
        return make_variable(self, name, value, kind)

    def read(self, variable: Variable) -> Scalar:
        """Read a variable."""
        return read_variable(self, variable)

    def write(self, value: object, variable: Variable) -> None:
        """Write a variable, converting the value to its type."""
        write_variable(self, value, variable)

    # Branches.

    @contextmanager
    def arm(self) -> Generator[Block]:
        """Build an arm of a branch, which is inserted later."""
        block = Block()
        with self.inside(block):
            yield block

    def finish_arm(self, block: Block, values: Sequence[Scalar] = ()) -> None:
        """End an arm with the values that it yields."""
        with self.inside(block):
            self.insert(scf.YieldOp(*(value.ssa for value in values)))

    def adopt(self, block: Block) -> None:
        """Insert the ops of an arm here, to be executed in any case."""
        for op in list(block.ops):
            op.detach()
            self.insert(op)


def _all_bits(kind: ScalarType) -> int:
    """Return the number of a type all of whose bits are set."""
    if kind is BOOL:
        return True
    return kind.limits[1] if kind.kind == "unsigned" and kind.bits >= 32 else -1


def _is_zero(value: Index) -> bool:
    return isinstance(value, int) and value == 0
