"""The names of a script: scopes, as in C, and local variables, whose types are inferred.

A variable has the type of its first value. One that starts with a Python number has an open type:
`s = 0` is an i32 until a value of another type is assigned or added. Its type is then changed in
the IR emitted so far, unless a use depends on the former type.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType, NoneAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.dialects.cuda.attributes import Space, SpaceAttr
from hidet.dialects.cuda.kernel import mark_unsigned
from hidet.dialects.cuda.names import hint_of
from hidet.errors import ScriptError
from hidet.frontends.script.messages import Value
from hidet.frontends.script.scalars import Scalar, constant, convert, is_number, scalar_of
from hidet.frontends.script.tracing import current, insert
from hidet.frontends.script.types import F32, F64, ScalarType, common_type


@dataclass
class Scope:
    """One scope."""

    runtime: bool
    names: dict[str, object] = field(default_factory=dict[str, object])


class Scopes:
    """The stack of open scopes, and the names that are no longer defined."""

    def __init__(self, outer: dict[str, object] | None = None) -> None:
        self._open = [Scope(runtime=False, names=dict(outer or {})), Scope(runtime=False)]
        self._lost: dict[str, str] = {}

    @contextmanager
    def open(self, *, runtime: bool, lost: str | None = None) -> Generator[dict[str, object]]:
        """Open a scope, and yield its names, which are undefined after it for the reason `lost`."""
        scope = Scope(runtime)
        self._open.append(scope)
        yield scope.names
        self._open.pop()
        if lost is not None:
            self._lost.update(dict.fromkeys(scope.names, lost))

    def find(self, name: str) -> Scope | None:
        """Return the innermost scope that binds a name, or None."""
        return next((scope for scope in reversed(self._open) if name in scope.names), None)

    def crosses_runtime(self, scope: Scope) -> bool:
        """Return whether a run-time scope lies between a scope and the innermost one."""
        inner = self._open[self._open.index(scope) + 1 :]
        return any(each.runtime for each in inner)

    def define(self, name: str, value: object) -> None:
        """Bind a name in the innermost scope."""
        self._open[-1].names[name] = value
        self._lost.pop(name, None)

    def lose(self, name: str, reason: str) -> None:
        """Record why a name is undefined from here on."""
        self._lost[name] = reason

    def check_lost(self, name: str) -> None:
        """Raise the error about a name that is no longer defined."""
        if name in self._lost:
            raise ScriptError(
                f"'{name}' may be undefined here: {self._lost[name]}",
                hint=f"give '{name}' a value before, for all cases",
            )

    def flat(self) -> dict[str, object]:
        """Return the current bindings, inner ones over outer ones."""
        return {name: value for scope in self._open for name, value in scope.names.items()}


_CONVERSIONS = arith.SIToFPOp | arith.UIToFPOp | arith.ExtFOp | arith.ExtSIOp | arith.ExtUIOp

_WITH_SIGN = (
    *(arith.DivSIOp, arith.FloorDivSIOp, arith.RemSIOp, arith.ShRSIOp, arith.MaxSIOp),
    *(arith.MinSIOp, arith.CmpiOp, arith.SIToFPOp, arith.ExtSIOp, arith.IndexCastOp),
)
"""Integer operations that depend on the sign."""


def mark_sign(memory: SSAValue, kind: ScalarType) -> SSAValue:
    """Mark memory of unsigned integers as such, and return it."""
    if kind.is_unsigned:
        mark_unsigned(memory)
    return memory


@dataclass(eq=False, repr=False)
class Variable(Value):
    """A name that is assigned several times: a local variable of the thread.

    Attributes:
        memory: the memref of rank 0 that holds it.
        number: the Python number that it starts with, if its type is open.
        reads: the values read so far, if its type is open.
    """

    memory: SSAValue
    type: ScalarType
    number: float | None = None
    reads: list[Scalar] = field(default_factory=list[Scalar])

    def __repr__(self) -> str:
        return f"a variable of type {self.type}"

    def read(self) -> Scalar:
        """Return the current value."""
        scalar = Scalar(current().load(self.memory), self.type)
        if self.number is not None:
            self.reads.append(scalar)
        return scalar

    def write(self, value: object) -> None:
        """Assign a value, converted to the variable's type, which may adapt first."""
        adapt_type(self, value)
        insert(memref.StoreOp.get(convert(value, self.type).ssa, self.memory, []))


