"""An entry of the cache: a folder of files with a checksummed description.

The description, `entry.json`, is written last and has the size and the sha256 of every file and of
itself. So whatever truncated or changed an entry (a crash, a full disk, a bad sector), reading it
either returns what was written or raises an error.
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
"""The size limit of a description, which is mostly output of the compiler."""


@dataclass(frozen=True)
class Entry:
    """An intact entry: its folder, the content of its files by name, and its metadata."""

    path: Path
    files: dict[str, bytes]
    meta: dict[str, Any]


class DamagedEntryError(Exception):
    """An entry is damaged."""


def write_entry(
    folder: Path, key: str, files: Mapping[str, bytes], meta: Mapping[str, Any]
) -> None:
    """Write an entry to an empty private folder, and sync it to disk.

    Files are by name without folders; the metadata is what JSON can represent.

    Raises:
        OSError: the disk is full, or another failure of the file system.
    """
    records: dict[str, Any] = {}
    for name, data in files.items():
        records[name] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        write_file(folder / name, data)
    payload = {"format": FORMAT, "key": key, "files": records, "meta": dict(meta)}
    write_file(folder / DESCRIPTION, _seal(payload))
    sync_folder(folder)


def read_entry(folder: Path, key: str) -> Entry:
    """Read an entry, and check it.

    Raises:
        FileNotFoundError: there is no such entry.
        DamagedEntryError: it is damaged.
    """
    payload = _open_sealed(_read_file(folder, DESCRIPTION, MAX_DESCRIPTION_BYTES))
    if payload.get("format") != FORMAT or payload.get("key") != key:
        raise DamagedEntryError(f"{DESCRIPTION} has another format or key")
    records, meta = payload.get("files"), payload.get("meta")
    if not isinstance(records, dict) or not isinstance(meta, dict):
        raise DamagedEntryError(f"{DESCRIPTION} lacks files or meta")
    files: dict[str, bytes] = {}
    for name, record in cast("dict[str, Any]", records).items():
        if not isinstance(record, dict) or name != os.path.basename(name):
            raise DamagedEntryError(f"{DESCRIPTION} does not describe {name!r}")
        files[name] = _checked_file(folder, name, cast("dict[str, Any]", record))
    return Entry(folder, files, payload["meta"])


def _checked_file(folder: Path, name: str, record: dict[str, Any]) -> bytes:
    """Return the content of a file, checked against its record in the description."""
    size = record.get("size")
    if not isinstance(size, int):
        raise DamagedEntryError(f"{DESCRIPTION} lacks the size of {name}")
    data = _read_file(folder, name, size)
    if len(data) != size:
        raise DamagedEntryError(f"{name} has {len(data)} bytes, not {size}")
    if hashlib.sha256(data).hexdigest() != record.get("sha256"):
        raise DamagedEntryError(f"{name} has another checksum")
    return data


def _read_file(folder: Path, name: str, limit: int) -> bytes:
    """Read a file of an entry, of at most `limit` bytes.

    Raises:
        FileNotFoundError: there is no entry.
        DamagedEntryError: it is missing, larger, not a regular file, or writable by other users.
    """
    # Without blocking on a FIFO, and without following links.
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
                raise DamagedEntryError(f"{name} is not a regular file")
            if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise DamagedEntryError(f"{name} is, or can be, written by others")
            if status.st_size > limit:
                raise DamagedEntryError(f"{name} has {status.st_size} bytes, not {limit}")
            return file.read()
    except OSError as error:
        raise DamagedEntryError(f"{name} cannot be read: {error.strerror}") from error


def sync_folder(folder: Path) -> None:
    """Sync the directory entries of a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_file(path: Path, data: bytes) -> None:
    """Write a new file, and sync it to disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _seal(payload: dict[str, Any]) -> bytes:
    """Return a payload as JSON with its checksum."""
    checksum = hashlib.sha256(_canonical(payload)).hexdigest()
    return json.dumps({"sha256": checksum, "payload": payload}, indent=1).encode()


def _open_sealed(data: bytes) -> dict[str, Any]:
    """Return the payload of a sealed text, after checking its checksum."""
    try:
        sealed: object = json.loads(data)
        fields = cast("dict[str, Any]", sealed) if isinstance(sealed, dict) else {}
        payload = fields.get("payload")
        if not isinstance(payload, dict):
            raise DamagedEntryError(f"{DESCRIPTION} has no payload")
        payload = cast("dict[str, Any]", payload)
        checksum = hashlib.sha256(_canonical(payload)).hexdigest()
    except ValueError as error:  # not JSON, or not UTF-8
        raise DamagedEntryError(f"{DESCRIPTION} is not JSON: {error}") from error
    except RecursionError as error:
        raise DamagedEntryError(f"{DESCRIPTION} is nested too deeply") from error
    if checksum != fields.get("sha256"):
        raise DamagedEntryError(f"{DESCRIPTION} has another checksum")
    return payload


def _canonical(payload: dict[str, Any]) -> bytes:
    """Return canonical JSON, for checksums."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":")).encode()
