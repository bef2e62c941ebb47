"""Builds the kernels of a program in parallel, or loads them from the cache."""

import atexit
import gc
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict
from typing import Any, Self

from tqdm import tqdm

from hidet.backend.cache import ArtifactCache, DamagedEntryError, Entry, artifact_key
from hidet.backend.elf import BadObjectError, check_object
from hidet.backend.temporary import temporary_folder
from hidet.backend.toolchains import TIME_LIMIT, Processes, Toolchain
from hidet.errors import CompilationError, HidetError
from hidet.escape import file_name
from hidet.limits import hint_of


class ProgressBar(tqdm):  # pyright: ignore[reportMissingTypeArgument]
    """A bar without tqdm's monitor thread, which would run until the process ends.

    `shown` says whether it is shown; None: on a terminal only.
    """

    monitor_interval = 0

    def __init__(
        self, what: str, shown: bool | None, total: int = 0, unit: str = "kernel", **options: Any
    ) -> None:
        disable = None if shown is None else not shown
        super().__init__(total=total, desc=what, unit=unit, leave=False, disable=disable, **options)


def build_kernels(
    sources: Mapping[str, str],
    toolchain: Toolchain,
    cache: ArtifactCache,
    *,
    symbols: Mapping[str, str] | None = None,
    workers: int | None = None,
    progress: bool | None = None,
    time_limit: float = TIME_LIMIT,
) -> dict[str, bytes]:
    """Build source files of kernels; return each binary. See `KernelBuilds`.

    The sources and the functions that the binaries must define are by the names of the files.
    """
    with KernelBuilds(
        toolchain, cache, workers=workers, progress=progress, time_limit=time_limit
    ) as builds:
        for name, source in sources.items():
            builds.submit(name, source, (symbols or {}).get(name))
        return builds.wait()


