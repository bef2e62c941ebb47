"""Compiles host functions to Python functions.

A host function computes a few numbers and launches kernels. It becomes the text of a Python
function, one line per operation, which runs in about a microsecond. Memrefs are addresses, tensor
maps are bytes, integers are Python integers in the signed range of their type, as in `arith`;
floats are computed in double precision.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    FixedBitwidthType,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue, Use

from hidet.dialects.cuda import AssertOp, KernelOp, LaunchOp, PrintfOp, ViewOp
from hidet.dialects.cuda.arithmetic import FloorModOp
from hidet.dialects.cuda.names import symbol_of
from hidet.dialects.cuda.tensor_map import TensorMapType
from hidet.dialects.cuda.views import is_compared_with_null
from hidet.dialects.shaped import bytes_of, memref_type
from hidet.errors import HidetError, UnsupportedOperatorError
from hidet.frontends.script.formats import UNSIGNED, Conversion, parse

Launch = Callable[..., None]
"""Launches a kernel: takes the dynamic extents, then the arguments."""

_INDEX_BITS = 64


def compile_host(function: func.FuncOp) -> Callable[[Mapping[str, Launch]], Callable[..., Any]]:
    """Compile a host function.

    Returns:
        A function from the launchers of kernels, by kernel name, to the Python function, which
        takes addresses and numbers.

    Raises:
        UnsupportedOperatorError: an operation is not supported on the host.
    """
    block = function.body.block
    writer = _Writer()
    writer.lines.append(f"def run({writer.names(block.args)}):\n  try:")
    writer.block(block)
    writer.lines.append(
        "  except ZeroDivisionError as error:\n"
        "    raise HidetError('a host function divides by zero') from error"
    )
    code = compile("\n".join(writer.lines), f"<host function {function.sym_name.data}>", "exec")

    def bind(launches: Mapping[str, Launch]) -> Callable[..., Any]:
        called = {f"launch_{symbol_of(name)}": launch for name, launch in launches.items()}
        names: dict[str, Any] = {**globals(), **called, "HidetError": HidetError}
        exec(code, names)
        return names["run"]

    return bind


def launched_kernels(function: func.FuncOp) -> list[str]:
    """Return the names of the kernels that a function launches, without duplicates."""
    found = [op.kernel.string_value() for op in function.walk() if isinstance(op, LaunchOp)]
    return list(dict.fromkeys(found))


def written_arguments(function: func.FuncOp, kernels: Mapping[str, KernelOp]) -> list[bool]:
    """Return for each argument whether a launched kernel writes its memory."""

    def writes(use: Use) -> bool:
        op = use.operation
        if not isinstance(op, LaunchOp):
            return isinstance(op, ViewOp) and any(map(writes, op.result.uses))
        return not kernels[op.kernel.string_value()].is_readonly(use.index)

    return [
        isinstance(argument.type, MemRefType | TensorMapType) and any(map(writes, argument.uses))
        for argument in function.body.block.args
    ]


def optional_arguments(function: func.FuncOp, kernels: Mapping[str, KernelOp]) -> list[bool]:
    """Return for each argument whether it may be None.

    It may if it is only passed to kernels that compare it with null.
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


