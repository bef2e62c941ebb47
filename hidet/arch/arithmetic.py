"""The instruction table of one thread's arithmetic: logic, bytes, fast functions."""

from __future__ import annotations

from dataclasses import dataclass

from hidet.arch.instructions import Instruction

LOP3 = Instruction(
    "lop3",
    (),
    ptx="lop3.b32",
    section="Logic and Shift Instructions: lop3",
    arch=50,
)
"""Any function of three bits, for each bit of three words."""

PRMT = Instruction(
    "prmt",
    (),
    ptx="prmt.b32",
    section="Data Movement and Conversion Instructions: prmt",
    arch=50,
)
"""Four of the eight bytes of two words."""

ROUND_TF32 = Instruction(
    "round_tf32",
    (),
    ptx="cvt.rna.tf32.f32",
    section="Data Movement and Conversion Instructions: cvt",
    arch=80,
)
"""An f32 rounded to the 19 bits that tensor cores take of it, ties away from zero."""


@dataclass(frozen=True)
class FunctionInstruction(Instruction):
    """A function of an f32 that the machine computes in one step, with an error.

    Attributes:
        error: the largest error, in words.
    """

    error: str = ""


def _function(name: str, ptx: str, error: str, arch: int = 50) -> FunctionInstruction:
    """Return the entry of a function."""
    return FunctionInstruction(
        f"fast_{name}",
        (),
        ptx=ptx,
        section=f"Floating Point Instructions: {ptx.partition('.')[0]}",
        arch=arch,
        error=error,
    )


FAST: dict[str, FunctionInstruction] = {
    "exp2": _function("exp2", "ex2.approx.ftz.f32", "about 2^-22 of the result"),
    "log2": _function("log2", "lg2.approx.ftz.f32", "about 2^-22"),
    "sin": _function("sin", "sin.approx.ftz.f32", "about 2^-20 from -pi to pi"),
    "cos": _function("cos", "cos.approx.ftz.f32", "about 2^-20 from -pi to pi"),
    "tanh": _function("tanh", "tanh.approx.f32", "about 2^-11 of the result", 75),
    "rcp": _function("rcp", "rcp.approx.ftz.f32", "about 2^-23 of the result"),
    "rsqrt": _function("rsqrt", "rsqrt.approx.ftz.f32", "about 2^-22 of the result"),
    "sqrt": _function("sqrt", "sqrt.approx.ftz.f32", "about 2^-23 of the result"),
}
"""Fast functions by name; numbers too small to be normal count as zero."""


JOIN = Instruction(
    "join",
    (),
    ptx="mov",
    section="Data Movement and Conversion Instructions: mov",
    arch=50,
)
"""Neighbouring values as one."""

PART = Instruction(
    "part",
    (),
    ptx="mov",
    section="Data Movement and Conversion Instructions: mov",
    arch=50,
)
"""One of the values that lie next to each other in a word."""


def _packed(name: str, ptx: str) -> Instruction:
    """Return the entry of a function of two halves; f16 stands for bf16 as well."""
    return Instruction(
        f"packed_{name}",
        (),
        ptx=ptx,
        section=f"Half Precision Floating-Point Instructions: {name}",
        arch=80,
    )


PACKED: dict[str, Instruction] = {
    "add": _packed("add", "add.rn.f16x2"),
    "sub": _packed("sub", "sub.rn.f16x2"),
    "mul": _packed("mul", "mul.rn.f16x2"),
    "fma": _packed("fma", "fma.rn.f16x2"),
    "min": _packed("min", "min.f16x2"),
    "max": _packed("max", "max.f16x2"),
    "neg": _packed("neg", "neg.f16x2"),
    "abs": _packed("abs", "abs.f16x2"),
}
"""Functions of two halves at once, by name."""
