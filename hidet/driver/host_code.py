"""Functions of the host as functions of Python: the small IR of launches, compiled.

A function computes a few numbers and launches kernels. It becomes the text of a Python function,
one line for each operation, which takes about a microsecond to run. Memrefs are addresses there,
tensor maps are bytes, integers are Python's in the range of their type as if it had a sign, as
`arith` has them; floats are computed in double precision.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects import math as math_dialect
from xdsl.dialects.builtin import FixedBitwidthType, FloatAttr, IntegerAttr, IntegerType, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue, Use

from hidet.dialects.cuda import AssertOp, KernelOp, LaunchOp, PrintfOp, ViewOp
from hidet.dialects.cuda.arithmetic import FloorModOp
from hidet.dialects.cuda.attributes import is_variable
from hidet.dialects.cuda.names import symbol_of
from hidet.dialects.cuda.tensor_map import TensorMapType
from hidet.dialects.cuda.views import is_compared_with_null
from hidet.dialects.shaped import memref_type
from hidet.errors import HidetError, UnsupportedOperatorError
from hidet.frontends.script.formats import UNSIGNED, Conversion, parse

Launch = Callable[..., None]
"""Launches a kernel: takes the extents that the launch gives, then the arguments."""

_INDEX_BITS = 64


def compile_host(function: func.FuncOp) -> Callable[[Mapping[str, Launch]], Callable[..., Any]]:
    """Compile a function of the host.

    Args:
        function: the function.

    Returns:
        What makes a function of Python, of addresses and numbers, from the launches of kernels by
        the name of the kernel.

    Raises:
        UnsupportedOperatorError: an operation is not known on the host.
    """
    text = host_text(function)
    code = compile(text, f"<host function {function.sym_name.data}>", "exec")

    def bind(launches: Mapping[str, Launch]) -> Callable[..., Any]:
        called = {f"launch_{symbol_of(name)}": launch for name, launch in launches.items()}
        names: dict[str, Any] = {**_HELPERS, **called}
        exec(code, names)
        return names["run"]

    return bind


def launched_kernels(function: func.FuncOp) -> list[str]:
    """Return the names of the kernels that a function launches, each once."""
    found = [op.kernel.string_value() for op in function.walk() if isinstance(op, LaunchOp)]
    return list(dict.fromkeys(found))


def written_arguments(function: func.FuncOp, kernels: Mapping[str, KernelOp]) -> list[bool]:
    """Return for each argument of a function whether a kernel that it launches writes it."""

    def is_written(value: SSAValue) -> bool:
        for use in value.uses:
            op = use.operation
            if isinstance(op, ViewOp) and is_written(op.result):
                return True
            if isinstance(op, LaunchOp) and not kernels[op.kernel.string_value()].is_readonly(
                use.index
            ):
                return True
        return False

    return [
        isinstance(argument.type, MemRefType | TensorMapType) and is_written(argument)
        for argument in function.body.block.args
    ]


def optional_arguments(function: func.FuncOp, kernels: Mapping[str, KernelOp]) -> list[bool]:
    """Return for each argument of a function whether it may be None.

    It may where all that the function does with it is to launch kernels that compare it with null.
    """

    def is_optional(use: Use) -> bool:
        op = use.operation
        if not isinstance(op, LaunchOp):
            return False
        users = kernels[op.kernel.string_value()].arguments[use.index].uses
        return any(is_compared_with_null(user.operation) for user in users)

    return [
        isinstance(argument.type, MemRefType)
        and argument.first_use is not None
        and all(map(is_optional, argument.uses))
        for argument in function.body.block.args
    ]


def host_text(function: func.FuncOp) -> str:
    """Return a function of the host as the text of a function of Python, `run`."""
    writer = _Writer()
    arguments = ", ".join(writer.name(argument) for argument in function.body.block.args)
    writer.lines.append(f"def run({arguments}):")
    writer.block(function.body.block)
    return "\n".join(writer.lines) + "\n"


class _Writer:
    """Writes the statements of one function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[SSAValue, str] = {}
        self._depth = 0

    def name(self, value: SSAValue) -> str:
        """Return the name of a value, a new one where it has none."""
        return self._names.setdefault(value, f"v{len(self._names)}")

    def names(self, values: Sequence[SSAValue]) -> str:
        """Return the names of some values, separated by commas."""
        return ", ".join(map(self.name, values))

    def line(self, text: str) -> None:
        """Add a line at the present depth."""
        self.lines.append("  " * self._depth + text)

    def block(self, block: Block, results: Sequence[SSAValue] = ()) -> None:
        """Write the operations of a block, a level deeper; what it yields becomes the results."""
        self._depth += 1
        self.line("pass")
        for op in block.ops:
            if isinstance(op, scf.YieldOp):
                for result, value in zip(results, op.arguments, strict=True):
                    self.line(f"{self.name(result)} = {self.name(value)}")
            else:
                self.operation(op)
        self._depth -= 1

    def operation(self, op: Operation) -> None:
        """Write one operation."""
        statement = _STATEMENTS.get(type(op))
        if statement is not None:
            statement(self, op)
            return
        self.line(f"{self.name(op.results[0])} = {self._computed(op)}")

    def _computed(self, op: Operation) -> str:
        """Return how an operation computes its result."""
        names = [self.name(operand) for operand in op.operands]
        if isinstance(op, arith.ConstantOp):
            return _constant(op)
        if isinstance(op, arith.CmpiOp | arith.CmpfOp):
            return _comparison(op, names)
        template = _EXPRESSIONS.get(type(op))
        if template is None:
            raise UnsupportedOperatorError(
                f"{op.name} is not known in a function of the host",
                hint="compute it in a kernel",
            )
        kind = op.results[0].type
        bits = _bits(op.operands[0].type)
        width = _bits(kind) if isinstance(kind, FixedBitwidthType) else 0
        half = 1 << max(width - 1, 0)
        limits = {"low": -half, "high": half - 1, "all": 2 * half - 1}
        text = template.format(*names, mask=(1 << bits) - 1, bits=bits, **limits)
        return f"wrap({text}, {width})" if type(op) in _WRAPPED and width > 1 else text


