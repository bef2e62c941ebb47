"""What the driver is told, read at once from the public options."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hidet import option
from hidet.errors import OptionError


@dataclass(frozen=True)
class CompileOptions:
    """The options of one compilation.

    Attributes:
        target: "cpu", "cuda", or "auto" to go by the device.
        arch: the architecture of the GPU, or "auto" to ask the device.
        cache_dir: the folder of the cache.
        cache_size_limit: the bytes that the cache may take.
        num_workers: how many compilers run side by side.
        compile_time_limit: the seconds that a compiler may take for one kernel.
        progress: "auto", "on" or "off".
        search_space: how schedules are chosen; 0 measures nothing.
        verify_level: check between stages that the program is legal there.
        strict: compile kernels that check their memory accesses; for the CPU only.
        checks: compile kernels that check positions of look-ups and divisors.
        dump_dir: where to write the program after every pass, or None.
        use_cuda_graph: replay a CUDA Graph; otherwise launch kernel by kernel.
    """

    target: str
    arch: str
    cache_dir: Path
    cache_size_limit: int
    num_workers: int
    compile_time_limit: int
    progress: str
    search_space: int
    verify_level: bool
    strict: bool
    checks: bool
    dump_dir: Path | None
    use_cuda_graph: bool = True

    @staticmethod
    def current(changes: Mapping[str, object] | None = None) -> "CompileOptions":
        """Read `hidet.option`, with some values changed.

        Raises:
            OptionError: `changes` names an option that does not exist here, or gives it a value
                that it cannot take.
        """
        changes = dict(changes or {})
        names = {field.name for field in fields(CompileOptions)}
        if unknown := sorted(changes.keys() - names):
            raise OptionError(
                f"no option '{unknown[0]}' of a compilation",
                hint=f"the options are {', '.join(sorted(names))}",
            )
        own: dict[str, Any] = {
            name: changes.pop(name) for name in names - set(option.OPTIONS) if name in changes
        }
        with option.context(**changes):  # checks the values
            public = {name: option.get_option(name) for name in names & set(option.OPTIONS)}
        return CompileOptions(**public, **own)
