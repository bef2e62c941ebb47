"""Traces a function of a script: a kernel into IR of its own, another one where it is called."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block, Region

from hidet.dialects.cuda import KernelOp
from hidet.dialects.cuda.marks import MIN_BLOCKS
from hidet.dialects.cuda.names import is_identifier
from hidet.errors import ScriptError
from hidet.frontends.script.attributes import Attributes
from hidet.frontends.script.builtins import PYTHON_BUILTINS
from hidet.frontends.script.checks import check_workers
from hidet.frontends.script.emitter import Emitter
from hidet.frontends.script.exits import Exits
from hidet.frontends.script.scopes import Scopes
from hidet.frontends.script.source import Source
from hidet.frontends.script.statements import Statements
from hidet.frontends.script.tidy import tidy
from hidet.frontends.script.tracing import current, tracing
from hidet.frontends.script.types import (
    PYTHON_TYPES,
    PointerType,
    ScalarType,
    TensorType,
    scalar_type,
)
from hidet.frontends.script.values import Pointer, Scalar, Tensor, describe, is_number

ParameterType = ScalarType | TensorType | PointerType
"""What a parameter of a kernel can be."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel."""

    name: str
    type: ParameterType

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


@dataclass(frozen=True)
class Kernel:
    """A kernel that has been traced.

    Attributes:
        name: its name.
        parameters: its parameters.
        op: its IR.
    """

    name: str
    parameters: tuple[Parameter, ...]
    op: KernelOp


