"""The IR builder of passes and templates: index arithmetic, scalars, memory, loops and branches."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import TypeAlias, cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    FixedBitwidthType,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from hidet.analysis.materialize import index_constant, index_op
from hidet.analysis.memory import root_of
from hidet.dialects.compute import ReduceKind
from hidet.dialects.constants import integer, known_index
from hidet.dialects.cuda.attributes import Space, SpaceAttr
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.cuda.marks import UNROLL
from hidet.dialects.effects import has_trait
from hidet.dialects.shaped import element_of, memref_of
from hidet.dialects.task.layout import TaskMapAttr
from hidet.dialects.walking import ops_of_block
from hidet.mapping import TaskMap
from hidet.rewriting.locations import LocatedBuilder

Index = SSAValue | int
"""An index: a value of type index, or a number that is known."""

_INDEX = IndexType()
_NO_OPERANDS = {"operandSegmentSizes": DenseArrayBase.from_list(i32, [0, 0])}
"""The properties of an allocation of static extents."""

_Combiner: TypeAlias = Callable[[SSAValue, SSAValue], Operation]


@dataclass(frozen=True)
class Bookmark:
    """An insertion position: after an op, or at the start of a block that had no ops."""

    block: Block
    last: Operation | None


class KernelBuilder(LocatedBuilder):
    """Build ops at an insertion point; loops and branches are context managers.

    Index constants of a kernel are unique, and at its start.
    """

    _entry: Block | None = None
    """The entry block of the kernel, if there is one around the insertion point."""
    _constants: dict[int, SSAValue] | None = None

    def __init__(self, at: InsertPoint) -> None:
        super().__init__(at)
        self._entry = _kernel_entry(at.block)

    # Index arithmetic: folds constants and neutral elements.

    def index(self, value: Index) -> SSAValue:
        """Return an index as an SSA value."""
        if not isinstance(value, int):
            return value
        if self._entry is None:
            return self.insert(index_constant(value)).result
        if self._constants is None:
            self._constants = _leading_constants(self._entry, self.insertion_point)
        known = self._constants.get(value)
        if known is None:
            op = index_constant(value)
            self.locate(op)
            known = self._constants[value] = op.result
            Rewriter.insert_op(op, InsertPoint.at_start(self._entry))
        return known

    def add(self, lhs: Index, rhs: Index) -> Index:
        """Return `lhs + rhs`."""
        return self._fold(int.__add__, arith.AddiOp, lhs, rhs, neutral=0, commutes=True)

    def mul(self, lhs: Index, rhs: Index) -> Index:
        """Return `lhs * rhs`."""
        if 0 in (_number(lhs), _number(rhs)):
            return 0
        return self._fold(int.__mul__, arith.MuliOp, lhs, rhs, neutral=1, commutes=True)

    def subtract(self, lhs: Index, rhs: Index) -> Index:
        """Return `lhs - rhs`."""
        return self._fold(int.__sub__, arith.SubiOp, lhs, rhs, neutral=0)

    def div(self, lhs: Index, rhs: int) -> Index:
        """Return `lhs // rhs` of non-negative indices."""
        return self._fold(int.__floordiv__, arith.DivSIOp, lhs, rhs, neutral=1)

    def mod(self, lhs: Index, rhs: int) -> Index:
        """Return `lhs % rhs` of non-negative indices."""
        return 0 if rhs == 1 else self._fold(int.__mod__, arith.RemSIOp, lhs, rhs)

    def xor(self, lhs: Index, rhs: Index) -> Index:
        """Return `lhs ^ rhs`."""
        return self._fold(int.__xor__, arith.XOrIOp, lhs, rhs, neutral=0, commutes=True)

    def _fold(
        self,
        evaluate: Callable[[int, int], int],
        kind: type[Operation],
        lhs: Index,
        rhs: Index,
        *,
        neutral: int | None = None,
        commutes: bool = False,
    ) -> Index:
        """Evaluate constants, drop a neutral right (or any) operand, or insert an op."""
        a, b = _number(lhs), _number(rhs)
        if a is not None and b is not None:
            return evaluate(a, b)
        if commutes and a is not None and a == neutral:
            return rhs
        if b is not None and b == neutral:
            return lhs
        return self.insert(index_op(kind, self.index(lhs), self.index(rhs))).results[0]

    def linearize(self, indices: Sequence[Index], shape: Sequence[int]) -> Index:
        """Return the row-major linear index of an element."""
        linear: Index = 0
        for index, extent in zip(indices, shape, strict=True):
            linear = self.add(self.mul(linear, extent), index)
        return linear

    def delinearize(self, linear: Index, shape: Sequence[int]) -> list[SSAValue]:
        """Return the indices of the element with a row-major linear index."""
        indices: list[SSAValue] = []
        for dim, extent in enumerate(shape):
            stride = prod(shape[dim + 1 :])
            quotient = self.div(linear, max(stride, 1))
            indices.append(self.index(quotient if dim == 0 else self.mod(quotient, max(extent, 1))))
        return indices

    # Scalars.

    def scalar(self, value: float, kind: Attribute) -> SSAValue:
        """Return a constant of a float or integer type."""
        number: Attribute
        if type(kind) in (IntegerType, IndexType):
            number = integer(int(value), integer_type(kind))
        else:
            number = FloatAttr(value, cast("AnyFloat", kind))
        op = arith.ConstantOp.create(result_types=[kind], properties={"value": number})
        return self.insert(op).result

    def word(self, index: Index) -> SSAValue:
        """Return an index as an i32."""
        number = _number(index)
        if number is not None:
            return self.scalar(number, i32)
        return self.insert(arith.IndexCastOp(self.index(index), i32)).result

    def less(self, lhs: Index, rhs: Index) -> SSAValue:
        """Return `lhs < rhs`."""
        return self._compare("slt", lhs, rhs)

    def equal(self, lhs: Index, rhs: Index) -> SSAValue:
        """Return `lhs == rhs`."""
        return self._compare("eq", lhs, rhs)

    def _compare(self, predicate: str, lhs: Index, rhs: Index) -> SSAValue:
        op = arith.CmpiOp.create(
            operands=[self.index(lhs), self.index(rhs)],
            result_types=[i1],
            properties={"predicate": _predicate(predicate)},
        )
        return self.insert(op).result

    def all_of(self, conditions: Sequence[SSAValue]) -> SSAValue:
        """Return the conjunction of conditions, true if there are none."""
        if not conditions:
            return self.scalar(1, i1)
        result, *others = conditions
        for condition in others:
            result = self.insert(arith.AndIOp(result, condition)).result
        return result

    def combine(self, kind: ReduceKind, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Return two values combined by a reduction kind."""
        floats, integers, booleans = _COMBINERS[kind]
        op = floats if isinstance(lhs.type, AnyFloat) else booleans if lhs.type == i1 else integers
        return self.insert(op(lhs, rhs)).results[0]

    def neutral(self, kind: ReduceKind, element: Attribute) -> SSAValue:
        """Return the neutral element of a reduction kind."""
        if kind is ReduceKind.ADD or kind is ReduceKind.MUL:
            return self.scalar(kind is ReduceKind.MUL, element)
        sign = -1 if kind is ReduceKind.MAX else 1
        if isinstance(element, AnyFloat):
            return self.scalar(sign * float("inf"), element)
        if element == i1:
            return self.scalar(kind is ReduceKind.MIN, element)
        assert isinstance(element, FixedBitwidthType)
        limit = 1 << (element.bitwidth - 1)
        return self.scalar(-limit if sign < 0 else limit - 1, element)

    # Memory.

    def register_tile(
        self, element: Attribute, tasks: TaskMap | Sequence[int], name: str | None = None
    ) -> SSAValue:
        """Allocate a register tile with a task map as layout, `?` if only the shape is given."""
        shape, known = (tasks.shape, tasks) if isinstance(tasks, TaskMap) else (tasks, None)
        space = SpaceAttr(Space.REGISTER)
        return self.allocate(memref_of(element, tuple(shape), TaskMapAttr(known), space), name)

    def shared_tile(self, element: Attribute, shape: Sequence[int]) -> SSAValue:
        """Allocate a shared tile."""
        return self.allocate(memref_of(element, tuple(shape), space=SpaceAttr(Space.SHARED)))

    def local_array(
        self, element: Attribute, shape: Sequence[int], name: str | None = None
    ) -> SSAValue:
        """Allocate an array of one thread; of rank 0, a variable."""
        return self.allocate(memref_of(element, tuple(shape), space=SpaceAttr(Space.LOCAL)), name)

    def allocate(self, kind: MemRefType[Attribute], name: str | None = None) -> SSAValue:
        """Allocate a memref of a type."""
        op = self.insert(memref.AllocaOp.create(result_types=[kind], properties=_NO_OPERANDS))
        op.memref.name_hint = name
        return op.memref

    def load(self, source: SSAValue, indices: Sequence[Index] = ()) -> SSAValue:
        """Load an element of a memref."""
        operands, element = [source, *map(self.index, indices)], element_of(source)
        return self.insert(memref.LoadOp.create(operands=operands, result_types=[element])).res

    def store(self, value: SSAValue, target: SSAValue, indices: Sequence[Index] = ()) -> None:
        """Store an element of a memref."""
        self.insert(memref.StoreOp.create(operands=[value, target, *map(self.index, indices)]))

    # Insertion positions.

    def bookmark(self) -> Bookmark:
        """Return the current insertion position, at the end of a block."""
        block = self.insertion_point.block
        return Bookmark(block, block.last_op)

    def at(self, place: Bookmark) -> AbstractContextManager[None]:
        """Insert at a position that `bookmark` returned."""
        start, last = InsertPoint.at_start(place.block), place.last
        return self._inserting(start if last is None else InsertPoint.after(last))

    @contextmanager
    def _inserting(self, point: InsertPoint) -> Generator[None]:
        outer, self.insertion_point = self.insertion_point, point
        try:
            yield
        finally:
            self.insertion_point = outer

    # Control flow.

    def inside(self, block: Block) -> AbstractContextManager[None]:
        """Insert at the end of another block."""
        return self._inserting(InsertPoint.at_end(block))

    @contextmanager
    def loop(
        self,
        stop: Index,
        step: int = 1,
        *,
        unroll: bool | int = False,
        name: str | None = None,
        marks: Mapping[str, Attribute] | None = None,
    ) -> Generator[SSAValue]:
        """Build `for (i = 0; i < stop; i += step)`; yield the induction variable.

        `unroll` is a flag or an unroll factor, `marks` are attributes of the loop.
        """
        body = Block(arg_types=[_INDEX])
        body.args[0].name_hint = name
        bounds = [self.index(0), self.index(stop), self.index(step)]
        with self.inside(body):
            yield body.args[0]
            self.insert(scf.YieldOp.create())
        op = self.insert(scf.ForOp.create(operands=bounds, regions=[Region(body)]))
        op.attributes |= marks or {}
        set_unroll(op, unroll)

    @contextmanager
    def loop_like(
        self,
        loop: scf.ForOp,
        values: dict[SSAValue, SSAValue],
        *,
        first: SSAValue | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> Generator[SSAValue]:
        """Build a loop with the header of one without results; yield the induction variable.

        `values` maps values of the other loop to those here; the induction variable is added.
        `first` is the lower bound, if it differs.
        """
        old = loop.body.block.args[0]
        body = Block(arg_types=[old.type])
        body.args[0].name_hint = old.name_hint
        values[old] = body.args[0]
        with self.inside(body):
            yield body.args[0]
            self.insert(scf.YieldOp.create())
        start, stop, step = (
            values.get(each, each) for each in (first or loop.lb, loop.ub, loop.step)
        )
        self.insert(scf.ForOp(start, stop, step, [], body)).attributes |= attributes or {}

    @contextmanager
    def when(self, condition: SSAValue) -> Generator[None]:
        """Build `if (condition)`."""
        body = Block()
        with self.inside(body):
            yield
            self.insert(scf.YieldOp.create())
        self.insert(scf.IfOp.create(operands=[condition], regions=[Region(body), Region()]))

    def when_all(self, conditions: Sequence[SSAValue]) -> AbstractContextManager[None]:
        """Build `if (all conditions)`; without conditions, build nothing around the body."""
        return self.when(self.all_of(conditions)) if conditions else nullcontext()

    def choose(
        self,
        condition: SSAValue,
        then: Callable[[], SSAValue],
        otherwise: Callable[[], SSAValue],
    ) -> SSAValue:
        """Build a value that is evaluated if a condition holds, and another one otherwise."""
        arms, values = (Block(), Block()), list[SSAValue]()
        for arm, evaluate in zip(arms, (then, otherwise), strict=True):
            with self.inside(arm):
                values.append(evaluate())
                self.insert(scf.YieldOp.create(operands=[values[-1]]))
        regions, kinds = [Region(arm) for arm in arms], [values[0].type]
        op = scf.IfOp.create(operands=[condition], result_types=kinds, regions=regions)
        return self.insert(op).results[0]

    @contextmanager
    def loops(
        self,
        extents: Sequence[int],
        *,
        unroll: bool | Sequence[bool | int] = False,
        marks: Mapping[str, Attribute] | None = None,
    ) -> Generator[list[SSAValue]]:
        """Build a loop nest over the extents; yield the induction variables."""
        if not extents:
            yield []
            return
        first, *others = [unroll] * len(extents) if isinstance(unroll, bool) else unroll
        with (
            self.loop(extents[0], unroll=first, marks=marks) as outer,
            self.loops(extents[1:], unroll=others, marks=marks) as inner,
        ):
            yield [outer, *inner]

    def splice(self, region: Region, arguments: Sequence[SSAValue]) -> list[SSAValue]:
        """Insert a copy of the body of a single-block region; return the yielded values."""
        return self.unwrap(region.clone(), arguments)

    def unwrap(self, region: Region, arguments: Sequence[SSAValue]) -> list[SSAValue]:
        """Move the body of a single-block region here; return the yielded values."""
        block = region.block
        for argument, value in zip(block.args, arguments, strict=True):
            argument.replace_all_uses_with(value)
        yielded: list[SSAValue] = []
        for op in ops_of_block(block):
            op.detach()
            if has_trait(type(op), IsTerminator):
                yielded = list(op.operands)
                op.drop_all_references()
            else:
                self.insert(op)
        return yielded


def _kernel_entry(block: Block) -> Block | None:
    """Return the entry block of the kernel around a block, None outside of kernels."""
    while (parent := block.parent_op()) is not None and type(parent) is not KernelOp:
        if parent.parent is None:
            return None
        block = parent.parent
    return None if parent is None else block


def _leading_constants(block: Block, end: InsertPoint) -> dict[int, SSAValue]:
    """Return the index constants at the start of a block that precede an insertion point."""
    found: dict[int, SSAValue] = {}
    op = block.first_op
    while op is not end.insert_before and isinstance(op, arith.ConstantOp):
        (result,), number = op.results, op.properties["value"]
        if isinstance(result.type, IndexType) and isinstance(number, IntegerAttr):
            found[number.value.data] = result
        op = op.next_op
    return found


def _number(index: Index) -> int | None:
    """Return an index as a number if it is a constant."""
    return index if isinstance(index, int) else known_index(index)


@cache
def _predicate(name: str) -> IntegerAttr:
    return IntegerAttr(arith.CMPI_COMPARISON_OPERATIONS.index(name), i64)


def set_unroll(loop: scf.ForOp, unroll: bool | int) -> None:
    """Annotate a loop for unrolling by the CUDA compiler: fully, or by a factor."""
    if unroll is not False:
        loop.attributes[UNROLL] = UnitAttr() if unroll is True else IntegerAttr(unroll, i64)


def align(array: SSAValue, size: int) -> None:
    """Require an alignment in bytes of an array that the kernel allocates."""
    op = root_of(array).owner
    if isinstance(op, memref.AllocaOp):
        known = 1 if op.alignment is None else op.alignment.value.data
        op.alignment = IntegerAttr(max(size, known), i64)


def integer_type(kind: Attribute) -> IntegerType | IndexType:
    """Return a type, narrowed to an integer type."""
    assert isinstance(kind, IntegerType | IndexType), f"{kind} is no integer type"
    return cast("IntegerType | IndexType", kind)


_COMBINERS: dict[ReduceKind, tuple[_Combiner, _Combiner, _Combiner]] = {
    # for floats, integers and booleans
    ReduceKind.ADD: (arith.AddfOp, arith.AddiOp, arith.OrIOp),
    ReduceKind.MUL: (arith.MulfOp, arith.MuliOp, arith.AndIOp),
    ReduceKind.MAX: (arith.MaximumfOp, arith.MaxSIOp, arith.OrIOp),
    ReduceKind.MIN: (arith.MinimumfOp, arith.MinSIOp, arith.AndIOp),
}
