"""Prints the checks of the strict mode, and the table of source lines."""

from collections.abc import Sequence

from xdsl.ir import Operation

from hidet.backend.printer.memref import address
from hidet.backend.printer.writer import StatementPrinter, Writer
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.cuda.checks import CheckAccessOp, CheckBoundsOp, CheckOwnerOp, TrackOp
from hidet.dialects.shaped import memref_type
from hidet.escape import c_string


def _track(op: TrackOp, writer: Writer) -> None:
    """Print `hidet::track_shared(&sa[0][0], "sa", {16, 64});`."""
    kind = memref_type(op.array)
    first = f"&{writer.text_of(op.array).text}{'[0]' * kind.get_num_dims()}"
    extents = ", ".join(map(str, kind.get_shape()))
    space = "shared" if space_of(kind) is Space.SHARED else "local"
    label = c_string(op.label.data)
    writer.line(f"hidet::track_{space}({first}, {label}, {{{extents}}});")


def _check_bounds(op: CheckBoundsOp, writer: Writer) -> None:
    """Print `hidet::check_bounds("sa", {{i, 16}, {j, 64}}, 4);`."""
    width = op.width.value.data
    pairs = [
        f"{{{writer.text_of(index).text}, {extent if extent >= 0 else _extent(op, writer)}}}"
        for index, extent in zip(op.indices, op.extents.get_values(), strict=True)
    ]
    arguments = [c_string(op.label.data), f"{{{', '.join(pairs)}}}"]
    if op.valid is not None:
        arguments.append(f"hidet::minimum({width}, int({writer.text_of(op.valid).text}))")
    elif width != 1:
        arguments.append(str(width))
    writer.line(f"hidet::check_bounds({', '.join(arguments)});")


def _extent(op: CheckBoundsOp, writer: Writer) -> str:
    """Return the extent of the memory behind a pointer."""
    assert op.memory is not None
    return f"hidet::extent_of({writer.text_of(op.memory).text})"


def _check_access(op: CheckAccessOp, writer: Writer) -> None:
    """Print `hidet::check_read(&sa[i][j], 4);`."""
    width = op.width.value.data
    arguments = [address(op.array, op.indices, writer.text_of).text]
    arguments += [str(width)] if width != 1 else []
    writer.line(f"hidet::check_{op.kind.data.value}({', '.join(arguments)});")


def _check_owner(op: CheckOwnerOp, writer: Writer) -> None:
    """Print `hidet::check_owner("acc", i % 8 == lane);`."""
    label = c_string(op.label.data)
    writer.line(f"hidet::check_owner({label}, {writer.text_of(op.is_owner).text});")


STATEMENTS: dict[type[Operation], StatementPrinter] = {
    CheckAccessOp: _check_access,
    CheckBoundsOp: _check_bounds,
    CheckOwnerOp: _check_owner,
    TrackOp: _track,
}
"""The printers of checks."""


def source_table(origins: Sequence[str]) -> str:
    """Return a table of the user's line of each line of a file of kernels.

    Args:
        origins: for each line of the file "file:line", or "" if unknown.
    """
    rows: list[str] = []
    last = ""
    for number, origin in enumerate(origins, start=1):
        if origin != last:
            rows.append(f"    {{{number}, {c_string(origin)}}}")
        last = origin
    return "\n".join(["HIDET_SOURCE_LINES(", ",\n".join(rows), ")"])