class ScriptFunction:
    """A function under `@hidet.script`; called from a kernel it becomes a part of that."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.name: str = function.__name__
        self.source = Source.of(function)
        self._function = function
        self.__doc__ = function.__doc__
        arguments = self.source.function.args
        refused = (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs, *arguments.defaults)
        for node in refused:
            if node is not None:
                raise self.source.error(
                    node, "a function of a script takes plain parameters only", "name each of them"
                )

    @cached_property
    def outside(self) -> Mapping[str, object]:
        """The names of Python that the function sees: closure, globals, builtins."""
        function = inspect.unwrap(self._function)
        assert inspect.isfunction(function)
        closure = {
            name: cell.cell_contents
            for name, cell in zip(
                function.__code__.co_freevars, function.__closure__ or (), strict=True
            )
            if _is_filled(cell)
        }
        return {**PYTHON_BUILTINS, **function.__globals__, **closure}

    @cached_property
    def is_kernel(self) -> bool:
        """Whether the function says of itself that it is a kernel: by a grid or a block."""
        for statement in self.source.function.body:
            match statement:
                case ast.Assign(targets=[ast.Attribute() as target]) if self._is_attribute(target):
                    pass
                case _:
                    continue
            if target.attr == "func_kind" and isinstance(statement.value, ast.Constant):
                return statement.value.value != "cuda_internal"
            if target.attr.removeprefix("cuda_") in ("grid_dim", "block_dim"):
                return True
        return False

    def _is_attribute(self, target: ast.Attribute) -> bool:
        """Return whether a target of an assignment is an attribute of the function."""
        root = target.value
        while isinstance(root, ast.Attribute):
            root = root.value
        return isinstance(root, ast.Name) and isinstance(self.outside.get(root.id), Attributes)

    def parameter_types(self) -> list[tuple[str, object]]:
        """Return the names of the parameters with their annotations, None where there is none."""
        try:
            annotations = inspect.get_annotations(self._function)
            names = [argument.arg for argument in self.source.function.args.args]
            types: list[tuple[str, object]] = []
            for name in names:
                kind: object = annotations.get(name)
                if isinstance(kind, str) and kind not in ("", *_TYPE_NAMES):
                    kind = eval(kind, dict(self.outside))
                types.append((name, kind))
        except (NameError, AttributeError, TypeError) as error:
            raise self.source.error(
                self.source.function,
                f"an annotation of '{self.name}' cannot be evaluated: {error}",
                "leave out 'from __future__ import annotations', or import its names globally",
            ) from error
        return types

    def trace(self) -> Kernel:
        """Trace the function as a kernel.

        Raises:
            ScriptError: something is wrong with it.
        """
        parameters = self._kernel_parameters()
        entry = Block(arg_types=[parameter.type.ir for parameter in parameters])
        emitter = Emitter(entry)
        arguments: list[object] = []
        for parameter, argument in zip(parameters, entry.args, strict=True):
            argument.name_hint = parameter.name
            match parameter.type:
                case ScalarType() as kind:
                    arguments.append(Scalar(emitter, argument, kind))
                case TensorType(element, shape):
                    arguments.append(Tensor(argument, element, shape))
                case PointerType(element):
                    arguments.append(Pointer(argument, element, (0,)))
        with tracing(emitter):
            returned = self._run(emitter, arguments)
        if returned is not None:
            raise self.source.error(
                self.source.function, f"the kernel '{self.name}' returns {describe(returned)}"
            )
        return self._kernel(emitter, entry, parameters)

    def _kernel_parameters(self) -> tuple[Parameter, ...]:
        parameters: list[Parameter] = []
        nodes = self.source.function.args.args
        for (name, kind), node in zip(self.parameter_types(), nodes, strict=True):
            if isinstance(kind, TensorType | PointerType):
                parameters.append(Parameter(name, kind))
                continue
            if kind is None:
                raise self.source.error(
                    node, f"the parameter '{name}' of a kernel has no type", f"{name}: f32[n]"
                )
            try:
                parameters.append(Parameter(name, scalar_type(kind)))
            except ScriptError as error:
                raise self.source.locate(node, error) from error
        return tuple(parameters)

    def _kernel(self, emitter: Emitter, entry: Block, parameters: tuple[Parameter, ...]) -> Kernel:
        """Put the traced body under the head of a kernel."""
        shape, node = emitter.shape, self.source.function
        for what, extents in (("grid", shape.grid), ("block", shape.block)):
            if extents is None:
                raise self.source.error(
                    node, f"the kernel '{self.name}' has no {what}", f"attrs.cuda.{what}_dim = ..."
                )
        name = shape.name or self.name
        if not is_identifier(name):
            raise self.source.error(
                node, f"'{name}' cannot be the name of a kernel", "set attrs.func_name"
            )
        assert shape.grid is not None
        assert shape.block is not None
        op = KernelOp(name, shape.grid, shape.block, Region(entry))
        if shape.min_blocks is not None:
            op.attributes[MIN_BLOCKS] = IntegerAttr(shape.min_blocks, i64)
        emitter.set_line(self.source.file, self.source.line_of(node))
        emitter.locate(op)
        emitter.name_ids()
        tidy(op)
        check_workers(op, self.source)
        return Kernel(name, parameters, op)

    def __call__(self, *arguments: object) -> object:
        """Execute the function inside of the kernel that is being traced.

        Raises:
            ScriptError: no kernel is being traced, the function is a kernel, or an argument is not
                what its parameter takes.
        """
        emitter = current(self.name)
        if self.is_kernel:
            raise ScriptError(
                f"the kernel '{self.name}' cannot be called from a kernel",
                hint="move what both do into a function without a grid and a block",
            )
        parameters = self.parameter_types()
        if len(arguments) != len(parameters):
            raise ScriptError(
                f"'{self.name}' takes {len(parameters)} arguments, not {len(arguments)}"
            )
        values = [
            self._argument(emitter, name, kind, value)
            for (name, kind), value in zip(parameters, arguments, strict=True)
        ]
        kind = inspect.get_annotations(self._function).get("return")
        returns = None if kind is None else scalar_type(kind)
        with emitter.nested(self.name):
            result = self._run(emitter, values, returns)
        if returns is None or result is None:
            return result
        return emitter.cast(emitter.scalar_of(result, returns), returns)

    def _argument(self, emitter: Emitter, name: str, kind: object, value: object) -> object:
        """Return an argument as its parameter takes it."""
        what = f"the parameter '{name}' of '{self.name}'"
        match kind:
            case None:
                return value
            case TensorType():
                if not isinstance(value, Tensor) or (value.element, value.shape) != (
                    kind.element,
                    kind.shape,
                ):
                    raise ScriptError(f"{what} is {kind}, and got {describe(value)}")
                return value
            case PointerType():
                if isinstance(value, Tensor) and value.start is not None:
                    value = Pointer(value.memory, value.element, (value.start,))
                elif isinstance(value, Tensor) and len(value.shape) == 1 and value.layout is None:
                    value = Pointer(value.memory, value.element, (0,))
                if not isinstance(value, Pointer) or value.element != kind.element:
                    raise ScriptError(f"{what} is {kind}, and got {describe(value)}")
                return value
            case _:
                wanted = scalar_type(kind)
                if not isinstance(value, Scalar) and not is_number(value):
                    raise ScriptError(f"{what} is {wanted}, and got {describe(value)}")
                if isinstance(value, int) and wanted.is_integer:
                    return value
                return emitter.cast(emitter.scalar_of(value, wanted), wanted)

    def _run(
        self, emitter: Emitter, arguments: Sequence[object], returns: ScalarType | None = None
    ) -> object:
        """Execute the body with values for the parameters; return what it returns."""
        scopes = Scopes()
        statements = Statements(emitter, self.source, self.outside, scopes)
        statements.exits = Exits(emitter, returns)
        statements.rest = (self.source.function.body,)
        for node, value in zip(self.source.function.args.args, arguments, strict=True):
            statements.assign_name(node.arg, value)
        statements.rest = ()
        left = statements.run(self.source.function.body)
        try:
            return statements.exits.result(left)
        except ScriptError as error:
            raise self.source.locate(self.source.function, error) from error


def _is_filled(cell: object) -> bool:
    """Return whether a variable of a closure has a value already."""
    try:
        return hasattr(cell, "cell_contents")
    except ValueError:
        return False


_TYPE_NAMES = frozenset(kind.__name__ for kind in PYTHON_TYPES)
