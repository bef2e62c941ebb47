"""CUDA arithmetic in scripts: approximate functions, logic, byte permutation, bit casts."""

import math
from collections.abc import Callable, Mapping

from xdsl.dialects.arith import BitcastOp
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from hidet.arch.functions import FAST_FUNCTIONS
from hidet.dialects.cuda.arithmetic import FunctionOp, JoinOp, Lop3Op, PartOp, PrmtOp
from hidet.errors import ScriptError
from hidet.frontends.script import types
from hidet.frontends.script.instructions import known_number
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Scalar, binary, convert, scalar_of
from hidet.frontends.script.tensors import Pointer, store_at
from hidet.frontends.script.tracing import insert
from hidet.frontends.script.types import ElementType, ScalarType, VectorType, element_type
from hidet.frontends.script.vectors import Vector, is_paired, joined_value, packed, pair_type


def _fast(name: str) -> Callable[[object], Scalar]:
    def function(x: object) -> Scalar:
        op = FunctionOp(name, [convert(x, types.F32).ssa], f32)
        return Scalar(insert(op).result, types.F32)

    function.__name__ = name
    function.__doc__ = f"Return {FAST_FUNCTIONS[name].summary}."
    return function


fast_exp2, fast_log2, fast_sin, fast_cos = map(_fast, list(FAST_FUNCTIONS)[:4])
fast_tanh, fast_rcp, fast_rsqrt, fast_sqrt = map(_fast, list(FAST_FUNCTIONS)[4:])


def fast_exp(x: object) -> Scalar:
    """Return exp(x), as 2 ** (x / ln 2); the error grows with |x|."""
    return fast_exp2(binary("*", x, math.log2(math.e)))


def fast_log(x: object) -> Scalar:
    """Return the natural logarithm."""
    return fast_log2(x) * math.log(2)


def fast_log10(x: object) -> Scalar:
    """Return the logarithm to base 10."""
    return fast_log2(x) * math.log10(2)


def fast_pow(x: object, y: object) -> Scalar:
    """Return x to the power of y, for positive x."""
    return fast_exp2(binary("*", y, fast_log2(x)))


def fast_divide(x: object, y: object) -> Scalar:
    """Return x / y of two f32, with an error of at most 2 units in the last place."""
    op = FunctionOp("fast_divide", [convert(each, types.F32).ssa for each in (x, y)], f32)
    return Scalar(insert(op).result, types.F32)


def _in_order(operands: tuple[object, ...], named: Mapping[str, object]) -> tuple[object, ...]:
    """Return operands in order, some of which are given by the names d, a, b and c."""
    for name in named.keys() - set(_NAMES):
        raise ScriptError(f"there is no operand '{name}'", hint=f"they are {', '.join(_NAMES)}")
    return (*operands, *(named[name] for name in _NAMES if name in named))


_NAMES = ("d", "a", "b", "c")


def lop3(*operands: object, imm_lut: int, **named: object) -> Scalar:
    """Return a bitwise function of three 32-bit words.

    Args:
        operands: a, b and c; or an address, which the result is stored to as well, a, b and c.
        named: operands by these names, the address as d.
        imm_lut: the truth table f(0xF0, 0xCC, 0xAA) of the function f, 0x96 for a ^ b ^ c.

    Raises:
        ScriptError: the table is not in 0 to 255, or there are not three words.
    """
    table = known_number("the table of lop3, f(0xF0, 0xCC, 0xAA),", imm_lut, range(256))
    target, (a, b, c) = _words("lop3", _in_order(operands, named))
    op = insert(Lop3Op(a.ssa, b.ssa, c.ssa, table))
    return _given(Scalar(op.result, types.U32), target)


def prmt(*operands: object, mode: str | None = None, **named: object) -> Scalar:
    """Return four of the eight bytes of two 32-bit words.

    Args:
        operands: a, b and the selector, whose i-th hex digit selects byte i: 0 to 3 from a, 4 to 7
            from b; 8 more replicates the sign of that byte. Or an address, which the result is
            stored to as well, and these.
        named: operands by name, as in `lop3`.
        mode: not supported.

    Raises:
        ScriptError: there are not three words, or there is a mode.
    """
    if mode is not None:
        raise ScriptError(
            f"prmt with mode={mode!r} is not supported",
            hint="the selector says which bytes are taken: 0x4321 for those from byte 1 on",
        )
    target, (a, b, selector) = _words("prmt", _in_order(operands, named))
    op = insert(PrmtOp(a.ssa, b.ssa, selector.ssa))
    return _given(Scalar(op.result, types.U32), target)


