"""`@hidet.script` and `hidet.script_module()`: modules of script functions."""

from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from typing import Any, Protocol

from xdsl.dialects.builtin import ModuleOp, StringAttr

from hidet.absent import explains_members
from hidet.dialects.alias_printer import module_text
from hidet.errors import ScriptError
from hidet.frontends.script.kernels import HostFunction, Kernel, ScriptFunction
from hidet.frontends.script.launches import LAUNCH
from hidet.tracebacks import public
from hidet.universe import BUILD_SCRIPTS, load

_MODULE: "ContextVar[ScriptModule | None]" = ContextVar("hidet_script_module", default=None)


class BuiltModule(Protocol):
    """A built module, which can be called; see `hidet.driver.script.CompiledModule`."""

    def __call__(self, *arguments: object) -> int | float | None:
        """Run its only function, or `launch`."""
        ...

    def __getitem__(self, name: str) -> Callable[..., int | float | None]:
        """Return a function by name."""
        ...

    def __getattr__(self, name: str) -> Any: ...


class IRModule:
    """Script functions as IR of the `task` and `cuda` dialects; prints as MLIR.

    The initial functions are as for `add_function`.
    """

    def __init__(self, functions: Mapping[str, ScriptFunction] | None = None) -> None:
        self._entries: dict[str, Kernel | HostFunction] = {}
        self._callees: list[str] = []
        for name, function in (functions or {}).items():
            self.add_function(name, function)

    def add_function(self, name: str, function: ScriptFunction) -> None:
        """Trace a function that is in no module, and add it.

        Functions that callers inline are not entries of a module.

        Raises:
            ScriptError: tracing failed, or the name is wrong or taken.
        """
        if not function.is_entry:
            self._callees.append(name)
            return
        function.module = self
        entry, error = function.trace(), function.source.error
        if name not in (function.name, entry.name):
            raise error(
                function.source.function,
                f"'{entry.name}' is added to a module as '{name}'",
                f"attrs.func_name = '{name}' gives it another name",
            )
        if entry.name in self._entries:
            raise error(
                function.source.function,
                f"the module has a function of the name '{entry.name}' already",
                "set attrs.func_name",
            )
        self._entries[entry.name] = entry

    def add(self, function: ScriptFunction) -> None:
        """Add a function under its own name; see `add_function`."""
        self.add_function(function.name, function)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels, in order of definition."""
        return tuple(each for each in self._entries.values() if isinstance(each, Kernel))

    @property
    def functions(self) -> tuple[HostFunction, ...]:
        """The host functions: public functions, and the launch function of each kernel."""
        kernels = self.kernels
        functions = [each for each in self._entries.values() if isinstance(each, HostFunction)]
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
        return tuple(functions)

    def clone(self) -> ModuleOp:
        """Return the IR as a new module."""
        return ModuleOp([each.op.clone() for each in (*self.kernels, *self.functions)])

    @public
    def build(self) -> BuiltModule:
        """Build the kernels; see `hidet.driver.build_ir_module`.

        Raises:
            ScriptError: there are none.
        """
        self.check()
        return load(BUILD_SCRIPTS)(self)

    def check(self) -> None:
        """Check that the module is not empty."""
        if not self._entries:
            names = ", ".join(f"'{name}'" for name in self._callees)
            raise ScriptError(
                f"the module has no kernel, only {names}" if names else "the module is empty",
                hint="a kernel is a function under @hidet.script that sets attrs.cuda.grid_dim and "
                "attrs.cuda.block_dim",
            )

    def __str__(self) -> str:
        return module_text(self.clone())


@explains_members
class ScriptModule(IRModule):
    """Collects the functions defined under `with hidet.script_module() as m:`."""

    def __init__(self) -> None:
        super().__init__()
        self._token: Token[ScriptModule | None] | None = None

    def __enter__(self) -> "ScriptModule":
        self._token = _MODULE.set(self)
        return self

    def __exit__(self, *_error: object) -> None:
        assert self._token is not None
        _MODULE.reset(self._token)
        self._token = None

    @public
    def ir_module(self) -> IRModule:
        """Return the module as IR.

        Raises:
            ScriptError: it has no kernels.
        """
        self.check()
        return self


def script_module() -> ScriptModule:
    """Return a new module, for `with hidet.script_module() as m:`."""
    return ScriptModule()


@public
def script(function: Callable[..., object]) -> ScriptFunction:
    """Make a function a script: a kernel, a public function that calls kernels, or their callee.

    A kernel sets `attrs.cuda.grid_dim` and `attrs.cuda.block_dim`; a public function, which runs on
    the host, calls a kernel. Under `with hidet.script_module():` both are traced at once, elsewhere
    when a module adds them: `IRModule().add_function(name, function)`, or a public function that
    calls them.

    Raises:
        ScriptError: tracing failed; the error shows where.
    """
    scripted = ScriptFunction(function)
    module = _MODULE.get()
    if module is not None:
        scripted.is_free = False
        module.add(scripted)
    return scripted