def make_variable(name: str, value: object, kind: ScalarType | None = None) -> Variable:
    """Make a local variable; it is uninitialized if there is no value."""
    scalar = None if value is None else scalar_of(value, kind)
    is_open = kind is None and not isinstance(value, bool)
    kind = kind or (scalar.type if scalar is not None else F32)
    memory = mark_sign(current().local_array(kind.ir, []), kind)
    memory.name_hint = hint_of(name)
    variable = Variable(memory, kind)
    if scalar is not None:
        variable.write(scalar)
    variable.number = value if is_open and isinstance(value, int | float) else None
    return variable


def adapt_type(variable: Variable, value: object) -> None:
    """Change the type of a variable whose type is open to that of a value assigned or added to it.

    Raises:
        ScriptError: a use depends on the former type.
    """
    if variable.number is None or not (isinstance(value, Scalar) or is_number(value)):
        return
    wanted = _adapted_type(variable.type, value)
    if wanted == variable.type:
        return
    if not all(_can_become(read.ssa, variable.type, wanted) for read in variable.reads):
        name, found = variable.memory.name_hint, "a fraction"
        if isinstance(value, Scalar):
            found = f"a value of type {value.type}"
        raise ScriptError(
            f"'{name}' begins with the number {variable.number}, so that it is of type "
            f"{variable.type}, is used as that, and then gets {found}",
            hint=f"say which type it has: {name} = {wanted}({variable.number})",
        )
    _change_type(variable, wanted)


def _adapted_type(kind: ScalarType, value: object) -> ScalarType:
    """Return the type of a variable of open type after a value is assigned or added.

    Accumulators of f16 and bf16 are f32, those of narrow integers and indices i32.
    """
    if not isinstance(value, Scalar):
        return F32 if isinstance(value, float) and not kind.is_float else kind
    if value.type.is_float:
        is_double = F64 in (kind, value.type)
        return F64 if is_double else F32
    if kind.is_float or value.type.kind == "index" or value.type.bits < 32:
        return kind
    return common_type(kind, value.type)


def _can_become(value: SSAValue, kind: ScalarType, wanted: ScalarType) -> bool:
    """Return whether all uses of a read accept a value of another type."""
    if kind.ir == wanted.ir:
        return not any(isinstance(use.operation, _WITH_SIGN) for use in value.uses)
    return all(
        isinstance(use.operation, _CONVERSIONS)
        and use.operation.result.type == wanted.ir
        # No later truncation rounds the result.
        and not any(isinstance(e.operation, arith.TruncFOp) for e in use.operation.result.uses)
        for use in value.uses
    )


def _change_type(variable: Variable, wanted: ScalarType) -> None:
    """Change the type of a variable in the IR emitted so far."""
    old, memory, emitter = variable.type, variable.memory, current()
    variable.type = wanted
    if old.ir != wanted.ir:
        saved = emitter.insertion_point
        for store in [use.operation for use in memory.uses]:
            if isinstance(store, memref.StoreOp):
                emitter.insertion_point = InsertPoint.before(store)
                _change_stored(store, old, wanted)
        emitter.insertion_point = saved
        kind = MemRefType(wanted.ir, [], NoneAttr(), SpaceAttr(Space.LOCAL))
        variable.memory = memory = Rewriter.replace_value_with_new_type(memory, kind)
    for read in variable.reads:
        read.type = wanted
        if old.ir != wanted.ir:
            read.ssa = Rewriter.replace_value_with_new_type(read.ssa, wanted.ir)
            for op in [use.operation for use in read.ssa.uses]:
                Rewriter.replace_op(op, [], [read.ssa])
    mark_sign(memory, wanted)


def _change_stored(store: memref.StoreOp, old: ScalarType, wanted: ScalarType) -> None:
    value = store.value
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        store.operands[0] = convert(Scalar(value, old), wanted).ssa
        return
    assert isinstance(owner.value, FloatAttr | IntegerAttr)
    store.operands[0] = constant(owner.value.value.data, wanted).ssa
    if value.first_use is None:
        Rewriter.erase_op(owner)
