"""Container files: a JSON header, followed by the bytes of several parts.

    magic | format | bytes of the header | seal | header | parts, each at a multiple of 256

Numbers are little-endian. The header lists the parts with their sha256. The seal is the HMAC-SHA256
of the header under the writer's key, and so covers the parts. Reading a file executes nothing.
"""

import hashlib
import hmac
import mmap
import os
import struct
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from hidet.arch.limits import BUFFER_ALIGNMENT, align
from hidet.errors import CacheError, SavedGraphError
from hidet.runtime.checked_json import decode, encode, parse

FORMAT = 1
"""The version of the layout; a file of another one is rejected."""

MAGIC = b"HIDETGR\n"

_HEAD = struct.Struct("<8sQQ32s")

T = TypeVar("T")


class Part(NamedTuple):
    """The offset of a part from the end of the header, its size, and its hash."""

    offset: int
    size: int
    sha256: str


def write(path: Path, content: object, parts: Mapping[str, Any], key: bytes) -> None:
    """Write a file atomically: a dataclass (see `hidet.runtime.checked_json`), and buffers by name.

    Raises:
        OSError: it cannot be written.
    """
    located: dict[str, Part] = {}
    offset = 0
    for name, part in parts.items():
        data = memoryview(part)
        located[name] = Part(offset, data.nbytes, hashlib.sha256(data).hexdigest())
        offset += align(data.nbytes)
    header = encode({"content": content, "parts": located}).encode()
    seal = hmac.digest(key, header, "sha256")
    descriptor, temporary = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_HEAD.pack(MAGIC, FORMAT, len(header), seal))
            file.write(header)
            start = _start(len(header))
            for name, part in located.items():
                file.seek(start + part.offset)
                file.write(parts[name])
            file.truncate(start + offset)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0o077)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _start(header_size: int) -> int:
    """Return the offset of the first part."""
    return align(_HEAD.size + header_size)


class Container:
    """An open file, mapped into memory, whose hashes have been checked.

    Raises:
        SavedGraphError: it is not such a file, has another version, or is truncated or damaged.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with open(path, "rb") as file:
            # Copy on write.
            size = os.fstat(file.fileno()).st_size
            if size < _HEAD.size:
                raise self.error(f"not a saved graph: it has {size} bytes")
            self._memory = memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY))
        magic, version, length, self._seal = _HEAD.unpack_from(self._memory)
        if magic != MAGIC:
            raise self.error("not a saved graph: it begins with other bytes")
        if version != FORMAT:
            raise self.error(f"a saved graph of format {version}; this hidet reads {FORMAT}")
        start = _start(length)
        if start > size:
            raise self.error(f"a saved graph that is truncated: it has {size} bytes")
        self._header = bytes(self._memory[_HEAD.size : _HEAD.size + length])
        header = self._read_header()
        self._content = header.pop("content", None)
        self._described = self.decode(dict[str, Part], header.get("parts"))
        self._parts = {
            name: self._part(name, start, part) for name, part in self._described.items()
        }

    def _read_header(self) -> dict[str, object]:
        try:
            header = parse(self._header.decode(), "header")
        except (UnicodeDecodeError, CacheError) as error:
            raise self.error(f"a saved graph that is damaged: {error}") from error
        if not isinstance(header, dict):
            raise self.error("a saved graph that is damaged: its header is not an object")
        return header  # pyright: ignore[reportUnknownVariableType]

    def _part(self, name: str, start: int, part: Part) -> memoryview:
        """Return the bytes of a part, checked."""
        first = start + part.offset
        if part.offset < 0 or part.size < 0 or first + part.size > len(self._memory):
            raise self.error(f"a saved graph that is truncated: part '{name}' is missing")
        data = self._memory[first : first + part.size]
        self._check(name, data)
        if part.offset % BUFFER_ALIGNMENT:
            raise self.error(f"a saved graph that is damaged: part '{name}' is not aligned")
        return data

    def _check(self, name: str, data: memoryview | bytes) -> None:
        """Check the hash of a part."""
        if hashlib.sha256(data).hexdigest() != self._described[name].sha256:
            raise self.error(f"a saved graph that is damaged: part '{name}' has another hash")

    def decode(self, expected: type[T], value: object) -> T:
        """Decode a field of the header as a dataclass.

        Raises:
            SavedGraphError: it is not of that form.
        """
        try:
            return decode(expected, value, "header")
        except CacheError as error:
            raise self.error(f"a saved graph that is damaged: {error.what}") from error

    def content(self, expected: type[T]) -> T:
        """Decode the description of the file; see `decode`."""
        return self.decode(expected, self._content)

    def part(self, name: str) -> memoryview:
        """Return the bytes of a part, in the memory of the file.

        Raises:
            SavedGraphError: there is no such part.
        """
        if name not in self._parts:
            raise self.error(f"a saved graph that is damaged: it has no part '{name}'")
        return self._parts[name]

    def read(self, name: str) -> bytes:
        """Return a copy of a part, whose hash is checked: others may write to the file meanwhile.

        Raises:
            SavedGraphError: there is no such part, or it has changed.
        """
        data = bytes(self.part(name))
        self._check(name, data)
        return data

    def is_sealed_with(self, key: bytes) -> bool:
        """Return whether the file was sealed with this key, and not changed since."""
        return hmac.compare_digest(self._seal, hmac.digest(key, self._header, "sha256"))

    def error(self, what: str, hint: str | None = None) -> SavedGraphError:
        """Return an error about the file."""
        return SavedGraphError(what, where=str(self.path), hint=hint)
