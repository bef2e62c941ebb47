"""Functions of two numbers that iterate, by the kernels of `hidet.frontends.torch.element_kernels`.

They are computed in float64 or int64.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from hidet.frontends.torch.decomposed.bessel import in_double, of_two

aten = torch.ops.aten


def _run(name: str, x: Tensor, y: Tensor) -> Tensor:
    """Return a function of the elements of two tensors, which are broadcast."""
    from hidet.frontends.torch.element_kernels import elementwise  # which imports scripts

    shape = (x + y).shape
    read = [each.expand(shape).reshape(-1).contiguous() for each in (x, y)]
    if 0 in shape:
        return read[0].reshape(shape)
    (found,) = elementwise(name, len(read[0])).functional(read, [torch.empty_like(read[0])])
    return found.reshape(shape)


def _of_floats(name: str) -> Callable[..., Any]:
    """Return the decomposition of a function of floats."""
    in_double_of = in_double(partial(_run, name))

    def of_floats(x: Tensor | float, y: Tensor | float) -> Any:
        return in_double_of(x, y)

    return of_floats


def gcd(x: Tensor, y: Tensor) -> Tensor:
    """The greatest common divisor."""
    kind = torch.result_type(x, y)
    return _run("gcd", *(each.to(kind).abs().long() for each in (x, y))).to(kind)


def lcm(x: Tensor, y: Tensor) -> Tensor:
    """The least common multiple, 0 for a 0."""
    divisor, kind = gcd(x, y), torch.result_type(x, y)
    wide = torch.promote_types(kind, torch.int32)  # as C++ does
    quotient = torch.div(x.to(wide), divisor + (divisor == 0), rounding_mode="trunc")
    return (quotient * y).abs().to(kind)


ITERATED: dict[Any, Callable[..., Any]] = {
    aten.gcd.default: gcd,
    aten.igamma.default: _of_floats("igamma"),
    aten.igammac.default: _of_floats("igammac"),
    aten.lcm.default: lcm,
    **of_two("hermite_polynomial_h", _of_floats("hermite_h")),
    **of_two("hermite_polynomial_he", _of_floats("hermite_he")),
    **of_two("laguerre_polynomial_l", _of_floats("laguerre")),
    **of_two("legendre_polynomial_p", _of_floats("legendre")),
}
"""The decompositions of these functions."""
