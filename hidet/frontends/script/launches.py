"""The host side of a kernel: its parameters, arguments for them, launches with their extents."""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import FunctionType, UnknownLoc
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from hidet.analysis.forms import ANY
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.memory import is_arithmetic
from hidet.analysis.value_ranges import IntegerRanges
from hidet.dialects.cuda import KernelOp, LaunchOp, ViewOp
from hidet.dialects.cuda.attributes import is_variable
from hidet.dialects.fields import Element
from hidet.dialects.shaped import memref_type
from hidet.errors import ScriptError
from hidet.frontends.script.async_copy import TensorMap, TensorMapType
from hidet.frontends.script.memory import part_of, tensor_of
from hidet.frontends.script.messages import Source, describe
from hidet.frontends.script.pointers import NULL, NullPointer, VoidPointer, retyped
from hidet.frontends.script.scalars import Scalar, convert, index_of, is_number
from hidet.frontends.script.tensors import Pointer, Tensor
from hidet.frontends.script.tracing import insert
from hidet.frontends.script.types import (
    BOOL,
    PointerType,
    ScalarType,
    TensorType,
    VectorType,
    as_tuple,
    is_of_python,
    scalar_type,
)
from hidet.frontends.script.vectors import Vector

ParameterType = ScalarType | TensorType | PointerType | TensorMapType

LAUNCH = "launch"
"""The function that a call of a built module runs."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel or a host function."""

    name: str
    type: ParameterType

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


@dataclass(frozen=True)
class TypeList:
    """`meta.types([i32, f32])`: a parameter that is a tuple, one value per type.

    Callers on the host pass the values separately.
    """

    types: Sequence[object]

    def __post_init__(self) -> None:
        object.__setattr__(self, "types", tuple(self.types))

    def values(self, what: str, value: object) -> tuple[object, ...]:
        """Return the values of a tuple argument."""
        values = as_tuple(value)
        if len(values) != len(self.types) or not isinstance(value, tuple | list):
            raise ScriptError(
                f"{what} is {self}, and got {describe(value)}",
                hint=f"a tuple of {len(self.types)} values",
            )
        return values

    def __str__(self) -> str:
        return f"meta.types({list(self.types)})"


def entry_parameters(
    source: Source, annotations: Mapping[str, object], what: str
) -> tuple[Parameter, ...]:
    """Return the parameters of an entry: a list of types gives several, a vector one an element."""
    node = source.function.args
    for each in (node.vararg, *node.kwonlyargs, *node.defaults):
        if each is not None:
            raise source.error(
                each,
                f"a {what} takes plain parameters only",
                "name each of them; meta.types([i32, f32]) is a tuple of several",
            )
    parameters: list[Parameter] = []
    for argument in (*node.posonlyargs, *node.args):
        name, kind = argument.arg, annotations.get(argument.arg)
        with source.at(argument):
            types = _types_of(kind)
            if types is None:
                parameters.append(_parameter(name, kind, what))
            else:
                each = (_parameter(f"{name}{n}", one, what) for n, one in enumerate(types))
                parameters.extend(each)
    return tuple(parameters)


def _types_of(kind: object) -> Sequence[object] | None:
    """Return the types that a parameter is split into, None if it is not."""
    if isinstance(kind, VectorType):
        return (kind.element,) * kind.lanes
    return kind.types if isinstance(kind, TypeList) else None


def _parameter(name: str, kind: object, what: str) -> Parameter:
    if kind is None:
        raise ScriptError(f"the parameter '{name}' of a {what} has no type", hint=f"{name}: f32[n]")
    if isinstance(kind, TensorType) and kind.is_spread:
        raise ScriptError(
            f"the layout {kind.layout} distributes elements over threads, but '{name}' is in "
            "global memory",
            hint="use row_major and column_major alone",
        )
    if isinstance(kind, TensorMapType):
        kind.ir.verify()
    is_memory = isinstance(kind, TensorType | PointerType | TensorMapType)
    return Parameter(name, kind if is_memory else scalar_type(kind))


def script_value(argument: BlockArgument, kind: object) -> object:
    """Return the script value of an IR parameter."""
    match kind:
        case TensorType():
            return tensor_of(argument, kind)
        case PointerType(is_void=True):
            return VoidPointer(argument)
        case PointerType():
            return Pointer(argument, kind.dtype, (0,))
        case TensorMapType():
            return TensorMap(argument, kind)
        case _:
            assert isinstance(kind, ScalarType)
            return Scalar(argument, kind)