def _bits(kind: Attribute) -> int:
    return kind.bitwidth if isinstance(kind, FixedBitwidthType) else _INDEX_BITS


def _constant(op: arith.ConstantOp) -> str:
    """Return a literal; a float that has none by its name."""
    match op.value:
        case IntegerAttr() as number if op.result.type == _BOOL:
            return str(number.value.data != 0)
        case IntegerAttr() as number:
            return str(number.value.data)
        case FloatAttr() as number:
            return f"float('{number.value.data!r}')"
        case _:
            raise UnsupportedOperatorError(f"a constant {op.value} on the host")


_BOOL = IntegerType(1)


def _comparison(op: arith.CmpiOp | arith.CmpfOp, names: Sequence[str]) -> str:
    """Return a comparison; of NaN as Python has it, which is what scripts mean."""
    left, right = names
    if isinstance(op, arith.CmpfOp):
        predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
        return f"{left} {_SYMBOLS[predicate[1:]]} {right}"
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    if predicate in _SYMBOLS:
        return f"{left} {_SYMBOLS[predicate]} {right}"
    if predicate[0] == "u":
        mask = (1 << _bits(op.lhs.type)) - 1
        left, right = f"({left} & {mask})", f"({right} & {mask})"
    return f"{left} {_SYMBOLS[predicate[1:]]} {right}"


_SYMBOLS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


# Statements.


def _if(writer: _Writer, op: Operation) -> None:
    assert isinstance(op, scf.IfOp)
    writer.line(f"if {writer.name(op.cond)}:")
    writer.block(op.true_region.block, op.results)
    if op.false_region.blocks:
        writer.line("else:")
        writer.block(op.false_region.block, op.results)


def _for(writer: _Writer, op: Operation) -> None:
    assert isinstance(op, scf.ForOp)
    (variable,) = op.body.block.args
    bounds = writer.names([op.lb, op.ub, op.step])
    writer.line(f"for {writer.name(variable)} in range({bounds}):")
    writer.block(op.body.block)


def _while(writer: _Writer, op: Operation) -> None:
    assert isinstance(op, scf.WhileOp)
    writer.line("while True:")
    writer.block(op.before_region.block)
    writer.block(op.after_region.block)


def _condition(writer: _Writer, op: Operation) -> None:
    assert isinstance(op, scf.ConditionOp)
    writer.line(f"if not {writer.name(op.condition)}: break")


def _launch(writer: _Writer, op: Operation) -> None:
    assert isinstance(op, LaunchOp)
    operands = writer.names([*op.extents, *op.arguments])
    writer.line(f"launch_{symbol_of(op.kernel.string_value())}({operands})")


