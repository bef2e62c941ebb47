"""The pass `pass-tensor-maps`: moves tensor maps from kernels to their launches."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.kernels import kernels_of
from hidet.dialects.cuda.host import LaunchOp
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.cuda.tensor_map import TensorMapOp, TensorMapType
from hidet.dialects.locations import source_line
from hidet.errors import LegalityError


@dataclass(frozen=True)
class PassTensorMapsPass(ModulePass):
    """Make tensor maps arguments of kernels, created by the host at each launch.

    Expects the output of `plan-memory`. A map that a kernel makes of an argument,

        %m = cuda.tensor_map %x : memref<128xf16> -> !cuda.tensor_map<tensor<8x16xf16>, box [8, 16]>

    becomes an argument, shared by equal maps; arguments without other uses are dropped. Leaves the
    op in the host function, before each launch; also where a launch passes a buffer for an argument
    that is a tensor map, as for kernels of scripts. A new argument has the attributes of the old.
    """

    name = "pass-tensor-maps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run on all kernels of a module and their launches."""
        launches: defaultdict[str, list[LaunchOp]] = defaultdict(list)
        for each in op.walk():
            if isinstance(each, LaunchOp):
                launches[each.kernel.string_value()].append(each)
        for kernel in kernels_of(op):
            maps = _move_maps(kernel)
            numbers = sorted({number for number, _ in maps}, reverse=True)
            dropped = [number for number in numbers if kernel.arguments[number].first_use is None]
            for launch in launches[kernel.sym_name.data]:
                _pass_maps(launch, kernel, maps, dropped)
            for number in dropped:
                kernel.drop_argument(number)


def _move_maps(kernel: KernelOp) -> Sequence[tuple[int, TensorMapOp]]:
    """Make the tensor maps of a kernel its last arguments.

    Returns:
        For each, the position of its buffer among the arguments, and the op.

    Raises:
        LegalityError: a map is made of something other than an argument.
    """
    block = kernel.body.block
    names = {value.name_hint for op in kernel.walk() for value in _values_of(op)}
    moved: dict[object, BlockArgument] = {}
    maps: list[tuple[int, TensorMapOp]] = []
    for op in [op for op in kernel.body.walk() if isinstance(op, TensorMapOp)]:
        buffer = op.buffer
        if not isinstance(buffer, BlockArgument) or buffer.block is not block:
            raise LegalityError(
                "a tensor map is made of something else than an argument of the kernel",
                where=source_line(op),
            )
        key = (buffer, op.first, op.steps, op.kind)
        if key not in moved:
            wanted = (f"{buffer.name_hint or 'tensor'}_map{number or ''}" for number in count())
            name = next(name for name in wanted if name not in names)
            names.add(name)
            moved[key] = kernel.add_argument(op.kind, name, like=buffer.index)
            maps.append((buffer.index, op))
        op.result.replace_all_uses_with(moved[key])
        Rewriter.erase_op(op)
    return maps


def _values_of(op: Operation) -> Iterator[SSAValue]:
    """Yield the results of an op and the arguments of its blocks."""
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.args


def _pass_maps(
    launch: LaunchOp,
    kernel: KernelOp,
    maps: Sequence[tuple[int, TensorMapOp]],
    dropped: Sequence[int],
) -> None:
    """Pass maps in a launch: appended, and for buffers where the kernel takes maps."""
    builder = Builder(InsertPoint.before(launch))

    def map_of(value: SSAValue, like: TensorMapOp | TensorMapType) -> SSAValue:
        new = TensorMapOp(value, like) if isinstance(like, TensorMapType) else like.of(value)
        new.location = launch.location
        new.result.name_hint = f"{value.name_hint}_map" if value.name_hint else None
        return builder.insert(new).result

    values = list(launch.arguments)
    for number, argument in enumerate(kernel.arguments[: len(values)]):
        if isinstance(argument.type, TensorMapType) and isinstance(values[number].type, MemRefType):
            values[number] = map_of(values[number], argument.type)
    values += [map_of(values[number], op) for number, op in maps]
    if values == list(launch.arguments):
        return
    passed = [value for number, value in enumerate(values) if number not in dropped]
    new = LaunchOp(launch.kernel.string_value(), passed, extents=launch.extents)
    new.location = launch.location
    Rewriter.replace_op(launch, new)
