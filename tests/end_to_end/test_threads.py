"""Threads whose first compilations are at once, in a process that has compiled nothing yet."""

# Eight threads begin together: a graph of its own each, a graph of many shapes that they share,
# and a script.
FIRST_COMPILATIONS = """
import threading, traceback
import torch, hidet
from hidet.lang import attrs, float32

def script(factor):
    with hidet.script_module() as module:
        @hidet.script
        def scale(x: float32[32]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            x[hidet.lang.cuda.threadIdx.x] *= factor
    return module.build()

gate, failures = threading.Barrier(8), []
shared = torch.compile(lambda x: x.sin() * 2, backend="hidet", dynamic=True)

def work(number):
    factor = float(number % 3 + 2)
    x = torch.randn(4, 8)
    gate.wait()
    try:
        with torch.no_grad(), hidet.option.context(num_workers=1):
            y = torch.compile(lambda x: torch.relu(x) * factor, backend="hidet")(x)
            torch.testing.assert_close(y, torch.relu(x) * factor)
            for size in (2 + number % 2, 4):
                x = torch.randn(size, 8)
                torch.testing.assert_close(shared(x), x.sin() * 2)
            z = torch.randn(32)
            expected = z * factor
            script(factor)(z)
            torch.testing.assert_close(z, expected)
            assert len(hidet.torch.compiled_graphs()) > 0
    except BaseException:
        failures.append(traceback.format_exc())

threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(*failures, sep="\\n")
print(len(failures), "failed")
"""


def test_first_compilations_at_once(run_program):
    """No thread meets what another one has half done: registration, tracing, caches."""
    output = run_program(FIRST_COMPILATIONS)
    assert output.endswith("0 failed\n"), output


# Children are forked off while two threads are in calls, and call themselves. They call the graph,
# not the function that torch made of it, in which they may hang, whatever the backend: of 40
# children 14 did with "eager", 8 with "aot_eager", 11 with "hidet" (torch 2.11). All waited for the
# mutex of torch::dynamo's RootGuardManager, in check_nopybind_template: a thread takes it with
# Python's lock let go, so that it holds the mutex while it waits for Python's lock, which the
# forking thread has. A hook before the fork cannot end that; one after it would have to throw all
# guards away.
FORKS = """
import os, signal, threading
import torch, hidet

torch.set_num_threads(2)
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU()).eval()
x = torch.randn(64, 256)
with torch.no_grad():
    expected = torch.compile(model, backend="hidet")(x)
(graph,) = hidet.torch.compiled_graphs()
weights = {tuple(p.shape): p for p in model.parameters()}
constants = [weights[spec.shape] for spec in graph.plan.constants.values()]
stop = threading.Event()

def work():
    y = torch.randn(64, 256)
    while not stop.is_set():
        graph.run([y], constants)

threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
failed = 0
for _ in range(12):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        (y,) = graph.run([x], constants)
        os._exit(0 if torch.equal(y, expected) else 1)
    failed += os.waitpid(child, 0)[1] != 0
stop.set()
for thread in threads: thread.join()
print(failed, "failed")
"""


def test_children_of_a_fork(run_program):
    """No lock that another thread held, and no thread of OpenMP, is missed in a child."""
    assert run_program(FORKS) == "0 failed\n"
