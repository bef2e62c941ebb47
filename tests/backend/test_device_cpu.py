"""Memory, barriers and shuffles of the device header, on every device; fibers on the CPU."""

import ctypes
import os
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from hidet.backend.device import INCLUDE_DIR
from hidet.backend.toolchains import Gxx

# ---- memory --------------------------------------------------------------------------------------

COPIES = {
    "copy_float4": (np.float32, 4), "copy_float2": (np.float32, 2), "copy_float1": (np.float32, 1),
    "copy_double2": (np.float64, 2), "copy_half8": (np.float16, 8), "copy_half1": (np.float16, 1),
    "copy_char16": (np.int8, 16), "copy_char1": (np.int8, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", COPIES)
def test_copy_vector(device, rng, name):
    """Vector copies move bytes, all of them and no others."""
    dtype, width = COPIES[name]
    x = rng.integers(0, 256, 3 * 64 * width * np.dtype(dtype).itemsize, np.uint8).view(dtype)
    out = device.poisoned(x.size, dtype)
    device.launch(name, (3, 1, 1), x, out)
    assert (out.view(np.uint8) == x.view(np.uint8)).all()


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("float", np.float32),
        ("double", np.float64),
        ("int", np.int32),
        ("unsigned", np.uint32),
        ("long", np.int64),
    ],
)
def test_atomics(device, rng, name, dtype):
    """Many blocks add to one number, and each addition sees all those before it."""
    low = 1 if dtype == np.uint32 else -1000
    x = rng.integers(low, 1000, 96 * 50).astype(dtype)  # their sums are exact in float, too
    x[x == 0] = 1
    result, old = np.array([0, x[0], x[0]], dtype), device.poisoned(x.size, dtype)
    device.launch(f"atomic_{name}", (50, 1, 1), x, result, old)
    assert result.tolist() == [x.sum(), x.max(), x.min()]
    # In some order the additions form a chain from 0: each sum but the last is where one begins.
    assert sorted([*old, result[0]]) == sorted([0, *(old + x)])


@pytest.mark.parametrize("name", ["float", "double"])
def test_atomic_extremes_of_nan(device, name):
    """NaN wins, as in maximum and minimum."""
    dtype = np.dtype({"float": np.float32, "double": np.float64}[name])
    x = np.linspace(-1, 1, 96).astype(dtype)
    x[17] = np.nan
    result, old = np.zeros(3, dtype), device.poisoned(x.size, dtype)
    device.launch(f"atomic_{name}", (1, 1, 1), x, result, old)
    assert np.isnan(result).all()


def test_histogram(device, rng):
    """Atomic operations work on shared memory."""
    x = rng.integers(0, 16, 10_000).astype(np.int32)
    counts = np.zeros(16, np.int32)
    device.launch("histogram", device.blocks(x.size), x, counts, ctypes.c_int(x.size))
    assert (counts == np.bincount(x, minlength=16)).all()


def test_dynamic_shared_memory(device, rng):
    """A block has the shared memory that its launch asks for."""
    x = rng.normal(size=(20, 160)).astype(np.float32)
    out = device.poisoned(x.shape, np.float32)
    device.launch("reverse", (20, 1, 1), x, out, shared=640)
    assert (out == x[:, ::-1]).all()


# ---- warps and blocks ----------------------------------------------------------------------------


def _shuffled(x):
    """Model the rows of the kernels in warp.cu: who reads from whom."""
    i = np.arange(64)
    warp, lane = i & ~31, i & 31
    down16 = (lane & 15) + 2 < 16
    sources = [
        warp + 5,
        (i & ~7) + (i // 3) % 8,
        np.where(lane >= 3, i - 3, i),
        np.where(lane % 4 >= 1, i - 1, i),
        np.where(lane + 7 < 32, i + 7, i),
        np.where(down16, i + 2, i),
        i ^ 16,
        np.where(i ^ 9 <= i | 7, i ^ 9, i),
    ]
    return np.stack([x[source] for source in sources])


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("float", np.float32), ("double", np.float64), ("long", np.int64), ("half", np.float16)],
)
def test_shuffles(device, rng, name, dtype):
    """Shuffles read from the lane that CUDA's documentation names, in all widths."""
    x = rng.integers(-1000, 1000, 64).astype(dtype)
    out = device.poisoned((8, 64), dtype)
    device.launch(f"shuffle_{name}", (1, 1, 1), x, out)
    assert (out == _shuffled(x)).all()


