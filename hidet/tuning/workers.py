"""Processes that do what may end badly, or what Python does on one core only.

A worker is a module that is run by the interpreter, `python -m module`; it serves requests until
its input ends. It is no child of `multiprocessing`, which would run the user's program again. A
request and its reply are a line of JSON each.
"""

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from queue import SimpleQueue
from typing import IO, Any

from hidet.errors import HidetError

Message = Mapping[str, Any]
"""What JSON can hold."""

TAIL = 300
"""So many characters of what a worker has printed last are shown."""


class WorkerError(Exception):
    """A request was not answered: it failed, or the worker died over it; the text says why."""


class Worker:
    """A process that answers requests; it is started when the first comes, and after each death.

    Args:
        module: what it runs.
        time_limit: the seconds that a request may take.
    """

    def __init__(self, module: str, time_limit: float) -> None:
        self._module = module
        self._time_limit = time_limit
        self._process: subprocess.Popen[bytes] | None = None
        self._printed: IO[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        """Start the process unless it runs."""
        if self._process is None:
            self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - until the process has ended
            self._process = subprocess.Popen(
                [sys.executable, "-m", self._module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._printed,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        return self._process

    def ask(self, request: Message) -> Message:
        """Return the reply to a request.

        Raises:
            WorkerError: there is none. The worker is as new after that.
        """
        process = self.start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            if not select.select([process.stdout], [], [], self._time_limit)[0]:
                raise WorkerError(f"it did not end within {self._time_limit:g} seconds")
            line = process.stdout.readline()
            if not line.endswith(b"\n"):
                raise WorkerError(self._death(process))
            reply = json.loads(line)
            if "error" in reply:
                raise WorkerError(reply["error"])
        except OSError as error:
            self.close()
            raise WorkerError(f"its process cannot be reached: {error}") from error
        except BaseException:
            self.close()
            raise
        return reply

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()
        if self._printed is not None:
            self._printed.close()

    def _death(self, process: subprocess.Popen[bytes]) -> str:
        """Return how a process has ended."""
        status = process.wait()
        assert self._printed is not None
        self._printed.seek(0)
        printed = self._printed.read().decode(errors="replace").strip()[-TAIL:]
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        return f"its process ended {how}{': ' if printed else ''}{printed}"


class WorkerPool(ExitStack):
    """Workers of one module that answer side by side, and are closed at the end.

    Args:
        module: what they run.
        count: how many.
        time_limit: the seconds that a request may take.
    """

    def __init__(self, module: str, count: int, time_limit: float) -> None:
        super().__init__()
        self._workers = [Worker(module, time_limit) for _ in range(count)]
        for worker in self._workers:
            self.callback(worker.close)

    def ask_all(
        self, requests: Sequence[Message], advance: Callable[[], object]
    ) -> list[Message | WorkerError]:
        """Return the replies to requests, or why there is none.

        Args:
            requests: the requests.
            advance: called after each.
        """
        idle: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._workers:
            idle.put(worker)

        def ask(request: Message) -> Message | WorkerError:
            worker = idle.get()
            try:
                return worker.ask(request)
            except WorkerError as error:
                return error
            finally:
                advance()
                idle.put(worker)

        with ThreadPoolExecutor(len(self._workers)) as threads:
            return list(threads.map(ask, requests))


def serve(answer: Callable[[Message], Message]) -> None:
    """Answer requests until there are no more; what else is printed goes to standard error.

    What a request is refused with by name is told; anything else ends the process, and the trace
    that it prints tells.
    """
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        try:
            reply = answer(json.loads(line))
        except HidetError as error:
            reply = {"error": error.what}
        replies.write(json.dumps(reply).encode() + b"\n")
        replies.flush()
