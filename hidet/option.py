"""The options of hidet.

A table defines them. A value comes from, in this order: `context` or `set_option`, the environment
variable, the default. Inside the compiler, options are fields of passes; only the public API reads
this module.

Every option has a pair of named functions: `hidet.option.search_space(2)` is
`set_option("search_space", 2)`, and `hidet.option.get_search_space()` is
`get_option("search_space")`. Names of the original Hidet are there too: `cuda.arch`,
`num_local_workers`.
"""

import os
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

from hidet.absent import missing
from hidet.errors import OptionError


@dataclass(frozen=True)
class Kind:
    """The type of an option.

    `convert` converts a value in Python or in the environment; it raises `ValueError` unless the
    value is as `accepts` describes.
    """

    type: str
    accepts: str
    convert: Callable[[object], object]


@dataclass(frozen=True)
class Option:
    """One option; `HIDET_<name>` is its environment variable by default."""

    kind: Kind
    initial: object
    description: str
    variable: str = ""

    def default(self) -> object:
        """Return the default, which may depend on the machine."""
        return self.initial() if callable(self.initial) else self.initial


def _choice(*values: str | int) -> Kind:
    """Return the kind of an enumeration."""
    by_text = {str(value): value for value in values}
    return _from_text(type(values[0]).__name__, ", ".join(by_text), by_text)


def _from_text(kind: str, accepts: str, by_text: Mapping[str, object]) -> Kind:
    """Return the kind of values that have a text, in lower case."""

    def convert(value: object) -> object:
        if str(value).lower() not in by_text:
            raise ValueError
        return by_text[str(value).lower()]

    return Kind(kind, accepts, convert)


