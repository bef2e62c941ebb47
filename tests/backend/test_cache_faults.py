"""The cache under processes that race and are killed, and on disks that are full."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from hidet.backend.cache import CacheWarning, Store, artifact_key
from hidet.backend.cache.entry import DESCRIPTION

KEY = artifact_key("source", "compiler")
FILES = {"kernel.so": bytes(100_000), "kernel.cpp": b"int main() {}\n"}

# Arguments: the cache, then what a process of a test needs. All of them put the same entry.
PRELUDE = """
import os, signal, sys, time
from pathlib import Path
from hidet.backend.cache import Store, artifact_key
key = artifact_key("source", "compiler")
files = {"kernel.so": bytes(100_000), "kernel.cpp": b"int main() {}\\n"}
store = Store(Path(sys.argv[1]))
"""


def start(script, *arguments):
    """Start a Python process."""
    command = [sys.executable, "-W", "error", "-c", PRELUDE + script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    """Wait for a process that ends well; give what it printed."""
    output, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    return output


def check_intact(root):
    """The entry is there and right."""
    entry = Store(root).kernels.entry(KEY)
    assert entry.files == FILES
    assert entry.meta == {"name": "add"}


def temporaries(root):
    """What is being written, or was left half-written."""
    return os.listdir(root / "temporary")


# ---- killed --------------------------------------------------------------------------------------

# Ends the process as no handler can prevent, at the n-th call of one function of the system.
KILLED_IN_PUT = """
function, count, after = sys.argv[2], int(sys.argv[3]), sys.argv[4] == "after"
original, calls = getattr(os, function), 0
def deadly(*arguments, **options):
    global calls
    calls += 1
    try:
        return original(*arguments, **options) if calls < count or after else None
    finally:
        if calls == count:
            os.kill(os.getpid(), signal.SIGKILL)
setattr(os, function, deadly)
store.kernels.put(key, files, {"name": "add"})
"""

MOMENTS = [
    *[("mkdir", count, "after") for count in (2, 4, 7, 8)],  # root, its folders, temporary, <kk>
    *[("fsync", count, "before") for count in (1, 2, 3, 4, 5)],  # files, description, folders
    ("rename", 1, "before"),
    ("rename", 1, "after"),
]


@pytest.mark.parametrize(("function", "count", "when"), MOMENTS)
def test_killed_while_writing(tmp_path, function, count, when):
    """Others see the whole entry or none, and the next process puts it without a complaint."""
    root = tmp_path / "cache"
    process = start(KILLED_IN_PUT, root, function, count, when)
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    is_published = (function, when) == ("rename", "after") or (function, count) == ("fsync", 5)
    assert (Store(root).kernels.entry(KEY) is not None) == is_published
    Store(root).kernels.put(KEY, FILES, {"name": "add"})
    check_intact(root)


def test_killed_while_building(tmp_path):
    """The lock of a process that is killed does not stop others."""
    script = """
with store.kernels.building(key):
    print("building", flush=True)
    time.sleep(600)
"""
    process = start(script, tmp_path / "cache")
    try:
        assert process.stdout.readline() == "building\n"
    finally:
        process.kill()
        process.communicate(timeout=120)
    with Store(tmp_path / "cache").kernels.building(KEY):
        Store(tmp_path / "cache").kernels.put(KEY, FILES, {"name": "add"})
    check_intact(tmp_path / "cache")


def test_killed_while_evicting(tmp_path):
    """An entry that was on its way out is gone as a whole."""
    root = tmp_path / "cache"
    path = Store(root).kernels.put(KEY, FILES, {"name": "add"})
    os.utime(path / DESCRIPTION, (0, 0))
    script = """
from hidet.backend.cache import folder
folder.discard = lambda path: os.kill(os.getpid(), signal.SIGKILL)
Store(Path(sys.argv[1]), max_bytes=1000).evict()
"""
    process = start(script, root)
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    assert Store(root).entries() == []
    assert Store(root).kernels.entry(KEY) is None
    Store(root).kernels.put(KEY, FILES, {"name": "add"})
    check_intact(root)


# ---- races ---------------------------------------------------------------------------------------

# Everybody waits for the same moment, then works for some rounds.
RACE = """
while time.time() < float(sys.argv[2]):
    pass
