"""Traces a function of a script: a kernel into IR of its own, another one where it is called."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region, SSAValue

from hidet.dialects.cuda import KernelOp
from hidet.dialects.cuda.kernel import DYNAMIC
from hidet.dialects.cuda.marks import EXPLICIT, LABEL, MAY_ALIAS, MIN_BLOCKS, ON_CPU, UNSIGNED
from hidet.dialects.cuda.names import hint_of
from hidet.errors import ScriptError
from hidet.escape import to_ascii
from hidet.frontends.script.attributes import KERNELS, KINDS, Attributes
from hidet.frontends.script.kernel_checks import (
    Misuse,
    check_accesses,
    check_cpu_kernel,
    check_public,
    check_verbs,
    check_workers,
    clean_up,
)
from hidet.frontends.script.launches import (
    LAUNCH,
    Parameter,
    host_function,
    insert_launch,
    largest,
    launch_function,
    operand,
)
from hidet.frontends.script.messages import describe
from hidet.frontends.script.parameters import entry_parameters, grouped, passed, spread, value_of
from hidet.frontends.script.pointers import VoidPointer
from hidet.frontends.script.python_calls import PYTHON_BUILTINS
from hidet.frontends.script.scalars import Scalar, convert, is_number, scalar_of
from hidet.frontends.script.scopes import Scopes
from hidet.frontends.script.signature import Signature
from hidet.frontends.script.source import Source
from hidet.frontends.script.statements import Statements
from hidet.frontends.script.syntax_analysis import are_assigned
from hidet.frontends.script.tensor_core import fence_accumulators
from hidet.frontends.script.tracing import Emitter, current, tracing
from hidet.frontends.script.types import (
    BOOL,
    SCALAR_TYPES,
    VOID_POINTER,
    PointerType,
    ScalarType,
    TensorType,
    VectorType,
    is_of_python,
    scalar_type,
)
from hidet.rewriting.dead_code import drop_dead_code


@dataclass(frozen=True)
class Kernel:
    """A kernel, of CUDA or of the CPU, that has been traced.

    Attributes:
        name: its name.
        parameters: its parameters.
        op: its IR.
        launch: the function of the host that launches it.
    """

    name: str
    parameters: tuple[Parameter, ...]
    op: KernelOp
    launch: FuncOp


@dataclass(frozen=True)
class HostFunction:
    """A public function that has been traced: it runs on the host and launches kernels.

    Attributes:
        name: its name.
        parameters: its parameters.
        op: its IR.
        result: the type of what it returns, None if that is nothing.
    """

    name: str
    parameters: tuple[Parameter, ...]
    op: FuncOp
    result: ScalarType | None = None


@runtime_checkable
class Adds(Protocol):
    """A module, which functions can be added to."""

    def add(self, function: ScriptFunction) -> None:
        """Take a function in."""


class ScriptFunction:
    """A function under `@hidet.script`; called from a kernel it becomes a part of that."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.name: str = function.__name__
        self.source = Source.of(function)
        self.traced: Kernel | HostFunction | None = None
        self.module: object = None
        self.is_free = True  # stands in no module, so that any may take it in
        self._function = function
        self.__doc__ = function.__doc__
        parameters = inspect.signature(function).parameters
        defaults = {n: p.default for n, p in parameters.items() if p.default is not p.empty}
        self.signature = Signature.of(self.source, self.source.function.args, defaults)

    @cached_property
    def outside(self) -> Mapping[str, object]:
        """The names of Python that the function sees, as they are when it is traced."""
        return self._outside()

    def _outside(self) -> Mapping[str, object]:
        """Return the names of Python that the function sees: closure, globals, builtins."""
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
    def kind(self) -> str | None:
        """What the function is; None for one that belongs to whatever calls it.

        It says so by `attrs.func_kind`. Without, a grid or a block make a kernel of it, and a call
        of a kernel, or the name `launch`, a public function.
        """
        has_shape, outside = False, self._outside()
        for statement in self.source.function.body:
            match statement:
                case ast.Assign(targets=[ast.Attribute() as target]) if _is_attribute(
                    target, outside
                ):
                    pass
                case _:
                    continue
            if target.attr == "func_kind" and isinstance(statement.value, ast.Constant):
                kind = str(statement.value.value)
                return kind if kind in KINDS else "cuda_kernel"  # which tracing refuses
            has_shape |= target.attr.removeprefix("cuda_") in ("grid_dim", "block_dim")
        if has_shape:
            return "cuda_kernel"
        calls_kernel = any(callee.is_entry for callee in self._callees(outside))
        return "public" if calls_kernel or self.name == LAUNCH else None

    @property
    def is_entry(self) -> bool:
        """Whether the function stands for itself in a module: it is a kernel or public."""
        return self.kind in ("public", *KERNELS)

    @cached_property
    def runs_as(self) -> str | None:
        """What the function is traced as: its kind, except that of a public one without launches.

        If that returns nothing, all that it can do is to work on the CPU: it is a kernel of it.
        """
        returns = inspect.get_annotations(self._function).get("return") is not None or any(
            isinstance(node, ast.Return) and node.value is not None
            for node in ast.walk(self.source.function)
        )
        is_alone = self.kind == "public" and not returns and not self._launches(frozenset())
        return "cpu_kernel" if is_alone else self.kind

    def _launches(self, callers: frozenset[ScriptFunction]) -> bool:
        """Return whether the function calls a kernel, or another one that does."""
        return any(
            callee.kind in KERNELS or callee._launches(callers | {self})
            for callee in self._callees(self._outside())
            if callee not in callers | {self}
        )

    def _callees(self, outside: Mapping[str, object]) -> Iterator[ScriptFunction]:
        """Give the functions of scripts that the function calls by their names."""
        for node in ast.walk(self.source.function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                callee = outside.get(node.func.id)
                if isinstance(callee, ScriptFunction) and callee is not self:
                    yield callee

    @cached_property
    def annotations(self) -> dict[str, object]:
        """The annotations of the parameters, and of what is returned as `return`."""
        found: dict[str, object] = {}
        try:
            for name, kind in inspect.get_annotations(self._function).items():
                is_expression = isinstance(kind, str) and kind not in SCALAR_TYPES
                found[name] = eval(kind, dict(self.outside)) if is_expression else kind
        except (NameError, AttributeError, TypeError, SyntaxError) as error:
            raise self.source.error(
                self.source.function,
                f"an annotation of '{self.name}' cannot be evaluated: {error}",
                "leave out 'from __future__ import annotations', or import its names globally",
            ) from error
        return found

    def trace(self) -> Kernel | HostFunction:
        """Trace a function that stands for itself: a kernel, or a public function.

        Raises:
            ScriptError: something is wrong with it.
        """
        assert self.runs_as is not None
        parameters = entry_parameters(self.source, self.annotations, self._what)
        entry = Block(arg_types=[parameter.type.ir for parameter in parameters])
        arguments: list[object] = []
        for parameter, argument in zip(parameters, entry.args, strict=True):
            argument.name_hint = hint_of(parameter.name)
            arguments.append(value_of(argument, parameter.type))
        given = grouped(self.source.function.args, self.annotations, arguments)
        emitter = Emitter(entry, self.runs_as)
        emitter.module = self.module
        with tracing(emitter):
            returned = self._run(given, self._returns())
            parameters = tuple(map(_resolved, parameters, arguments))
            try:
                self.traced = self._traced(entry, parameters, returned)
            except Misuse as misuse:
                raise misuse.located(self.source) from misuse
        if emitter.shape.label is not None:
            self.traced.op.attributes[LABEL] = StringAttr(to_ascii(emitter.shape.label))
        return self.traced

    def _traced(
        self, entry: Block, parameters: tuple[Parameter, ...], returned: object
    ) -> Kernel | HostFunction:
        """Put the traced body under the head of a kernel, or of a function of the host."""
        if self.runs_as == "public":
            return self._public(entry, parameters, returned)
        if returned is not None:
            raise self.source.error(
                self.source.function, f"the {self._what} '{self.name}' returns {describe(returned)}"
            )
        if self.runs_as == "cpu_kernel":
            return self._cpu_kernel(entry, parameters)
        return self._kernel(entry, parameters)

    def _returns(self) -> ScalarType | None:
        """Return the type that the function says it returns."""
        kind = self.annotations.get("return")
        is_any = kind is None or is_of_python(kind) or isinstance(kind, VectorType)
        return None if is_any else scalar_type(kind)

    def _kernel(self, entry: Block, parameters: tuple[Parameter, ...]) -> Kernel:
        """Put the traced body under the head of a kernel."""
        shape, node = current().shape, self.source.function
        for what, extents in (("grid", shape.grid), ("block", shape.block)):
            if extents is None:
                raise self.source.error(
                    node, f"the kernel '{self.name}' has no {what}", f"attrs.cuda.{what}_dim = ..."
                )
        assert shape.grid is not None
        assert shape.block is not None
        name = self._entry_name()
        static = [
            [extent if isinstance(extent, int) else DYNAMIC for extent in extents]
            for extents in (shape.grid, shape.block)
        ]
        given = [each for each in (*shape.grid, *shape.block) if not isinstance(each, int)]
        op = KernelOp(name, static[0], static[1], Region(entry))
        op.attributes[EXPLICIT] = UnitAttr()
        op.mark_arguments(UNSIGNED, [_is_unsigned(each.type) for each in parameters])
        op.set_limits([largest(extent) for extent in given])
        if shape.min_blocks is not None:
            op.attributes[MIN_BLOCKS] = IntegerAttr(shape.min_blocks, i64)
        if shape.cluster != (1, 1, 1):
            self._set_cluster(op, shape.cluster)
        if shape.may_alias:
            op.attributes[MAY_ALIAS] = UnitAttr()
        if shape.dynamic_bytes:
            op.shared_bytes = shape.dynamic_bytes
        current().locate(op)
        current().name_ids()
        fence_accumulators(op)
        launch = launch_function(parameters, op, given)
        clean_up(op)
        check_workers(op)
        check_verbs(op)
        check_accesses(op)
        return Kernel(name, parameters, op, launch)

    def _set_cluster(self, op: KernelOp, cluster: tuple[int, int, int]) -> None:
        """Let neighbouring blocks be clusters."""
        for axis, blocks, size in zip("xyz", op.grid_dims, cluster, strict=True):
            if size > 1 and (blocks == DYNAMIC or blocks % size):
                raise self.source.error(
                    self.source.function,
                    f"the grid of '{self.name}' is not one of whole clusters of {size} blocks "
                    f"along {axis}",
                    f"its extent there is known, and a multiple of {size}",
                )
        op.cluster = cluster

    def _cpu_kernel(self, entry: Block, parameters: tuple[Parameter, ...]) -> Kernel:
        """Put the traced body under the head of a kernel of the CPU."""
        op = KernelOp(self._entry_name(), (1,), (1,), Region(entry))
        op.attributes[ON_CPU] = UnitAttr()
        op.mark_arguments(UNSIGNED, [_is_unsigned(each.type) for each in parameters])
        current().locate(op)
        check_cpu_kernel(op)
        clean_up(op)
        check_accesses(op)
        return Kernel(op.sym_name.data, parameters, op, launch_function(parameters, op, ()))

    def _public(
        self, entry: Block, parameters: tuple[Parameter, ...], returned: object
    ) -> HostFunction:
        """Put the traced body under the head of a function of the host."""
        name = self._entry_name()
        result = None
        if returned is not None:
            if not isinstance(returned, Scalar) and not is_number(returned):
                raise self.source.error(
                    self.source.function,
                    f"the function '{self.name}' returns {describe(returned)}",
                    "a public function returns a number, or nothing",
                )
            kind = self._returns()
            result = scalar_of(returned) if kind is None else convert(returned, kind)
        op = host_function(name, parameters, entry, [] if result is None else [result.ssa])
        current().locate(op)
        check_public(op)
        drop_dead_code(op)
        return HostFunction(name, parameters, op, None if result is None else result.type)

    def _entry_name(self) -> str:
        """Return the name under which a function stands in the module; its line is the head."""
        node, name = self.source.function, current().shape.name or self.name
        if current().shape.kind not in (None, self.kind):
            raise self.source.error(
                node,
                f"attrs.func_kind of '{self.name}' is set to what its text does not show",
                "write the kind as a string",
            )
        current().set_line(self.source.file, self.source.line_of(node))
        return name

    @property
    def _what(self) -> str:
        return "function" if self.kind == "public" else "kernel"

    def __call__(self, *arguments: object, **keywords: object) -> object:
        """Execute the function inside of the one that is being traced; there, launch a kernel.

        Raises:
            ScriptError: no function is being traced, what is traced cannot call this one, or an
                argument is not what its parameter takes.
        """
        caller = current(f"'{self.name}'")
        self._check_caller(caller.kind)
        given = self.signature.bind(f"'{self.name}'", arguments, keywords)
        if self.kind in KERNELS or (
            caller.kind == "public"
            and isinstance(self.traced, Kernel)
            and self.module is caller.module
        ):
            self._launch(given)
            return None
        body = self.source.function.body
        values = {
            name: passed(
                self._named(name),
                self.annotations.get(name),
                value,
                is_launch=False,
                is_changed=are_assigned(name, body),
            )
            for name, value in given.items()
        }
        returns = self._returns()
        with current().nested(self.name):
            result = self._run(values, returns)
        if returns is None or result is None:
            return result
        if returns is BOOL and isinstance(result, bool):
            return result
        return convert(result, returns)

    def _named(self, parameter: str) -> str:
        """Name a parameter for messages."""
        return f"the parameter '{parameter}' of '{self.name}'"

    def _check_caller(self, caller: str) -> None:
        """Check that a function of some kind may call this one.

        Raises:
            ScriptError: it may not.
        """
        on_cpu = self.kind == "public" and caller == "cpu_kernel"
        if self.is_entry and caller != "public" and not on_cpu:
            raise ScriptError(
                f"the {self._what} '{self.name}' cannot be called from a kernel",
                hint="move what both do into a function without a grid and a block",
            )
        side = {"cuda_internal": "cuda_kernel", "cpu_internal": "cpu_kernel"}.get(self.kind or "")
        if side not in (None, caller):
            raise ScriptError(
                f"'{self.name}' is a {self.kind}, and cannot be called from a {caller}",
                hint="leave its attrs.func_kind out, so that all can call it",
            )

    def _launch(self, given: Mapping[str, object]) -> None:
        """Launch the kernel from the public function that is being traced."""
        module = current().module
        if self.is_free and self.module is not module and isinstance(module, Adds):
            module.add(self)
        if not isinstance(self.traced, Kernel) or self.module is not module:
            raise ScriptError(
                f"the kernel '{self.name}' is in another module than the function that calls it",
                hint="define both under one 'with hidet.script_module():'",
            )
        values = spread(self.annotations, given, self._named)
        operands: list[SSAValue] = []
        for value, parameter in zip(values, self.traced.parameters, strict=True):
            taken = passed(
                self._named(parameter.name),
                parameter.type,
                value,
                is_launch=True,
                is_changed=False,
            )
            operands.append(operand(taken, parameter.type))
        insert_launch(self.traced.launch, operands)

    def _run(self, arguments: Mapping[str, object], returns: ScalarType | None = None) -> object:
        """Execute the body with values for the parameters; return what it returns."""
        statements = Statements(self.source, self.outside, Scopes())
        return statements.run_function(self.source.function, arguments, returns)


def _is_attribute(target: ast.Attribute, outside: Mapping[str, object]) -> bool:
    """Return whether a target of an assignment is an attribute of the function."""
    root = target.value
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and isinstance(outside.get(root.id), Attributes)


def _resolved(parameter: Parameter, argument: object) -> Parameter:
    """Return a parameter, of a `void_p` with the type of the elements that it was taken for."""
    if not isinstance(argument, VoidPointer) or argument.element is None:
        return parameter
    return Parameter(parameter.name, PointerType(argument.element, is_void=True))


def _is_unsigned(kind: object) -> bool:
    """Return whether a parameter is an unsigned integer, or leads to such."""
    if kind == VOID_POINTER:  # which leads to anything
        return False
    element = kind.element if isinstance(kind, TensorType | PointerType) else kind
    return isinstance(element, ScalarType) and element.is_unsigned


def _is_filled(cell: object) -> bool:
    """Return whether a variable of a closure has a value already."""
    try:
        return hasattr(cell, "cell_contents")
    except ValueError:
        return False
