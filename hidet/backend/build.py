"""Building the kernels of a program: side by side, each distinct one once, or out of the cache."""

import os
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from functools import partial
from pathlib import Path

from tqdm import tqdm

from hidet.backend.cache import ArtifactCache, artifact_key
from hidet.backend.toolchains import Toolchain
from hidet.errors import CompilationError
from hidet.escape import file_name


def build_kernels(
    sources: Mapping[str, str],
    toolchain: Toolchain,
    cache: ArtifactCache,
    *,
    workers: int | None = None,
    progress: bool | None = None,
) -> dict[str, Path]:
    """Build files of kernels.

    The entry of a kernel in the cache holds the binary, the source, and as metadata the compiler's
    log and report.

    Args:
        sources: the text of each file, by a name for messages, as a rule that of its kernel.
        toolchain: the compiler.
        cache: where binaries are looked for and go to.
        workers: how many compilers run side by side; None: one for each core.
        progress: whether to show a progress bar; None: on a terminal.

    Returns:
        The path of the binary, by name.

    Raises:
        CompilerNotFoundError: there is no compiler, whose version is part of all keys.
        CompilationError: the compiler failed; the error names the kernel. What had not begun by
            then is not begun.
        CacheError: the binaries can be stored nowhere.
    """
    fingerprint = toolchain.fingerprint()
    keys = {name: artifact_key(source, fingerprint) for name, source in sources.items()}
    names = {key: name for name, key in reversed(keys.items())}  # the first name of each key
    entries: dict[str, Path] = {}
    jobs: dict[str, Callable[[], Path]] = {}
    for name, key in keys.items():
        if names[key] != name:
            continue
        if (entry := cache.get(key)) is not None:
            entries[key] = entry
        else:
            jobs[key] = partial(_build, name, sources[name], key, toolchain, cache)
    entries.update(_run_all(jobs, workers, progress))
    return {name: entries[key] / _binary_name(toolchain) for name, key in keys.items()}


def _run_all(
    jobs: Mapping[str, Callable[[], Path]], workers: int | None, progress: bool | None
) -> dict[str, Path]:
    """Run jobs side by side under a progress bar; after an error, begin no more of them."""
    if not jobs:
        return {}
    bar = tqdm(
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
    finally:
        pool.shutdown(cancel_futures=True)
        bar.close()
    return results


def _binary_name(toolchain: Toolchain) -> str:
    return f"kernel{toolchain.suffix}"


def _build(name: str, source: str, key: str, toolchain: Toolchain, cache: ArtifactCache) -> Path:
    """Build one file, unless another process has done so meanwhile; give its entry."""
    with cache.building(key):
        if (entry := cache.get(key)) is not None:
            return entry
        try:
            return _compile(name, source, key, toolchain, cache)
        except CompilationError as error:
            raise CompilationError(
                f"kernel '{name}': {error.what}",
                log=error.log,
                source_path=error.source_path,
                hint=error.hint,
            ) from None  # it says all that the first one did
        except OSError as error:
            raise CompilationError(
                f"kernel '{name}': the files of {toolchain.name} cannot be written: {error}",
                log="",
                hint="make room for temporary files, or set TMPDIR to a folder that has some",
            ) from error


def _compile(name: str, source: str, key: str, toolchain: Toolchain, cache: ArtifactCache) -> Path:
    """Compile one file and store it; give its entry."""
    with tempfile.TemporaryDirectory(prefix="hidet-") as folder:
        output = Path(folder) / f"{file_name(name)}{toolchain.suffix}"
        report = toolchain.compile(source, output)
        meta = {"name": name, "compiler": toolchain.name, "target": toolchain.target}
        files: dict[str, Path | bytes] = {
            _binary_name(toolchain): output,
            f"kernel{toolchain.source_suffix}": source.encode(),
        }
        return cache.put(key, files, {**meta, **asdict(report)})