class _Writer:
    """Writes the statements of a function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[SSAValue, str] = {}
        self._depth = 1

    def name(self, value: SSAValue) -> str:
        return self._names.setdefault(value, f"v{len(self._names)}")

    def names(self, values: Sequence[SSAValue]) -> str:
        """Return the comma-separated names of values."""
        return ", ".join(map(self.name, values))

    def line(self, text: str) -> None:
        """Add a line at the current indentation."""
        self.lines.append("  " * self._depth + text)

    def block(self, block: Block, results: Sequence[SSAValue] = ()) -> None:
        """Write the operations of a block, indented; its yield assigns the results."""
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
        match op:
            case scf.IfOp():
                self.line(f"if {self.name(op.cond)}:")
                self.block(op.true_region.block, op.results)
                if op.false_region.blocks:
                    self.line("else:")
                    self.block(op.false_region.block, op.results)
            case scf.ForOp():
                (variable,) = op.body.block.args
                bounds = self.names([op.lb, op.ub, op.step])
                self.line(f"for {self.name(variable)} in range({bounds}):")
                self.block(op.body.block)
            case scf.WhileOp():
                self.line("while True:")
                self.block(op.before_region.block)
                self.block(op.after_region.block)
            case scf.ConditionOp():
                self.line(f"if not {self.name(op.condition)}: break")
            case func.ReturnOp():
                self.line(f"return {self.names(op.arguments) or None}")
            case _:
                self._statement(op)

    def _statement(self, op: Operation) -> None:
        """Write an operation without regions."""
        match op:
            case LaunchOp():
                operands = self.names([*op.extents, *op.arguments])
                self.line(f"launch_{symbol_of(op.kernel.string_value())}({operands})")
            case memref.AllocaOp():  # a variable: the host has no other memory
                self.line(f"{self.name(op.memref)} = 0")
            case memref.StoreOp():
                self.line(f"{self.name(op.memref)} = {self.name(op.value)}")
            case memref.LoadOp():
                self.line(f"{self.name(op.res)} = {self.name(op.memref)}")
            case ViewOp():
                self._view(op)
            case PrintfOp():
                self._printf(op)
            case AssertOp():
                what = f"the assertion does not hold: {op.message.data}"
                self.line(f"if not {self.name(op.condition)}: raise HidetError({what!r})")
            case _:
                self.line(f"{self.name(op.results[0])} = {self._computed(op)}")

    def _view(self, op: ViewOp) -> None:
        """Write an address: that of the source plus the byte offset of the element."""
        kind = memref_type(op.source)
        stride, terms = bytes_of(kind.element_type), [self.name(op.source)]
        for index, extent in reversed(list(zip(op.indices, kind.get_shape(), strict=True))):
            terms.append(f"{self.name(index)} * {stride}")
            stride *= extent
        self.line(f"{self.name(op.result)} = {' + '.join(terms)}")

    def _printf(self, op: PrintfOp) -> None:
        """Write a call of `printf` by Python's `%`, which has no `%lld` and `%u`."""
        names, text, values = map(self.name, op.values), "", ""
        for part in parse(op.text):
            if not isinstance(part, Conversion):
                text += part
                continue
            text += f"%{part.style}{'d' if part.letter == 'u' else part.letter}"
            mask = f" & {(1 << (64 if part.length else 32)) - 1}" if part.letter in UNSIGNED else ""
            values += f"{next(names)}{mask}, "
        self.line(f"write({text!r} % ({values}))")

    def _computed(self, op: Operation) -> str:
        names = [self.name(operand) for operand in op.operands]
        if isinstance(op, arith.ConstantOp):
            return _constant(op)
        if isinstance(op, arith.CmpiOp | arith.CmpfOp):
            return _comparison(op, names)
        template = _EXPRESSIONS.get(type(op)) or _WRAPPED.get(type(op)) or _MATHEMATICS.get(op.name)
        if template is None:
            raise UnsupportedOperatorError(
                f"{op.name} is not known in a function of the host",
                hint="compute it in a kernel",
            )
        kind = op.results[0].type
        bits, width = _bits(op.operands[0].type), _bits(kind)
        half = 1 << (width - 1)
        limits = {"low": -half, "high": half - 1, "all": 2 * half - 1}
        text = template.format(*names, mask=(1 << bits) - 1, bits=bits, **limits)
        is_cut = type(op) in _WRAPPED and width > 1 and not isinstance(kind, IndexType)
        return f"wrap({text}, {width})" if is_cut else text


def _bits(kind: Attribute) -> int:
    return kind.bitwidth if isinstance(kind, FixedBitwidthType) else _INDEX_BITS


def _constant(op: arith.ConstantOp) -> str:
    assert isinstance(op.value, FloatAttr | IntegerAttr), "scripts have no other constants"
    number = op.value.value.data
    if isinstance(number, float):
        return f"float('{number!r}')"
    return str(number != 0 if op.result.type == i1 else number)


def _comparison(op: arith.CmpiOp | arith.CmpfOp, names: Sequence[str]) -> str:
    """Return a comparison; Python's semantics for NaN are those of scripts."""
    left, right = names
    if isinstance(op, arith.CmpfOp):
        predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    else:
        predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
        if predicate[0] == "u":
            mask = (1 << _bits(op.lhs.type)) - 1
            left, right = f"({left} & {mask})", f"({right} & {mask})"
    return f"{left} {_SYMBOLS[predicate[-2:]]} {right}"