def _words(
    name: str, operands: tuple[object, ...]
) -> tuple[Pointer | None, tuple[Scalar, Scalar, Scalar]]:
    """Return the address of the result, if any, and the three words."""
    first, *others = operands if len(operands) == 4 else (None, *operands)
    words = [scalar_of(each, types.U32) for each in others if not isinstance(each, Pointer | float)]
    are_words = all(word.type.is_integer and word.type.bits <= 32 for word in words)
    if len(words) != 3 or not are_words or not (first is None or isinstance(first, Pointer)):
        raise ScriptError(
            f"{name} takes three words of up to 32 bits, and got "
            f"{', '.join(map(describe, operands))}",
            hint=f"{name}(a, b, c), or {name}(~d[0], a, b, c) to store the result as well",
        )
    a, b, c = (convert(word, types.U32) for word in words)
    return first, (a, b, c)


def _given(result: Scalar, target: Pointer | None) -> Scalar:
    """Store a result if there is an address, and return it."""
    if target is not None:
        store_at(result, target)
    return result


_HALVES = VectorType(types.F16, 2)


def fma_f16x2(*operands: object, **named: object) -> Vector:
    """Return a * b + c of pairs of f16, each rounded once.

    The operands are of type f16x2 or 32-bit words; an address and names are as for `lop3`.
    """
    return _of_halves("fma_f16x2", "fma", _in_order(operands, named), 3)


def sub_f16x2(*operands: object, **named: object) -> Vector:
    """Return a - b of pairs of f16; the operands are those of `fma_f16x2` without c."""
    return _of_halves("sub_f16x2", "-", _in_order(operands, named), 2)


def _of_halves(name: str, function: str, operands: tuple[object, ...], count: int) -> Vector:
    """Compute a function of pairs of f16, and store the result if there is an address."""
    target, *pairs = operands if len(operands) > count else (None, *operands)
    words = (_HALVES, types.U32, types.I32)
    are_pairs = all(isinstance(each, Vector | Scalar) and each.type in words for each in pairs)
    is_address = isinstance(target, Pointer) and target.dtype in words
    if len(pairs) != count or not are_pairs or not (target is None or is_address):
        raise ScriptError(
            f"{name} takes {count} pairs of type f16x2, or words of 32 bits, and got "
            f"{', '.join(map(describe, operands))}",
            hint=f"{name}({', '.join('abc'[:count])}), or {name}(~d[0], ...) to store the result "
            "as well, where d has elements of type f16x2 or u32",
        )
    result = packed(function, *(reinterpret(each, _HALVES) for each in pairs))
    assert result is not None, "pairs of halves have the function"
    if isinstance(target, Pointer):
        store_at(reinterpret(result, target.dtype), target)
    return result


def reinterpret(value: object, dtype: object) -> Scalar | Vector:
    """Return a value reinterpreted as another type of the same width.

    It is a scalar or a vector, whose first element has the lowest bits, and so is the result: the
    type is `u32`, `f16x2`, `f32x4`.

    Raises:
        ScriptError: the widths differ, or that of the value is unknown.
    """
    kind = element_type(dtype)
    elements = value.elements if isinstance(value, Vector) else (value,)
    parts = [each for each in elements if isinstance(each, Scalar)]
    if len(parts) < len(elements) or any(part.type.kind in ("bool", "index") for part in parts):
        raise ScriptError(
            f"{describe(value)} has no known width",
            hint="convert it to a type of known width: f32(x), i32(i)",
        )
    source, target = parts[0].type, kind.element
    if source.bits * len(parts) != kind.bits or target.kind == "bool":
        raise ScriptError(
            f"{describe(value)} cannot be reinterpreted as {dtype}",
            hint=f"a type, or a vector, of {source.bits * len(parts)} bits",
        )
    values = _regrouped([part.ssa for part in parts], source, kind)
    scalars = tuple(Scalar(each, target) for each in values)
    return Vector(kind, scalars) if isinstance(kind, VectorType) else scalars[0]