def test_votes(device, rng):
    """Every lane learns what all lanes of its warp say."""
    x = rng.integers(-1, 2, 96 * 4).astype(np.int32)
    x[:32], x[32:64] = 1, 0
    ballots = device.poisoned(x.size, np.uint32)
    any_, all_ = device.poisoned(x.size, bool), device.poisoned(x.size, bool)
    device.launch("votes", (4, 1, 1), x, ballots, any_, all_)
    yes = (x > 0).reshape(-1, 32)
    bits = (yes.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(axis=1)
    assert (ballots.reshape(-1, 32) == bits[:, None]).all()
    assert (any_.reshape(-1, 32) == yes.any(axis=1)[:, None]).all()
    assert (all_.reshape(-1, 32) == yes.all(axis=1)[:, None]).all()


def test_block_sum(device, rng):
    """Shuffles and barriers together: a sum for each of many blocks."""
    x = rng.normal(size=(500, 256)).astype(np.float32)
    out = device.poisoned(500, np.float32)
    device.launch("block_sum", (500, 1, 1), x, out)
    expected = x.astype(np.float64).sum(axis=1)
    assert np.abs(out - expected).max() < 256 * 6e-8 * np.abs(x).sum(axis=1).max() / 16


def test_ping_pong(device):
    """A barrier keeps the threads of an odd block in step; writes before it are seen after it."""
    rounds = 20
    out = device.poisoned((40, 105), np.int32)
    device.launch("ping_pong", (40, 1, 1), out, ctypes.c_int(rounds))
    tid = np.arange(105)
    numbers = tid.copy()
    for _ in range(rounds):
        numbers = np.roll(numbers, -1) + tid
    assert (out == numbers + np.arange(40)[:, None]).all()


def test_warp_relay(device):
    """Warps meet on their own, at their own pace."""
    out = device.poisoned(128, np.int32)
    device.launch("warp_relay", (1, 1, 1), out)
    for warp in range(4):
        baton = np.int32(0)
        with np.errstate(over="ignore"):
            for turn in range(8 * (warp + 1)):
                baton = np.int32(baton * np.int32(3) + np.int32(turn % 32))
        assert (out[((np.arange(128) // 32 + 1) % 4) == warp] == baton).all()


def test_coordinates_and_scalars(device):
    """Grids and blocks have three dimensions; arguments by value have their own types."""
    width, height, depth = 10, 8, 6
    out = device.poisoned((depth, height, width), np.int32)
    device.launch(
        "coordinates", (3, 3, 3), out,
        ctypes.c_int(width), ctypes.c_longlong(height), ctypes.c_float(2.75), ctypes.c_bool(True),
    )  # fmt: skip
    z, y, x = np.indices(out.shape)
    assert (out == 333 + 2000 * (x + y + z) + 1).all()
    device.launch("no_arguments", (2, 1, 1))


def test_matmul(device, rng):
    """The kernel of the comment in matmul.cu is right; how fast it is, is printed (pytest -s)."""
    m, n, k = 256, 320, 512
    x = rng.normal(size=(m, k)).astype(np.float32)
    w = rng.normal(size=(k, n)).astype(np.float32)
    out = device.poisoned((m, n), np.float32)
    sizes = ctypes.c_int(n), ctypes.c_int(k)
    seconds = []
    for _ in range(5):
        start = time.process_time()
        device.launch("matmul", (n // 64, m // 64, 1), x, w, out, *sizes)
        seconds.append(time.process_time() - start)
    expected = x.astype(np.float64) @ w.astype(np.float64)
    bound = 6e-8 * k**0.5 * np.abs(x).astype(np.float64) @ np.abs(w)
    assert (np.abs(out - expected) < bound).all()
    if device.is_cpu:
        print(f"\nmatmul: {2 * m * n * k / min(seconds) / 1e9:.1f} GFLOP/s a core")
        count = device.poisoned(256, np.int32)
        start = time.process_time()
        device.launch("barriers", (1, 1, 1), count, ctypes.c_int(2000))
        nanoseconds = (time.process_time() - start) / (2000 * 2 * 256) * 1e9
        assert (count == 2000).all()
        print(f"barrier: {nanoseconds:.1f} ns for each fiber")


# ---- the CPU alone -------------------------------------------------------------------------------


ONE = (1, 1, 1)


def _lines(text, kernel):
    """Number the lines of a kernel in its file: those in which threads meet."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"{kernel}("))
    end = lines.index("}", start)
    return [i + 1 for i in range(start, end) if re.search(r"__syncthreads|shfl", lines[i])]


@pytest.mark.parametrize("first", [1, 32, 63])
def test_threads_that_leave_before_a_barrier(cpu, kernel_sources, first):
    """A barrier that not all threads reach is an error with its line, and no hang."""
    (line,) = _lines(kernel_sources["hang"], "leave_early")
    out = cpu.poisoned(64, np.int32)
    result = cpu.try_launch("leave_early", ONE, out, ctypes.c_int(first), ctypes.c_int(0))
    assert result == (
        3,
        f"kernel leave_early, block (0, 0, 0): the block hangs: {64 - first} of its 64 threads "
        f"have finished, and {first} wait at __syncthreads in line {line} for others of 64 that do "
        "not come",
    )


def test_one_block_of_many_hangs(cpu):
    """The message names the block, and the next launch works again."""
    grid = (200, 1, 1)
    out = cpu.poisoned((200, 64), np.int32)
    code, message = cpu.try_launch("leave_early", grid, out, ctypes.c_int(32), ctypes.c_int(150))
    assert code == 3
    assert message.startswith("kernel leave_early, block (150, 0, 0): the block hangs")
    out = cpu.poisoned((200, 64), np.int32)
    cpu.launch("leave_early", grid, out, ctypes.c_int(64), ctypes.c_int(0))
    assert (out == 1).all()


def test_two_barriers(cpu, kernel_sources):
    """Threads that wait at different barriers wait in vain, even where their numbers add up."""
    first, second = _lines(kernel_sources["hang"], "two_barriers")
    assert cpu.try_launch("two_barriers", ONE, cpu.poisoned(64, np.int32)) == (
        3,
        "kernel two_barriers, block (0, 0, 0): the threads diverge: 32 of 64 wait at __syncthreads "
        f"in line {first}, thread (32, 0, 0) comes to __syncthreads in line {second}",
    )


MISTAKES = {
    "missing_lane": (
        3,
        "2 of its 64 threads have finished, and 31 wait at shfl_xor in line {line}",
    ),
    "small_warp": (4, "shfl_down in line {line} reads lane 23 of a warp of 16"),
    "not_collective": (6, "__syncthreads in line {line} needs HIDET_COLLECTIVE"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(cpu, kernel_sources, name):
    """Other meetings that cannot be say so, too."""
    code, message = MISTAKES[name]
    (line,) = _lines(kernel_sources["hang"], name)
    got_code, got_message = cpu.try_launch(name, ONE, cpu.poisoned(64, np.int32))
    assert got_code == code
    assert message.format(line=line) in got_message


@pytest.mark.parametrize("grid", [(0, 1, 1), (1, 0, 1), (1, 70000, 1)])
def test_invalid_grid(cpu, grid):
    """A grid that CUDA refuses is refused."""
    message = f"kernel no_arguments: the grid {grid} is empty or larger than CUDA allows"
    assert cpu.try_launch("no_arguments", grid) == (1, message)


def test_checks(build_cpu):
    """Compiled with checks, misaligned vectors and memory that was never written show."""
    checked = build_cpu(Gxx(check=True), "memory")
    x = np.zeros(65, np.float32)
    code, message = checked.try_launch("misaligned", ONE, x, checked.poisoned(64, np.float32))
    assert code == 5
    assert "copy_vector of 8 bytes" in message
    out = np.zeros(32, np.float32)
    checked.launch("uninitialised", ONE, out, shared=128)
    assert np.isnan(out).all()
    v = np.arange(64 * 4, dtype=np.float32)
    copied = checked.poisoned(64 * 4, np.float32)
    checked.launch("copy_float4", ONE, v, copied)
    assert (copied == v).all()


def test_faults(cpu):
    """The first fault of a block is reported, before what it leads to, and forgotten afterwards."""
    table, out = np.arange(5, dtype=np.float32), np.zeros(64, np.float32)
    for indices, status, message in [
        ([1, 7] * 32, 13, "index 7 is out of bounds for a dimension of size 5\nlook_up (model.py"),
        ([1, 0] * 32, 7, "the assertion does not hold: at > 0"),
        ([1, 2] * 32, 0, ""),
    ]:
        found = cpu.try_launch("look_up", (2, 1, 1), np.array(indices), table, out)
        assert found[0] == status
        assert message in found[1]
    assert (out == table[[1, 2] * 32] * 2).all()


def test_checks_call_nothing(tmp_path, kernel_sources):
    """Checked indices and divisors cost a loop a compare: a call would clobber its registers."""
    compiler = Gxx()
    (tmp_path / "kernel.cpp").write_text(kernel_sources["faults"])
    command = [*compiler.command, *compiler.options, f"-I{INCLUDE_DIR}", "-S", "-o-", "kernel.cpp"]
    text = subprocess.check_output(command, cwd=tmp_path, text=True, timeout=120)
    assert "run_block" in text
    assert not re.search("bad_index|zero_divisor", text)


def test_launches_from_several_threads(cpu, rng):
    """Several Python threads launch at the same time; each has its own error message."""
    x = rng.normal(size=(64, 256)).astype(np.float32)
    expected = x.astype(np.float64).sum(axis=1)
    results = {}

    def work(number):
        worst = 0.0
        for _ in range(20):
            out = cpu.poisoned(64, np.float32)
            cpu.launch("block_sum", (64, 1, 1), x, out)
            worst = max(worst, np.abs(out - expected).max())
            if number % 2:
                arguments = cpu.poisoned(64, np.int32), ctypes.c_int(number), ctypes.c_int(0)
                code, message = cpu.try_launch("leave_early", ONE, *arguments)
                assert code == 3
                assert f"{64 - number} of its 64 threads have finished" in message
        results[number] = worst

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert max(results.values()) < 1e-3


CORES = """
#include "hidet.h"
extern "C" __global__ void __launch_bounds__(64) cores(int* team, int* sums) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  hidet::atomic_add(&total, (int)threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = total + blockIdx.x;
    team[blockIdx.x] = omp_get_num_threads();
  }
}
HIDET_KERNEL(cores, 64, 1, 1, HIDET_COLLECTIVE)
"""

RUN_CORES = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
team, sums = (ctypes.c_int * 300)(), (ctypes.c_int * 300)()
cells = [ctypes.c_void_p(ctypes.addressof(a)) for a in (team, sums)]
table = (ctypes.c_void_p * 2)(*map(ctypes.addressof, cells))
assert library.cores_launch(table, 300, 1, 1, 0) == 0
assert [s - i for i, s in enumerate(sums)] == [64 * 63 // 2] * 300
print(*sorted(set(team)))
"""


SERIAL = """
#include "hidet.h"
extern "C" __global__ void __launch_bounds__(64) cores(int* team, int* sums) {
  sums[blockIdx.x] = 64 * 63 / 2 + blockIdx.x;
  team[blockIdx.x] = omp_get_num_threads();
}
HIDET_KERNEL(cores, 64, 1, 1, HIDET_SERIAL)
"""


def run_cores(source, count, library):
    Gxx().compile(source, library)
    result = subprocess.run(
        [sys.executable, "-c", RUN_CORES, str(library)],
        env={**os.environ, "OMP_NUM_THREADS": str(count)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stderr == ""
    return result.stdout.split()


def test_serial_kernel(tmp_path):
    """All blocks run on the calling thread."""
    assert run_cores(SERIAL, 3, tmp_path / "cores.so") == ["1"]


@pytest.mark.parametrize("count", [1, 3])
def test_number_of_cores(tmp_path, count):
    """OMP_NUM_THREADS says how many threads of the operating system share the blocks."""
    assert run_cores(CORES, count, tmp_path / "cores.so") == [str(count)]