_SYMBOLS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def write(text: str) -> None:
    """Print text as `printf` does; characters that the output cannot encode are escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), end="", flush=True)


def wrap(value: int, bits: int) -> int:
    """Return an integer wrapped to a signed type of some bits."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def divide(a: int, b: int) -> int:
    """Divide integers, rounding towards zero, as C does."""
    return a // b if (a >= 0) == (b > 0) else -(-a // b)


def remainder(a: int, b: int) -> int:
    """Return the remainder of `divide`."""
    return a - b * divide(a, b)


def to_integer(x: float, low: int, high: int) -> int:
    """Convert a float to an integer, rounding towards zero and saturating; NaN gives 0."""
    if math.isnan(x):
        return 0
    return low if x < low else high if x > high else int(x)


def shift_left(a: int, count: int, bits: int) -> int:
    """Shift left; counts of at least the width give 0."""
    return a << count if 0 <= count < bits else 0


def shift_right(a: int, count: int, bits: int) -> int:
    """Shift right arithmetically; counts of at least the width give 0 or -1."""
    return a >> (count if 0 <= count < bits else bits)


def divide_floats(a: float, b: float) -> float:
    """Divide as IEEE 754 does."""
    if b != 0.0:
        return a / b
    is_nan = a == 0.0 or math.isnan(a)
    return math.nan if is_nan else math.copysign(math.inf, a) * math.copysign(1.0, b)


_EXPRESSIONS: dict[type[Operation], str] = {
    arith.AddfOp: "{0} + {1}",
    arith.AndIOp: "{0} & {1}",
    arith.DivfOp: "divide_floats({0}, {1})",
    arith.ExtFOp: "{0}",
    arith.ExtSIOp: "int({0})",
    FloorModOp: "{0} % {1}",
    arith.MaxSIOp: "max({0}, {1})",
    arith.MaxnumfOp: "max({0}, {1})",
    arith.MinSIOp: "min({0}, {1})",
    arith.MinnumfOp: "min({0}, {1})",
    arith.MulfOp: "{0} * {1}",
    arith.NegfOp: "-{0}",
    arith.OrIOp: "{0} | {1}",
    arith.RemSIOp: "remainder({0}, {1})",
    arith.SIToFPOp: "float({0})",
    arith.SelectOp: "{1} if {0} else {2}",
    arith.ShRSIOp: "shift_right({0}, {1}, {bits})",
    arith.SubfOp: "{0} - {1}",
    arith.TruncFOp: "{0}",
    arith.UIToFPOp: "float({0} & {mask})",
    arith.XOrIOp: "{0} ^ {1}",
}
"""The expressions of operations; `mask` has all bits of the operand type set."""

_WRAPPED: dict[type[Operation], str] = {
    arith.AddiOp: "{0} + {1}",
    arith.DivSIOp: "divide({0}, {1})",
    arith.DivUIOp: "divide({0} & {mask}, {1} & {mask})",
    arith.ExtUIOp: "{0} & {mask}",
    arith.FloorDivSIOp: "{0} // {1}",
    arith.FPToSIOp: "to_integer({0}, {low}, {high})",
    arith.FPToUIOp: "to_integer({0}, 0, {all})",
    arith.IndexCastOp: "{0}",
    arith.MaxUIOp: "max({0} & {mask}, {1} & {mask})",
    arith.MinUIOp: "min({0} & {mask}, {1} & {mask})",
    arith.MuliOp: "{0} * {1}",
    arith.RemUIOp: "remainder({0} & {mask}, {1} & {mask})",
    arith.ShLIOp: "shift_left({0}, {1}, {bits})",
    arith.ShRUIOp: "shift_right({0} & {mask}, {1}, {bits})",
    arith.SubiOp: "{0} - {1}",
    arith.TruncIOp: "{0}",
}
"""The expressions of operations whose result is wrapped to its type."""

_MATHEMATICS: dict[str, str] = {
    "math.absf": "abs({0})",
    "math.ceil": "float(math.ceil({0}))",
    "math.exp": "math.exp({0})",
    "math.floor": "float(math.floor({0}))",
    "math.log": "math.log({0})",
    "math.log2": "math.log2({0})",
    "math.powf": "math.pow({0}, {1})",
    "math.rsqrt": "1.0 / math.sqrt({0})",
    "math.sqrt": "math.sqrt({0})",
    "math.tanh": "math.tanh({0})",
    "math.trunc": "float(math.trunc({0}))",
}
"""The expressions of operations of `math`, which is not loaded here."""
