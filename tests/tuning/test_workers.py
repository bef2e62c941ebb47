"""Workers answer, and die without harm."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing

import pytest

from hidet.tuning.workers import Worker, WorkerCrash, WorkerError, WorkerPool

MODULE = """
import os, sys, time
from hidet.errors import HidetError
from hidet.tuning.workers import serve

def answer(request):
    print("noise")
    os.write(1, b"more noise")
    match request["do"]:
        case "double": return {"twice": 2 * request["value"], "pid": os.getpid()}
        case "refuse": raise HidetError("not this one", hint="another")
        case "break": raise ValueError("broken")
        case "die": os._exit(3)
        case "hang": time.sleep(1000)

serve(answer)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "worker_of_a_test.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return "worker_of_a_test"


@pytest.fixture
def worker(module):
    worker = Worker(module, time_limit=60)
    yield worker
    worker.close()


def double(value):
    return {"do": "double", "value": value}


def test_replies(worker):
    """One process answers, whatever else it prints."""
    first, second = worker.ask(double(3)), worker.ask(double("é\n"))
    assert (first["twice"], second["twice"]) == (6, "é\né\n")
    assert first["pid"] == second["pid"]


@pytest.mark.parametrize(
    ("do", "reason"),
    [
        ("refuse", "^not this one$"),
        ("break", "status 1: .*ValueError: broken"),
        ("die", "^its process ended with status 3"),
        ("hang", "did not end within 2 seconds"),
    ],
)
def test_failures(worker, do, reason):
    """A failure has a reason, and the next request is answered."""
    pid = worker.ask(double(0))["pid"]
    worker._time_limit = 2 if do == "hang" else 60
    with pytest.raises(WorkerError, match=f"(?s){reason}") as raised:
        worker.ask({"do": do})
    assert isinstance(raised.value, WorkerCrash) is (do != "refuse")
    worker._time_limit = 60
    assert worker.ask(double(4))["twice"] == 8
    assert worker.ask(double(0))["pid"] != pid


def test_requests_of_any_length(worker):
    """One is longer than a pipe's buffer; if it is not read, its time ends too."""
    text = "x" * (1 << 20)
    assert worker.ask(double(text))["twice"] == 2 * text
    process = worker.start()
    os.kill(process.pid, signal.SIGSTOP)
    worker._time_limit = 0.5
    with pytest.raises(WorkerCrash, match=r"did not end within 0\.5 seconds"):
        worker.ask(double(text))


def test_module_that_does_not_start():
    worker = Worker("hidet.no_such_module", time_limit=60)
    with pytest.raises(WorkerError, match=r"cannot be reached|No module named"):
        worker.ask({})
    worker.close()


def test_process_that_cannot_be_started(module, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with WorkerPool(module, 2, time_limit=60) as pool:
        pool.start()
        reply = pool.ask(double(1))
    assert isinstance(reply, WorkerCrash)
    assert str(reply).startswith("its process cannot be started")


def test_pool(module):
    """Replies name their requests, failures among them."""
    with WorkerPool(module, 3, time_limit=60) as pool:
        requests = [{"do": "die"} if n % 4 == 1 else double(n) for n in range(11)]
        replies = dict(pool.ask_each(requests))
    for number, reply in replies.items():
        if number % 4 == 1:
            assert isinstance(reply, WorkerError)
        else:
            assert reply["twice"] == 2 * number


def test_pool_that_is_left_early(module):
    """The other replies are not waited for."""
    with WorkerPool(module, 2, time_limit=600) as pool:
        start = time.monotonic()
        with closing(
            pool.ask_each([{"do": "hang"}, *map(double, range(9)), {"do": "hang"}])
        ) as each:
            number, reply = next(each)
        assert time.monotonic() - start < 60
    assert reply["twice"] == 2 * (number - 1)


def test_workers_do_not_outlive_the_pool(module):
    with WorkerPool(module, 2, time_limit=60) as pool:
        replies = list(pool.ask_each([double(1), double(2)]))
        processes = [worker._process for worker in pool._workers if worker._process]
    assert len(replies) == 2
    assert processes
    assert all(process.returncode is not None for process in processes)


def test_workers_end_with_a_process_that_is_killed(module, tmp_path):
    """A worker whose requests come from nobody any more goes."""
    program = (
        "import sys, time\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "from hidet.tuning.workers import Worker\n"
        f"print(Worker({module!r}, 60).ask({{'do': 'double', 'value': 1}})['pid'], flush=True)\n"
        "time.sleep(1000)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    os.kill(pid, 0)
    parent.kill()
    parent.communicate()
    for _ in range(200):
        if not is_running(pid):
            return
        time.sleep(0.05)
    pytest.fail("the worker is still there")


def is_running(pid):
    """Return whether a process is there, and not only its exit status."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
