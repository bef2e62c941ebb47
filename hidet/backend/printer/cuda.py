"""Prints operations of `cuda`, and the table of source lines of the strict mode.

Operations of the instruction table print as calls of their functions.
"""

from collections.abc import Sequence
from typing import cast

from xdsl.ir import Operation

from hidet.arch.limits import WARP
from hidet.backend.printer.memref import address
from hidet.backend.printer.operators import ExpressionPrinter, TextOf
from hidet.backend.printer.signs import as_unsigned, bits_of, is_unsigned, passed
from hidet.backend.printer.text import Text, call
from hidet.backend.printer.types import BOOL, INT, LONG_LONG, UNSIGNED, element_type, value_type
from hidet.backend.printer.writer import StatementPrinter, Writer
from hidet.dialects import cuda
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.shaped import memref_type
from hidet.errors import UnsupportedDtypeError
from hidet.escape import c_string


def _call(op: cuda.InstructionOp, text_of: TextOf) -> Text:
    """Print `hidet::mma_m16n8k16(&c[i], &a[j], &b[k])`: addresses first, then scalars."""
    arguments = [address(element.memref, element.indices, text_of) for element in op.elements]
    elements = {argument.type for argument in arguments}
    for value in map(text_of, op.scalars):  # in the element type if it is an element
        is_unsigned_element = UNSIGNED.get(value.type) in elements
        arguments.append(as_unsigned(value) if is_unsigned_element else passed(value, value.type))
    kind = value_type(op.results[0]) if op.results else "void"
    if isinstance(op, _UNSIGNED):
        kind = UNSIGNED[kind]
    return call(f"hidet::{op.function}", arguments, kind)


def _join(op: Operation, text_of: TextOf) -> Text:
    """Print `hidet::join<hidet::half2>(a, b)`."""
    kind = value_type(op.results[0])
    return call(f"hidet::join<{kind}>", [text_of(part) for part in op.operands], kind)


def _part(op: cuda.PartOp, text_of: TextOf) -> Text:
    """Print `hidet::part<hidet::half, 1>(w)`."""
    kind = value_type(op.result)
    return call(f"hidet::part<{kind}, {op.number.value.data}>", [text_of(op.whole)], kind)


_UNSIGNED = cuda.Lop3Op | cuda.MatrixDescriptorOp | cuda.PrmtOp
"""The operations whose result is unsigned in C++."""


def _statement(op: cuda.InstructionOp, writer: Writer) -> None:
    writer.line(f"{_call(op, writer.text_of).text};")


# `issubclass` would check all derived classes.
_INSTRUCTIONS = [
    cast("type[cuda.InstructionOp]", op)
    for op in cuda.Cuda.operations
    if cuda.InstructionOp in op.__mro__
]

_IDS: dict[type[Operation], str] = {
    cuda.BlockDimOp: "blockDim",
    cuda.BlockIdOp: "blockIdx",
    cuda.GridDimOp: "gridDim",
    cuda.ThreadIdOp: "threadIdx",
}


def _id(op: cuda.IdOp, text_of: TextOf) -> Text:
    """Print `threadIdx.x`, which is unsigned in C++."""
    return Text(f"{_IDS[type(op)]}.{op.dimension.data.value}", "unsigned")


def _shuffle(op: cuda.ShflOp, text_of: TextOf) -> Text:
    """Print `hidet::shfl_xor(v, 16)`."""
    if value_type(op.value) in (BOOL, "signed char"):
        raise UnsupportedDtypeError(f"a shuffle moves 2, 4 or 8 bytes, not {op.value.type}")
    value = text_of(op.value)
    value = bits_of(value) if is_unsigned(value) else value
    arguments = [value, text_of(op.lane)]
    if op.width is not None or op.mask is not None:
        width = WARP if op.width is None else op.width.value.data
        arguments.append(Text(str(width), INT))
    if op.mask is not None:
        arguments.append(passed(text_of(op.mask), INT))
    kind = "" if op.kind.data is cuda.ShuffleKind.IDX else f"_{op.kind.data.value}"
    return call(f"hidet::shfl{kind}", arguments, value.type)


