"""The cache where anything but what belongs there is found."""

import os
import shutil
import socket
import threading
import time
import warnings
from pathlib import Path

import pytest

from hidet.backend import temporary
from hidet.backend.cache import CacheWarning, Store, artifact_key
from hidet.backend.cache.entry import DESCRIPTION
from hidet.errors import CacheError

KEY = artifact_key("source", "compiler")
FILES = {"kernel.so": bytes(1024), "kernel.cpp": b"int main() {}\n"}


def make_socket(path):
    """Make a socket; the names of sockets are short."""
    before = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(before)


def make_deep(path, depth=1100):
    """Make folders in folders; their whole path would be too long for the system."""
    path.mkdir()
    here = os.open(path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("a", dir_fd=here)
        inner = os.open("a", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


THINGS = {
    "file": lambda path: path.write_text("no folder"),
    "link": lambda path: path.symlink_to("/etc/passwd"),
    "loop": lambda path: path.symlink_to(path),
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "fifo": os.mkfifo,
    "socket": make_socket,
}
PLACES = {
    "entry": lambda root, place: place,
    "description": lambda root, place: place / DESCRIPTION,
    "binary": lambda root, place: place / "kernel.so",
    "folder of entries": lambda root, place: place.parent,
    "lock": lambda root, place: root / "locks" / KEY[:2],
    "namespace": lambda root, place: root / "kernels",
    "locks": lambda root, place: root / "locks",
    "temporary": lambda root, place: root / "temporary",
    "root": lambda root, place: root,
}
REFUSED = {"namespace", "locks", "temporary", "root"}


def replace(path, make):
    """Put something else where a part of the cache was."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    make(path)


def within_seconds(work):
    """Do something that must not hang; give what it raised."""
    raised = []

    def run():
        try:
            work()
        except CacheError as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    return raised


@pytest.fixture
def root(tmp_path):
    """Where a cache may be; nothing is left that pytest could not remove."""
    yield tmp_path / "cache"
    temporary.remove_tree(tmp_path / "cache")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("thing", THINGS)
def test_anything_anywhere(root, thing, place):
    """An entry heals; what is above is refused by one error. Nothing hangs."""
    with Store(root).kernels.building(KEY):
        path = Store(root).kernels.put(KEY, FILES, {"name": "add"})
    replace(PLACES[place](root, path), THINGS[thing])

    def use():
        store = Store(root)
        with store.kernels.building(KEY):
            if store.kernels.entry(KEY) is None:
                store.kernels.put(KEY, FILES, {"name": "add"})
        entry = store.kernels.entry(KEY)
        assert entry.files["kernel.so"] == FILES["kernel.so"]
        store.evict()
        store.clear()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        raised = within_seconds(use)
    assert [type(error) for error in raised] == [CacheError] * (place in REFUSED), raised


@pytest.mark.parametrize("depth", [1100, pytest.param(200_000, marks=pytest.mark.slow)])
def test_any_depth(root, depth):
    """Folders in the place of an entry go, and those that were left in `temporary`."""
    store = Store(root)
    path = store.kernels.put(KEY, FILES, {})
    make_deep(path / "deep", depth)
    make_deep(root / "temporary" / "deep")
    os.utime(root / "temporary" / "deep", (0, 0))
    (path / DESCRIPTION).unlink()
    with pytest.warns(CacheWarning, match="will be built again"):
        assert store.kernels.entry(KEY) is None
    store.evict()
    assert os.listdir(root / "temporary") == []


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000, '{"payload": ' + "[" * 900])
def test_deep_description(tmp_path, text):
    """JSON of any depth is a damage like others."""
    store = Store(tmp_path / "cache")
    path = store.kernels.put(KEY, FILES, {})
    (path / DESCRIPTION).write_text(text)
    with pytest.warns(CacheWarning, match="will be built again"):
        assert store.kernels.entry(KEY) is None


@pytest.mark.parametrize("place", ["namespace", "folder of entries", "entry"])
@pytest.mark.parametrize("owner", ["others write", "of another user"])
def test_parts_that_others_can_write(tmp_path, monkeypatch, place, owner):
    """They could plant code there as well as in the root."""
    root = tmp_path / "cache"
    store = Store(root)
    part = PLACES[place](root, store.kernels.put(KEY, FILES, {}))
    if owner == "others write":
        part.chmod(0o777)
    else:
        look = Path.lstat

        def lstat(path):
            status = list(look(path))
            status[4] += path == part  # the number of the user
            return os.stat_result(status)

        monkeypatch.setattr(Path, "lstat", lstat)
    with pytest.raises(CacheError, match=r"others can write to|belongs to another user") as caught:
        store.kernels.entry(KEY)
    assert caught.value.where == str(part)


def test_file_that_others_can_write(tmp_path):
    """A file of an entry is built again."""
    store = Store(tmp_path / "cache")
    path = store.kernels.put(KEY, FILES, {})
    (path / "kernel.so").chmod(0o666)
    with pytest.warns(CacheWarning, match=r"kernel\.so is, or can be, written by others"):
        assert store.kernels.entry(KEY) is None


@pytest.mark.parametrize("reason", ["long", "noexec"])
def test_cache_that_cannot_be_used(tmp_path, monkeypatch, reason):
    """What is compiled is kept for the process, with one warning."""
    root = tmp_path / ("x" * 300 if reason == "long" else "cache")
    if reason == "noexec":
        monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result([0] * 8 + [8, 0]))
    store = Store(root)
    with store.kernels.building(KEY):
        assert store.kernels.entry(KEY) is None
        with pytest.warns(CacheWarning, match=r"too long|noexec") as caught:
            path = store.kernels.put(KEY, FILES, {})
        assert len(caught) == 1
    assert store.kernels.entry(KEY).path == path


def test_folders_of_the_dead_are_swept(tmp_path, monkeypatch):
    """What killed processes left goes; what somebody is at work in, or is new, stays."""
    monkeypatch.setattr(temporary.tempfile, "tempdir", str(tmp_path))
    with temporary.temporary_folder() as used, temporary.temporary_folder() as new:
        dead = tmp_path / f"{temporary.PREFIX}dead"
        dead.mkdir()
        (dead / "cc1.s").write_text("")
        (tmp_path / f"{temporary.PREFIX}file").write_text("")
        for folder in (used, dead):
            os.utime(folder, (time.time() - 1000,) * 2)
        temporary.sweep()
        assert not dead.exists()
        assert used.exists()
        assert new.exists()
    assert os.listdir(tmp_path) == [f"{temporary.PREFIX}file"]
