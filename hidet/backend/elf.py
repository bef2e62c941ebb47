"""Validates ELF files, such as shared libraries and cubins (System V ABI, chapters 4 and 5).

Loading a truncated binary may crash the process (SIGBUS), and one without the kernel fails at every
call; so a binary is validated before it is stored, and when it is read from the cache.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

MACHINES = {"x86_64": 62, "aarch64": 183, "cuda": 190}
"""The values of e_machine, by name."""

# The fields that are checked, as named where they are unpacked.
_HEADER = struct.Struct("<4sBB12xH12xQQ6xHHHH2x")
_SEGMENT = struct.Struct("<8xQ16xQ16x")
_SECTION = struct.Struct("<4xI16xQQI20x")
_SYMBOL = struct.Struct("<I2xH16x")

_CLASS_64, _LITTLE_ENDIAN = 2, 1
_SYMBOLS, _NO_BITS, _DYNAMIC_SYMBOLS = 2, 8, 11  # types of sections
_UNDEFINED = 0  # the section of a symbol that is defined elsewhere


class BadObjectError(Exception):
    """A binary is invalid."""


class _Section(NamedTuple):
    type: int
    offset: int
    size: int
    link: int


def _rows(
    data: bytes, layout: struct.Struct, offset: int, count: int, stride: int = 0
) -> Iterator[tuple[int, ...]]:
    """Yield the records of a table in the file, whose stride is by default their size."""
    stride = stride or layout.size
    end = offset + count * stride
    if stride < layout.size or end > len(data):
        raise BadObjectError(f"it is truncated: a table ends at byte {end} of {len(data)}")
    for number in range(count):
        yield layout.unpack_from(data, offset + number * stride)


def check_object(data: bytes, machine: str, symbol: str | None) -> None:
    """Check that a binary is complete, for one of `MACHINES`, and defines a function.

    Other machines are not compared, nor is a symbol of None.

    Raises:
        BadObjectError: the check fails.
    """
    if len(data) < _HEADER.size:
        raise BadObjectError(f"it has {len(data)} bytes only")
    magic, width, order, number, *tables = _HEADER.unpack_from(data)
    if (magic, width, order) != (b"\x7fELF", _CLASS_64, _LITTLE_ENDIAN):
        raise BadObjectError("it is not an ELF file of 64 bits")
    if number != MACHINES.get(machine, number):
        raise BadObjectError(f"it is for machine {number}, not {MACHINES[machine]} ({machine})")
    segments_at, sections_at, segment_size, segment_count, section_size, section_count = tables
    for offset, size in _rows(data, _SEGMENT, segments_at, segment_count, segment_size):
        _require(data, offset, size)
    rows = _rows(data, _SECTION, sections_at, section_count, section_size)
    sections = [_Section(*row) for row in rows]
    for section in sections:
        if section.type != _NO_BITS:
            _require(data, section.offset, section.size)
    if symbol is not None and symbol.encode() not in _defined(data, sections):
        raise BadObjectError(f"it does not define '{symbol}'")


def _require(data: bytes, offset: int, size: int) -> None:
    if offset + size > len(data):
        raise BadObjectError(f"it is truncated: it has {len(data)} bytes, not {offset + size}")


def _defined(data: bytes, sections: list[_Section]) -> Iterator[bytes]:
    for section in sections:
        if section.type not in (_SYMBOLS, _DYNAMIC_SYMBOLS) or section.link >= len(sections):
            continue
        names = sections[section.link]
        count = section.size // _SYMBOL.size
        for name, where in _rows(data, _SYMBOL, section.offset, count):
            if where != _UNDEFINED and name < names.size:
                start = names.offset + name
                end = data.find(b"\0", start, names.offset + names.size)
                yield data[start:end]