def _atomic(op: cuda.AtomicOp, text_of: TextOf) -> Text:
    """Print `hidet::atomic_add(&x[i], v)`."""
    target = address(op.memref, op.indices, text_of)
    values = [op.value] if op.expected is None else [op.expected, op.value]
    texts = [text_of(value) for value in values]
    if target.type in UNSIGNED.values():
        texts = [as_unsigned(text) for text in texts]
    function = f"hidet::atomic_{op.kind.data.value}{cuda.scope_argument(op)}"
    return call(function, [target, *texts], target.type)


def _vote(op: cuda.VoteOp, text_of: TextOf) -> Text:
    """Print `hidet::any(p)`; a ballot is unsigned in C++."""
    kind = "unsigned" if op.kind.data is cuda.VoteKind.BALLOT else BOOL
    arguments = [passed(text, text.type) for text in map(text_of, op.operands)]
    return call(f"hidet::{op.kind.data.value}", arguments, kind)


def _printf(op: cuda.PrintfOp, writer: Writer) -> None:
    """Print `printf("%d", i);`, which C++ and CUDA C++ share."""
    values = (writer.text_of(value) for value in op.values)
    numbers = (bits_of(value) if is_unsigned(value) else value for value in values)
    writer.call("printf", _quoted(op.text), *numbers)


def _checked_index(op: cuda.CheckedIndexOp, text_of: TextOf) -> Text:
    """Print `hidet::checked_index(ids[i], 50257, "aten.embedding (model.py:4)")`."""
    index = text_of(op.index)
    function = "checked_index" if op.from_end is None else "checked_index_from_end"
    size = Text(str(op.size.value.data), LONG_LONG)
    return call(f"hidet::{function}", [index, size, _quoted(op.where.data)], index.type)


def _checked_divisor(op: cuda.CheckedDivisorOp, text_of: TextOf) -> Text:
    """Print `hidet::checked_divisor(d[i], "aten.remainder (model.py:4)")`."""
    divisor = text_of(op.divisor)
    return call("hidet::checked_divisor", [divisor, _quoted(op.where.data)], divisor.type)


def _quoted(text: str) -> Text:
    return Text(c_string(text), "char*")


def _copy_vector(op: cuda.CopyVectorOp, writer: Writer) -> None:
    """Print `hidet::copy_vector<float, 4>(v, &x[i]);`."""
    source = address(op.source, op.source_indices, writer.text_of)
    target = address(op.target, op.target_indices, writer.text_of)
    function = f"hidet::copy_vector<{element_type(op.target)}, {op.width.value.data}>"
    writer.call(function, target, source)


def _dynamic_shared(op: cuda.DynamicSharedOp, writer: Writer) -> None:
    """Print `auto& smem = hidet::dynamic_shared<float[16][64]>(1024);`."""
    name = writer.declare(op.result)
    extents = "".join(f"[{extent}]" for extent in op.result.type.get_shape())
    kind = f"{element_type(op.result)}{extents}"
    writer.line(f"auto& {name} = hidet::dynamic_shared<{kind}>({op.offset.value.data});")


def _map_shared_rank(op: cuda.MapSharedRankOp, writer: Writer) -> None:
    """Print `auto& peer = hidet::map_shared_rank(sa, 1);`."""
    array, block = writer.text_of(op.array), passed(writer.text_of(op.block), INT)
    mapped = call("hidet::map_shared_rank", [array, block], "")
    writer.line(f"auto& {writer.declare(op.result)} = {mapped.text};")


def _view(op: cuda.ViewOp, writer: Writer) -> None:
    """Print `auto* const p = hidet::view<hidet::half>(&x[i]);`, which is const if x is."""
    first = address(op.source, op.indices, writer.text_of)
    viewed = call(f"hidet::view<{element_type(op.result)}>", [first], "")
    writer.line(f"auto* const {writer.declare(op.result)} = {viewed.text};")


def _track(op: cuda.TrackOp, writer: Writer) -> None:
    """Print `hidet::track_shared(&sa[0][0], "sa", {16, 64});`."""
    kind = memref_type(op.array)
    first = f"&{writer.text_of(op.array).text}{'[0]' * kind.get_num_dims()}"
    extents = ", ".join(map(str, kind.get_shape()))
    space = "shared" if space_of(kind) is Space.SHARED else "local"
    label = c_string(op.label.data)
    writer.line(f"hidet::track_{space}({first}, {label}, {{{extents}}});")


