"""One entry of the cache: a folder of files, with a description that says what must be in them.

The description, `entry.json`, is written last and holds the size and the sha256 of every file and
of itself. So whatever cut or changed an entry (a crash, a full disk, a bad sector), reading it
gives what was written or says that it is damaged.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

DESCRIPTION = "entry.json"
FORMAT = 1


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
        """Give the path of one of its files."""
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
    try:
        description = (folder / DESCRIPTION).read_bytes()
    except FileNotFoundError as error:
        if not folder.exists():
            raise
        raise DamagedEntryError(f"{DESCRIPTION} is missing") from error
    payload = _open_sealed(description)
    if payload.get("format") != FORMAT or payload.get("key") != key:
        raise DamagedEntryError(f"{DESCRIPTION} is of another format or key")
    for name, record in payload["files"].items():
        try:
            data = (folder / name).read_bytes()
        except FileNotFoundError as error:
            raise DamagedEntryError(f"{name} is missing") from error
        if len(data) != record["size"]:
            raise DamagedEntryError(f"{name} has {len(data)} bytes, not {record['size']}")
        if hashlib.sha256(data).hexdigest() != record["sha256"]:
            raise DamagedEntryError(f"{name} has another checksum")
    return Entry(folder, tuple(payload["files"]), payload["meta"])


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a folder are on disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_file(path: Path, data: bytes) -> None:
    """Write a new file, down to the disk."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _seal(payload: dict[str, Any]) -> bytes:
    """Give a payload as JSON together with its own checksum."""
    checksum = hashlib.sha256(_canonical(payload)).hexdigest()
    return json.dumps({"sha256": checksum, "payload": payload}, indent=1).encode()


def _open_sealed(data: bytes) -> dict[str, Any]:
    """Give the payload of a sealed text.

    With its checksum right, it is what `write_entry` made, so its fields need no further check.
    """
    try:
        sealed: object = json.loads(data)
    except ValueError as error:  # neither JSON nor, before that, UTF-8
        raise DamagedEntryError(f"{DESCRIPTION} is no JSON: {error}") from error
    fields = cast("dict[str, Any]", sealed) if isinstance(sealed, dict) else {}
    payload = fields.get("payload")
    if not isinstance(payload, dict):
        raise DamagedEntryError(f"{DESCRIPTION} has no payload")
    payload = cast("dict[str, Any]", payload)
    if hashlib.sha256(_canonical(payload)).hexdigest() != fields.get("sha256"):
        raise DamagedEntryError(f"{DESCRIPTION} has another checksum")
    return payload


def _canonical(payload: dict[str, Any]) -> bytes:
    """Give JSON of one form only, for checksums."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":")).encode()
