"""Running compilers: within a time limit, and ended together where a build is given up."""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hidet.errors import CompilationError, CompilerNotFoundError
from hidet.forks import FORK_HANDLERS

TIME_LIMIT = 600.0
"""The seconds that one compilation may take where nobody says otherwise."""

LOG_FILE = "compiler.log"
"""Where a compiler prints to, in its temporary folder."""

MAX_LOG_BYTES = 1 << 20
"""Of what a compiler prints so much is kept, from the beginning."""


class Processes:
    """The compilers of one build.

    Each leads a process group of its own, which is ended as a whole: what runs is a driver that
    starts the actual compilers. Thus they also do not hear a Ctrl-C of the terminal; who waits for
    them does, and calls `end`.

    Args:
        time_limit: the seconds that each may run.
    """

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self._time_limit = time_limit
        self._lock = FORK_HANDLERS.lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self.is_ended = False

    def run(self, command: Sequence[str], folder: Path) -> tuple[int, str]:
        """Run a compiler; return its exit status and what it printed.

        Args:
            command: the words of the command line.
            folder: where its temporary files go.

        Raises:
            CompilerNotFoundError: it cannot be run.
            CompilationError: it took too long, or the build has been ended.
        """
        with (folder / LOG_FILE).open("w+b") as log:
            process = self._start(command, folder, log.fileno())
            try:
                status = process.wait(self._time_limit)
            except subprocess.TimeoutExpired as error:
                raise CompilationError(
                    f"{command[0]} did not end within {self._time_limit:g} seconds",
                    log="",
                    hint="where it needs longer, set HIDET_COMPILE_TIME_LIMIT, or the option "
                    "compile_time_limit",
                ) from error
            finally:
                self._finish(process)
            if self.is_ended:
                raise CompilationError(f"{command[0]} was ended with the build", log="")
            log.seek(0)
            return status, log.read(MAX_LOG_BYTES).decode(errors="replace")

    def end(self) -> None:
        """End all that run, and let none begin."""
        with self._lock:
            self.is_ended = True
            for process in self._running:
                _kill(process)

    def _start(self, command: Sequence[str], folder: Path, log: int) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "LC_ALL": "C", "TMPDIR": str(folder)}
        with self._lock:
            if self.is_ended:
                raise CompilationError(f"{command[0]} was not begun: the build has ended", log="")
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    process_group=0,
                )
            except OSError as error:
                raise CompilerNotFoundError(
                    f"{command[0]} cannot be run: {error.strerror}", where=command[0]
                ) from error
            self._running.add(process)
            return process

    def _finish(self, process: subprocess.Popen[bytes]) -> None:
        """Make sure that a process has ended, however its turn has."""
        with self._lock:
            self._running.discard(process)
            if process.returncode is None:
                _kill(process)
        process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and those that it has started; it has not been waited for."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # all of them have ended already
