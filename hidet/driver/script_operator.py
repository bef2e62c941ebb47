"""Kernels of scripts as operators of torch, which the graphs of `torch.compile` can hold.

A kernel becomes the operator `torch.ops.hidet_script.<kernel>_<hash>`, the hash being that of the
kernel's IR: equal kernels are one operator, which has the same name in every process. The schema
says which tensors the kernel writes, so that torch can make graphs functional. On tensors without
data an operator only checks its arguments.

This file marks functions for dynamo, whose import takes longer than a small script does. So it is
imported where dynamo traces a call, and not ahead of that.
"""

import builtins
import hashlib
from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import torch
from torch._higher_order_ops.auto_functionalize import auto_functionalized_v2
from torch.fx.node import has_side_effect
from torch.library import Library

from hidet.dialects.cuda.names import is_identifier, symbol_of
from hidet.driver.script_keys import Function, function_of
from hidet.foreign import HoldsTensor, plain
from hidet.forks import FORK_HANDLERS
from hidet.frontends.script.launches import Parameter
from hidet.frontends.script.types import ScalarType

NAMESPACE = "hidet_script"
"""The namespace of the operators."""

Operator: TypeAlias = torch._ops.OpOverload[..., Any]  # pyright: ignore[reportPrivateUsage]
"""An operator of torch."""

_LIBRARY = Library(NAMESPACE, "FRAGMENT")
_LOCK = FORK_HANDLERS.lock()
# A registry, as torch's own: an operator lives as long as the process, and its kernel with it.
_FUNCTIONS: dict[Operator, Function] = {}
_OPERATORS: dict[str, Operator] = {}
# What cannot be the name of an argument in a schema, or in the code of an FX graph.
_RESERVED = frozenset((*dir(builtins), "self", "Tensor", "Scalar", "Device", "Layout"))


def kernel_of_operator(operator: object) -> Function | None:
    """Return the kernel that an operator runs; None for anything else than such an operator."""
    return _FUNCTIONS.get(cast("Operator", operator))


def call_operator(key: str, arguments: Sequence[Any]) -> None:
    """Call the operator of a kernel; dynamo goes through this and notes the call in its graph.

    As any call of a kernel it has no gradient.
    """
    plain = [a.torch() if isinstance(a, HoldsTensor) else a for a in arguments]
    detached = [a.detach() if isinstance(a, torch.Tensor) else a for a in plain]
    getattr(torch.ops.hidet_script, operator_name(key)).default(*detached)


def call_functionally(
    key: str, read: Sequence[torch.Tensor], written: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """Call the operator of a kernel such that it writes to none of its arguments.

    Returns:
        What the last arguments would be afterwards.
    """
    operator: Operator = getattr(torch.ops.hidet_script, operator_name(key)).default
    names = [argument.name for argument in operator._schema.arguments]  # pyright: ignore[reportPrivateUsage]
    first, last = names[: len(read)], names[len(read) :]
    bases = {f"_{name}_base_index": number for number, name in enumerate(last)}
    arguments = dict(zip(first, read, strict=True))
    found: Any = auto_functionalized_v2(operator, **arguments, **bases, _all_bases=list(written))
    return tuple(found[1:])  # behind what the operator returns, which is nothing


@torch.compiler.disable(  # pyright: ignore[reportUntypedFunctionDecorator]
    reason="a function of a script that returns a number ends the graph"
)
def run_outside(key: str, arguments: Sequence[Any]) -> int | float | None:
    """Run a function that returns a number, which no operator gives."""
    return function_of(key).run(tuple(map(plain, arguments)))


# Dynamo calls it and does not look inside. The argument is a string, for dynamo to guard it.
@torch.compiler.assume_constant_result
def operator_name(key: str) -> str:
    """Return the name of a kernel's operator; it is registered unless an equal kernel has been."""
    function = function_of(key)
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
    """Return a parameter as a schema has it."""
    name = f"{parameter.name}_" if parameter.name in _RESERVED else parameter.name
    if not is_identifier(name):
        name = f"argument{number}"
    if not isinstance(parameter.type, ScalarType):
        return f"Tensor(a{number}!) {name}" if is_written else f"Tensor {name}"
    if parameter.type.is_float:
        return f"float {name}"
    return f"{'bool' if parameter.type.name == 'bool' else 'SymInt'} {name}"


def _register(name: str, schema: str, function: Function) -> Operator:
    """Register an operator for all devices."""
    # Compilers of torch must not choose other strides: kernels take contiguous tensors only.
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
        has_side_effect(operator)  # it prints, perhaps: nothing that a graph may drop
    _FUNCTIONS[operator] = function
    return operator