def _regrouped(parts: list[SSAValue], source: ScalarType, kind: ElementType) -> list[SSAValue]:
    """Return the elements of a type with the bits of other elements."""
    target = kind.element
    if source.bits == target.bits:
        if source.ir == target.ir:
            return parts
        return [insert(BitcastOp(part, target.ir)).result for part in parts]
    if source.bits < target.bits:
        count = target.bits // source.bits
        groups = [parts[first : first + count] for first in range(0, len(parts), count)]
        wholes = [(joined_value(group), group) for group in groups]
        return [
            whole  # they were split from it
            if whole is not None and whole.type == target.ir
            else insert(JoinOp(group if whole is None else [whole], target.ir)).result
            for whole, group in wholes
        ]
    count = source.bits // target.bits
    if source.bits == 32 and is_paired(kind):
        pair = pair_type(target)
        parts = [insert(JoinOp([part], pair)).result for part in parts]
    return [
        insert(PartOp(part, number, target.ir)).result for part in parts for number in range(count)
    ]


def _named(name: str, source: ScalarType, target: ScalarType) -> Callable[[object], Scalar]:
    """Return CUDA's bit cast with this name."""

    def function(x: object) -> Scalar:
        value = convert(x, source)
        (found,) = _regrouped([value.ssa], source, target)
        return Scalar(found, target)

    function.__name__ = name
    function.__doc__ = f"Return the {target} that has the bits of an {source}."
    return function


# CUDA's bit casts.
__float_as_uint = _named("__float_as_uint", types.F32, types.U32)
__float_as_int = _named("__float_as_int", types.F32, types.I32)
__uint_as_float = _named("__uint_as_float", types.U32, types.F32)
__int_as_float = _named("__int_as_float", types.I32, types.F32)
__double_as_longlong = _named("__double_as_longlong", types.F64, types.I64)
__longlong_as_double = _named("__longlong_as_double", types.I64, types.F64)
__half_as_ushort = _named("__half_as_ushort", types.F16, types.U16)
__half_as_short = _named("__half_as_short", types.F16, types.I16)
__ushort_as_half = _named("__ushort_as_half", types.U16, types.F16)
__short_as_half = _named("__short_as_half", types.I16, types.F16)
__bfloat16_as_ushort = _named("__bfloat16_as_ushort", types.BF16, types.U16)
__bfloat16_as_short = _named("__bfloat16_as_short", types.BF16, types.I16)
__ushort_as_bfloat16 = _named("__ushort_as_bfloat16", types.U16, types.BF16)
__short_as_bfloat16 = _named("__short_as_bfloat16", types.I16, types.BF16)

# Other names of CUDA.
rcp, byte_perm, __byte_perm = fast_rcp, prmt, prmt
__cosf, __sinf, __tanhf = fast_cos, fast_sin, fast_tanh
__expf, __logf, __log2f, __log10f = fast_exp, fast_log, fast_log2, fast_log10
__powf, __fdividef = fast_pow, fast_divide

__all__: list[str] = ["__bfloat16_as_short", "__bfloat16_as_ushort", "__byte_perm", "__cosf"]
__all__ += ["__double_as_longlong", "__expf", "__fdividef", "__float_as_int", "__float_as_uint"]
__all__ += ["__half_as_short", "__half_as_ushort", "__int_as_float", "__log2f", "__log10f"]
__all__ += ["__logf", "__longlong_as_double", "__powf", "__short_as_bfloat16", "__short_as_half"]
__all__ += ["__sinf", "__tanhf", "__uint_as_float", "__ushort_as_bfloat16", "__ushort_as_half"]
__all__ += ["byte_perm", "fast_cos", "fast_divide", "fast_exp", "fast_exp2", "fast_log"]
__all__ += ["fast_log2", "fast_log10", "fast_pow", "fast_rcp", "fast_rsqrt", "fast_sin"]
__all__ += ["fast_sqrt", "fast_tanh", "fma_f16x2", "lop3", "prmt", "rcp", "sub_f16x2"]
