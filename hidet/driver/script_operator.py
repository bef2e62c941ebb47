"""Script functions as torch operators, which graphs of `torch.compile` can contain.

A function becomes the operator `torch.ops.hidet_script.<name>_<hash>` with the hash of its IR, so
that equal functions share an operator, which has the same name in every process. The schema says
which tensors are written, so that torch can functionalize graphs. On fake tensors an operator only
checks its arguments.

Importing dynamo takes longer than running a small script, so this module is imported only when
dynamo traces a call.
"""

from __future__ import annotations

import builtins
import hashlib
from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import torch
from torch._higher_order_ops.auto_functionalize import auto_functionalized_v2
from torch.fx.node import has_side_effect
from torch.library import Library

from hidet.dialects.cuda.names import is_identifier, symbol_of
from hidet.driver.script import FUNCTIONS, CompiledFunction
from hidet.foreign import HoldsTensor, plain
from hidet.forks import FORK_HANDLERS
from hidet.frontends.script.launches import Parameter
from hidet.frontends.script.types import ScalarType

NAMESPACE = "hidet_script"

Operator: TypeAlias = torch._ops.OpOverload[..., Any]  # pyright: ignore[reportPrivateUsage]

_LIBRARY = Library(NAMESPACE, "FRAGMENT")
_LOCK = FORK_HANDLERS.lock()
# A registry, as torch's own: an operator lives as long as the process, and its kernel with it.
_FUNCTIONS: dict[Operator, CompiledFunction] = {}
_OPERATORS: dict[str, Operator] = {}
# Names that arguments cannot have in a schema, or in the code of an FX graph.
_RESERVED = frozenset((*dir(builtins), "self", "Tensor", "Scalar", "Device", "Layout"))


def kernel_of_operator(operator: object) -> CompiledFunction | None:
    """Return the script function of an operator, None for other objects."""
    return _FUNCTIONS.get(cast("Operator", operator))


def call_operator(key: str, arguments: Sequence[Any]) -> None:
    """Call the operator of a function; dynamo traces this and records the call.

    It has no gradient.
    """
    plain = [a.torch() if isinstance(a, HoldsTensor) else a for a in arguments]
    detached = [a.detach() if isinstance(a, torch.Tensor) else a for a in plain]
    getattr(torch.ops.hidet_script, operator_name(key)).default(*detached)


def call_functionally(
    key: str, read: Sequence[torch.Tensor], written: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """Call the operator of a function; return the new values of what it would write."""
    operator: Operator = getattr(torch.ops.hidet_script, operator_name(key)).default
    names = [argument.name for argument in operator._schema.arguments]  # pyright: ignore[reportPrivateUsage]
    first, last = names[: len(read)], names[len(read) :]
    bases = {f"_{name}_base_index": number for number, name in enumerate(last)}
    arguments = dict(zip(first, read, strict=True))
    found: Any = auto_functionalized_v2(operator, **arguments, **bases, _all_bases=list(written))
    return tuple(found[1:])  # the first is the operator's result, None


@torch.compiler.disable(  # pyright: ignore[reportUntypedFunctionDecorator]
    reason="a function of a script that returns a number ends the graph"
)
def run_outside(key: str, arguments: Sequence[Any]) -> int | float | None:
    """Run a function that returns a number, which operators cannot."""
    return FUNCTIONS[key].run(tuple(map(plain, arguments)))


# Dynamo calls it without tracing, and guards the argument, a string.
@torch.compiler.assume_constant_result
def operator_name(key: str) -> str:
    """Return the name of a function's operator, which is registered on first use."""
    function = FUNCTIONS[key]
    arguments = function.arguments
    schema = ", ".join(
        _argument(parameter, number, is_written=arguments.written[number])
        for number, parameter in enumerate(arguments.parameters)
    )
    digest = hashlib.sha256(f"{schema}\0{function.content}".encode()).hexdigest()
    name = f"{symbol_of(function.name)}_{digest[:12]}"
    with _LOCK:
        if name not in _OPERATORS:
            _OPERATORS[name] = _register(name, f"({schema}) -> ()", function)
    return name


def _argument(parameter: Parameter, number: int, *, is_written: bool) -> str:
    """Return a parameter in the syntax of schemas."""
    name = f"{parameter.name}_" if parameter.name in _RESERVED else parameter.name
    if not is_identifier(name):
        name = f"argument{number}"
    if not isinstance(parameter.type, ScalarType):
        return f"Tensor(a{number}!) {name}" if is_written else f"Tensor {name}"
    if parameter.type.is_float:
        return f"float {name}"
    return f"{'bool' if parameter.type.name == 'bool' else 'SymInt'} {name}"


def _register(name: str, schema: str, function: CompiledFunction) -> Operator:
    """Register an operator for all devices."""
    # Inductor must not change strides: kernels take contiguous tensors only.
    tags = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides)
    _LIBRARY.define(f"{name}{schema}", tags=tags)

    def run(*arguments: Any) -> None:
        function.run(arguments)

    def check(*arguments: Any) -> None:
        function.arguments.check_types(arguments)

    _LIBRARY.impl(name, run, "CompositeExplicitAutograd")
    torch.library.register_fake(f"{NAMESPACE}::{name}", check, lib=_LIBRARY)
    operator: Operator = getattr(torch.ops, NAMESPACE).__getattr__(name).default
    if not operator._schema.is_mutable:  # pyright: ignore[reportPrivateUsage]
        has_side_effect(operator)  # it may print, so a graph must not drop it
    _FUNCTIONS[operator] = function
    return operator