def _check_bounds(op: cuda.CheckBoundsOp, writer: Writer) -> None:
    """Print `hidet::check_bounds("sa", {{i, 16}, {j, 64}}, 4);`."""
    width = op.width.value.data
    # The extent of the memory behind a pointer, which is -1 in the IR.
    unknown = "" if op.memory is None else f"hidet::extent_of({writer.text_of(op.memory).text})"
    pairs = [
        f"{{{writer.text_of(index).text}, {extent if extent >= 0 else unknown}}}"
        for index, extent in zip(op.indices, op.extents.get_values(), strict=True)
    ]
    arguments = [c_string(op.label.data), f"{{{', '.join(pairs)}}}"]
    if op.valid is not None:
        arguments.append(f"hidet::minimum({width}, int({writer.text_of(op.valid).text}))")
    elif width != 1:
        arguments.append(str(width))
    writer.line(f"hidet::check_bounds({', '.join(arguments)});")


def _check_access(op: cuda.CheckAccessOp, writer: Writer) -> None:
    """Print `hidet::check_read(&sa[i][j], 4);`."""
    width = op.width.value.data
    first = address(op.array, op.indices, writer.text_of)
    count = (Text(str(width), INT),) if width != 1 else ()
    writer.call(f"hidet::check_{op.kind.data.value}", first, *count)


def source_table(origins: Sequence[str]) -> str:
    """Return a table of the user's line, "file:line" or "", of each line of a file of kernels."""
    rows: list[str] = []
    last = ""
    for number, origin in enumerate(origins, start=1):
        if origin != last:
            rows.append(f"    {{{number}, {c_string(origin)}}}")
        last = origin
    return "\n".join(["HIDET_SOURCE_LINES(", ",\n".join(rows), ")"])


EXPRESSIONS: dict[type[Operation], ExpressionPrinter] = {
    cuda.ActiveMaskOp: lambda _, text_of: call("hidet::active_mask", [], "unsigned"),
    cuda.AddressOfOp: lambda op, text_of: call(
        "hidet::address_of", [address(op.source, op.indices, text_of)], LONG_LONG
    ),
    cuda.AtomicOp: _atomic,
    cuda.CheckedDivisorOp: _checked_divisor,
    cuda.CheckedIndexOp: _checked_index,
    **dict.fromkeys(_IDS, _id),
    cuda.ShflOp: _shuffle,
    cuda.VoteOp: _vote,
    **{op: _call for op in _INSTRUCTIONS if op.get_irdl_definition().results},
    cuda.JoinOp: _join,
    cuda.PartOp: _part,
}

STATEMENTS: dict[type[Operation], StatementPrinter] = {
    cuda.AssertOp: lambda op, writer: writer.call(
        "hidet::check", writer.text_of(op.condition), _quoted(op.text)
    ),
    cuda.CheckAccessOp: _check_access,
    cuda.CheckBoundsOp: _check_bounds,
    cuda.CheckOwnerOp: lambda op, writer: writer.call(
        "hidet::check_owner", _quoted(op.label.data), writer.text_of(op.is_owner)
    ),
    cuda.CopyVectorOp: _copy_vector,
    cuda.DynamicSharedOp: _dynamic_shared,
    cuda.LeaveOp: lambda op, writer: writer.line(f"{op.kind.data.value};"),
    cuda.MapSharedRankOp: _map_shared_rank,
    cuda.PrintfOp: _printf,
    cuda.SyncThreadsOp: lambda _, writer: writer.line("hidet::sync_threads();"),
    cuda.SyncWarpOp: lambda op, writer: writer.call(
        "hidet::sync_warp", *(passed(writer.text_of(mask), INT) for mask in op.operands)
    ),
    cuda.TrackOp: _track,
    cuda.ViewOp: _view,
    **{op: _statement for op in _INSTRUCTIONS if not op.get_irdl_definition().results},
}
