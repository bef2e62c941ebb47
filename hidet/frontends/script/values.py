"""What names of a script stand for while it is traced: scalars, tensors, pointers of the IR."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import NoReturn, Protocol, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from hidet.dialects.task import TaskMapAttr
from hidet.errors import ScriptError
from hidet.escape import one_line, without_addresses
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import U8, ScalarType, VectorType
from hidet.mapping import SwizzledLayout, TaskMap, repeat

AnyOp = TypeVar("AnyOp", bound=Operation)


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

    def insert(self, op: AnyOp) -> AnyOp:
        """Insert an operation."""
        ...


class Computed(Protocol):
    """A value that operators write IR for."""

    emitter: Arithmetic


_Operator: TypeAlias = "Callable[[Computed, object], Scalar]"


def operators(symbol: str) -> tuple[_Operator, _Operator]:
    """Return the methods of an operator of two operands, for a value on the left and the right."""

    def on_the_left(self: Computed, other: object) -> Scalar:
        return self.emitter.binary(symbol, self, other)

    def on_the_right(self: Computed, other: object) -> Scalar:
        return self.emitter.binary(symbol, other, self)

    return on_the_left, on_the_right


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

    __add__, __radd__ = operators("+")
    __sub__, __rsub__ = operators("-")
    __mul__, __rmul__ = operators("*")
    __truediv__, __rtruediv__ = operators("/")
    __floordiv__, __rfloordiv__ = operators("//")
    __mod__, __rmod__ = operators("%")
    __pow__, __rpow__ = operators("**")
    __lshift__, __rlshift__ = operators("<<")
    __rshift__, __rrshift__ = operators(">>")
    __and__, __rand__ = operators("&")
    __or__, __ror__ = operators("|")
    __xor__, __rxor__ = operators("^")
    __lt__ = operators("<")[0]
    __le__ = operators("<=")[0]
    __gt__ = operators(">")[0]
    __ge__ = operators(">=")[0]
    __eq__ = operators("==")[0]  # pyright: ignore[reportAssignmentType]
    __ne__ = operators("!=")[0]  # pyright: ignore[reportAssignmentType]

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

    def __float__(self) -> NoReturn:
        raise ScriptError(
            f"Python needs a number here, but this {self.type} is known only when the kernel runs",
            hint="call functions of hidet.lang.math, also in a function of Python",
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
        element: the type of its elements; where they are vectors, of the elements of these.
        shape: its extents as the script sees them, known now or when the kernel runs.
        layout: how an index becomes indices of the memref; None takes it as it is.
        start: for a tensor behind a pointer, the first element of the memref.
        swizzle: how elements trade places before all else, None where they do not.
        base: where it begins in the memref, if it is a part of one.
        part: for a part of another tensor that indices have made, which.
        lanes: how many elements a vector has; 1 where there are no vectors. In the memref they are
            neighbours, along a last dimension of their own if the tensor is not behind a pointer.
    """

    memory: SSAValue
    element: ScalarType
    shape: tuple[Index, ...]
    layout: TaskMap | None = None
    start: Index | None = None
    swizzle: SwizzledLayout | None = None
    base: tuple[Index, ...] = ()
    part: Part | None = None
    lanes: int = 1

    @property
    def pointer(self) -> Pointer | None:
        """The address of the first element, where it leads to the others; else None."""
        if self.part is not None:
            return None
        if self.start is not None:
            return Pointer(self.memory, self.element, (self.start,), self.lanes)
        if len(self.shape) != 1 or self.layout is not None:
            return None
        first = (0,) if self.lanes == 1 else (0, 0)
        return Pointer(self.memory, self.element, self.base or first, self.lanes)

    @property
    def dtype(self) -> ScalarType | VectorType:
        """The type of its elements, by the name that scripts have for it."""
        return self.element if self.lanes == 1 else VectorType(self.element, self.lanes)

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


LANES = "xyzw"
"""The names of the first elements of a vector."""