class KernelBuilds:
    """Builds source files of kernels in parallel, as they arrive; a context manager.

    Equal sources are built once. The entry of a binary in the cache also has the source, and as
    metadata the compiler's log and report. After an error of a build, no further compilers are
    started; running ones complete, and their binaries are cached. Any other exception in the
    context kills them.

    Args:
        workers: the number of parallel compilers; None: one per core.
        progress: whether to show a progress bar; None: on a terminal.
        time_limit: the time limit of each compiler in seconds.

    `keys` has the key of each file in the cache, by name.

    Raises:
        CompilerNotFoundError: there is no compiler, whose version is part of all keys.
    """

    def __init__(
        self,
        toolchain: Toolchain,
        cache: ArtifactCache,
        *,
        workers: int | None = None,
        progress: bool | None = None,
        time_limit: float = TIME_LIMIT,
    ) -> None:
        self._toolchain = toolchain
        self._cache = cache
        self._fingerprint = toolchain.fingerprint()
        self._progress = progress
        self._processes = Processes(time_limit)
        self._pool = ThreadPoolExecutor(workers or len(os.sched_getaffinity(0)))
        self._bar: ProgressBar | None = None
        self.keys: dict[str, str] = {}
        self._binaries: dict[str, bytes] = {}
        self._running: dict[Future[bytes], str] = {}
        self._error: HidetError | None = None

    def submit(self, name: str, source: str, symbol: str | None = None) -> str:
        """Start to build a source file, or find it in the cache; return its key.

        The name is for messages, usually that of its kernel; `symbol` is the function that the
        binary must define. For errors, of files that were submitted before, see `wait`.
        """
        self._collect(future for future in tuple(self._running) if future.done())
        key = artifact_key(source, self._fingerprint)
        is_new = key not in self.keys.values()
        self.keys[name] = key
        if is_new:
            if (binary := find_binary(self._cache, key, self._toolchain, symbol)) is not None:
                self._binaries[key] = binary
            else:
                self._running[self._pool.submit(self._build, name, source, key, symbol)] = key
                if self._bar is None:
                    self._bar = ProgressBar("Compiling", self._progress)
                self._bar.total += 1
                self._bar.refresh()
        return key

    def wait(self) -> dict[str, bytes]:
        """Wait for all builds; return each binary, by name.

        Raises:
            CompilationError: the compiler failed, took too long, or wrote an invalid binary; the
                error names the kernel.
            CacheError: the binaries cannot be stored.
        """
        self._collect(as_completed(tuple(self._running)))
        return {name: self._binaries[key] for name, key in self.keys.items()}

    def _build(self, name: str, source: str, key: str, symbol: str | None) -> bytes:
        """Build a file, unless another process has done so meanwhile; return the binary."""
        toolchain = self._toolchain
        with self._cache.building(key, give_up=lambda: self._processes.is_ended):
            binary = find_binary(self._cache, key, toolchain, symbol)
            if binary is not None:
                return binary
            try:
                return self._compile(name, source, key, symbol)
            except CompilationError as error:
                raise CompilationError(
                    f"kernel '{name}': {error.what}",
                    log=error.log,
                    source_path=error.source_path,
                    hint=error.hint,
                ) from None  # repeats the first one
            except OSError as error:
                raise CompilationError(
                    f"kernel '{name}': the files of {toolchain.name} cannot be written: {error}",
                    log="",
                    hint=hint_of(error),
                ) from error

    def _compile(self, name: str, source: str, key: str, symbol: str | None) -> bytes:
        toolchain = self._toolchain
        with temporary_folder() as folder:
            output = folder / f"{file_name(name)}{toolchain.suffix}"
            report = toolchain.compile(source, output, self._processes)
            binary = output.read_bytes()
            try:
                if toolchain.machine is not None:
                    check_object(binary, toolchain.machine, symbol)
                if (reason := toolchain.load_error(output, self._processes)) is not None:
                    raise BadObjectError(f"it cannot be loaded: {reason}")
            except BadObjectError as error:
                raise CompilationError(
                    f"{toolchain.name} succeeded, but its output is invalid: {error}",
                    log=report.log,
                    hint=f"check that '{' '.join(toolchain.command)}' is the intended compiler, "
                    "and that there is space for temporary files",
                ) from error
        meta = {"name": name, "compiler": toolchain.name, "target": toolchain.target}
        files = {
            f"kernel{toolchain.suffix}": binary,
            f"kernel{toolchain.source_suffix}": source.encode(),
        }
        self._cache.put(key, files, {**meta, **asdict(report)})
        return binary

    def _collect(self, done: Iterable[Future[bytes]]) -> None:
        try:
            for future in done:
                self._binaries[self._running.pop(future)] = future.result()
                if self._bar is not None:
                    self._bar.update()
        except HidetError as error:
            self._error = error
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None and error is not self._error:
            self._processes.end()
        if isinstance(error, KeyboardInterrupt):
            # Usually the process exits next. The final garbage collection would take a second, as
            # torch's compiler creates half a million objects.
            atexit.register(gc.freeze)
        self._pool.shutdown(cancel_futures=True)
        if self._bar is not None:
            self._bar.close()


def find_binary(
    cache: ArtifactCache, key: str, toolchain: Toolchain, symbol: str | None
) -> bytes | None:
    """Return a binary from the cache, or None."""
    name = f"kernel{toolchain.suffix}"

    def check(entry: Entry) -> None:
        if name not in entry.files:
            raise DamagedEntryError("it has no binary")
        try:
            if toolchain.machine is not None:
                check_object(entry.files[name], toolchain.machine, symbol)
        except BadObjectError as error:
            raise DamagedEntryError(f"{name}: {error}") from error

    entry = cache.entry(key, check)
    return None if entry is None else entry.files[name]


PROGRESS = {"auto": None, "on": True, "off": False}
"""Whether bars are shown, by value of the option `progress`; None: on a terminal only."""
