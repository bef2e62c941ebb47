"""`hidet.torch.register_op`: functions that call kernels of scripts, as operators of torch."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias, overload

from torch._library.custom_ops import CustomOpDef, custom_op
from torch._subclasses.functional_tensor import FunctionalTensorMode

from hidet.errors import HidetError

Fake: TypeAlias = Callable[..., Any]
"""Takes what the operator takes, as tensors without data, and returns such tensors."""
Backward: TypeAlias = Callable[..., Any]
"""Takes `ctx` and the gradients of the results; returns those of the arguments, or None."""
SetupContext: TypeAlias = Callable[..., None]
"""Takes `ctx, inputs, output` and saves in `ctx` what `backward` needs."""

_LOOKS_INSIDE: ContextVar[bool] = ContextVar("hidet_looks_inside", default=False)


@contextmanager
def looking_inside() -> Generator[None]:
    """Have torch trace the functions of operators, instead of noting a call of the operator."""
    token = _LOOKS_INSIDE.set(True)
    try:
        yield
    finally:
        _LOOKS_INSIDE.reset(token)


@overload
def register_op(
    name: str,
    function: Callable[..., Any],
    /,
    *,
    fake: Fake | None = None,
    backward: Backward | None = None,
    setup_context: SetupContext | None = None,
    opaque: bool = False,
) -> CustomOpDef: ...


@overload
def register_op(
    name: str,
    function: None = None,
    /,
    *,
    fake: Fake | None = None,
    backward: Backward | None = None,
    setup_context: SetupContext | None = None,
    opaque: bool = False,
) -> Callable[[Callable[..., Any]], CustomOpDef]: ...


def register_op(
    name: str,
    function: Callable[..., Any] | None = None,
    /,
    *,
    fake: Fake | None = None,
    backward: Backward | None = None,
    setup_context: SetupContext | None = None,
    opaque: bool = False,
) -> CustomOpDef | Callable[[Callable[..., Any]], CustomOpDef]:
    """Make an operator of torch of a function that allocates its results and calls kernels on them.

        @hidet.torch.register_op("demo::silu")
        def silu(x: torch.Tensor) -> torch.Tensor:
            y = torch.empty_like(x)
            kernels.silu(x, y)
            return y

    The operator is `silu(x)` and `torch.ops.demo.silu(x)`; it works in eager mode and under
    `torch.compile` with every backend. `backend="hidet"` looks inside: the kernels become launches
    among those of the graph, and what torch computes before and after them is compiled along.

    Args:
        name: "namespace::name".
        function: computes the results. It needs annotations of its parameters and its return value
            (see `torch.library.custom_op`), returns new tensors, and writes no argument.
        fake: gives the results as tensors without data. By default this is the function itself,
            whose kernels then do nothing but check their arguments.
        backward: gives the gradients, as in `torch.library.register_autograd`.
        setup_context: saves what `backward` needs.
        opaque: have `backend="hidet"`, too, see one operator, and run it by torch; for functions
            that cannot be traced because they look at data.

    Returns:
        The operator; `torch.library.CustomOpDef` says what more it can do, such as
        `register_kernel` and `register_vmap`. Without a function, a decorator.

    Raises:
        HidetError: the name is not of that form, or there is no `backward` to set a context up for.
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
            _let_look_inside(operator, function)
        return operator

    return register if function is None else register(function)


def _let_look_inside(operator: CustomOpDef, function: Callable[..., Any]) -> None:
    """Have the function traced, where that is wanted, when a graph is made functional."""

    def trace(
        mode: FunctionalTensorMode,
        target: Any,
        types: Sequence[type],
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        if not _LOOKS_INSIDE.get():
            return mode.__torch_dispatch__(target, types, arguments, keywords)
        with mode:
            return function(*arguments, **keywords)

    operator.register_torch_dispatch(FunctionalTensorMode, trace)
