"""What names of a script stand for while it is traced: scalars, tensors, pointers of the IR."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn, Protocol, TypeAlias, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from hidet.dialects.task import TaskMapAttr
from hidet.errors import ScriptError
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import BOOL, F32, I32, ScalarType, common_type
from hidet.mapping import SwizzledLayout, TaskMap


class Arithmetic(Protocol):
    """What values ask of the emitter that they belong to."""

    def binary(self, name: str, lhs: object, rhs: object) -> Scalar:
        """Compute an operator of two operands."""
        ...

    def unary(self, name: str, operand: Scalar) -> Scalar:
        """Compute an operator of one operand."""
        ...

    def read(self, variable: Variable) -> Scalar:
        """Read a variable."""
        ...

    def write(self, value: object, variable: Variable) -> None:
        """Write a variable."""
        ...


class Scalar:
    """A scalar that is known when the kernel runs; operators on it write IR.

    Attributes:
        emitter: what writes the IR.
        ssa: the value in the IR.
        type: its type, which knows its sign.
    """

    __slots__ = ("emitter", "ssa", "type")
    __hash__ = None  # pyright: ignore[reportAssignmentType]  # `==` makes IR
    __array_ufunc__ = None  # numbers of numpy leave operators to us

    def __init__(self, emitter: Arithmetic, ssa: SSAValue, kind: ScalarType) -> None:
        self.emitter = emitter
        self.ssa = ssa
        self.type = kind

    def __add__(self, other: object) -> Scalar:
        return self.emitter.binary("+", self, other)

    def __radd__(self, other: object) -> Scalar:
        return self.emitter.binary("+", other, self)

    def __sub__(self, other: object) -> Scalar:
        return self.emitter.binary("-", self, other)

    def __rsub__(self, other: object) -> Scalar:
        return self.emitter.binary("-", other, self)

    def __mul__(self, other: object) -> Scalar:
        return self.emitter.binary("*", self, other)

    def __rmul__(self, other: object) -> Scalar:
        return self.emitter.binary("*", other, self)

    def __truediv__(self, other: object) -> Scalar:
        return self.emitter.binary("/", self, other)

    def __rtruediv__(self, other: object) -> Scalar:
        return self.emitter.binary("/", other, self)

    def __floordiv__(self, other: object) -> Scalar:
        return self.emitter.binary("//", self, other)

    def __rfloordiv__(self, other: object) -> Scalar:
        return self.emitter.binary("//", other, self)

    def __mod__(self, other: object) -> Scalar:
        return self.emitter.binary("%", self, other)

    def __rmod__(self, other: object) -> Scalar:
        return self.emitter.binary("%", other, self)

    def __pow__(self, other: object) -> Scalar:
        return self.emitter.binary("**", self, other)

    def __rpow__(self, other: object) -> Scalar:
        return self.emitter.binary("**", other, self)

    def __lshift__(self, other: object) -> Scalar:
        return self.emitter.binary("<<", self, other)

    def __rlshift__(self, other: object) -> Scalar:
        return self.emitter.binary("<<", other, self)

    def __rshift__(self, other: object) -> Scalar:
        return self.emitter.binary(">>", self, other)

    def __rrshift__(self, other: object) -> Scalar:
        return self.emitter.binary(">>", other, self)

    def __and__(self, other: object) -> Scalar:
        return self.emitter.binary("&", self, other)

    def __rand__(self, other: object) -> Scalar:
        return self.emitter.binary("&", other, self)

    def __or__(self, other: object) -> Scalar:
        return self.emitter.binary("|", self, other)

    def __ror__(self, other: object) -> Scalar:
        return self.emitter.binary("|", other, self)

    def __xor__(self, other: object) -> Scalar:
        return self.emitter.binary("^", self, other)

    def __rxor__(self, other: object) -> Scalar:
        return self.emitter.binary("^", other, self)

    def __lt__(self, other: object) -> Scalar:
        return self.emitter.binary("<", self, other)

    def __le__(self, other: object) -> Scalar:
        return self.emitter.binary("<=", self, other)

    def __gt__(self, other: object) -> Scalar:
        return self.emitter.binary(">", self, other)

    def __ge__(self, other: object) -> Scalar:
        return self.emitter.binary(">=", self, other)

    def __eq__(self, other: object) -> Scalar:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.emitter.binary("==", self, other)

    def __ne__(self, other: object) -> Scalar:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.emitter.binary("!=", self, other)

    def __neg__(self) -> Scalar:
        return self.emitter.unary("-", self)

    def __pos__(self) -> Scalar:
        return self

    def __invert__(self) -> Scalar:
        return self.emitter.unary("~", self)

    def __abs__(self) -> Scalar:
        return self.emitter.unary("abs", self)

    def __bool__(self) -> NoReturn:
        raise ScriptError(
            f"Python asks whether a value of type {self.type} is true, which is known only when "
            "the kernel runs",
            hint="write the branch in the script itself, or as `a if c else b` there",
        )

    def __index__(self) -> NoReturn:
        raise ScriptError(
            f"Python needs an integer here, but this {self.type} is known only when the kernel "
            "runs",
            hint="use a number that is known when the script is defined",
        )

    def __iter__(self) -> NoReturn:
        raise ScriptError(f"a scalar of type {self.type} has no parts to go through")


Index: TypeAlias = Scalar | int
"""An index, known now or when the kernel runs."""


@dataclass(frozen=True)
class Tensor:
    """A tensor in some memory.

    Attributes:
        memory: the memref in the IR.
        element: the type of its elements.
        shape: its extents as the script sees them, known now or when the kernel runs.
        layout: how an index becomes indices of the memref; None takes it as it is.
        start: for a tensor behind a pointer, the first element of the memref.
        swizzle: how elements trade places before all else, None where they do not.
        base: where it begins in the memref, if it is a part of one.
        part: for a part of another tensor that indices have made, which.
    """

    memory: SSAValue
    element: ScalarType
    shape: tuple[Index, ...]
    layout: TaskMap | None = None
    start: Index | None = None
    swizzle: SwizzledLayout | None = None
    base: tuple[Index, ...] = ()
    part: Part | None = None

    @property
    def pointer(self) -> Pointer | None:
        """The address of the first element, where it leads to the others; else None."""
        if self.part is not None:
            return None
        if self.start is not None:
            return Pointer(self.memory, self.element, (self.start,))
        is_row = len(self.shape) == 1 and self.layout is None
        return Pointer(self.memory, self.element, self.base or (0,)) if is_row else None

    @property
    def dtype(self) -> ScalarType:
        """The type of its elements, by the name that scripts have for it."""
        return self.element

    def __getitem__(self, indices: object) -> Scalar:
        """Load an element, where a function of Python has the tensor."""
        emitter = current("an element of a tensor")
        return emitter.load_at(emitter.address(self, _as_tuple(indices)))

    def __setitem__(self, indices: object, value: object) -> None:
        """Store an element, where a function of Python has the tensor."""
        emitter = current("an element of a tensor")
        emitter.store_at(value, emitter.address(self, _as_tuple(indices)))

    __iter__ = None

    def on(self, worker: object, *, bound: object = None) -> Iterable[tuple[Index, ...]]:
        """Return the elements of a register tile that a worker holds, for a loop of the kernel.

        Raises:
            ScriptError: the tensor is not spread over threads.
        """
        from hidet.frontends.script.builtins import tasks_of

        layout = layout_of(self)
        if layout is None:
            raise ScriptError(
                f"{describe(self)} is not spread over threads",
                hint="loop over the tasks of a mapping: mapping.on(threadIdx.x)",
            )
        return cast(
            "list[tuple[Index, ...]]", tasks_of(layout, "on", worker, bound=bound, tile=self)
        )


@dataclass(frozen=True)
class Part:
    """A part of a tensor: `a[z, m:, k:]`.

    Attributes:
        tensor: the whole.
        starts: for each of its dimensions where the part begins, or the only index there.
        kept: the dimensions that the part has.
    """

    tensor: Tensor
    starts: tuple[Index, ...]
    kept: tuple[int, ...]

    def indices(self, given: Sequence[object]) -> list[object]:
        """Return the indices into the whole for indices into the part."""
        found: list[object] = list(self.starts)
        for dim, index in zip(self.kept, given, strict=True):
            start = self.starts[dim]
            is_first = isinstance(start, int) and start == 0
            found[dim] = index if is_first else start + index  # pyright: ignore[reportOperatorIssue, reportUnknownVariableType]
        return found


@dataclass(frozen=True)
class Pointer:
    """An address in some memory: a memref with the indices of an element.

    Attributes:
        memory: the memref in the IR.
        element: the type of its elements.
        indices: where it points to.
    """

    memory: SSAValue
    element: ScalarType
    indices: tuple[Index, ...]

    def __add__(self, offset: Index) -> Pointer:
        if len(self.indices) != 1:
            raise ScriptError(
                "the address of an element of a tensor with several dimensions cannot be moved",
                hint="take the address of the element itself, ~x[i, j]",
            )
        (start,) = self.indices
        is_first = isinstance(start, int) and start == 0
        return replace(self, indices=(offset if is_first else start + offset,))

    __radd__ = __add__


class VoidPointer:
    """A parameter `void_p`: a pointer to elements of a type that its first use tells.

    Args:
        memory: the parameter in the IR.
    """

    def __init__(self, memory: SSAValue) -> None:
        self._memory = memory
        self.element: ScalarType | None = None

    def of(self, element: ScalarType) -> Pointer:
        """Return the pointer to elements of a type, always the same one.

        Raises:
            ScriptError: it has been taken for a pointer to others before.
        """
        if self.element is None:
            self.element = element
            kind = MemRefType(element.ir, [DYNAMIC_INDEX])
            self._memory = Rewriter.replace_value_with_new_type(self._memory, kind)
        if self.element != element:
            raise ScriptError(
                f"a pointer void_p is taken for ~{element}, and before for ~{self.element}",
                hint="pass the address twice, once for each type",
            )
        return Pointer(self._memory, element, (0,))

    def __getitem__(self, index: object) -> NoReturn:
        raise ScriptError(
            "a pointer void_p has no elements", hint="say of which type they are: cast(p, ~f32)"
        )

    __add__ = __radd__ = __getitem__


@dataclass(eq=False)
class Variable:
    """A name of a script that is assigned several times: a variable of the thread.

    Attributes:
        memory: the memref of rank 0 that holds it.
        type: its type, that of the first value.
        number: the number of Python that it begins with, if it does; its type may then change.
        reads: what has been read of it so far, where its type may change.
    """

    memory: SSAValue
    type: ScalarType
    number: float | None = None
    reads: list[Scalar] = field(default_factory=list[Scalar])


def describe(value: object) -> str:
    """Name a value of a script for messages."""
    match value:
        case Scalar():
            return f"a value of type {value.type}"
        case Tensor():
            return f"a tensor {value.element}[{', '.join(map(_extent, value.shape))}]"
        case Pointer():
            return f"a pointer ~{value.element}"
        case VoidPointer():
            return "a pointer void_p"
        case Variable():
            return f"a variable of type {value.type}"
        case _:
            return f"the {type(value).__name__} {value!r}"


def layout_of(tensor: Tensor) -> TaskMap | None:
    """Return the layout of a register tile, which spreads it over threads; None for others."""
    kind = tensor.memory.type
    layout = kind.layout if isinstance(kind, MemRefType) else None
    return layout.known if isinstance(layout, TaskMapAttr) else None


def _as_tuple(indices: object) -> tuple[object, ...]:
    return cast("tuple[object, ...]", indices) if isinstance(indices, tuple) else (indices,)


def _extent(extent: Index) -> str:
    return str(extent) if isinstance(extent, int) else "?"


def common_kind(one: object, other: object) -> ScalarType:
    """Return the type in which two alternatives meet; numbers adapt."""
    types = [value.type if isinstance(value, Scalar) else None for value in (one, other)]
    kind = common_type(*types)
    for value in (one, other):
        if isinstance(value, Scalar):
            continue
        if not is_number(value):
            raise ScriptError(f"{describe(value)} stands where a number should")
        if isinstance(value, float) and (kind is None or not kind.is_float):
            kind = F32
        elif kind is None or (kind is BOOL and not isinstance(value, bool)):
            kind = BOOL if isinstance(value, bool) else I32
    assert kind is not None
    return kind


def is_number(value: object) -> bool:
    """Whether a Python value is a number that can become a scalar."""
    return isinstance(value, bool | int | float)


def is_offset(value: object) -> bool:
    """Whether a value can be added to an address."""
    if isinstance(value, Scalar):
        return value.type.is_integer
    return isinstance(value, int) and not isinstance(value, bool)


def check_rank(tensor: Tensor, indices: Sequence[object]) -> None:
    """Check that there is one index for each dimension.

    Raises:
        ScriptError: there is not.
    """
    if len(indices) != len(tensor.shape):
        raise ScriptError(
            f"{len(indices)} {'index' if len(indices) == 1 else 'indices'} for "
            f"{describe(tensor)}, which has {len(tensor.shape)} dimensions",
            hint="give one index for each dimension",
        )
    for index, extent in zip(indices, tensor.shape, strict=True):
        is_integer = index.type.is_integer if isinstance(index, Scalar) else isinstance(index, int)
        if not is_integer:
            raise ScriptError(f"an index is an integer, not {describe(index)}")
        if isinstance(index, int) and isinstance(extent, int) and not 0 <= index < extent:
            raise ScriptError(
                f"the index {index} lies outside of {describe(tensor)}",
                hint=f"it goes from 0 to {extent - 1}; there are no negative indices",
            )


def digits_of(layout: TaskMap, indices: Sequence[Index]) -> list[Index]:
    """Return the digits of an element's place in a memory with a layout."""
    numbers: list[Index] = []
    for digit in layout.repeat_digits:
        number = indices[digit.dim]
        if digit.stride > 1:
            number = number // digit.stride
        if digit.stride * digit.extent < layout.shape[digit.dim]:
            number = number % digit.extent
        numbers.append(number)
    return numbers


def placed(base: Sequence[Index], indices: Sequence[Index]) -> list[Index]:
    """Return the indices of an element of a part of a memory that begins somewhere inside."""
    outer = len(base) - len(indices)
    inner = [
        index if isinstance(first, int) and first == 0 else first + index
        for first, index in zip(base[outer:], indices, strict=True)
    ]
    return [*base[:outer], *inner]