def _integer(lowest: int, limit: float, accepts: str) -> Kind:
    """Return the kind of integers from `lowest`, below `limit`."""

    def convert(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValueError
        if not lowest <= int(value) < limit:
            raise ValueError
        return int(value)

    return Kind("int", accepts, convert)


_FLAG = _from_text(
    "bool",
    "True, False (in the environment also 1, 0, on, off)",
    {"0": False, "1": True, "false": False, "true": True, "off": False, "on": True},
)


def _folder(*, optional: bool = False) -> Kind:
    """Return the kind of folders, which may not exist."""

    def convert(value: object) -> object:
        if optional and value in (None, ""):
            return None
        if not isinstance(value, str | Path) or not str(value):
            raise ValueError
        return Path(value).expanduser().absolute()

    return Kind("Path", "the path of a folder" + (", or None" if optional else ""), convert)


def _architecture(value: object) -> object:
    """Return the name of a GPU architecture."""
    if not isinstance(value, str) or not re.fullmatch(r"auto|sm_\d{2,3}[af]?", value):
        raise ValueError
    return value


def _slices(value: object) -> object:
    """Return into how many slices K is split, as text."""
    text = str(value).lower()
    if text not in ("default", "disabled", "search") and int(text) < 1:
        raise ValueError
    return text


def _default_cache_dir() -> Path:
    """Return the platform's cache folder."""
    import platformdirs

    return platformdirs.user_cache_path("hidet")


_POSITIVE = _integer(1, inf, "an integer from 1 up")

OPTIONS: dict[str, Option] = {
    "target": Option(
        _choice("auto", "cpu", "cuda"),
        "auto",
        "where programs run; auto goes by the device of the tensors",
    ),
    "arch": Option(
        Kind("str", "auto, or an architecture such as sm_80 or sm_90a", _architecture),
        "auto",
        "the GPU architecture to compile for; auto is the one of the device",
    ),
    "cache_dir": Option(_folder(), _default_cache_dir, "the folder of compiled kernels and graphs"),
    "cache_size_limit": Option(
        _POSITIVE,
        4 << 30,
        "the size limit of the cache in bytes; the least recently used entries are evicted",
    ),
    "num_workers": Option(
        _POSITIVE,
        lambda: len(os.sched_getaffinity(0)),
        "the number of parallel compilers, and of processes that lower kernels",
    ),
    "compile_time_limit": Option(
        _POSITIVE,
        600,
        "the time limit of nvcc or g++ for a kernel in seconds",
    ),
    "search_space": Option(
        _choice(0, 1, 2),
        0,
        "how schedules are chosen: 0 by the cost model or an earlier search, 1 by measuring 8 "
        "candidates, 2 by measuring 16 and the neighbors of the best; on the CPU 2, and 4",
    ),
    "parallel_k": Option(
        Kind("str", "default, search, disabled, or an integer from 1 up", _slices),
        "default",
        "how many slices K of a matmul is split into, to occupy the GPU: default and search leave "
        "it to the cost model; a number that does not divide K does not split it",
    ),
    "verify_level": Option(
        _FLAG,
        lambda: get_option("dump_dir") is not None,
        "verify the legality of the program between stages; on if dump_dir is set",
    ),
    "checks": Option(
        _FLAG,
        True,
        "kernels of models check the indices of look-ups and, on the CPU, integer divisors",
    ),
    "overlap_launches": Option(
        _FLAG,
        True,
        "use programmatic dependent launch between kernels of models, from sm_90 on",
    ),
    "strict": Option(
        _FLAG,
        False,
        "compile kernels for the CPU that detect races, accesses out of bounds and reads of "
        "uninitialized memory; slow",
    ),
    "strict_seed": Option(
        _integer(0, 1 << 64, "an integer from 0 up, of 64 bits"),
        0,
        "the seed of the order in which the threads of a strict kernel run",
    ),
    "dump_dir": Option(
        _folder(optional=True),
        None,
        "the folder of dumps: the program after every pass, the CUDA, the compiler's report",
        "HIDET_DUMP",
    ),
    "full_traceback": Option(
        _FLAG,
        False,
        "show the frames of the compiler too in errors of scripts",
    ),
    "progress": Option(
        _choice("auto", "on", "off"),
        "auto",
        "progress bars; auto shows them on a terminal",
    ),
}

# The values set outside of any `context`, which are shared by all threads.
_PROCESS_SCOPE: dict[str, object] = {}
_scope: ContextVar[dict[str, object]] = ContextVar("hidet.option", default=_PROCESS_SCOPE)


def _lookup(name: str) -> Option:
    """Return an option by its name."""
    if name not in OPTIONS:
        raise OptionError(f"no option '{name}'", hint=f"the options are {', '.join(OPTIONS)}")
    return OPTIONS[name]


def _convert(name: str, value: object, where: str | None = None) -> object:
    """Convert a user's value, or raise `OptionError`."""
    kind = _lookup(name).kind
    try:
        return kind.convert(value)
    except ValueError as error:
        raise OptionError(
            f"option '{name}' cannot be {value!r}",
            where=where,
            hint=f"it takes {kind.accepts}",
        ) from error


def get_option(name: str) -> Any:
    """Return the value of an option."""
    option, variable = _lookup(name), _variable(name)
    values = _scope.get()
    if name in values:
        return values[name]
    if variable in os.environ:
        return _convert(name, os.environ[variable], f"environment variable {variable}")
    return option.default()


def _variable(name: str) -> str:
    """Return the environment variable of an option."""
    return OPTIONS[name].variable or f"HIDET_{name.upper()}"


def set_option(name: str, value: object) -> None:
    """Set an option until the innermost `context` ends, or permanently outside of any."""
    _scope.get()[name] = _convert(name, value)


@contextmanager
def context(**overrides: object) -> Generator[None]:
    """Restore all options at the end of a `with` block, which may begin with some `overrides`."""
    values = {name: _convert(name, value) for name, value in overrides.items()}
    token = _scope.set({**_scope.get(), **values})
    try:
        yield
    finally:
        _scope.reset(token)


def describe() -> str:
    """Describe every option: its value, the origin of the value, and its meaning."""
    blocks: list[str] = []
    for name, option in OPTIONS.items():
        source, variable = "default", _variable(name)
        if name in _scope.get():
            source = "set"
        elif variable in os.environ:
            source = f"from {variable}"
        blocks.append(
            f"{name} = {get_option(name)}  ({source})\n"
            f"    {option.description}\n"
            f"    {option.kind.type}: {option.kind.accepts}; environment: {variable}"
        )
    return "\n".join(blocks)


def get_cache_dir() -> str:
    """Return the option `cache_dir` as text, to which programs append."""
    return str(get_option("cache_dir"))


class cuda:
    """The architecture of GPUs: `hidet.option.cuda.arch("sm_90a")`."""

    @staticmethod
    def arch(arch: str = "auto") -> None:
        """Set the option `arch`."""
        set_option("arch", arch)

    @staticmethod
    def get_arch() -> str:
        """Return the architecture to compile for: that of the option, or of the current GPU.

        Raises:
            OptionError: it is "auto", and there is no GPU.
        """
        import torch

        arch: str = get_option("arch")
        if arch != "auto":
            return arch
        if not torch.cuda.is_available():
            raise OptionError(
                "the architecture 'auto' is that of the GPU, and there is none",
                hint="hidet.option.arch('sm_90a') names one",
            )
        return "sm_{}{}".format(*torch.cuda.get_device_capability())

    @staticmethod
    def get_arch_pair() -> tuple[int, int]:
        """Return the compute capability to compile for, `(9, 0)`; see `get_arch`."""
        digits = cuda.get_arch().removeprefix("sm_").rstrip("af")
        return int(digits[:-1]), int(digits[-1])


def __getattr__(name: str) -> Callable[..., Any]:
    """Return the functions of an option: `<name>(value)` and `get_<name>()`."""
    name = name.replace("num_local_workers", "num_workers")  # the original's name
    if name in OPTIONS:
        return partial(set_option, name)
    if name.removeprefix("get_") in OPTIONS:
        return partial(get_option, name.removeprefix("get_"))
    raise missing(__name__, name)
