"""`hidet.torch.register_op`: torch operators of functions that call script kernels."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias, TypedDict, Unpack, cast, overload

from torch._library.custom_ops import (
    OPDEFS,  # pyright: ignore[reportUnknownVariableType]
    CustomOpDef,
    custom_op,
)
from torch._subclasses.functional_tensor import FunctionalTensorMode

from hidet.errors import HidetError

Function: TypeAlias = Callable[..., Any]

_INLINES: ContextVar[bool] = ContextVar("hidet_inlines_operators", default=False)
_CHUNKED_LOSS = "torch_nn::_linear_cross_entropy_batch_chunked"
_OF_TORCH = (_CHUNKED_LOSS, f"{_CHUNKED_LOSS}_no_reduction")
"""Torch's own operators in Python, which have no decomposition; it defines them at first use."""


@contextmanager
def looking_inside() -> Generator[None]:
    """Make torch trace into the functions of operators, instead of recording a call."""
    for name in _OF_TORCH:
        operator = cast("Any", OPDEFS.get(name))
        if operator is not None:
            _allow_inlining(operator, operator._init_fn)
    token = _INLINES.set(True)
    try:
        yield
    finally:
        _INLINES.reset(token)


class _Options(TypedDict, total=False):
    fake: Function | None
    backward: Function | None
    setup_context: Function | None
    opaque: bool


@overload
def register_op(
    name: str, function: Callable[..., Any], /, **options: Unpack[_Options]
) -> CustomOpDef: ...
@overload
def register_op(
    name: str, function: None = None, /, **options: Unpack[_Options]
) -> Callable[[Callable[..., Any]], CustomOpDef]: ...
def register_op(
    name: str,
    function: Callable[..., Any] | None = None,
    /,
    *,
    fake: Function | None = None,
    backward: Function | None = None,
    setup_context: Function | None = None,
    opaque: bool = False,
) -> CustomOpDef | Callable[[Callable[..., Any]], CustomOpDef]:
    """Register a function that allocates its results and calls kernels on them as a torch operator.

        @hidet.torch.register_op("demo::silu")
        def silu(x: torch.Tensor) -> torch.Tensor:
            y = torch.empty_like(x)
            kernels.silu(x, y)
            return y

    The operator is `silu(x)` and `torch.ops.demo.silu(x)`; it works in eager mode and under
    `torch.compile` with every backend. `backend="hidet"` inlines it: the kernels become launches
    among those of the graph, and the operators around them are compiled too.

    Args:
        name: "namespace::name".
        function: computes the results. It annotates its parameters and its return value (see
            `torch.library.custom_op`), returns new tensors, and mutates no argument.
        fake: takes and returns fake tensors. The default is the function itself, whose kernels
            then only check their arguments.
        backward: takes `ctx` and the gradients of the results; returns those of the arguments, or
            None. See `torch.library.register_autograd`.
        setup_context: takes `ctx, inputs, output`, and saves in `ctx` what `backward` needs.
        opaque: do not inline the operator; for functions that read data and thus cannot be traced.

    Returns:
        The operator, a `torch.library.CustomOpDef`. Without a function, a decorator.

    Raises:
        HidetError: the name is invalid, or there is a `setup_context` without a `backward`.
        ValueError: an annotation is missing, or of a type that operators do not take.
    """
    if name.count("::") != 1 or not all(part.isidentifier() for part in name.split("::")):
        raise HidetError(
            f"'{name}' cannot be the name of an operator", hint="it is like 'library::operator'"
        )
    if setup_context is not None and backward is None:
        raise HidetError(
            f"'{name}' has setup_context, but no backward", hint="backward reads what it saves"
        )

    def register(function: Callable[..., Any]) -> CustomOpDef:
        operator = custom_op(name, function, mutates_args=())
        operator.register_fake(fake or function)
        if backward is not None:
            operator.register_autograd(backward, setup_context=setup_context)
        if not opaque:
            _allow_inlining(operator, function)
        return operator

    return register if function is None else register(function)


def _allow_inlining(operator: CustomOpDef, function: Callable[..., Any]) -> None:
    """Trace into the function during functionalization, inside `looking_inside`."""

    def trace(
        mode: FunctionalTensorMode,
        target: Any,
        types: Sequence[type],
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        if not _INLINES.get():
            return mode.__torch_dispatch__(target, types, arguments, keywords)
        with mode:
            return function(*arguments, **keywords)

    operator.register_torch_dispatch(FunctionalTensorMode, trace)
