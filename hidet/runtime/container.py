"""Files of several parts: a header in JSON, and behind it the bytes of each part.

    magic | format | bytes of the header | seal | header | parts, each at a multiple of 256

Numbers are little-endian. The header lists the parts with their sha256. The seal is the HMAC-SHA256
of the header under the key of who wrote it, and so of all that the header has hashes of. Nothing in
a file is run by reading it.
"""

import hashlib
import hmac
import json
import mmap
import os
import struct
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from hidet.errors import CacheError, SavedGraphError
from hidet.runtime.checked_json import Json, decode, encode, parse
from hidet.runtime.plan import ALIGNMENT

FORMAT = 1
"""The version of the layout; a file of another one is refused."""

MAGIC = b"HIDETGR\n"

_HEAD = struct.Struct("<8sQQ32s")

T = TypeVar("T")


class Part(NamedTuple):
    """Where a part is in a file, from the first byte behind the header, and its hash."""

    offset: int
    size: int
    sha256: str


@dataclass(frozen=True)
class _Parts:
    """The list of the parts, by name."""

    parts: dict[str, Part]


def write(path: Path, content: object, parts: Mapping[str, Any], key: bytes) -> None:
    """Write a file, which is there as a whole or not at all.

    Args:
        path: the file; one that is there is replaced.
        content: dataclasses that say what the file holds; see `hidet.runtime.checked_json`.
        parts: by name, bytes or what has them as a buffer.
        key: seals the file.

    Raises:
        OSError: it cannot be written.
    """
    places: dict[str, Part] = {}
    offset = 0
    for name, part in parts.items():
        data = memoryview(part)
        places[name] = Part(offset, data.nbytes, hashlib.sha256(data).hexdigest())
        offset += -(-data.nbytes // ALIGNMENT) * ALIGNMENT
    described: Json = {"content": encode(content), **_object(encode(_Parts(places)))}
    header = json.dumps(described).encode()
    seal = hmac.digest(key, header, "sha256")
    descriptor, temporary = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_HEAD.pack(MAGIC, FORMAT, len(header), seal))
            file.write(header)
            start = _start(len(header))
            for name, place in places.items():
                file.seek(start + place.offset)
                file.write(parts[name])
            file.truncate(start + offset)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _start(header_size: int) -> int:
    """Return where the parts begin."""
    return -(-(_HEAD.size + header_size) // ALIGNMENT) * ALIGNMENT


def _umask() -> int:
    """Return what new files of this process are not allowed."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _object(value: Json) -> dict[str, Json]:
    assert isinstance(value, dict)
    return value


class Container:
    """A file that has been opened: mapped into memory, its parts compared with their hashes.

    Args:
        path: the file.

    Raises:
        SavedGraphError: it is no such file, of another version, cut or damaged.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with open(path, "rb") as file:
            # Pages that somebody writes to become this process's own.
            size = os.fstat(file.fileno()).st_size
            if size < _HEAD.size:
                raise self.error(f"no saved graph: it has {size} bytes")
            self._memory = memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY))
        magic, version, length, self._seal = _HEAD.unpack_from(self._memory)
        if magic != MAGIC:
            raise self.error("no saved graph: it begins in another way")
        if version != FORMAT:
            raise self.error(f"a saved graph of format {version}; this hidet reads {FORMAT}")
        start = _start(length)
        if start > size:
            raise self.error(f"a saved graph that is cut: it has {size} bytes")
        self._header = bytes(self._memory[_HEAD.size : _HEAD.size + length])
        header = self._read_header()
        self._content = header.pop("content", None)
        self._parts = {
            name: self._part(name, start, place)
            for name, place in self.decode(_Parts, header).parts.items()
        }

    def _read_header(self) -> dict[str, object]:
        """Return the header."""
        try:
            header = parse(self._header.decode(), "header")
        except (UnicodeDecodeError, CacheError) as error:
            raise self.error(f"a saved graph that is damaged: {error}") from error
        if not isinstance(header, dict):
            raise self.error("a saved graph that is damaged: its header is no object")
        return header  # pyright: ignore[reportUnknownVariableType]

    def _part(self, name: str, start: int, place: Part) -> memoryview:
        """Return the bytes of a part."""
        first = start + place.offset
        if place.offset < 0 or place.size < 0 or first + place.size > len(self._memory):
            raise self.error(f"a saved graph that is cut: part '{name}' is not in it")
        data = self._memory[first : first + place.size]
        if place.offset % ALIGNMENT or hashlib.sha256(data).hexdigest() != place.sha256:
            raise self.error(f"a saved graph that is damaged: part '{name}' has another hash")
        return data

    def decode(self, expected: type[T], value: object) -> T:
        """Return a part of the header as a dataclass.

        Raises:
            SavedGraphError: it is none.
        """
        try:
            return decode(expected, value, "header")
        except CacheError as error:
            raise self.error(f"a saved graph that is damaged: {error.what}") from error

    def content(self, expected: type[T]) -> T:
        """Return what the header says of the file, as a dataclass.

        Raises:
            SavedGraphError: it says something else.
        """
        return self.decode(expected, self._content)

    def part(self, name: str) -> memoryview:
        """Return the bytes of a part, in the memory of the file.

        Raises:
            SavedGraphError: there is none of the name.
        """
        if name not in self._parts:
            raise self.error(f"a saved graph that is damaged: it has no part '{name}'")
        return self._parts[name]

    def is_sealed_with(self, key: bytes) -> bool:
        """Return whether the file has been written by somebody with this key, and not changed."""
        return hmac.compare_digest(self._seal, hmac.digest(key, self._header, "sha256"))

    def error(self, what: str, hint: str | None = None) -> SavedGraphError:
        """Return an error about the file."""
        return SavedGraphError(what, where=str(self.path), hint=hint)
