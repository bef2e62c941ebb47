"""Named sizes: symbolic dimensions that are bound when a graph is called.

    x = hidet.symbol(["n", 4])
    hidet.trace_from(hidet.ops.softmax(x))(hidet.randn([3, 4]))

A named size is a `torch.SymInt`, and so is an expression of it, such as `2 * x.shape[0]`. While an
operator is recorded, torch infers shapes with named sizes. Where shapes must agree, named sizes are
assumed to be equal to each other and to constants above 1. A call of the graph re-records the
operators with the actual sizes, and compiles a program specialized for them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
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
"""The hint by which torch evaluates conditions on a named size; it has many divisors."""

_RECORDING: ContextVar[bool] = ContextVar("hidet.sizes.recording", default=False)
"""Whether an operator with named sizes is being recorded."""


@cache
def _environment() -> ShapeEnv:
    from sympy import Eq, Expr, Ne, false, true
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    class Environment(ShapeEnv):
        """A shape environment that rejects specialization of named sizes outside of operators."""

        def evaluate_expr(self, orig_expr: Any, *arguments: Any, **keywords: Any) -> Any:
            is_guard = _RECORDING.get() and not isinstance(orig_expr, Expr)
            if not orig_expr.is_number and not is_guard:
                raise HidetError(
                    f"{_named(orig_expr)} is not known until the graph is called",
                    hint="a program that depends on it is recorded with numbers: symbol([3, 4])",
                )
            sides: Any = orig_expr.args
            if isinstance(orig_expr, Eq | Ne) and any(s.is_Integer and s > 1 for s in sides):
                return true if isinstance(orig_expr, Eq) else false
            with self.suppress_guards():  # the graph is re-recorded for each size
                return super().evaluate_expr(orig_expr, *arguments, **keywords)

    return Environment(specialize_zero_one=False, duck_shape=False)


@cache
def _mode() -> FakeTensorMode:
    return FakeTensorMode(shape_env=_environment())


@contextmanager
def recording_mode(values: Iterable[object]) -> Generator[None]:
    """Enter the fake tensor mode for shape inference on values: sizes or tensors."""
    is_named = any(map(has_names, values))
    with ExitStack() as stack:
        stack.callback(_RECORDING.reset, _RECORDING.set(is_named))
        if is_named:  # Python meta kernels support symbolic sizes; not all C++ ones do.
            stack.enter_context(enable_python_dispatcher())
        stack.enter_context(_mode() if is_named else example_mode())
        yield


def has_names(value: object) -> bool:
    """Return whether a value is a named size, or a tensor with one."""
    if isinstance(value, torch.Tensor):
        return any(map(has_names, value.shape))
    return isinstance(value, torch.SymInt)


_NAMES: dict[Any, str] = {}
"""The names of the sympy symbols that represent named sizes."""


@cache
def symbol_var(name: str) -> torch.SymInt:
    """Return the named size of a name, for `hidet.symbol` and operators."""
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
    """Return a sympy expression with its symbols replaced by their names."""
    from sympy import Symbol

    return expression.xreplace({symbol: Symbol(name) for symbol, name in _NAMES.items()})


def printable(value: Any) -> Any:
    """Return a printable form of a size, such as `n` or `2*n`; other values unchanged."""
    return _named(value.node.expr) if isinstance(value, torch.SymInt) else value


class Sizes:
    """The values of named sizes, given the actual shapes of symbols that have them.

    Raises:
        HidetError: the shapes do not match, or bind one name to two values.
    """

    def __init__(self, symbols: Sequence[Any], shapes: Sequence[Sequence[int]]) -> None:
        if len(shapes) != len(symbols):
            raise HidetError(f"{len(shapes)} inputs for a graph that takes {len(symbols)}")
        if any(has_names(size) for shape in shapes for size in shape):
            raise HidetError("a graph with named sizes takes symbols whose sizes are numbers")
        from sympy import Integer

        self._values: dict[Any, Any] = {}
        for number, (symbol, shape) in enumerate(zip(symbols, shapes, strict=True)):
            if len(symbol.shape) != len(shape):
                raise HidetError(f"input {number} has rank {len(shape)}, not {len(symbol.shape)}")
            for size, given in zip(symbol.shape, shape, strict=True):
                if isinstance(size, torch.SymInt) and size.node.expr in _NAMES:
                    self._values.setdefault(size.node.expr, Integer(given))
        for number, (symbol, shape) in enumerate(zip(symbols, shapes, strict=True)):
            if tuple(map(self.of, symbol.shape)) != tuple(shape):
                wanted = [*map(printable, symbol.shape)]
                raise HidetError(f"input {number} of shape {list(shape)} is not {wanted}")

    def of(self, value: Any) -> Any:
        """Return a size with names replaced by their values; other values unchanged.

        Raises:
            HidetError: no input has a dimension of the name.
        """
        if not has_names(value):
            return value
        found: Any = value.node.expr.xreplace(self._values)
        if not found.is_number:
            raise HidetError(f"no input has a dimension of size {_named(found)}")
        return int(found)
