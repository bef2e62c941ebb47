"""The cache on disk: what is found again, what is damaged, who may use it, and what leaves."""

import hashlib
import json
import os
import time

import pytest

from hidet.backend.cache import CacheWarning, Store, artifact_key, folder
from hidet.backend.cache.entry import DESCRIPTION
from hidet.errors import CacheError

FILES = {"kernel.so": bytes(range(256)) * 4, "kernel.cpp": b"int main() {}\n"}
META = {"name": "add", "seconds": 0.25, "resources": {"add": {"registers": 32}}, "log": None}
HOUR = 3600.0


def key_of(number):
    """A key."""
    return artifact_key(f"source {number}", "compiler")


KEY = key_of(0)


@pytest.fixture
def store(tmp_path):
    """A cache that holds nothing."""
    return Store(tmp_path / "cache")


def age(path, seconds):
    """Say of an entry that it was last used that long ago."""
    then = time.time() - seconds
    os.utime(path / DESCRIPTION, (then, then))


def names_in(path):
    """Everything in a folder, or nothing where there is none."""
    return sorted(os.listdir(path)) if path.exists() else []


# ---- what is found again -------------------------------------------------------------------------


def test_what_is_put_is_found(store):
    """Another process finds the same."""
    assert store.kernels.entry(KEY) is None
    path = store.kernels.put(KEY, FILES, META)
    entry = Store(store.folder.root).kernels.entry(KEY)
    assert (entry.path, entry.meta) == (path, META)
    assert entry.files == FILES


def test_namespaces_are_apart(store):
    """A binary and a program may have the same key."""
    store.kernels.put(KEY, FILES, META)
    assert store.programs.entry(KEY) is None
    store.programs.put(KEY, {}, {"kind": "program"})
    assert store.programs.entry(KEY).meta == {"kind": "program"}
    assert store.kernels.entry(KEY).meta == META


def test_key_tells_source_and_fingerprint_apart():
    """Moving text from one to the other gives another key."""
    keys = [artifact_key(*pair) for pair in (("a", "b"), ("b", "a"), ("ab", ""), ("", "ab"))]
    assert len(set(keys)) == 4
    assert artifact_key("a", "b") == keys[0]


@pytest.mark.parametrize("key", ["", "abc", "../" * 20, "A" * 64, "g" * 64, f"{KEY}\n"])
def test_what_is_no_key(store, key):
    """A key becomes a path, so nothing else may pass for one."""
    with pytest.raises(CacheError, match="is not a key"):
        store.kernels.entry(key)


def test_the_second_to_put_finds_the_first(store):
    """The same key stands for the same content, so what is there stays."""
    first = store.kernels.put(KEY, FILES, META)
    before = (first / "kernel.so").stat().st_ino
    assert store.kernels.put(KEY, FILES, META) == first
    assert (first / "kernel.so").stat().st_ino == before
    assert names_in(store.folder.root / "temporary") == []


# ---- damage --------------------------------------------------------------------------------------


def cut(size):
    """Cut a file to that size."""
    return lambda path: os.truncate(path, size)


