"""Runs compilers with a time limit, and kills them if a build is aborted."""

import errno
import os
import select
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hidet.errors import CompilationError, CompilerNotFoundError, ResourceError
from hidet.forks import FORK_HANDLERS
from hidet.limits import HINTS, hint_of

TIME_LIMIT = 600.0
"""The default time limit of a compilation in seconds."""

LOG_FILE = "compiler.log"

MAX_LOG_BYTES = 1 << 20


class Processes:
    """The compilers of one build.

    Each is the leader of a process group, which is killed as a whole, since compiler drivers start
    other processes. So they do not receive the terminal's Ctrl-C; the caller does, and calls `end`.
    The time limit of each is in seconds.
    """

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self._time_limit = time_limit
        self._lock = FORK_HANDLERS.lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self.is_ended = False

    def run(self, command: Sequence[str], folder: Path) -> tuple[int, str]:
        """Run a compiler; return its exit status and its output.

        Raises:
            CompilerNotFoundError: it cannot be run.
            CompilationError: it took too long, or the build has been aborted.
            ResourceError: a limit of the process or the machine is reached.
        """
        with (folder / LOG_FILE).open("w+b") as log:
            process = self._start(command, folder, log.fileno())
            try:
                status = _wait(process, self._time_limit)
            except subprocess.TimeoutExpired as error:
                raise CompilationError(
                    f"{command[0]} did not end within {self._time_limit:g} seconds",
                    log="",
                    hint="to allow more time, set HIDET_COMPILE_TIME_LIMIT, or the option "
                    "compile_time_limit",
                ) from error
            finally:
                self._finish(process)
            if self.is_ended:
                raise CompilationError(f"{command[0]} was ended with the build", log="")
            if status == -signal.SIGXFSZ:
                raise ResourceError(
                    f"{command[0]} wrote a larger file than the process may",
                    hint=HINTS[errno.EFBIG],
                )
            log.seek(0)
            return status, log.read(MAX_LOG_BYTES).decode(errors="replace")

    def end(self) -> None:
        """Kill all running compilers, and prevent new ones."""
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
                if (hint := hint_of(error)) is not None:
                    raise ResourceError(
                        f"{command[0]} cannot be run: {error.strerror}", hint=hint
                    ) from error
                raise CompilerNotFoundError(
                    f"{command[0]} cannot be run: {error.strerror}", where=command[0]
                ) from error
            self._running.add(process)
            return process

    def _finish(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a process if it is still running, and wait for it."""
        with self._lock:
            self._running.discard(process)
            if process.returncode is None:
                _kill(process)
        process.wait()


def _wait(process: subprocess.Popen[bytes], time_limit: float) -> int:
    """Return the exit status of a process as soon as it ends; `Popen.wait` polls every 50 ms.

    Raises:
        subprocess.TimeoutExpired: it took too long.
    """
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:  # Linux before 5.3, or no file descriptor is left
        return process.wait(time_limit)
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll(time_limit * 1e3)
    finally:
        os.close(handle)
    return process.wait(0)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the group of a process that has not been waited for."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # all have ended
