"""Elementwise arithmetic, mathematical functions, comparisons and boolean logic."""

from functools import reduce

import torch

from hidet.frontends.trace.recording import Ints, T, binary, operator, unary

abs = unary(torch.abs, "the absolute value")
acos = unary(torch.acos, "the arc cosine")
acosh = unary(torch.acosh, "the inverse hyperbolic cosine")
asin = unary(torch.asin, "the arc sine")
asinh = unary(torch.asinh, "the inverse hyperbolic sine")
atan = unary(torch.atan, "the arc tangent")
atanh = unary(torch.atanh, "the inverse hyperbolic tangent")
bitwise_invert = unary(torch.bitwise_not, "the bitwise complement", "bitwise_invert")
ceil = unary(torch.ceil, "the nearest integer above")
conj = unary(torch.conj_physical, "the complex conjugate", "conj")
cos = unary(torch.cos, "the cosine")
cosh = unary(torch.cosh, "the hyperbolic cosine")
erf = unary(torch.erf, "the error function")
exp = unary(torch.exp, "the exponential")
expm1 = unary(torch.expm1, "exp(x) - 1")
floor = unary(torch.floor, "the nearest integer below")
imag = unary(torch.imag, "the imaginary part")
isfinite = unary(torch.isfinite, "whether it is neither infinite nor NaN,")
isinf = unary(torch.isinf, "whether it is infinite,")
isnan = unary(torch.isnan, "whether it is NaN,")
log = unary(torch.log, "the natural logarithm")
log10 = unary(torch.log10, "the logarithm to the base 10")
log1p = unary(torch.log1p, "log(1 + x)")
log2 = unary(torch.log2, "the logarithm to the base 2")
negative = unary(torch.negative, "the negative")
positive = unary(torch.positive, "the value itself")
real = unary(torch.real, "the real part")
reciprocal = unary(torch.reciprocal, "1 / x")
round = unary(torch.round, "the nearest integer, with ties to even,")
rsqrt = unary(torch.rsqrt, "1 / sqrt(x)")
sign = unary(torch.sign, "the sign")
sin = unary(torch.sin, "the sine")
sinh = unary(torch.sinh, "the hyperbolic sine")
sqrt = unary(torch.sqrt, "the square root")
square = unary(torch.square, "the square")
tan = unary(torch.tan, "the tangent")
tanh = unary(torch.tanh, "the hyperbolic tangent")
trunc = unary(torch.trunc, "the nearest integer towards 0")

add = binary(torch.add, "x + y")
atan2 = binary(torch.atan2, "the angle of the point (y, x)")
bitwise_and = binary(torch.bitwise_and, "x & y")
bitwise_left_shift = binary(torch.bitwise_left_shift, "x << y")
bitwise_or = binary(torch.bitwise_or, "x | y")
bitwise_right_shift = binary(torch.bitwise_right_shift, "x >> y")
bitwise_xor = binary(torch.bitwise_xor, "x ^ y")
divide = binary(torch.divide, "x / y")
logaddexp = binary(torch.logaddexp, "log(exp(x) + exp(y))")
mod = binary(torch.fmod, "the remainder of truncated division, as C's x % y,", "mod")
multiply = binary(torch.multiply, "x * y")
pow = binary(torch.pow, "x ** y")
remainder = binary(torch.remainder, "the remainder of floor division, Python's x % y,")
subtract = binary(torch.subtract, "x - y")


@operator
def clamp(x: T, min: float | None = None, max: float | None = None) -> T:
    """Return x clamped to an interval; either bound may be omitted."""
    return torch.clamp(x, min, max)


@operator
def make_complex(real: T, imag: T) -> T:
    """Return the complex numbers with these parts."""
    return torch.complex(real, imag)


@operator
def maximum(a: T, b: T, *others: T) -> T:
    """Return the elementwise maximum of several tensors."""
    return reduce(torch.maximum, (a, b, *others))


@operator
def minimum(a: T, b: T, *others: T) -> T:
    """Return the elementwise minimum of several tensors."""
    return reduce(torch.minimum, (a, b, *others))


@operator
def roll(x: T, shifts: Ints, dims: Ints | None = None) -> T:
    """Return the elements rotated along dimensions, or in the flat tensor if there are none."""
    return torch.roll(x, shifts, () if dims is None else dims)


@operator
def where(cond: T, x: T | float, y: T | float) -> T:
    """Return the elements of x where a condition is true, and those of y elsewhere."""
    return torch.where(cond, x, y)


equal = binary(torch.eq, "x == y", "equal")
greater = binary(torch.greater, "x > y")
greater_equal = binary(torch.greater_equal, "x >= y")
less = binary(torch.less, "x < y")
less_equal = binary(torch.less_equal, "x <= y")
logical_and = binary(torch.logical_and, "whether both hold,")
logical_not = unary(torch.logical_not, "whether it does not hold,")
logical_or = binary(torch.logical_or, "whether one holds,")
logical_xor = binary(torch.logical_xor, "whether just one holds,")
not_equal = binary(torch.not_equal, "x != y")