def _store(writer: _Writer, op: Operation) -> None:
    assert isinstance(op, memref.StoreOp)
    writer.line(f"{writer.name(_variable(op, op.memref))} = {writer.name(op.value)}")


def _load(writer: _Writer, op: Operation) -> None:
    assert isinstance(op, memref.LoadOp)
    writer.line(f"{writer.name(op.res)} = {writer.name(_variable(op, op.memref))}")


def _variable(op: Operation, memory: SSAValue) -> SSAValue:
    if not is_variable(memory):
        raise UnsupportedOperatorError(f"{op.name} of a tensor in a function of the host")
    return memory


def _alloca(writer: _Writer, op: Operation) -> None:
    assert isinstance(op, memref.AllocaOp)
    writer.line(f"{writer.name(op.memref)} = 0")


def _view(writer: _Writer, op: Operation) -> None:
    """Compute an address: that of the source plus the bytes up to the element."""
    assert isinstance(op, ViewOp)
    kind = memref_type(op.source)
    stride, terms = element_bytes(kind), [writer.name(op.source)]
    for index, extent in reversed(list(zip(op.indices, kind.get_shape(), strict=True))):
        terms.append(f"{writer.name(index)} * {stride}")
        stride *= extent
    writer.line(f"{writer.name(op.result)} = {' + '.join(terms)}")


