"""The options of a compilation, read from the public options."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hidet import option
from hidet.backend.cache import Store, open_store
from hidet.errors import OptionError
from hidet.pass_options import PassOptions


@dataclass(frozen=True)
class CompileOptions:
    """The options of one compilation, by their names in `hidet.option`, which documents them.

    `use_cuda_graph`, to replay one instead of launching kernel by kernel, is one of torch's.
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
    overlap_launches: bool
    parallel_k: str
    dump_dir: Path | None
    use_cuda_graph: bool = True

    def for_passes(self, arch: str = PassOptions.arch) -> PassOptions:
        """Return the options of passes: those of the same names, and the architecture."""
        names = {field.name for field in fields(PassOptions)} & set(vars(self)) - {"arch"}
        known = {name: getattr(self, name) for name in names}
        return PassOptions(arch=arch, verify=self.verify_level, **known)

    def store(self) -> Store:
        """Return the cache."""
        return open_store(self.cache_dir, self.cache_size_limit)

    @staticmethod
    def current(changes: Mapping[str, object] | None = None) -> "CompileOptions":
        """Read `hidet.option`, with some values changed.

        Raises:
            OptionError: `changes` has an unknown option, or an invalid value.
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
