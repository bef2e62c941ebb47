"""Named sizes: dimensions of symbols that are not numbers until a graph is called.

    x = hidet.symbol(["n", 4])
    hidet.trace_from(hidet.ops.softmax(x))(hidet.randn([3, 4]))

A named size is a `torch.SymInt`, and so is what is computed from it, such as `2 * x.shape[0]`.
While an operator is recorded, torch computes shapes with named sizes. Where shapes must agree, it
takes names as equal to each other and to numbers above 1. A call of the graph records the operators
again with numbers in place of the names, and compiles a program for these numbers.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensorMode

from hidet.errors import HidetError
from hidet.frontends.trace.tracing import example_mode

if TYPE_CHECKING:
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

_EXAMPLE = 5040
"""The number by which torch decides what depends on a named size; it has many divisors."""

_RECORDING: ContextVar[bool] = ContextVar("hidet.sizes.recording", default=False)
"""Whether an operator with named sizes is being recorded."""


@cache
def _environment() -> ShapeEnv:
    """Return what knows all named sizes."""
    from sympy import Eq, Expr, Ne, false, true
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    class Environment(ShapeEnv):
        """Refuses to turn a named size into a number or a decision outside of an operator."""

        def evaluate_expr(self, orig_expr: Any, *arguments: Any, **keywords: Any) -> Any:
            is_decided = _RECORDING.get() and not isinstance(orig_expr, Expr)
            if not orig_expr.is_number and not is_decided:
                raise HidetError(
                    f"{_named(orig_expr)} is not known until the graph is called",
                    hint="a program that depends on it is recorded with numbers: symbol([3, 4])",
                )
            sides: Any = orig_expr.args
            if isinstance(orig_expr, Eq | Ne) and any(s.is_Integer and s > 1 for s in sides):
                return true if isinstance(orig_expr, Eq) else false
            with self.suppress_guards():  # each number of the name is decided for itself
                return super().evaluate_expr(orig_expr, *arguments, **keywords)

    return Environment(specialize_zero_one=False, duck_shape=False)


@cache
def _mode() -> FakeTensorMode:
    """Return the mode of examples with named sizes."""
    return FakeTensorMode(shape_env=_environment())


@contextmanager
def recording_mode(values: Iterable[object]) -> Generator[None]:
    """Enter the mode in which torch computes shapes from these values: sizes or tensors."""
    is_named = any(map(has_names, values))
    token = _RECORDING.set(is_named)
    try:
        if not is_named:
            with example_mode():
                yield
            return
        # Rules for shapes that are written in Python take named sizes; not all of C++ do.
        with enable_python_dispatcher(), _mode():
            yield
    finally:
        _RECORDING.reset(token)


def has_names(value: object) -> bool:
    """Return whether a value is a named size, or a tensor with one."""
    if isinstance(value, torch.Tensor):
        return any(map(has_names, value.shape))
    return isinstance(value, torch.SymInt)


_NAMES: dict[Any, str] = {}
"""The names of the symbols of sympy that torch has for named sizes."""


@cache
def symbol_var(name: str) -> torch.SymInt:
    """Return a size that has a name instead of a number, for `hidet.symbol` and operators."""
    from torch._dynamo.source import ConstantSource
    from torch.fx.experimental.symbolic_shapes import DimDynamic

    source = ConstantSource(name)
    symbol = _environment().create_symbol(
        _EXAMPLE, source, dynamic_dim=DimDynamic.DYNAMIC, constraint_dim=None
    )
    _NAMES[symbol] = name
    found: Any = _environment().create_symintnode(symbol, hint=_EXAMPLE, source=source)
    return found


def _named(expression: Any) -> Any:
    """Return an expression of sympy with the names of its sizes."""
    from sympy import Symbol

    return expression.xreplace({symbol: Symbol(name) for symbol, name in _NAMES.items()})


def printable(value: Any) -> Any:
    """Return what prints a size as graphs do, `3`, `n` or `2*n`; other values as they are."""
    return _named(value.node.expr) if isinstance(value, torch.SymInt) else value


class Sizes:
    """The numbers of named sizes.

    Args:
        symbols: symbols with named sizes.
        shapes: the shapes that take their place.

    Raises:
        HidetError: the shapes do not fit, or give one name two numbers.
    """

    def __init__(self, symbols: Sequence[Any], shapes: Sequence[Sequence[int]]) -> None:
        if len(shapes) != len(symbols):
            raise HidetError(f"{len(shapes)} inputs for a graph that takes {len(symbols)}")
        if any(has_names(size) for shape in shapes for size in shape):
            raise HidetError("a graph with named sizes takes symbols whose sizes are numbers")
        from sympy import Integer

        self._numbers: dict[Any, Any] = {}
        for number, (symbol, shape) in enumerate(zip(symbols, shapes, strict=True)):
            if len(symbol.shape) != len(shape):
                raise HidetError(f"input {number} has rank {len(shape)}, not {len(symbol.shape)}")
            for size, given in zip(symbol.shape, shape, strict=True):
                if isinstance(size, torch.SymInt) and size.node.expr in _NAMES:
                    self._numbers.setdefault(size.node.expr, Integer(given))
        for number, (symbol, shape) in enumerate(zip(symbols, shapes, strict=True)):
            if tuple(map(self.of, symbol.shape)) != tuple(shape):
                wanted = [*map(printable, symbol.shape)]
                raise HidetError(f"input {number} of shape {list(shape)} is not {wanted}")

    def of(self, value: Any) -> Any:
        """Return a value with numbers in the place of names; what is no size, as it is.

        Raises:
            HidetError: no input has a dimension of the name.
        """
        if not has_names(value):
            return value
        found: Any = value.node.expr.xreplace(self._numbers)
        if not found.is_number:
            raise HidetError(f"no input has a dimension of size {_named(found)}")
        return int(found)