def element_bytes(kind: MemRefType) -> int:
    """Return the bytes of an element in memory."""
    element = kind.get_element_type()
    assert isinstance(element, FixedBitwidthType)
    return max(element.bitwidth // 8, 1)


def _printf(writer: _Writer, op: Operation) -> None:
    assert isinstance(op, PrintfOp)
    names, text, values = map(writer.name, op.values), "", ""
    for part in parse(op.text):
        if not isinstance(part, Conversion):
            text += part
            continue
        # Python's own % knows no %lld, and needs none; nor %u.
        text += f"%{part.style}{'d' if part.letter == 'u' else part.letter}"
        mask = f" & {(1 << (64 if part.length else 32)) - 1}" if part.letter in UNSIGNED else ""
        values += f"{next(names)}{mask}, "
    writer.line(f"write({text!r} % ({values}))")


def write(text: str) -> None:
    """Print text as `printf` does; what the output cannot take is shown by its number."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), end="", flush=True)


def _assert(writer: _Writer, op: Operation) -> None:
    assert isinstance(op, AssertOp)
    writer.line(f"check({writer.name(op.condition)}, {op.message.data!r})")


def _return(writer: _Writer, op: Operation) -> None:
    assert isinstance(op, func.ReturnOp)
    if op.arguments:
        writer.line(f"return {writer.names(op.arguments)}")


_STATEMENTS: dict[type[Operation], Callable[[_Writer, Operation], None]] = {
    func.ReturnOp: _return,
    AssertOp: _assert,
    LaunchOp: _launch,
    PrintfOp: _printf,
    ViewOp: _view,
    memref.AllocaOp: _alloca,
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    scf.ConditionOp: _condition,
    scf.ForOp: _for,
    scf.IfOp: _if,
    scf.WhileOp: _while,
}
"""How operations that are no plain expressions are written."""


# Expressions.


def wrap(value: int, bits: int) -> int:
    """Return an integer cut off to some bits, with a sign."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def check(condition: bool, message: str) -> None:
    """Check an assertion.

    Raises:
        HidetError: it does not hold.
    """
    if not condition:
        raise HidetError(f"the assertion does not hold: {message}")


def divide(a: int, b: int) -> int:
    """Divide towards zero, as C does."""
    _check_divisor(b)
    return a // b if (a >= 0) == (b > 0) else -(-a // b)


def remainder(a: int, b: int) -> int:
    """Return what `divide` leaves."""
    return a - b * divide(a, b)


def floor_divide(a: int, b: int) -> int:
    """Divide rounding down."""
    _check_divisor(b)
    return a // b


def floor_remainder(a: int, b: int) -> int:
    """Return what `floor_divide` leaves."""
    _check_divisor(b)
    return a % b


def to_integer(x: float, low: int, high: int) -> int:
    """Return a float towards zero, within limits; NaN is 0."""
    if math.isnan(x):
        return 0
    return low if x < low else high if x > high else int(x)


def shift_left(a: int, count: int, bits: int) -> int:
    """Shift by any number; one that is not less than the width moves all bits out."""
    return a << count if 0 <= count < bits else 0


def shift_right(a: int, count: int, bits: int) -> int:
    """Shift to the right by any number."""
    return a >> (count if 0 <= count < bits else bits)


def _check_divisor(b: int) -> None:
    if b == 0:
        raise HidetError("a function of the host divides by zero")


def divide_floats(a: float, b: float) -> float:
    """Divide as IEEE 754 has it."""
    if b != 0.0:
        return a / b
    is_nan = a == 0.0 or math.isnan(a)
    return math.nan if is_nan else math.copysign(math.inf, a) * math.copysign(1.0, b)


_HELPERS: dict[str, Any] = {
    "math": math,
    "check": check,
    "wrap": wrap,
    "write": write,
    "divide": divide,
    "remainder": remainder,
    "divide_floats": divide_floats,
    "floor_divide": floor_divide,
    "floor_remainder": floor_remainder,
    "shift_left": shift_left,
    "shift_right": shift_right,
    "to_integer": to_integer,
}

_EXPRESSIONS: dict[type[Operation], str] = {
    arith.AddfOp: "{0} + {1}",
    arith.AddiOp: "{0} + {1}",
    arith.AndIOp: "{0} & {1}",
    arith.DivSIOp: "divide({0}, {1})",
    arith.DivUIOp: "divide({0} & {mask}, {1} & {mask})",
    arith.DivfOp: "divide_floats({0}, {1})",
    arith.ExtFOp: "{0}",
    arith.ExtSIOp: "int({0})",
    arith.ExtUIOp: "{0} & {mask}",
    arith.FloorDivSIOp: "floor_divide({0}, {1})",
    arith.FPToSIOp: "to_integer({0}, {low}, {high})",
    arith.FPToUIOp: "to_integer({0}, 0, {all})",
    FloorModOp: "floor_remainder({0}, {1})",
    arith.IndexCastOp: "{0}",
    arith.MaxSIOp: "max({0}, {1})",
    arith.MaxUIOp: "max({0} & {mask}, {1} & {mask})",
    arith.MaxnumfOp: "max({0}, {1})",
    arith.MinSIOp: "min({0}, {1})",
    arith.MinUIOp: "min({0} & {mask}, {1} & {mask})",
    arith.MinnumfOp: "min({0}, {1})",
    arith.MulfOp: "{0} * {1}",
    arith.MuliOp: "{0} * {1}",
    arith.NegfOp: "-{0}",
    arith.OrIOp: "{0} | {1}",
    arith.RemSIOp: "remainder({0}, {1})",
    arith.RemUIOp: "remainder({0} & {mask}, {1} & {mask})",
    arith.SIToFPOp: "float({0})",
    arith.SelectOp: "{1} if {0} else {2}",
    arith.ShLIOp: "shift_left({0}, {1}, {bits})",
    arith.ShRSIOp: "shift_right({0}, {1}, {bits})",
    arith.ShRUIOp: "shift_right({0} & {mask}, {1}, {bits})",
    arith.SubfOp: "{0} - {1}",
    arith.SubiOp: "{0} - {1}",
    arith.TruncFOp: "{0}",
    arith.TruncIOp: "{0}",
    arith.UIToFPOp: "float({0} & {mask})",
    arith.XOrIOp: "{0} ^ {1}",
    math_dialect.AbsFOp: "abs({0})",
    math_dialect.CeilOp: "float(math.ceil({0}))",
    math_dialect.ExpOp: "math.exp({0})",
    math_dialect.FloorOp: "float(math.floor({0}))",
    math_dialect.LogOp: "math.log({0})",
    math_dialect.Log2Op: "math.log2({0})",
    math_dialect.PowFOp: "math.pow({0}, {1})",
    math_dialect.RsqrtOp: "1.0 / math.sqrt({0})",
    math_dialect.SqrtOp: "math.sqrt({0})",
    math_dialect.TanhOp: "math.tanh({0})",
    math_dialect.TruncOp: "float(math.trunc({0}))",
}
"""How operations compute their result, from the names of the operands; `mask` has all bits."""

_WRAPPED = frozenset(
    {
        *(arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ShLIOp, arith.TruncIOp),
        *(arith.DivSIOp, arith.FloorDivSIOp, arith.DivUIOp, arith.RemUIOp),
        *(arith.ShRUIOp, arith.ExtUIOp),
        *(arith.MaxUIOp, arith.MinUIOp, arith.FPToSIOp, arith.FPToUIOp, arith.IndexCastOp),
    }
)
"""Operations whose result has to be cut off to the bits of its type."""
