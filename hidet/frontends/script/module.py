"""`@hidet.script` and `hidet.script_module()`: where scripts are collected."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from hidet.dialects.alias_printer import module_text
from hidet.errors import ScriptError
from hidet.frontends.script.kernels import Kernel, ScriptFunction

if TYPE_CHECKING:
    from hidet.driver.script import CompiledModule

_MODULE: ContextVar[ScriptModule | None] = ContextVar("hidet_script_module", default=None)


@dataclass(frozen=True)
class IRModule:
    """The kernels of a script module, in the `task` and `cuda` dialects; prints as MLIR.

    Attributes:
        kernels: the kernels, in the order of their definition.
    """

    kernels: tuple[Kernel, ...]

    def clone(self) -> ModuleOp:
        """Return the program as a new module of xDSL."""
        return ModuleOp([kernel.op.clone() for kernel in self.kernels])

    def __str__(self) -> str:
        return module_text(self.clone())


class ScriptModule:
    """Collects the functions that are defined under `with hidet.script_module() as m:`."""

    def __init__(self) -> None:
        self._functions: dict[str, ScriptFunction] = {}
        self._kernels: dict[str, Kernel] = {}
        self._token: Token[ScriptModule | None] | None = None

    def __enter__(self) -> ScriptModule:
        self._token = _MODULE.set(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._token is not None
        _MODULE.reset(self._token)
        self._token = None

    def add(self, function: ScriptFunction) -> None:
        """Take a function in; a kernel is traced at once.

        Raises:
            ScriptError: something is wrong with it, or the module has a kernel of its name.
        """
        self._functions[function.name] = function
        if not function.is_kernel:
            return
        kernel = function.trace()
        if kernel.name in self._kernels:
            raise function.source.error(
                function.source.function,
                f"the module has a kernel of the name '{kernel.name}' already",
                "set attrs.func_name",
            )
        self._kernels[kernel.name] = kernel

    def ir_module(self) -> IRModule:
        """Return the kernels as IR.

        Raises:
            ScriptError: there are none.
        """
        if not self._kernels:
            names = ", ".join(f"'{name}'" for name in self._functions)
            raise ScriptError(
                f"the module has no kernel, only {names}" if names else "the module is empty",
                hint="a kernel sets attrs.cuda.grid_dim and attrs.cuda.block_dim",
            )
        return IRModule(tuple(self._kernels.values()))

    def build(self) -> CompiledModule:
        """Build the kernels; see `hidet.driver.build_ir_module`."""
        from hidet.driver.script import build_ir_module

        return build_ir_module(self.ir_module())


def script_module() -> ScriptModule:
    """Return a new module, for `with hidet.script_module() as m:`."""
    return ScriptModule()


def script(function: Callable[..., object]) -> ScriptFunction:
    """Make a function a part of a script: a kernel, or what kernels call.

    A kernel says so by `attrs.cuda.grid_dim` and `attrs.cuda.block_dim`, and stands inside of
    `with hidet.script_module():`. It is traced at once.

    Raises:
        ScriptError: something is wrong with the function; the error shows where.
    """
    scripted = ScriptFunction(function)
    module = _MODULE.get()
    if module is not None:
        module.add(scripted)
    elif scripted.is_kernel:
        raise scripted.source.error(
            scripted.source.function,
            f"the kernel '{scripted.name}' is in no module",
            "define it under 'with hidet.script_module() as m:'",
        )
    return scripted
