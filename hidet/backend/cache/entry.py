"""One entry of the cache: a folder of files, with a description that says what must be in them.

The description, `entry.json`, is written last and holds the size and the sha256 of every file and
of itself. So whatever cut or changed an entry (a crash, a full disk, a bad sector), reading it
gives what was written or says that it is damaged.
"""

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

DESCRIPTION = "entry.json"
FORMAT = 1

MAX_DESCRIPTION_BYTES = 64 << 20
"""A larger description is no description; most of it is what the compiler has printed."""


@dataclass(frozen=True)
class Entry:
    """An entry that was found intact.

    Attributes:
        path: its folder.
        files: the names of its files.
        meta: what was stored beside them.
    """

    path: Path
    files: tuple[str, ...]
    meta: dict[str, Any]

    def file(self, name: str) -> Path:
        """Return the path of one of its files."""
        return self.path / name


class DamagedEntryError(Exception):
    """An entry does not hold what was written; the text says why."""


def write_entry(
    folder: Path, key: str, files: Mapping[str, Path | bytes], meta: Mapping[str, Any]
) -> None:
    """Write an entry to an empty folder, down to the disk.

    Args:
        folder: where; nobody else looks at it yet.
        key: the key of the entry.
        files: names, without folders, and contents or where to copy them from.
        meta: anything that JSON can hold.

    Raises:
        OSError: the disk is full, or another failure of the file system.
    """
    records: dict[str, Any] = {}
    for name, content in files.items():
        data = content if isinstance(content, bytes) else content.read_bytes()
        records[name] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        _write_file(folder / name, data)
    payload = {"format": FORMAT, "key": key, "files": records, "meta": dict(meta)}
    _write_file(folder / DESCRIPTION, _seal(payload))
    sync_folder(folder)


def read_entry(folder: Path, key: str) -> Entry:
    """Read an entry and check all of it.

    Raises:
        FileNotFoundError: there is none.
        DamagedEntryError: it is not what was written.
    """
    payload = _open_sealed(_read_file(folder, DESCRIPTION, MAX_DESCRIPTION_BYTES))
    if payload.get("format") != FORMAT or payload.get("key") != key:
        raise DamagedEntryError(f"{DESCRIPTION} is of another format or key")
    files, meta = payload.get("files"), payload.get("meta")
    if not isinstance(files, dict) or not isinstance(meta, dict):
        raise DamagedEntryError(f"{DESCRIPTION} lacks files or meta")
    for name, record in cast("dict[str, Any]", files).items():
        if not isinstance(record, dict) or name != os.path.basename(name):
            raise DamagedEntryError(f"{DESCRIPTION} does not describe {name!r}")
        _check_file(folder, name, cast("dict[str, Any]", record))
    return Entry(folder, tuple(payload["files"]), payload["meta"])


def _check_file(folder: Path, name: str, record: dict[str, Any]) -> None:
    """Check that a file is what its record in the description says."""
    size = record.get("size")
    if not isinstance(size, int):
        raise DamagedEntryError(f"{DESCRIPTION} does not tell the size of {name}")
    data = _read_file(folder, name, size)
    if len(data) != size:
        raise DamagedEntryError(f"{name} has {len(data)} bytes, not {size}")
    if hashlib.sha256(data).hexdigest() != record.get("sha256"):
        raise DamagedEntryError(f"{name} has another checksum")


def _read_file(folder: Path, name: str, limit: int) -> bytes:
    """Read a file of an entry, of so many bytes at most.

    Raises:
        FileNotFoundError: there is no entry.
        DamagedEntryError: it is missing, larger, no plain file, or not of this user alone.
    """
    # Without waiting for who writes to a FIFO, and without following links.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(folder / name, flags)
    except FileNotFoundError as error:
        if not folder.exists():
            raise
        raise DamagedEntryError(f"{name} is missing") from error
    except OSError as error:
        raise DamagedEntryError(f"{name} cannot be read: {error.strerror}") from error
    try:
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise DamagedEntryError(f"{name} is no plain file")
            if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise DamagedEntryError(f"{name} is, or can be, written by others")
            if status.st_size > limit:
                raise DamagedEntryError(f"{name} has {status.st_size} bytes, not {limit}")
            return file.read()
    except OSError as error:
        raise DamagedEntryError(f"{name} cannot be read: {error.strerror}") from error


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a folder are on disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_file(path: Path, data: bytes) -> None:
    """Write a new file, down to the disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _seal(payload: dict[str, Any]) -> bytes:
    """Return a payload as JSON together with its own checksum."""
    checksum = hashlib.sha256(_canonical(payload)).hexdigest()
    return json.dumps({"sha256": checksum, "payload": payload}, indent=1).encode()


def _open_sealed(data: bytes) -> dict[str, Any]:
    """Return the payload of a sealed text.

    With its checksum right, it is what `write_entry` made, so its fields need no further check.
    """
    try:
        sealed: object = json.loads(data)
        fields = cast("dict[str, Any]", sealed) if isinstance(sealed, dict) else {}
        payload = fields.get("payload")
        if not isinstance(payload, dict):
            raise DamagedEntryError(f"{DESCRIPTION} has no payload")
        payload = cast("dict[str, Any]", payload)
        checksum = hashlib.sha256(_canonical(payload)).hexdigest()
    except ValueError as error:  # neither JSON nor, before that, UTF-8
        raise DamagedEntryError(f"{DESCRIPTION} is no JSON: {error}") from error
    except RecursionError as error:
        raise DamagedEntryError(f"{DESCRIPTION} is nested too deeply") from error
    if checksum != fields.get("sha256"):
        raise DamagedEntryError(f"{DESCRIPTION} has another checksum")
    return payload


def _canonical(payload: dict[str, Any]) -> bytes:
    """Return JSON of one form only, for checksums."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":")).encode()
