"""The host side of a kernel: its launch, and launch extents that depend on arguments."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import FunctionType, UnknownLoc
from xdsl.ir import Block, Operation, Region, SSAValue

from hidet.analysis.forms import ANY
from hidet.analysis.index_forms import IndexForms
from hidet.analysis.integer_ranges import IntegerRanges
from hidet.analysis.memory import is_arithmetic
from hidet.dialects.cuda import KernelOp, LaunchOp, ViewOp
from hidet.dialects.cuda.attributes import is_variable
from hidet.dialects.fields import Element
from hidet.dialects.shaped import memref_type
from hidet.errors import ScriptError
from hidet.frontends.script.async_copy import TensorMap, TensorMapType
from hidet.frontends.script.scalars import Scalar, convert, index_of
from hidet.frontends.script.tensors import Pointer, Tensor
from hidet.frontends.script.tracing import insert
from hidet.frontends.script.types import PointerType, ScalarType, TensorType

ParameterType = ScalarType | TensorType | PointerType | TensorMapType
"""The type of a parameter of a kernel."""

LAUNCH = "launch"
"""The function that a call of a built module runs."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel or a host function."""

    name: str
    type: ParameterType

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


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
            for needed in _operands(op):
                visit(needed)
            found[op] = None

    for value in values:
        visit(value)
    return list(found)


def _operands(op: Operation) -> Iterator[SSAValue]:
    """Yield the values that an operation, or one nested in it, uses from outside."""
    inside = set(op.walk())
    for each in inside:
        yield from (operand for operand in each.operands if operand.owner not in inside)


def largest(extent: SSAValue) -> int | None:
    """Return an upper bound of an extent, or None."""
    limits = IntegerRanges(IndexForms()).range(extent)
    return limits.hi if limits.hi < ANY.hi else None


# Functions of the host.


def host_function(
    name: str, parameters: Sequence[Parameter], entry: Block, results: Sequence[SSAValue] = ()
) -> func.FuncOp:
    """Make a host function of its body, whose block arguments are the parameters."""
    kinds = [parameter.type.ir for parameter in parameters]
    entry.add_op(func.ReturnOp(*results))
    types = FunctionType.from_lists(kinds, [result.type for result in results])
    return func.FuncOp(name, types, Region(entry))


def launch_function(
    parameters: Sequence[Parameter], kernel: KernelOp, extents: Sequence[SSAValue]
) -> func.FuncOp:
    """Make the host function that launches a traced kernel, which computes its dynamic extents."""
    entry = Block(arg_types=[parameter.type.ir for parameter in parameters])
    mapper: dict[SSAValue, SSAValue] = {}
    for outer, inner in zip(entry.args, kernel.arguments, strict=True):
        outer.name_hint = inner.name_hint
        mapper[inner] = outer
    for op in _computing(extents):
        entry.add_op(op.clone(mapper))
    launch = LaunchOp(
        kernel.sym_name.data, entry.args, extents=[mapper[extent] for extent in extents]
    )
    launch.location = kernel.location
    entry.add_op(launch)
    function = host_function(LAUNCH, parameters, entry)
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