@dataclass(frozen=True)
class Lanes(Tensor):
    """The elements of a vector in memory, `t[i]` in `t[i].x = v`."""


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
        lanes: how many elements it points to together, as a vector.
    """

    memory: SSAValue
    element: ScalarType
    indices: tuple[Index, ...]
    lanes: int = 1

    @property
    def dtype(self) -> ScalarType | VectorType:
        """The type of what it points to."""
        return self.element if self.lanes == 1 else VectorType(self.element, self.lanes)

    def moved(self, offset: Index, dim: int) -> Pointer:
        """Return the address some steps further along a dimension of the memref."""
        indices = list(self.indices)
        start = indices[dim]
        is_first = isinstance(start, int) and start == 0
        indices[dim] = offset if is_first else start + offset
        return replace(self, indices=tuple(indices))

    def lane(self, number: Index) -> Pointer:
        """Return the address of an element of the vector that it points to."""
        return replace(self.moved(number, -1), lanes=1)

    def __add__(self, offset: Index) -> Pointer:
        if len(self.indices) == 1:
            return self.moved(offset if self.lanes == 1 else offset * self.lanes, 0)
        if len(self.indices) == 2 and self.lanes > 1:
            return self.moved(offset, 0)
        raise ScriptError(
            "the address of an element of a tensor with several dimensions cannot be moved",
            hint=f"take the address of the element itself, ~x[i, j], or cast(p, ~{self.dtype})",
        )

    __radd__ = __add__

    def __sub__(self, offset: Index) -> Pointer:
        return self + -offset


class VoidPointer:
    """A pointer `void_p`, which is cast to a pointer to elements of a type.

    Args:
        address: the pointer that it was made of; or a parameter in the IR, whose type its first use
            tells.
    """

    def __init__(self, address: Pointer | SSAValue) -> None:
        self._address = address

    @property
    def element(self) -> ScalarType | None:
        """The type of the elements that it has been cast to first; None where it has not been."""
        return self._address.element if isinstance(self._address, Pointer) else None

    def of(self, element: ScalarType, lanes: int = 1) -> Pointer:
        """Return the pointer to elements of a type."""
        from hidet.frontends.script.pointers import retyped

        if not isinstance(self._address, Pointer):
            kind = MemRefType(element.ir, [DYNAMIC_INDEX])
            memory = Rewriter.replace_value_with_new_type(self._address, kind)
            self._address = Pointer(memory, element, (0,))
        return retyped(self._address, element, lanes)

    def __add__(self, offset: Index) -> VoidPointer:
        return VoidPointer(self.of(U8) + offset)

    __radd__ = __add__

    def __getitem__(self, index: object) -> NoReturn:
        raise ScriptError(
            "a pointer void_p has no elements", hint="say of which type they are: cast(p, ~f32)"
        )


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
            return f"a tensor {value.dtype}[{', '.join(map(_extent, value.shape))}]"
        case Pointer():
            return f"a pointer ~{value.dtype}"
        case VoidPointer():
            return "a pointer void_p"
        case Variable():
            return f"a variable of type {value.type}"
        case type():
            return f"the class {value.__qualname__}"
        case ModuleType():
            return f"the module {value.__name__}"
        case _ if callable(value) and hasattr(value, "__name__"):
            return f"the function {value.__name__}"
        case _:
            return f"the {type(value).__name__} {_shown(value)}"


for _kind in (Scalar, Tensor, Pointer, VoidPointer, Variable):
    _kind.__repr__ = describe  # pyright: ignore[reportAttributeAccessIssue]


MAX_SHOWN = 100
"""So many letters of a value are shown in a message."""


def _shown(value: object) -> str:
    """Return a value as a short line."""
    text = one_line(" ".join(without_addresses(repr(value)).split()))
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 4]} ..."


def layout_of(tensor: Tensor) -> TaskMap | None:
    """Return the layout of a register tile, which spreads it over threads; None for others.

    Of a tile whose map a pass will choose there is only the shape.
    """
    kind = tensor.memory.type
    if not isinstance(kind, MemRefType) or not isinstance(kind.layout, TaskMapAttr):
        return None
    return repeat(*kind.get_shape()) if kind.layout.data is None else kind.layout.data


def _as_tuple(indices: object) -> tuple[object, ...]:
    return cast("tuple[object, ...]", indices) if isinstance(indices, tuple) else (indices,)


def _extent(extent: Index) -> str:
    return str(extent) if isinstance(extent, int) else "?"


def is_number(value: object) -> bool:
    """Whether a Python value is a number that can become a scalar."""
    return isinstance(value, bool | int | float)


def is_offset(value: object) -> bool:
    """Whether a value can be added to an address."""
    if isinstance(value, Scalar):
        return value.type.is_integer()
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
