"""Worker processes, for crash isolation and parallelism.

A worker is a module that `python -m module` runs; it serves requests until its input ends.
`multiprocessing` is not used, as it would run the user's program again. A request and its reply are
a line of JSON each.
"""

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from queue import SimpleQueue
from typing import IO, Any

from hidet.errors import HidetError

Message = Mapping[str, Any]
"""A JSON object."""

TAIL = 300
"""The number of characters of a dead worker's output to show."""


class WorkerError(Exception):
    """A request failed."""


class WorkerCrash(WorkerError):
    """The worker died, or did not answer in time."""


class Worker:
    """A process that answers requests; it is started at the first one, and again after its death.

    It runs a module. The time limit is that of a request in seconds.
    """

    def __init__(self, module: str, time_limit: float) -> None:
        self._module = module
        self._time_limit = time_limit
        self._process: subprocess.Popen[bytes] | None = None
        self._printed: IO[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        """Start the process unless it is running.

        Raises:
            WorkerCrash: it cannot be started.
        """
        if self._process is None:
            try:
                self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - until the process has ended
                self._process = subprocess.Popen(
                    [sys.executable, "-m", self._module],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._printed,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                )
            except OSError as error:
                self.close()
                raise WorkerCrash(f"its process cannot be started: {error}") from error
        return self._process

    def ask(self, request: Message) -> Message:
        """Return the reply to a request.

        Raises:
            WorkerError: it failed. The next request starts a new process.
            WorkerCrash: the process did not answer.
        """
        process = self.start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            self._send(process.stdin.fileno(), json.dumps(request).encode() + b"\n")
            poll = select.poll()
            poll.register(process.stdout, select.POLLIN)
            if not poll.poll(self._time_limit * 1e3):
                raise self._timeout()
            line = process.stdout.readline()
            if not line.endswith(b"\n"):
                raise WorkerCrash(self._death(process))
            reply = json.loads(line)
            if "error" in reply:
                raise WorkerError(reply["error"])
        except OSError as error:
            self.close()
            raise WorkerCrash(f"its process cannot be reached: {error}") from error
        except BaseException:
            self.close()
            raise
        return reply

    def _send(self, pipe: int, line: bytes) -> None:
        """Write to a pipe, which a process that hangs does not empty."""
        os.set_blocking(pipe, False)
        poll = select.poll()
        poll.register(pipe, select.POLLOUT)
        while line:
            if not poll.poll(self._time_limit * 1e3):
                raise self._timeout()
            line = line[os.write(pipe, line) :]

    def _timeout(self) -> WorkerCrash:
        return WorkerCrash(f"it did not end within {self._time_limit:g} seconds")

    def kill(self) -> None:
        """Kill the process while another thread may wait for its reply."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()
        if self._printed is not None:
            self._printed.close()

    def _death(self, process: subprocess.Popen[bytes]) -> str:
        """Describe how a process has ended."""
        status = process.wait()
        assert self._printed is not None
        self._printed.seek(0)
        printed = self._printed.read().decode(errors="replace").strip()[-TAIL:]
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        return f"its process ended {how}{': ' if printed else ''}{printed}"


class WorkerPool(ExitStack):
    """Parallel workers of one module, as a context manager; the time limit is that of a request."""

    def __init__(self, module: str, count: int, time_limit: float) -> None:
        super().__init__()
        self.count = count
        self._workers = [Worker(module, time_limit) for _ in range(count)]
        self._idle: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._workers:
            self.callback(worker.close)
            self._idle.put(worker)

    def start(self) -> None:
        """Start all workers, rather than at their first requests."""
        for worker in self._workers:
            try:
                worker.start()
            except WorkerCrash:
                return  # the first request tries again, and reports it

    def ask(self, request: Message) -> Message | WorkerError:
        """Return the reply of an idle worker, or an error; threads may call it concurrently."""
        worker = self._idle.get()
        try:
            return worker.ask(request)
        except WorkerError as error:
            return error
        finally:
            self._idle.put(worker)

    def ask_each(self, requests: Iterable[Message]) -> Generator[tuple[int, Message | WorkerError]]:
        """Yield the number of each request and its reply, or an error, as they arrive.

        Each request is sent as soon as it is there. If the iteration ends early, the workers are
        killed.
        """
        threads = ThreadPoolExecutor(self.count)
        running: dict[Future[Message | WorkerError], int] = {}
        try:
            for number, request in enumerate(requests):
                running[threads.submit(self.ask, request)] = number
            for future in as_completed(tuple(running)):
                yield running.pop(future), future.result()
        finally:
            for future in running:
                future.cancel()
            if running:
                for worker in self._workers:
                    worker.kill()
            threads.shutdown()


def serve(answer: Callable[[Message], Message]) -> None:
    """Answer requests until the input ends; other output goes to standard error.

    A `HidetError` is replied; other exceptions end the process with a traceback.
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
