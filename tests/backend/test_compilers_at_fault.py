"""Compilers that hang, or end well and leave something else than a binary."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hidet.backend import elf
from hidet.backend.build import build_kernels
from hidet.backend.cache import CacheWarning, Store, artifact_key
from hidet.backend.toolchains import Gxx
from hidet.errors import CompilationError

KERNEL = """#include "hidet.h"
extern "C" __global__ void __launch_bounds__(32) one(float* out) { out[threadIdx.x] = 1.0f; }
HIDET_KERNEL(one, 32, 1, 1, HIDET_INDEPENDENT)
"""
SYMBOLS = {"one": "one_launch"}


@pytest.fixture
def cache(tmp_path):
    """A cache that holds nothing."""
    return Store(tmp_path / "cache").kernels


@pytest.fixture
def compiler(tmp_path):
    """Give a function that makes g++ do something after it is done; `$out` is its output."""

    def make(after):
        path = tmp_path / "g++"
        path.write_text(f"""#!/bin/sh
g++ "$@" || exit $?
case "$*" in *--version*) exit 0;; esac
for out; do :; done
{after}
exit 0
""")
        path.chmod(0o755)
        return Gxx(path)

    return make


# Kernels that call what is nowhere.
LOST = 'extern "C" { int nowhere(); int one_launch() { return nowhere(); } }'

# Puts what the loader looks for (the segment of type 2, PT_DYNAMIC) far away: it reads there.
DAMAGE = """
import struct, sys
with open(sys.argv[1], "r+b") as file:
    data = bytearray(file.read())
    (table,), (count,) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<H", data, 56)
    for segment in range(table, table + 56 * count, 56):
        if data[segment] == 2:
            struct.pack_into("<Q", data, segment + 16, 1 << 40)
    file.seek(0)
    file.write(data)
