"""`hidet.graph.PassContext`: the settings of `hidet.graph.optimize`."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import torch

from hidet.absent import explains_members
from hidet.errors import OptionError
from hidet.runtime.times import CompileTimes

_HALF = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": None, None: None}
_MMA = {"simt": "ieee", "mma": "tf32", "wmma": "tf32"}


@dataclass(frozen=True)
class GraphSettings:
    """The compile settings of a graph.

    Attributes:
        precision: the type that float32 inputs and constants are converted to; None: unchanged.
        fp32_precision: the precision of float32 matmuls, "ieee" or "tf32"; None: torch's flags.
        dump_dir: the directory for dumps of the module after each pass.
        profile: the output of pass timings: a file, True for stdout, or None.
    """

    precision: torch.dtype | None = None
    fp32_precision: str | None = None
    dump_dir: Path | None = None
    profile: Path | bool | None = None

    @contextmanager
    def flags(self) -> Generator[None]:
        """Set torch's float32 precision flags in a `with` block."""
        backends: Any = torch.backends
        modules = (backends.cuda.matmul, backends.cudnn.conv)
        with ExitStack() as stack:
            for module in modules:
                stack.callback(setattr, module, "fp32_precision", module.fp32_precision)
                module.fp32_precision = self.fp32_precision or module.fp32_precision
            yield

    def write_times(self, report: CompileTimes) -> None:
        """Write the compile times according to `profile`."""
        if isinstance(self.profile, Path):
            self.profile.write_text(report.table())
        elif self.profile:
            print(report.table())


@explains_members
class PassContext:
    """Settings for `hidet.graph.optimize` in a `with` block.

    with hidet.graph.PassContext() as ctx:
        ctx.set_precision("float16")
        graph = hidet.graph.optimize(graph)
    """

    def __init__(self) -> None:
        self.settings = GraphSettings()
        self._tokens: list[Token[PassContext | None]] = []

    def __enter__(self) -> Self:
        self._tokens.append(_CURRENT.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._tokens.pop())

    @classmethod
    def current(cls) -> PassContext:
        """Return the innermost context, or the defaults."""
        return _CURRENT.get() or cls()

    def set_precision(self, dtype: str | None = None) -> Self:
        """Set the compute type: float32 inputs and constants are converted to it, and results back.

        Raises:
            OptionError: the type is not float16, bfloat16, float32 or None.
        """
        return self._set("precision", _choice("precision", _HALF, dtype))

    def set_reduce_precision(self, dtype: str | None = None) -> Self:
        """Set the accumulation type; only float32 is supported.

        Raises:
            OptionError: the type is not float32 or None.
        """
        _choice("reduce precision", {"float32": None, None: None}, dtype)
        return self

    def set_mma(self, mma: str) -> Self:
        """Compute float32 matmuls in float32 ("simt"), or in TF32 on tensor cores ("mma").

        Raises:
            OptionError: `mma` is not "simt", "mma" or "wmma".
        """
        return self._set("fp32_precision", _choice("mma", _MMA, mma))

    def set_verbose(self) -> Self:
        """Print pass timings."""
        return self._set("profile", True)

    def save_graph_instrument(self, out_dir: str | Path) -> Self:
        """Dump the module after each pass into a directory."""
        return self._set("dump_dir", Path(out_dir))

    def profile_pass_instrument(
        self, log_file: str | Path | None = None, print_stdout: bool = False
    ) -> Self:
        """Write pass timings into a file, or print them."""
        return self._set("profile", print_stdout if log_file is None else Path(log_file))

    def reduce_cuda_compile_mem(self, enable: bool | None = None) -> Self:
        """Do nothing: compilation does not copy weights."""
        return self

    def add_quantize_rules(self, patterns: object) -> Self:
        """Warn that quantization is not supported."""
        warnings.warn("quantization rules have no effect", RuntimeWarning, stacklevel=2)
        return self

    def _set(self, name: str, value: object) -> Self:
        self.settings = replace(self.settings, **{name: value})  # pyright: ignore[reportArgumentType]
        return self


_CURRENT: ContextVar[PassContext | None] = ContextVar("hidet.graph.PassContext", default=None)


def _choice(what: str, table: dict[Any, Any], value: object) -> Any:
    if value not in table:
        names = ", ".join(map(str, table))
        raise OptionError(f"{what} cannot be {value!r}", hint=f"it takes {names}")
    return table[value]
