"""Builds the kernels of a program in parallel, or loads them from the cache."""

import atexit
import gc
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

from tqdm import tqdm

from hidet.backend.cache import ArtifactCache, DamagedEntryError, Entry, artifact_key
from hidet.backend.elf import BadObjectError, check_object
from hidet.backend.temporary import temporary_folder
from hidet.backend.toolchains import TIME_LIMIT, Processes, Toolchain
from hidet.errors import CompilationError, HidetError
from hidet.escape import file_name


class ProgressBar(tqdm):  # pyright: ignore[reportMissingTypeArgument]
    """A bar without tqdm's monitor thread, which would run until the process ends."""

    monitor_interval = 0


def build_kernels(
    sources: Mapping[str, str],
    toolchain: Toolchain,
    cache: ArtifactCache,
    *,
    symbols: Mapping[str, str] | None = None,
    workers: int | None = None,
    progress: bool | None = None,
    time_limit: float = TIME_LIMIT,
) -> dict[str, Path]:
    """Build source files of kernels; return the path of each binary.

    Equal sources are built once. The entry of a binary in the cache also has the source, and as
    metadata the compiler's log and report.

    Args:
        sources: the source of each file, by a name for messages, usually that of its kernel.
        toolchain: the compiler.
        cache: the cache.
        symbols: the function that each binary must define.
        workers: the number of parallel compilers; None: one per core.
        progress: whether to show a progress bar; None: on a terminal.
        time_limit: the time limit of each compiler in seconds.

    Raises:
        CompilerNotFoundError: there is no compiler, whose version is part of all keys.
        CompilationError: the compiler failed, took too long, or wrote an invalid binary; the error
            names the kernel. No further compilers are started.
        CacheError: the binaries cannot be stored.
    """
    fingerprint = toolchain.fingerprint()
    keys = {name: artifact_key(source, fingerprint) for name, source in sources.items()}
    names = {key: name for name, key in reversed(keys.items())}  # the first name of each key
    binaries: dict[str, Path] = {}
    jobs: dict[str, Callable[[], Path]] = {}
    processes = Processes(time_limit)
    for name, key in keys.items():
        if names[key] != name:
            continue
        job = _Job(name, sources[name], key, (symbols or {}).get(name), toolchain, cache, processes)
        if (binary := find_binary(cache, key, toolchain, job.symbol)) is not None:
            binaries[key] = binary
        else:
            jobs[key] = job.build
    binaries.update(_run_all(jobs, workers, progress, processes))
    return {name: binaries[key] for name, key in keys.items()}


def find_binary(
    cache: ArtifactCache, key: str, toolchain: Toolchain, symbol: str | None
) -> Path | None:
    """Return the path of a binary in the cache, or None."""
    name = _binary_name(toolchain)

    def check(entry: Entry) -> None:
        if name not in entry.files:
            raise DamagedEntryError("it has no binary")
        try:
            if toolchain.machine is not None:
                check_object(entry.file(name).read_bytes(), toolchain.machine, symbol)
        except BadObjectError as error:
            raise DamagedEntryError(f"{name}: {error}") from error

    entry = cache.entry(key, check)
    return None if entry is None else entry.file(name)


PROGRESS = {"auto": None, "on": True, "off": False}
"""Whether bars are shown, by value of the option `progress`; None: on a terminal only."""


def _run_all(
    jobs: Mapping[str, Callable[[], Path]],
    workers: int | None,
    progress: bool | None,
    processes: Processes,
) -> dict[str, Path]:
    """Run jobs in parallel with a progress bar; after an error, no further ones are started."""
    if not jobs:
        return {}
    bar = ProgressBar(
        total=len(jobs),
        desc="Compiling",
        unit="kernel",
        leave=False,
        disable=None if progress is None else not progress,
    )
    pool = ThreadPoolExecutor(workers or len(os.sched_getaffinity(0)))
    results: dict[str, Path] = {}
    try:
        futures = {pool.submit(job): key for key, job in jobs.items()}
        for future in as_completed(futures):
            results[futures[future]] = future.result()
            bar.update()
    except HidetError:
        raise  # running jobs complete, and are cached
    except BaseException as error:
        processes.end()
        if isinstance(error, KeyboardInterrupt):
            # Usually the process exits next. The final garbage collection would take a second, as
            # torch's compiler creates half a million objects.
            atexit.register(gc.freeze)
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        bar.close()
    return results


def _binary_name(toolchain: Toolchain) -> str:
    return f"kernel{toolchain.suffix}"


@dataclass(frozen=True)
class _Job:
    """One file to build."""

    name: str
    source: str
    key: str
    symbol: str | None
    toolchain: Toolchain
    cache: ArtifactCache
    processes: Processes

    def build(self) -> Path:
        """Build the file, unless another process has done so meanwhile; return the binary."""
        toolchain = self.toolchain
        with self.cache.building(self.key, give_up=lambda: self.processes.is_ended):
            binary = find_binary(self.cache, self.key, toolchain, self.symbol)
            if binary is not None:
                return binary
            try:
                return self._compile()
            except CompilationError as error:
                raise CompilationError(
                    f"kernel '{self.name}': {error.what}",
                    log=error.log,
                    source_path=error.source_path,
                    hint=error.hint,
                ) from None  # repeats the first one
            except OSError as error:
                raise CompilationError(
                    f"kernel '{self.name}': the files of {toolchain.name} cannot be written: "
                    f"{error}",
                    log="",
                    hint="free space for temporary files, or set TMPDIR to another folder",
                ) from error

    def _compile(self) -> Path:
        """Compile and store the file; return the binary."""
        toolchain = self.toolchain
        with temporary_folder() as folder:
            output = folder / f"{file_name(self.name)}{toolchain.suffix}"
            report = toolchain.compile(self.source, output, self.processes)
            binary = output.read_bytes()
            try:
                if toolchain.machine is not None:
                    check_object(binary, toolchain.machine, self.symbol)
                if (reason := toolchain.load_error(output, self.processes)) is not None:
                    raise BadObjectError(f"it cannot be loaded: {reason}")
            except BadObjectError as error:
                raise CompilationError(
                    f"{toolchain.name} succeeded, but its output is invalid: {error}",
                    log=report.log,
                    hint=f"check that '{' '.join(toolchain.command)}' is the intended compiler, "
                    "and that there is space for temporary files",
                ) from error
        meta = {"name": self.name, "compiler": toolchain.name, "target": toolchain.target}
        files: dict[str, Path | bytes] = {
            _binary_name(toolchain): binary,
            f"kernel{toolchain.source_suffix}": self.source.encode(),
        }
        entry = self.cache.put(self.key, files, {**meta, **asdict(report)})
        return entry / _binary_name(toolchain)