def flip(path):
    """Change one bit in the middle."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def reseal(**changes):
    """Change what a description says, with the right checksum."""

    def change(path):
        payload = json.loads(path.read_bytes())["payload"] | changes
        text = json.dumps(payload, sort_keys=True, separators=(",", ":"))
        checksum = hashlib.sha256(text.encode()).hexdigest()
        path.write_text(json.dumps({"sha256": checksum, "payload": payload}))

    return change


DAMAGES = {
    "binary cut": ("kernel.so", cut(500), "has 500 bytes, not 1024"),
    "binary empty": ("kernel.so", cut(0), "has 0 bytes"),
    "binary changed": ("kernel.so", flip, "kernel.so has another checksum"),
    "binary gone": ("kernel.so", os.unlink, "kernel.so is missing"),
    "source changed": ("kernel.cpp", flip, "kernel.cpp has another checksum"),
    "description cut": (DESCRIPTION, cut(100), "is not JSON"),
    "description empty": (DESCRIPTION, cut(0), "is not JSON"),
    "description changed": (DESCRIPTION, flip, "entry.json"),
    "description gone": (DESCRIPTION, os.unlink, "entry.json is missing"),
    "no object": (DESCRIPTION, lambda path: path.write_text("[1, 2]"), "has no payload"),
    "no payload": (DESCRIPTION, lambda path: path.write_text('{"payload": 3}'), "has no payload"),
    "no text": (DESCRIPTION, lambda path: path.write_bytes(b"\xff\xfe"), "is not JSON"),
    "other format": (DESCRIPTION, reseal(format=99), "another format or key"),
    "other key": (DESCRIPTION, reseal(key=key_of(1)), "another format or key"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_entry(store, damage):
    """It is as if it were not there, with a warning, and can be put again."""
    name, break_it, reason = DAMAGES[damage]
    path = store.kernels.put(KEY, FILES, META)
    break_it(path / name)
    with pytest.warns(CacheWarning, match=reason):
        assert store.kernels.entry(KEY) is None
    assert not path.exists()
    store.kernels.put(KEY, FILES, META)
    assert store.kernels.entry(KEY).meta == META


def test_description_cut_anywhere(store):
    """No part of a description passes for the whole."""
    path = store.kernels.put(KEY, FILES, META)
    size = (path / DESCRIPTION).stat().st_size
    for length in range(0, size, 23):
        os.truncate(path / DESCRIPTION, length)
        with pytest.warns(CacheWarning, match="is damaged and will be built again"):
            assert store.kernels.entry(KEY) is None
        store.kernels.put(KEY, FILES, META)


def test_damaged_entry_is_replaced(store):
    """Who puts an entry where a damaged one lies does not leave the damaged one there."""
    path = store.kernels.put(KEY, FILES, META)
    flip(path / "kernel.so")
    with pytest.warns(CacheWarning, match="another checksum"):
        store.kernels.put(KEY, FILES, META)
    assert (path / "kernel.so").read_bytes() == FILES["kernel.so"]


def test_metadata_that_json_cannot_hold(store):
    """Nothing is pickled, and a refused entry leaves nothing behind."""
    with pytest.raises(TypeError, match="not JSON serializable"):
        store.kernels.put(KEY, FILES, {"function": flip})
    assert store.entries() == []
    assert names_in(store.folder.root / "temporary") == []


# ---- who may use it ------------------------------------------------------------------------------


def test_only_the_user_may_enter(store):
    """All folders have mode 0700, whatever is common on the machine."""
    mask = os.umask(0)
    try:
        store.kernels.put(KEY, FILES, META)
    finally:
        os.umask(mask)
    folders = [path for path in (store.folder.root, *store.folder.root.rglob("*")) if path.is_dir()]
    assert len(folders) >= 6
    assert {oct(path.stat().st_mode & 0o777) for path in folders} == {"0o700"}


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_folder_that_others_can_write(tmp_path, mode):
    """They could plant code, so it is refused; also if that becomes so later."""
    root = tmp_path / "cache"
    store = Store(root)
    root.mkdir()
    root.chmod(mode)
    for use in (lambda: Store(root), lambda: store.kernels.put(KEY, FILES, META), store.clear):
        with pytest.raises(CacheError, match="others can write to the cache folder") as caught:
            use()
        assert caught.value.where == str(root)
        assert caught.value.hint == f"run: chmod go-w '{root}'"
    root.chmod(0o755)
    assert Store(root).entries() == []


def test_folder_of_another_user(tmp_path, monkeypatch):
    """It is refused, too."""
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(CacheError, match="belongs to another user") as caught:
        Store(tmp_path)
    assert "HIDET_CACHE_DIR" in caught.value.hint


def test_folder_that_cannot_be(tmp_path):
    """A file in the place of the folder, or of one above it, is an error that says what to do."""
    (tmp_path / "file").write_text("")
    for root in (tmp_path / "file" / "cache", tmp_path / "file"):
        with pytest.raises(CacheError, match="cannot be made") as caught:
            Store(root).kernels.put(KEY, FILES, META)
        assert "set HIDET_CACHE_DIR" in caught.value.hint


# ---- size ----------------------------------------------------------------------------------------


def fill(store, count):
    """Put entries of some 10 kB, the first one used an hour ago, each later one a minute later."""
    for number in range(count):
        path = store.kernels.put(key_of(number), {"kernel.so": bytes(10_000)}, {})
        age(path, HOUR - 60 * number)


def test_sizes(store):
    """Entries are listed with what they take, the one that was used last at the end."""
    assert (store.entries(), store.size()) == ([], 0)
    fill(store, 3)
    age(store.kernels.entry(key_of(0)).path, 1.0)
    infos = store.entries()
    assert [info.key for info in infos] == [key_of(1), key_of(2), key_of(0)]
    assert {info.namespace for info in infos} == {"kernels"}
    assert all(10_000 < info.bytes < 11_000 for info in infos)
    assert store.size() == sum(info.bytes for info in infos)


def test_least_recently_used_leave(store):
    """Where there is too much, the oldest go until a tenth is free; finding an entry is a use."""
    fill(store, 10)
    assert store.kernels.entry(key_of(0)) is not None
    small = Store(store.folder.root, max_bytes=55_000)
    small.evict()
    left = {number for number in range(10) if small.kernels.entry(key_of(number))}
    assert left == {0, 7, 8, 9}
    small.evict()
    assert len(small.entries()) == 4
    assert names_in(store.folder.root / "temporary") == []


def test_writing_keeps_the_bound(store):
    """A process that writes looks at the size by itself, at first and then from time to time."""
    small = Store(store.folder.root, max_bytes=64_000)
    for number in range(30):
        age(small.kernels.put(key_of(number), {"kernel.so": bytes(10_000)}, {}), HOUR - number)
        assert small.size() <= 64_000 + 11_000


def test_what_is_in_use_stays(store):
    """Entries of the last minutes stay, however large, for somebody may be about to load them."""
    small = Store(store.folder.root, max_bytes=1000)
    paths = [small.kernels.put(key_of(n), {"kernel.so": bytes(10_000)}, {}) for n in range(3)]
    age(paths[1], folder.GRACE_SECONDS - 60)
    age(paths[2], folder.GRACE_SECONDS + 60)
    small.evict()
    assert [path.exists() for path in paths] == [True, True, False]


def test_use_between_listing_and_removal(store, monkeypatch):
    """An entry that is found while others are chosen to leave is left where it is."""
    fill(store, 2)
    listed = Store.entries

    def list_and_use(self):
        infos = listed(self)
        assert store.kernels.entry(key_of(0)) is not None
        return infos

    monkeypatch.setattr(Store, "entries", list_and_use)
    Store(store.folder.root, max_bytes=1000).evict()
    monkeypatch.undo()
    assert [info.key for info in store.entries()] == [key_of(0)]


def test_clear(store):
    """All entries go, and the cache works on."""
    assert store.clear() == 0
    fill(store, 3)
    store.programs.put(KEY, FILES, META)
    size = store.size()
    assert store.clear() == size
    assert store.entries() == []
    store.kernels.put(KEY, FILES, META)
    assert store.kernels.entry(KEY).meta == META


def test_leftovers_of_the_dead(store):
    """What a process left half-written goes after an hour; that of the living stays."""
    store.kernels.put(KEY, FILES, META)
    old, new = store.folder.new_temporary(), store.folder.new_temporary()
    (old / "kernel.so").write_bytes(b"half")
    os.utime(old, (0, time.time() - 1.5 * HOUR))
    Store(store.folder.root).kernels.put(key_of(1), FILES, META)
    assert names_in(store.folder.root / "temporary") == [new.name]