def group_arguments(
    node: ast.arguments, annotations: Mapping[str, object], values: Sequence[object]
) -> dict[str, object]:
    """Return the values by parameter name; type lists and vectors are reassembled."""
    left = iter(values)
    found: dict[str, object] = {}
    for each in (*node.posonlyargs, *node.args):
        kind = annotations.get(each.arg)
        types = _types_of(kind)
        value = next(left) if types is None else tuple(next(left) for _ in types)
        if isinstance(kind, VectorType):
            value = Vector(kind, cast("tuple[Scalar, ...]", value))
        found[each.arg] = value
    return found


def flatten_arguments(
    annotations: Mapping[str, object],
    given: Mapping[str, object],
    named: Callable[[str], str],
) -> list[object]:
    """Return arguments in order, with tuples of type lists and vectors split."""
    values: list[object] = []
    for name, value in given.items():
        kind = annotations.get(name)
        if isinstance(kind, TypeList):
            values.extend(kind.values(named(name), value))
        elif isinstance(kind, VectorType):
            convert_argument(named(name), kind, value, is_launch=True)
            values.extend(cast("Vector", value).elements)
        else:
            values.append(value)
    return values


def convert_argument(
    what: str, kind: object, value: object, *, is_launch: bool = False, is_changed: bool = False
) -> object:
    """Return an argument as its parameter `what` takes it; without a type, it takes everything.

    A kernel that is launched takes only memory and numbers.
    """
    taken: object = value
    match kind:
        case _ if kind is None or is_of_python(kind):
            return value
        case TypeList():
            return tuple(
                convert_argument(what, one, each, is_launch=is_launch, is_changed=is_changed)
                for one, each in zip(kind.types, kind.values(what, value), strict=True)
            )
        case TensorType():
            if isinstance(value, Pointer) and not is_launch:
                taken = part_of(value, kind) or value
            is_taken = isinstance(taken, Tensor) and _matches(taken, kind, is_launch)
        case TensorMapType():
            is_taken = isinstance(value, TensorMap) and value.type == kind
        case PointerType(is_void=True) if not is_launch:
            taken = NULL if value is None else value
            is_taken = isinstance(taken, Tensor | Pointer | VoidPointer | NullPointer)
        case PointerType():
            taken = _pointer_argument(kind, value, is_launch)
            is_taken = (isinstance(taken, NullPointer) and not is_launch) or (
                isinstance(taken, Pointer) and (kind.is_void or taken.dtype == kind.dtype)
            )
        case VectorType():
            is_taken = isinstance(value, Vector) and value.type == kind
        case _:
            kind = scalar_type(kind)
            is_taken = isinstance(value, Scalar) or is_number(value)
    if not is_taken:
        raise ScriptError(f"{what} is {kind}, and got {describe(value)}")
    if not isinstance(kind, ScalarType):
        return taken
    return convert_number(value, kind, is_changed=is_launch or is_changed)


def convert_number(value: object, kind: ScalarType, *, is_changed: bool) -> object:
    """Convert a number to a type; an int or bool that is not assigned to stays a Python value."""
    if isinstance(value, int) and not is_changed:
        if kind is BOOL:
            return bool(value)
        if kind.is_integer and kind.limits[0] <= value <= kind.limits[1]:
            return int(value)
    return convert(value, kind)


def _matches(value: Tensor, kind: TensorType, is_launch: bool) -> bool:
    """Return whether a tensor has a type; in a launch, including its layout."""
    if (value.dtype, value.shape) != (kind.dtype, kind.shape):
        return False
    if value.part is not None:
        return not is_launch
    taken = tensor_of(value.memory, kind)
    return not is_launch or (value.layout, value.swizzle) == (taken.layout, taken.swizzle)


