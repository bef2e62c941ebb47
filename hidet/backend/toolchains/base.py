"""What a compiler of generated kernels is, and how one is run."""

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
from hidet.dialects.cuda.names import symbol_of
from hidet.errors import CompilationError, CompilerNotFoundError

MAX_BINARY_BYTES = 1 << 30
"""What a compiler may write; all kernels of a program together have some megabytes."""

VERSION_SECONDS = 60.0
"""The seconds that a compiler may take to tell its version."""


@dataclass(frozen=True)
class KernelResources:
    """What one kernel takes on a GPU, as ptxas reports it; registers and bytes are per thread.

    Attributes:
        registers: 32-bit registers.
        stack_bytes: local memory for arrays that are not in registers.
        spill_store_bytes: stores to local memory for lack of registers.
        spill_load_bytes: loads back from there.
        shared_bytes: static shared memory of a block.
    """

    registers: int
    stack_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    shared_bytes: int = 0


@dataclass(frozen=True)
class CompileReport:
    """What a compiler said about a file that it accepted.

    Attributes:
        log: all that it printed.
        seconds: how long it ran.
        resources: by the name of the kernel; empty where the compiler does not tell.
    """

    log: str
    seconds: float
    resources: Mapping[str, KernelResources] = field(default_factory=dict[str, KernelResources])


class Toolchain(ABC):
    """A compiler with its options: makes one binary out of the text of one file of kernels."""

    name: ClassVar[str]
    """The name of the compiler, as in messages."""

    suffix: ClassVar[str]
    """How the names of its binaries end: ".so" or ".cubin"."""

    source_suffix: ClassVar[str]
    """How the names of its sources end."""

    @property
    def machine(self) -> str | None:
        """What its binaries are for, as `hidet.backend.elf` names it; None: they are no ELF."""
        return None

    @property
    @abstractmethod
    def target(self) -> str:
        """What its binaries run on: "cpu", or an architecture such as "sm_90a"."""

    @property
    @abstractmethod
    def command(self) -> Sequence[str]:
        """The compiler and how it is called, as words of a command line.

        Raises:
            CompilerNotFoundError: there is none on this machine.
        """

    @property
    @abstractmethod
    def options(self) -> Sequence[str]:
        """The options of every compilation, except those that name files."""

    def load_error(self, binary: Path, processes: Processes) -> str | None:
        """Tell why a binary cannot be loaded; None where it can, or where that takes a GPU.

        Args:
            binary: the file, in a folder for temporary files.
            processes: loads it, in a process of its own.
        """
        return None

    def host(self) -> str:
        """Describe the machine, where the binary depends on it; empty where it does not."""
        return ""

    def resources(self, log: str) -> dict[str, KernelResources]:
        """Read what the kernels take out of what the compiler printed."""
        return {}

    def hint(self, log: str) -> str | None:
        """Return what to do about a compilation that failed, where that is known."""
        return None

    def fingerprint(self) -> str:
        """Return a sha256 of all that decides over the binary besides the source.

        These are the compiler's version, its options, the device header and, for the CPU, the model
        of the processor. What is slow to find out is asked for once a process.

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
        """Return the name of the function that a binary defines for a kernel."""
        return self.entry(symbol_of(kernel))

    def entry(self, symbol: str) -> str:
        """Return the name of that function by what the kernel is called in C++."""
        return symbol

    def compile(
        self, source: str, output: Path, processes: Processes | None = None
    ) -> CompileReport:
        """Compile `source` to the file `output`, which is there complete or not at all.

        Raises:
            CompilerNotFoundError: there is no compiler on this machine.
            CompilationError: the compiler failed. The error names the file that keeps the source.
            OSError: there is no room for the source.
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
                how = _what_went_wrong(status, unfinished)
                if how is None:
                    os.replace(unfinished, output)
                    return CompileReport(log, seconds, self.resources(log))
            finally:
                remove_tree(unfinished)
            raise self._failure(how, log, source_path)

    def _failure(self, how: str, log: str, source_path: Path) -> CompilationError:
        """Return the error of a compiler that failed; the source is kept for whoever reads it."""
        kept = Path(tempfile.mkdtemp(prefix=f"hidet-{self.name}-")) / source_path.name
        shutil.copyfile(source_path, kept)
        return CompilationError(
            f"{self.name} could not compile {source_path.name} for {self.target} ({how})",
            log=log.replace(str(source_path), str(kept)),
            source_path=str(kept),
            hint=self.hint(log),
        )


def _what_went_wrong(status: int, output: Path) -> str | None:
    """Tell why a compiler has not done what it should, by its exit status and what it wrote."""
    if status != 0:
        return f"exit status {status}" if status > 0 else f"ended by signal {-status}"
    try:
        written = output.lstat()
    except FileNotFoundError:
        return "it ended well, but wrote no file"
    if not stat.S_ISREG(written.st_mode):  # to read it might never end
        return "it ended well, but what it wrote is no plain file"
    if written.st_size > MAX_BINARY_BYTES:
        return f"it ended well, but wrote {written.st_size} bytes"
    return None


@functools.cache
def compiler_version(command: tuple[str, ...]) -> str:
    """Ask a compiler for its version; once a process."""
    with temporary_folder() as folder:
        status, text = Processes(VERSION_SECONDS).run([*command, "--version"], folder)
    if status != 0:
        raise CompilerNotFoundError(
            f"'{' '.join(command)} --version' fails with exit status {status}: {text.strip()}",
            where=command[0],
        )
    return text