"""

FAULTS = {
    "empty": (': > "$out"', "it has 0 bytes only"),
    "none": ('rm "$out"', "it succeeded, but wrote no file"),
    "folder": ('rm "$out"; mkdir "$out"', "not a regular file"),
    "pipe": ('rm "$out"; mkfifo "$out"', "not a regular file"),
    "endless": ('ln -sf /dev/zero "$out"', "not a regular file"),
    "huge": ('truncate -s 2G "$out"', "wrote 2147483648 bytes"),
    "cut": ('truncate -s 5000 "$out"', "it is truncated"),
    "text": ('yes "all is well" | head -99 > "$out"', "not an ELF file"),
    "object": (f"echo '{LOST}' | g++ -c -fPIC -x c++ - -o \"$out\"", "it cannot be loaded"),
    "damaged": (f"{sys.executable} -c '{DAMAGE}' \"$out\"", r"crashes a process \(SIGSEGV\)"),
    "lost": (f"echo '{LOST}' | g++ -shared -fPIC -x c++ - -o \"$out\"", "cannot be .* nowhere"),
    "another": (
        'cp "$(g++ -print-file-name=libgcc_s.so.1)" "$out"',
        "does not define 'one_launch'",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_no_binary(cache, compiler, fault):
    """It is an error, and nothing of it is kept: a compiler that is well again is asked again."""
    after, reason = FAULTS[fault]
    toolchain = compiler(after)
    with pytest.raises(CompilationError, match=reason) as caught:
        build_kernels({"one": KERNEL}, toolchain, cache, symbols=SYMBOLS)
    assert "kernel 'one'" in caught.value.what
    assert cache.store.entries() == []
    Path(toolchain.path).write_text('#!/bin/sh\nexec g++ "$@"\n')
    assert build_kernels({"one": KERNEL}, toolchain, cache, symbols=SYMBOLS)["one"]


def test_what_others_have_stored_unchecked(cache):
    """A binary that came into the cache as it is, and is of no use, is built again."""
    key = artifact_key(KERNEL, Gxx().fingerprint())
    cache.put(key, {"kernel.so": b"\x7fELF, or so", "kernel.cpp": KERNEL.encode()}, {})
    with pytest.warns(CacheWarning, match="will be built again: .*bytes only"):
        binaries = build_kernels({"one": KERNEL}, Gxx(), cache, symbols=SYMBOLS)
    elf.check_object(binaries["one"], Gxx().machine, "one_launch")


def test_every_cut_is_noticed(tmp_path):
    """Whatever the length of what is left of a binary."""
    Gxx().compile(KERNEL, tmp_path / "one.so")
    data = (tmp_path / "one.so").read_bytes()
    elf.check_object(data, Gxx().machine, "one_launch")
    for length in range(0, len(data), 61):
        with pytest.raises(elf.BadObjectError):
            elf.check_object(data[:length], Gxx().machine, None)
    with pytest.raises(elf.BadObjectError, match=r"for machine \d+, not 190 \(cuda\)"):
        elf.check_object(data, "cuda", None)


def wait_for_end_of(number):
    """Wait for the end of a process, of which nobody may take notice yet."""
    state = Path(f"/proc/{number}/stat")
    for _ in range(100):
        if not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return
        time.sleep(0.1)
    pytest.fail(f"process {number} is still there")


def test_compiler_that_hangs(cache, compiler, tmp_path):
    """After the limit it is ended, with what it has started, and the error names the option."""
    toolchain = compiler(f"sleep 600 & echo $! > {tmp_path}/pid; wait")
    with pytest.raises(CompilationError, match="did not end within 2 seconds") as caught:
        # Nothing to compile, so that g++ itself is done in time on a busy machine, too.
        build_kernels({"one": "// nothing"}, toolchain, cache, time_limit=2)
    assert "HIDET_COMPILE_TIME_LIMIT" in caught.value.hint
    wait_for_end_of((tmp_path / "pid").read_text().strip())


# Arguments: the cache, the compiler. Two compilers run, and a third kernel waits for its turn. At
# last it prints whether Python, in its own end, has objects that it looks through no more.
BUILD = """
import atexit, gc, signal, sys
from pathlib import Path
from hidet.backend.build import build_kernels
from hidet.backend.cache import Store
from hidet.backend.toolchains import Gxx
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
atexit.register(lambda: print(gc.get_freeze_count() > 0))
cache, compiler = Store(Path(sys.argv[1])).kernels, Gxx(Path(sys.argv[2]))
build_kernels({n: n for n in "abc"}, compiler, cache, workers=2)
"""


def test_interrupted_build(compiler, tmp_path):
    """A Ctrl-C ends the build at once, its compilers too, and leaves no temporary files."""
    toolchain = compiler("")
    script = Path(toolchain.path)
    waits = f"sleep 600 & echo $! >> {tmp_path}/pids; wait"
    script.write_text(
        script.read_text()
        .replace('g++ "$@" || exit $?', "")
        .replace(
            'case "$*" in *--version*) exit 0;; esac',
            f'case "$*" in *--version*) exec g++ --version;; *) {waits};; esac',
        )
    )
    (tmp_path / "scratch").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", BUILD, str(tmp_path / "cache"), str(script)],
        env={**os.environ, "TMPDIR": str(tmp_path / "scratch")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    pids = tmp_path / "pids"
    for _ in range(600):
        if pids.exists() and len(pids.read_text().split()) == 2:
            break
        time.sleep(0.1)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert time.monotonic() - start < 10  # it takes a tenth of a second
    assert output == "True\n"
    assert errors.endswith("KeyboardInterrupt\n")
    for number in pids.read_text().split():
        wait_for_end_of(number)
    assert os.listdir(tmp_path / "scratch") == []
    assert os.listdir(tmp_path / "cache" / "temporary") == []
    assert len(pids.read_text().split()) == 2  # and the third was not begun


def test_cubins_are_looked_into(tmp_path):
    """nvcc's binaries are files of the same form."""
    from hidet.backend.toolchains import Nvcc
    from hidet.errors import CompilerNotFoundError

    try:
        Nvcc("sm_80").compile(KERNEL, tmp_path / "one.cubin")
    except CompilerNotFoundError:
        pytest.skip("needs nvcc")
    data = (tmp_path / "one.cubin").read_bytes()
    elf.check_object(data, "cuda", Nvcc("sm_80").symbol("one"))
    with pytest.raises(elf.BadObjectError, match="does not define 'two'"):
        elf.check_object(data, "cuda", "two")
    with pytest.raises(elf.BadObjectError, match="it is truncated"):
        elf.check_object(data[:-100], "cuda", None)
