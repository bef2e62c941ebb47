"""`@hidet.script` and `hidet.script_module()`: where scripts are collected."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from xdsl.dialects.builtin import ModuleOp, StringAttr

from hidet.dialects.alias_printer import module_text
from hidet.errors import ScriptError
from hidet.frontends.script.kernels import KERNELS, HostFunction, Kernel, ScriptFunction
from hidet.frontends.script.launches import LAUNCH
from hidet.tracebacks import public

if TYPE_CHECKING:
    from hidet.driver.script import CompiledModule

_MODULE: ContextVar[ScriptModule | None] = ContextVar("hidet_script_module", default=None)


@dataclass(frozen=True)
class IRModule:
    """The functions of a script module, in the `task` and `cuda` dialects; prints as MLIR.

    Attributes:
        kernels: the kernels, in the order of their definition.
        functions: what runs on the host: public functions, and one for each kernel, of its name,
            that launches it.
    """

    kernels: tuple[Kernel, ...]
    functions: tuple[HostFunction, ...]

    def clone(self) -> ModuleOp:
        """Return the program as a new module of xDSL."""
        return ModuleOp([each.op.clone() for each in (*self.kernels, *self.functions)])

    @public
    def build(self) -> CompiledModule:
        """Build the kernels; see `hidet.driver.build_ir_module`."""
        from hidet.driver.script import build_ir_module

        return build_ir_module(self)

    def __str__(self) -> str:
        return module_text(self.clone())


class ScriptModule:
    """Collects the functions that are defined under `with hidet.script_module() as m:`."""

    def __init__(self) -> None:
        self._functions: dict[str, ScriptFunction] = {}
        self._entries: dict[str, Kernel | HostFunction] = {}
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
        """Take a function in; a kernel or a public function is traced at once.

        Raises:
            ScriptError: something is wrong with it, or the module has a function of its name.
        """
        self._functions[function.name] = function
        if not function.is_entry:
            return
        function.module = self
        entry = function.trace()
        if entry.name in self._entries:
            raise function.source.error(
                function.source.function,
                f"the module has a function of the name '{entry.name}' already",
                "set attrs.func_name",
            )
        self._entries[entry.name] = entry

    @public
    def define_global_var(self, name: str, var_type: object) -> NoReturn:
        """Refuse a variable that all kernels of the module share, as the original Hidet had it.

        Raises:
            ScriptError: always.
        """
        raise ScriptError(
            f"global variables, such as '{name}', are not supported yet",
            hint="pass a tensor to the kernels that share it",
        )

    @public
    def ir_module(self) -> IRModule:
        """Return the kernels and the functions of the host as IR.

        Raises:
            ScriptError: there are none.
        """
        if not self._entries:
            names = ", ".join(f"'{name}'" for name in self._functions)
            raise ScriptError(
                f"the module has no kernel, only {names}" if names else "the module is empty",
                hint="a kernel sets attrs.cuda.grid_dim and attrs.cuda.block_dim",
            )
        entries = self._entries.values()
        kernels = [each for each in entries if isinstance(each, Kernel)]
        functions = [each for each in entries if isinstance(each, HostFunction)]
        is_only = len(kernels) == 1 and not functions
        symbols = set(self._entries)
        for kernel in kernels:
            symbol = LAUNCH if is_only else f"{LAUNCH}_{kernel.name}"
            while symbol in symbols:
                symbol = f"{LAUNCH}_{symbol}"
            symbols.add(symbol)
            op = kernel.launch.clone()
            op.sym_name = StringAttr(symbol)
            functions.append(HostFunction(kernel.name, kernel.parameters, op))
        return IRModule(tuple(kernels), tuple(functions))

    @public
    def build(self) -> CompiledModule:
        """Build the kernels; see `hidet.driver.build_ir_module`."""
        return self.ir_module().build()


def script_module() -> ScriptModule:
    """Return a new module, for `with hidet.script_module() as m:`."""
    return ScriptModule()


@public
def script(function: Callable[..., object]) -> ScriptFunction:
    """Make a function a part of a script: a kernel, what calls kernels, or what they call.

    A kernel says so by `attrs.cuda.grid_dim` and `attrs.cuda.block_dim`, a public function, which
    runs on the host, by a call of a kernel. Both stand inside of `with hidet.script_module():`, and
    are traced at once.

    Raises:
        ScriptError: something is wrong with the function; the error shows where.
    """
    scripted = ScriptFunction(function)
    module = _MODULE.get()
    if module is not None:
        module.add(scripted)
    elif scripted.kind in KERNELS:
        raise scripted.source.error(
            scripted.source.function,
            f"the kernel '{scripted.name}' is in no module",
            "define it under 'with hidet.script_module() as m:'",
        )
    return scripted