def _pointer_argument(kind: PointerType, value: object, is_launch: bool) -> object:
    """Return a pointer argument: a pointer, or a tensor that covers its memory."""
    if value is None and not is_launch:
        return NULL
    if isinstance(value, VoidPointer):
        return value.of(value.element or kind.dtype)
    if isinstance(value, Pointer) and not is_launch and len(value.indices) > 1:
        return retyped(value, value.dtype)
    if not isinstance(value, Tensor):
        return value
    if is_launch and value.layout is None and value.start is None and value.part is None:
        indices = (0,) * len(memref_type(value.memory).get_shape())
        return Pointer(value.memory, value.dtype, indices)
    return value.pointer or value


# Extents that depend on arguments.


def check_host_value(what: str, value: Scalar) -> None:
    """Check that the host can compute a value from arguments of the kernel."""
    for op in reversed(_computing([value.ssa])):
        if isinstance(op, memref.LoadOp) and is_variable(op.memref):
            raise ScriptError(
                f"the {what} depends on '{op.memref.name_hint}', which is assigned several times",
                hint="compute it from arguments, by names that are assigned once",
            )
        if not all(is_arithmetic(e) or isinstance(e, scf.IfOp | scf.YieldOp) for e in op.walk()):
            raise ScriptError(
                f"the {what} depends on values that are known only in the kernel",
                hint="compute it from scalar arguments, by arithmetic",
            )


def _computing(values: Sequence[SSAValue]) -> list[Operation]:
    """Return the operations that compute values, in topological order."""
    found: dict[Operation, None] = {}

    def visit(value: SSAValue) -> None:
        op = value.owner
        if isinstance(op, Operation) and op not in found:
            inside = set(op.walk())
            for needed in (operand for each in inside for operand in each.operands):
                if needed.owner not in inside:
                    visit(needed)
            found[op] = None

    for value in values:
        visit(value)
    return list(found)


def largest(extent: SSAValue) -> int | None:
    """Return an upper bound of an extent, or None."""
    limits = IntegerRanges(IndexForms()).range(extent)
    return limits.hi if limits.hi < ANY.hi else None


# Functions of the host.


def host_function(name: str, entry: Block, results: Sequence[SSAValue] = ()) -> func.FuncOp:
    """Make a host function of its body, whose block arguments are the parameters."""
    entry.add_op(func.ReturnOp(*results))
    types = FunctionType.from_lists(entry.arg_types, [result.type for result in results])
    return func.FuncOp(name, types, Region(entry))


def launch_function(kernel: KernelOp, extents: Sequence[SSAValue]) -> func.FuncOp:
    """Make the host function that launches a traced kernel, which computes its dynamic extents."""
    entry = Block(arg_types=kernel.body.block.arg_types)
    mapper: dict[SSAValue, SSAValue] = {}
    for outer, inner in zip(entry.args, kernel.arguments, strict=True):
        outer.name_hint = inner.name_hint
        mapper[inner] = outer
    for op in _computing(extents):
        entry.add_op(op.clone(mapper))
    given = [mapper[extent] for extent in extents]
    launch = LaunchOp(entry.args, kernel=kernel.sym_name.data, extents=given)
    launch.location = kernel.location
    entry.add_op(launch)
    function = host_function(LAUNCH, entry)
    function.location = kernel.location
    return function


def insert_launch(launch: func.FuncOp, arguments: Sequence[SSAValue]) -> None:
    """Inline a launch function."""
    body = launch.body.block
    mapper: dict[SSAValue, SSAValue] = dict(zip(body.args, arguments, strict=True))
    for op in body.ops:
        if not isinstance(op, func.ReturnOp):
            copy = op.clone(mapper)
            if isinstance(copy, LaunchOp):
                copy.location = UnknownLoc()  # so that it gets the line of the call
            insert(copy)


def operand(value: object, kind: ParameterType) -> SSAValue:
    """Return a checked argument of a launch as an operand."""
    if isinstance(value, TensorMap):
        return value.ssa
    if isinstance(value, Tensor):
        rank = memref_type(value.memory).get_num_dims()
        start = (0,) * rank if value.start is None else (value.start,)
        value = Pointer(value.memory, value.dtype, start)
    if isinstance(value, Pointer):
        is_whole = all(isinstance(index, int) and index == 0 for index in value.indices)
        if is_whole and value.memory.type == kind.ir:
            return value.memory
        indices = [index_of(index) for index in value.indices]
        return insert(ViewOp(Element(value.memory, indices), kind.ir)).result
    assert isinstance(kind, ScalarType)
    return convert(value, kind).ssa
