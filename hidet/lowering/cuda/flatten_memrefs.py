"""The pass `flatten-memrefs`: flattens memrefs in global memory to rank 1."""

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from hidet.dialects.constants import known_index
from hidet.dialects.cuda import KernelOp, TensorMapOp
from hidet.dialects.effects import redirect_accesses
from hidet.dialects.locations import source_line
from hidet.dialects.shaped import memref_of, memref_type
from hidet.dialects.walking import ops_in
from hidet.errors import LegalityError
from hidet.rewriting.builder import Index, KernelBuilder
from hidet.rewriting.kernel_pass import KernelPass


class FlattenMemrefsPass(KernelPass):
    """Flatten every memref argument of a kernel to rank 1, with linear indices.

        memref.load %x[%i, %j] : memref<8x16xf32>
        // becomes
        memref.load %x[%i * 16 + %j] : memref<128xf32>

    Strides are row-major, or those of a `strided` layout, whose offset is added. Indices of
    dimensions of extent 1 are zero and dropped.

    Expects: kernels at the `cuda` level with static shapes, whose arguments are used by loads,
    stores and copies. Leaves: arguments of rank 1 without a layout; shared and local arrays as they
    are. Launches keep their operand types, since only addresses are passed. The new index
    arithmetic is simplified by the next `simplify-index`.
    """

    name = "flatten-memrefs"

    def run(self, kernel: KernelOp) -> None:
        """Flatten the arguments of one kernel."""
        # Uses are not in program order.
        place = {op: number for number, op in enumerate(ops_in(kernel.body))}
        for argument in list(kernel.arguments):
            if not isinstance(argument.type, MemRefType) or _is_flat(memref_type(argument)):
                continue
            kind = memref_type(argument)
            strides, offset = _strides_of(kind)
            for user in sorted({use.operation for use in argument.uses}, key=place.__getitem__):
                _flatten_access(user, argument, strides, offset)
            span = _span(kind.get_shape(), strides, offset)
            flat = memref_of(kind.get_element_type(), (span,), space=kind.memory_space)
            Rewriter.replace_value_with_new_type(argument, flat)


def _is_flat(kind: MemRefType[Attribute]) -> bool:
    return kind.get_num_dims() == 1 and isinstance(kind.layout, NoneAttr)


def _strides_of(kind: MemRefType[Attribute]) -> tuple[list[int], int]:
    strides, offset = kind.get_strides(), kind.get_offset()
    known = [stride for stride in strides or () if stride is not None and stride >= 0]
    is_static = all(extent >= 0 for extent in kind.get_shape())
    if len(known) != kind.get_num_dims() or offset is None or not is_static:
        raise LegalityError(f"flatten-memrefs needs a static shape and strides, found {kind}")
    return known, offset


def _span(shape: Sequence[int], strides: Sequence[int], offset: int) -> int:
    """Return the number of elements from the pointer to the end of a memref."""
    if 0 in shape:
        return 0
    last = sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    return offset + last + 1


def _flatten_access(op: Operation, argument: SSAValue, strides: Sequence[int], offset: int) -> None:
    """Replace the indices of an access by `i * stride + j + offset`, computed before it."""
    if isinstance(op, TensorMapOp):
        return  # has its own strides
    shape = memref_type(argument).get_shape()

    def flat(indices: Sequence[SSAValue]) -> list[SSAValue]:
        builder, first = KernelBuilder.like(op), offset
        linear: Index = 0
        for extent, index, stride in zip(shape, indices, strides, strict=True):
            known = 0 if extent == 1 else known_index(index)
            if known is None:
                linear = builder.add(linear, builder.mul(index, stride))
            else:
                first += known * stride
        return [builder.index(builder.add(linear, first))]

    if not redirect_accesses(op, argument, argument, flat):
        raise LegalityError(
            f"flatten-memrefs does not know how {op.name} uses a memref", where=source_line(op)
        )
