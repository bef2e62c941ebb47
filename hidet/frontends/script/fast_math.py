"""Arithmetic of CUDA in scripts: fast functions, logic of three operands, bytes of two words."""

from __future__ import annotations

import math
from collections.abc import Callable

from hidet.dialects.cuda import FastOp, Lop3Op, PrmtOp
from hidet.dialects.cuda.arithmetic import FAST, FastFunction
from hidet.errors import ScriptError
from hidet.frontends.script.emitter import Emitter
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import F32, U32
from hidet.frontends.script.values import Pointer, Scalar, describe

# Fast functions.


def _fast(name: str) -> Callable[[object], Scalar]:
    """Return the fast function of f32 with this name."""

    def function(x: object) -> Scalar:
        emitter = current(f"fast_{name}")
        value = emitter.cast(emitter.scalar_of(x, F32), F32)
        return Scalar(emitter, emitter.insert(FastOp(FastFunction(name), value.ssa)).result, F32)

    function.__name__ = f"fast_{name}"
    function.__doc__ = (
        f"Return {name}(x) of an f32 by one instruction, with an error of {FAST[name].error}."
    )
    return function


fast_exp2 = _fast("exp2")
fast_log2 = _fast("log2")
fast_sin = _fast("sin")
fast_cos = _fast("cos")
fast_tanh = _fast("tanh")
fast_rcp = _fast("rcp")
fast_rsqrt = _fast("rsqrt")
fast_sqrt = _fast("sqrt")


def fast_exp(x: object) -> Scalar:
    """Return exp(x), as 2 to the power of x / ln 2; the error grows with |x|."""
    return fast_exp2(current("fast_exp").binary("*", x, math.log2(math.e)))


def fast_log(x: object) -> Scalar:
    """Return the natural logarithm, from that of base 2."""
    return fast_log2(x) * math.log(2)


def fast_log10(x: object) -> Scalar:
    """Return the logarithm of base 10, from that of base 2."""
    return fast_log2(x) * math.log10(2)


def fast_pow(x: object, y: object) -> Scalar:
    """Return x to the power of y, for a positive x, from the logarithm of base 2."""
    return fast_exp2(current("fast_pow").binary("*", y, fast_log2(x)))


def fast_divide(x: object, y: object) -> Scalar:
    """Return x / y, as x times the fast 1 / y."""
    return current("fast_divide").binary("*", x, fast_rcp(y))


# Words.


def lop3(*operands: object, imm_lut: int) -> Scalar:
    """Return a function of three bits, for each bit of three words of 32 bits.

    Args:
        operands: a, b and c; or an address, which is given the result too, and a, b and c.
        imm_lut: the table of the function f: f(0xF0, 0xCC, 0xAA). That of a ^ b ^ c is 0x96.

    Raises:
        ScriptError: the table is no number from 0 to 255, or there are not three words.
    """
    emitter = current("lop3")
    if isinstance(imm_lut, bool) or not isinstance(imm_lut, int) or not 0 <= imm_lut < 256:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ScriptError(
            f"the table of lop3 is {describe(imm_lut)}",
            hint="it is f(0xF0, 0xCC, 0xAA), known when the script is defined",
        )
    target, (a, b, c) = _words(emitter, "lop3", operands)
    op = emitter.insert(Lop3Op(a.ssa, b.ssa, c.ssa, imm_lut))
    return _given(emitter, Scalar(emitter, op.result, U32), target)


def prmt(*operands: object, mode: str | None = None) -> Scalar:
    """Return four of the eight bytes of two words of 32 bits.

    Args:
        operands: a, b and the selector, of which digit i of 4 bits says which byte becomes byte i:
            0 to 3 are those of a, 4 to 7 those of b, and with 8 added the sign of that byte is
            repeated; or an address, which is given the result too, and these.
        mode: not supported.

    Raises:
        ScriptError: there are not three words, or there is a mode.
    """
    emitter = current("prmt")
    if mode is not None:
        raise ScriptError(
            f"prmt with mode={mode!r} is not supported",
            hint="the selector says which bytes are taken: 0x4321 for those from byte 1 on",
        )
    target, (a, b, selector) = _words(emitter, "prmt", operands)
    op = emitter.insert(PrmtOp(a.ssa, b.ssa, selector.ssa))
    return _given(emitter, Scalar(emitter, op.result, U32), target)


def _words(
    emitter: Emitter, name: str, operands: tuple[object, ...]
) -> tuple[Pointer | None, tuple[Scalar, Scalar, Scalar]]:
    """Return the address of the result, if there is one, and the three words."""
    first, *others = operands if len(operands) == 4 else (None, *operands)
    words = [
        emitter.scalar_of(each, U32) for each in others if not isinstance(each, Pointer | float)
    ]
    are_words = all(word.type.is_integer and word.type.bits <= 32 for word in words)
    if len(words) != 3 or not are_words or not (first is None or isinstance(first, Pointer)):
        raise ScriptError(
            f"{name} takes three words of up to 32 bits, and got "
            f"{', '.join(map(describe, operands))}",
            hint=f"{name}(a, b, c), or {name}(~d[0], a, b, c) to store the result as well",
        )
    a, b, c = (emitter.cast(word, U32) for word in words)
    return first, (a, b, c)


def _given(emitter: Emitter, result: Scalar, target: Pointer | None) -> Scalar:
    """Store a result if it has an address, and return it."""
    if target is not None:
        emitter.store_at(result, target)
    return result