for _ in range(int(sys.argv[3])):
    store.kernels.put(key, files, {"name": "add"})
    entry = store.kernels.entry(key)
    if entry is not None:  # who clears may have been faster
        assert entry.meta == {"name": "add"}
"""

CLEAR = """
while time.time() < float(sys.argv[2]):
    pass
for _ in range(int(sys.argv[3])):
    store.clear()
"""


def test_race_for_one_key(tmp_path):
    """Processes put, find and remove the same entry at the same time."""
    root = tmp_path / "cache"
    moment = time.time() + 1.0
    scripts = [RACE, RACE, RACE, CLEAR]
    for process in [start(script, root, moment, 40) for script in scripts]:
        finish(process)
    assert temporaries(root) == []
    Store(root).kernels.put(KEY, FILES, {"name": "add"})
    check_intact(root)


def test_one_builds_while_others_wait(tmp_path):
    """The lock of a key lets one process build; the others find what it has built."""
    script = """
from contextlib import ExitStack
with store.kernels.building(key):
    if store.kernels.entry(key) is None:
        print("built")
        time.sleep(0.3)
        store.kernels.put(key, files, {"name": "add"})
"""
    processes = [start(script, tmp_path / "cache") for _ in range(3)]
    assert "".join(map(finish, processes)) == "built\n"
    check_intact(tmp_path / "cache")


# ---- what cannot be written ----------------------------------------------------------------------


@pytest.fixture
def full(monkeypatch):
    """Fill the disk of a folder: one function of the system fails there from now on."""

    def fill(root, function, code=errno.ENOSPC):
        original = getattr(os, function)

        def failing(target, *arguments, **options):
            is_open = isinstance(target, int)
            path = os.readlink(f"/proc/self/fd/{target}") if is_open else os.fspath(target)
            if path.startswith(str(root)):
                raise OSError(code, os.strerror(code))
            return original(target, *arguments, **options)

        monkeypatch.setattr(os, function, failing)

    return fill


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("function", ["mkdir", "fsync", "rename"])
def test_full_disk(tmp_path, full, function, code):
    """The entry is kept for the process, with one warning; nothing half-written is left."""
    store = Store(tmp_path / "cache")
    store.folder.prepare()
    full(tmp_path / "cache", function, code)
    with pytest.warns(CacheWarning, match=os.strerror(code)) as caught:
        path = store.kernels.put(KEY, FILES, {"name": "add"})
    assert len(caught) == 1
    assert "what is compiled now is kept for this process only" in str(caught[0].message)
    assert not path.exists()
    entry = store.kernels.entry(KEY)
    assert entry.files == FILES
    other = artifact_key("other source", "compiler")
    store.kernels.put(other, FILES, {})  # without another warning
    assert store.kernels.entry(other) is not None
    assert store.kernels.put(KEY, FILES, {"name": "add"}) == path
    assert store.entries() == []
    assert temporaries(tmp_path / "cache") == []


def test_building_without_room_for_a_lock(tmp_path, full):
    """Where no lock can be made, building goes on without."""
    store = Store(tmp_path / "cache")
    full(tmp_path / "cache", "mkdir")
    with store.kernels.building(KEY), pytest.warns(CacheWarning):
        store.kernels.put(KEY, FILES, {})
    assert store.kernels.entry(KEY) is not None


# A file system of 64 KiB for the entry of 100 kB, then one of 1 MiB.
SMALL_DISK = """
import warnings
for size in ("64k", "1m"):
    os.system(f"mount -t tmpfs -o mode=0700,size={size} none {sys.argv[1]}")
    store = Store(Path(sys.argv[1]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        store.kernels.put(key, files, {"name": "add"})
    assert store.kernels.entry(key).files["kernel.so"] == files["kernel.so"]
    print(size, len(caught), len(store.entries()), os.listdir(store.folder.root / "temporary"))
print(len(store.kept))
"""


def test_small_disk(tmp_path):
    """The same on a real file system that is full, in a name space of its own."""
    enter = ["unshare", "--map-root-user", "--mount"]
    mount = ["sh", "-c", f"mount -t tmpfs none {tmp_path}"]
    if shutil.which("unshare") is None or subprocess.run([*enter, *mount], check=False).returncode:
        pytest.skip("needs a user name space that may mount")
    command = [*enter, sys.executable, "-c", PRELUDE + SMALL_DISK, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stderr == ""
    assert result.stdout.splitlines() == ["64k 1 0 []", "1m 0 1 []", "0"]
