"""The interface of compilers of generated kernels."""

import functools
import hashlib
import os
import shutil
import stat
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import ClassVar

from hidet.backend.device import INCLUDE_DIR, header_digest
from hidet.backend.temporary import remove_tree, temporary_folder
from hidet.backend.toolchains.processes import Processes
from hidet.errors import CompilationError, CompilerNotFoundError

MAX_BINARY_BYTES = 1 << 30
"""The size limit of binaries; all kernels of a program together have some megabytes."""

VERSION_SECONDS = 60.0
"""The time limit of `--version` in seconds."""


@dataclass(frozen=True)
class KernelResources:
    """The resources of a kernel, as ptxas reports them.

    Registers, stack and spills are per thread, static shared memory is per block.
    """

    registers: int
    stack_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    shared_bytes: int = 0


@dataclass(frozen=True)
class CompileReport:
    """The output and the run time of a successful compiler.

    The resources are by the name of the kernel; empty if the compiler does not report them.
    """

    log: str
    seconds: float
    resources: Mapping[str, KernelResources] = field(default_factory=dict[str, KernelResources])


class Toolchain(ABC):
    """A compiler with its options, which compiles a source file to a binary."""

    name: ClassVar[str]

    target: str
    """The target of its binaries: "cpu", or an architecture such as "sm_90a"."""

    suffix: ClassVar[str]
    """The suffix of its binaries: ".so" or ".cubin"."""

    source_suffix: ClassVar[str]

    machine: ClassVar[str | None] = None
    """The machine of its binaries, as `hidet.backend.elf` names it; None: they are not ELF."""

    @property
    @abstractmethod
    def command(self) -> Sequence[str]:
        """The command line of the compiler, without options.

        Raises:
            CompilerNotFoundError: there is none on this machine.
        """

    @property
    @abstractmethod
    def options(self) -> Sequence[str]:
        """The options of every compilation, except those that name files."""

    def load_error(self, binary: Path, processes: Processes) -> str | None:
        """Return why a binary cannot be loaded; None if it can, or if that needs a GPU."""
        return None

    def host(self) -> str:
        """Return a description of the host that the binary depends on, if any."""
        return ""

    def resources(self, log: str) -> dict[str, KernelResources]:
        """Parse the resources of kernels from the compiler's output."""
        return {}

    def hint(self, log: str) -> str | None:
        """Return a hint about a failed compilation, if there is one."""
        return None

    def fingerprint(self) -> str:
        """Return a sha256 of everything but the source that determines the binary.

        This is the compiler's version, its options, the device header and, for the CPU, the model
        of the processor.

        Raises:
            CompilerNotFoundError: there is no compiler on this machine.
        """
        parts = [
            self.name,
            self.target,
            compiler_version(tuple(self.command)),
            "\n".join(self.options),
            header_digest(),
            self.host(),
        ]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def symbol(self, kernel: str) -> str:
        """Return the name of a kernel's function in the binary."""
        from hidet.dialects.cuda.names import symbol_of  # a warm start needs no dialects

        return self.entry(symbol_of(kernel))

    def entry(self, symbol: str) -> str:
        """Return the name of that function for the kernel's C++ name."""
        return symbol

    def compile(
        self, source: str, output: Path, processes: Processes | None = None
    ) -> CompileReport:
        """Compile `source` to the file `output`, which is written atomically.

        Raises:
            CompilerNotFoundError: there is no compiler on this machine.
            CompilationError: the compiler failed. The error names a file with the source.
            OSError: the source cannot be written.
        """
        with temporary_folder() as folder:
            source_path = folder / f"{output.stem}{self.source_suffix}"
            source_path.write_text(source, encoding="utf-8")
            unfinished = output.with_name(f"{output.name}.part")
            files = [f"-I{INCLUDE_DIR}", str(source_path), "-o", str(unfinished)]
            start = perf_counter()
            try:
                status, log = (processes or Processes()).run(
                    [*self.command, *self.options, *files], folder
                )
                seconds = perf_counter() - start
                how = _failure_of(status, unfinished)
                if how is None:
                    os.replace(unfinished, output)
                    return CompileReport(log, seconds, self.resources(log))
            finally:
                remove_tree(unfinished)
            raise self._failure(how, log, source_path)

    def _failure(self, how: str, log: str, source_path: Path) -> CompilationError:
        """Return the error of a failed compiler, with a copy of the source."""
        kept = Path(tempfile.mkdtemp(prefix=f"hidet-{self.name}-")) / source_path.name
        shutil.copyfile(source_path, kept)
        return CompilationError(
            f"{self.name} could not compile {source_path.name} for {self.target} ({how})",
            log=log.replace(str(source_path), str(kept)),
            source_path=str(kept),
            hint=self.hint(log),
        )


def _failure_of(status: int, output: Path) -> str | None:
    """Return why a compiler failed, according to its exit status and its output file."""
    if status != 0:
        return f"exit status {status}" if status > 0 else f"ended by signal {-status}"
    try:
        written = output.lstat()
    except FileNotFoundError:
        return "it succeeded, but wrote no file"
    if not stat.S_ISREG(written.st_mode):  # reading it might block
        return "it succeeded, but its output is not a regular file"
    if written.st_size > MAX_BINARY_BYTES:
        return f"it succeeded, but wrote {written.st_size} bytes"
    return None


@functools.cache
def compiler_version(command: tuple[str, ...]) -> str:
    """Return the output of `--version`."""
    with temporary_folder() as folder:
        status, text = Processes(VERSION_SECONDS).run([*command, "--version"], folder)
    if status != 0:
        raise CompilerNotFoundError(
            f"'{' '.join(command)} --version' fails with exit status {status}: {text.strip()}",
            where=command[0],
        )
    return text
