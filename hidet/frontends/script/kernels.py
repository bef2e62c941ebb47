"""Traces a script function: into a kernel, into a host function, or inline into its caller."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import CellType

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region, SSAValue

from hidet.dialects.cuda import KernelOp
from hidet.dialects.cuda.kernel import DYNAMIC
from hidet.dialects.cuda.marks import EXPLICIT, LABEL, MAY_ALIAS, MIN_BLOCKS, ON_CPU, UNSIGNED
from hidet.dialects.cuda.names import hint_of
from hidet.dialects.walking import reached
from hidet.errors import ScriptError
from hidet.escape import to_ascii
from hidet.frontends.script import types
from hidet.frontends.script.attributes import KERNELS, KINDS, Attributes
from hidet.frontends.script.calls import PYTHON_BUILTINS, bind, signature_of
from hidet.frontends.script.kernel_checks import (
    OpError,
    check_cpu_kernel,
    check_cuda_kernel,
    check_public,
)
from hidet.frontends.script.launches import (
    LAUNCH,
    Parameter,
    convert_argument,
    entry_parameters,
    flatten_arguments,
    group_arguments,
    host_function,
    insert_launch,
    largest,
    launch_function,
    operand,
    script_value,
)
from hidet.frontends.script.messages import Source, describe
from hidet.frontends.script.pointers import VoidPointer
from hidet.frontends.script.scalars import Scalar, convert, is_number, scalar_of
from hidet.frontends.script.statements import Statements
from hidet.frontends.script.syntax_analysis import are_assigned
from hidet.frontends.script.tensor_core import fence_accumulators
from hidet.frontends.script.tracing import Emitter, current, is_tracing, tracing
from hidet.frontends.script.variables import Scopes
from hidet.rewriting.builder import Index
from hidet.rewriting.dead_code import drop_dead_code


@dataclass(frozen=True)
class Kernel:
    """A traced kernel, of CUDA or of the CPU."""

    name: str
    parameters: tuple[Parameter, ...]
    op: KernelOp
    launch: FuncOp


@dataclass(frozen=True)
class HostFunction:
    """A traced public function: it runs on the host and launches kernels."""

    name: str
    parameters: tuple[Parameter, ...]
    op: FuncOp
    result: types.ScalarType | None = None


class ScriptFunction:
    """A function under `@hidet.script`; calls from kernels inline it."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.name: str = function.__name__
        self.source = Source.of(function)
        self.traced: Kernel | HostFunction | None = None
        self.module: object = None
        self.is_free = True  # defined outside of modules, so that any may add it
        self._function = function
        self.__doc__ = function.__doc__
        parameters = inspect.signature(function).parameters
        defaults = {n: p.default for n, p in parameters.items() if p.default is not p.empty}
        self.signature = signature_of(self.source, self.source.function.args, defaults)

    def _outside(self) -> Mapping[str, object]:
        """Return the Python names that the function sees: closure, globals, builtins."""
        function = inspect.unwrap(self._function)
        assert inspect.isfunction(function)
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        no_value = CellType()  # of a name that is not assigned yet
        closure = {name: cell.cell_contents for name, cell in cells if cell != no_value}
        return {**PYTHON_BUILTINS, **function.__globals__, **closure}

    outside = cached_property(_outside)
    """The Python names that the function sees, at the time of tracing."""

    @cached_property
    def kind(self) -> str | None:
        """The kind of the function; None if it is inlined into callers.

        It is `attrs.func_kind`, or "cuda_kernel" if grid or block are set, or "public" if the
        function calls a kernel or is named `launch`.
        """
        has_shape, outside = False, self._outside()
        for statement in self.source.function.body:
            if not isinstance(statement, ast.Assign):
                continue
            root, _, path = ast.unparse(statement.targets[0]).partition(".")
            if isinstance(outside.get(root), Attributes):
                name = path.rpartition(".")[2]
                if name == "func_kind" and isinstance(statement.value, ast.Constant):
                    kind = str(statement.value.value)
                    return kind if kind in KINDS else "cuda_kernel"  # tracing reports it
                has_shape |= name.removeprefix("cuda_") in ("grid_dim", "block_dim")
        if has_shape:
            return "cuda_kernel"
        calls_kernel = any(callee.is_entry for callee in self._callees())
        return "public" if calls_kernel or self.name == LAUNCH else None

    @property
    def is_entry(self) -> bool:
        """Whether the function is a kernel or public, so that it is an entry of a module."""
        return self.kind in ("public", *KERNELS)

    @cached_property
    def runs_as(self) -> str | None:
        """Its kind, except that a public function without launches and result is a CPU kernel."""
        returns = inspect.get_annotations(self._function).get("return") is not None or any(
            isinstance(node, ast.Return) and node.value is not None
            for node in ast.walk(self.source.function)
        )
        if self.kind != "public" or returns:
            return self.kind
        launches = any(each.kind in KERNELS for each in reached([self], ScriptFunction._callees))
        return self.kind if launches else "cpu_kernel"

    def _callees(self) -> Iterator[ScriptFunction]:
        outside = self._outside()
        for node in ast.walk(self.source.function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                callee = outside.get(node.func.id)
                if isinstance(callee, ScriptFunction) and callee is not self:
                    yield callee

    @cached_property
    def annotations(self) -> dict[str, object]:
        """The annotations of the parameters, and of the result as `return`."""
        found: dict[str, object] = {}
        try:
            for name, kind in inspect.get_annotations(self._function).items():
                is_expression = isinstance(kind, str) and kind not in types.SCALAR_TYPES
                found[name] = eval(kind, dict(self.outside)) if is_expression else kind
        except (NameError, AttributeError, TypeError, SyntaxError) as error:
            raise self.source.error(
                self.source.function,
                f"an annotation of '{self.name}' cannot be evaluated: {error}",
                "leave out 'from __future__ import annotations', or import its names globally",
            ) from error
        return found

    def trace(self) -> Kernel | HostFunction:
        """Trace an entry: a kernel or a public function."""
        assert self.runs_as is not None
        parameters = entry_parameters(self.source, self.annotations, self._entry_noun)
        entry = Block(arg_types=[parameter.type.ir for parameter in parameters])
        arguments: list[object] = []
        for parameter, argument in zip(parameters, entry.args, strict=True):
            argument.name_hint = hint_of(parameter.name)
            arguments.append(script_value(argument, parameter.type))
        given = group_arguments(self.source.function.args, self.annotations, arguments)
        emitter = Emitter(entry, self.runs_as)
        emitter.module = self.module
        with tracing(emitter):
            returned = self._run(given, self._returns())
            parameters = tuple(
                Parameter(parameter.name, types.PointerType(argument.element, is_void=True))
                if isinstance(argument, VoidPointer) and argument.element is not None
                else parameter
                for parameter, argument in zip(parameters, arguments, strict=True)
            )
            wrap = self._public if self.runs_as == "public" else self._kernel
            try:
                self.traced = wrap(entry, parameters, returned)
            except OpError as error:
                raise error.located(self.source) from error
        if emitter.shape.label is not None:
            self.traced.op.attributes[LABEL] = StringAttr(to_ascii(emitter.shape.label))
        return self.traced

    def _returns(self) -> types.ScalarType | None:
        kind = self.annotations.get("return")
        is_any = kind is None or types.is_of_python(kind) or isinstance(kind, types.VectorType)
        return None if is_any else types.scalar_type(kind)

    def _kernel(self, entry: Block, parameters: tuple[Parameter, ...], returned: object) -> Kernel:
        if returned is not None:
            raise self.source.error(
                self.source.function,
                f"the {self._entry_noun} '{self.name}' returns {describe(returned)}",
                "store it in a tensor that the caller gives",
            )
        extents: list[SSAValue] = []
        if self.runs_as == "cpu_kernel":
            op = KernelOp(self._entry_name(), (1,), (1,), Region(entry))
            op.attributes[ON_CPU] = UnitAttr()
        else:
            op, extents = self._cuda_kernel(entry)
        op.mark_arguments(UNSIGNED, [_is_unsigned(each.type) for each in parameters])
        current().locate(op)
        current().name_ids()
        fence_accumulators(op)
        launch = launch_function(op, extents)
        (check_cpu_kernel if self.runs_as == "cpu_kernel" else check_cuda_kernel)(op)
        return Kernel(op.sym_name.data, parameters, op, launch)

    def _cuda_kernel(self, entry: Block) -> tuple[KernelOp, list[SSAValue]]:
        """Return a CUDA kernel with the traced body, and its dynamic extents."""
        shape, node = current().shape, self.source.function
        given: list[tuple[Index, ...]] = []
        for what, extents in (("grid", shape.grid_dim), ("block", shape.block_dim)):
            if extents is None:
                raise self.source.error(
                    node, f"the kernel '{self.name}' has no {what}", f"attrs.cuda.{what}_dim = ..."
                )
            given.append(extents)
        grid, block = (
            [extent if isinstance(extent, int) else DYNAMIC for extent in extents]
            for extents in given
        )
        dynamic = [each for extents in given for each in extents if not isinstance(each, int)]
        op = KernelOp(self._entry_name(), grid, block, Region(entry))
        op.attributes[EXPLICIT] = UnitAttr()
        op.set_limits(list(map(largest, dynamic)))
        if shape.min_blocks is not None:
            op.attributes[MIN_BLOCKS] = IntegerAttr(shape.min_blocks, i64)
        for axis, blocks, size in zip("xyz", op.grid_dims, shape.cluster_dim, strict=True):
            if size > 1 and (blocks == DYNAMIC or blocks % size):
                raise self.source.error(
                    node,
                    f"the grid of '{self.name}' is not divisible into clusters of {size} blocks "
                    f"along {axis}",
                    f"use a compile-time extent that is a multiple of {size}",
                )
        if shape.cluster_dim != (1, 1, 1):
            op.cluster = shape.cluster_dim
        if shape.may_alias:
            op.attributes[MAY_ALIAS] = UnitAttr()
        if shape.dynamic_smem_bytes:
            op.shared_bytes = shape.dynamic_smem_bytes
        return op, dynamic

    def _public(
        self, entry: Block, parameters: tuple[Parameter, ...], returned: object
    ) -> HostFunction:
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
        op = host_function(name, entry, [] if result is None else [result.ssa])
        current().locate(op)
        check_public(op)
        drop_dead_code(op)
        return HostFunction(name, parameters, op, None if result is None else result.type)

    def _entry_name(self) -> str:
        """Return the name of the function in the module, and set the location to its head."""
        node, name = self.source.function, current().shape.func_name or self.name
        if current().shape.func_kind not in (None, self.kind):
            raise self.source.error(
                node,
                f"attrs.func_kind of '{self.name}' is not set by a literal",
                "write the kind as a string",
            )
        current().set_line(self.source.file, self.source.line_of(node))
        return name

    @property
    def _entry_noun(self) -> str:
        return "function" if self.kind == "public" else "kernel"

    def __call__(self, *arguments: object, **keywords: object) -> object:
        """Inline the function into the one being traced; a public function launches kernels."""
        if self.is_entry and not is_tracing():
            raise ScriptError(
                f"the {self._entry_noun} '{self.name}' is not built",
                hint="define it under 'with hidet.script_module() as module:', and call "
                "module.build()(...)",
            )
        caller = current(f"'{self.name}'")
        self._check_caller(caller.kind)
        given = bind(f"'{self.name}'", self.signature, arguments, keywords)
        if self.kind in KERNELS or (
            caller.kind == "public"
            and isinstance(self.traced, Kernel)
            and self.module is caller.module
        ):
            self._launch(given)
            return None
        body, kinds = self.source.function.body, self.annotations
        values = {
            name: convert_argument(
                self._named(name), kinds.get(name), value, is_changed=are_assigned(name, body)
            )
            for name, value in given.items()
        }
        returns = self._returns()
        with current().nested(self.name):
            result = self._run(values, returns)
        if returns is None:
            return result
        if result is None:
            raise ScriptError(
                f"'{self.name}' returns nothing, but its result is annotated as {returns}",
                hint="let it end with a 'return' of a value, or leave out the annotation",
            )
        if returns is types.BOOL and isinstance(result, bool):
            return result
        return convert(result, returns)

    def _named(self, parameter: str) -> str:
        return f"the parameter '{parameter}' of '{self.name}'"

    def _check_caller(self, caller: str) -> None:
        on_cpu = self.kind == "public" and caller == "cpu_kernel"
        if self.is_entry and caller != "public" and not on_cpu:
            raise ScriptError(
                f"the {self._entry_noun} '{self.name}' cannot be called from a kernel",
                hint="move the shared code into a function without a grid and a block",
            )
        side = {"cuda_internal": "cuda_kernel", "cpu_internal": "cpu_kernel"}.get(self.kind or "")
        if side not in (None, caller):
            raise ScriptError(
                f"'{self.name}' is a {self.kind}, and cannot be called from a {caller}",
                hint="remove its attrs.func_kind, so that all can call it",
            )

    def _launch(self, given: Mapping[str, object]) -> None:
        """Launch the kernel from the public function that is being traced."""
        module = current().module
        if self.is_free and self.module is not module and module is not None:
            module.add(self)
        if not isinstance(self.traced, Kernel) or self.module is not module:
            raise ScriptError(
                f"the kernel '{self.name}' is in another module than the function that calls it",
                hint="define both under one 'with hidet.script_module():'",
            )
        values = flatten_arguments(self.annotations, given, self._named)
        operands: list[SSAValue] = []
        for value, parameter in zip(values, self.traced.parameters, strict=True):
            name, kind = self._named(parameter.name), parameter.type
            operands.append(operand(convert_argument(name, kind, value, is_launch=True), kind))
        insert_launch(self.traced.launch, operands)

    def _run(
        self, arguments: Mapping[str, object], returns: types.ScalarType | None = None
    ) -> object:
        statements = Statements(self.source, self.outside, Scopes())
        return statements.run_function(self.source.function, arguments, returns)


def _is_unsigned(kind: object) -> bool:
    """Return whether a parameter is an unsigned integer or has unsigned elements."""
    if kind == types.VOID_POINTER or not isinstance(kind, types.ScalarType | types.OfElements):
        return False
    return kind.element.is_unsigned
