"""Checks of tiles: shapes of maps, ranks of indices, and shared memory size."""

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation

from hidet.arch.chips import MAX_SHARED_BYTES
from hidet.dialects.cuda import KernelOp, Space, space_of
from hidet.dialects.shaped import memref_type, nbytes_of, optional_memref_type
from hidet.dialects.task import TaskMapAttr
from hidet.legality.report import illegal


def check_ranks(root: Operation) -> None:
    """Check that every access to a memref has one index per dimension.

    xDSL's verifier raises a bare `Exception` without a location, so this check comes first.
    """
    for op in root.walk():
        if not isinstance(op, memref.LoadOp | memref.StoreOp):
            continue
        kind = optional_memref_type(op.memref)
        if kind is not None and len(op.indices) != kind.get_num_dims():
            raise illegal(op, f"{len(op.indices)} indices for {kind}")


def check_tiles(kernel: KernelOp) -> None:
    """Check that register tiles have maps of their shape, and that arguments are in global memory.

    A map may still be `?`.
    """
    for argument in kernel.arguments:
        kind = optional_memref_type(argument)
        if kind is not None and space_of(kind) is not Space.GLOBAL:
            raise illegal(kernel, f"the argument {kind} is not in global memory")
    for op in kernel.body.walk():
        if isinstance(op, memref.AllocaOp):
            _check_layout(op, memref_type(op.memref))


def _check_layout(op: Operation, kind: MemRefType[Attribute]) -> None:
    layout, space = kind.layout, space_of(kind)
    if space is Space.GLOBAL:
        raise illegal(op, f"{kind} is allocated in global memory", "a kernel gets it as argument")
    if isinstance(layout, TaskMapAttr) != (space is Space.REGISTER):
        raise illegal(
            op,
            f"{kind} is in space {space.value} and "
            + ("has a task map" if isinstance(layout, TaskMapAttr) else "has no task map"),
            "register tiles have a task map, other tiles have none",
        )
    if not isinstance(layout, TaskMapAttr) or layout.data is None:
        return
    if layout.data.shape != kind.get_shape():
        raise illegal(
            op, f"a tile of shape {kind.get_shape()} has a map of shape {layout.data.shape}"
        )


def check_shared_memory(kernel: KernelOp) -> None:
    """Check the shared memory of a kernel against the largest limit of any GPU."""
    total = shared_bytes_of(kernel)
    if total > MAX_SHARED_BYTES:
        raise illegal(
            kernel,
            f"{total} bytes of shared memory; a block has {MAX_SHARED_BYTES}",
            "smaller tiles",
        )


def shared_bytes_of(kernel: KernelOp) -> int:
    """Return the bytes of a kernel's shared arrays, static and dynamic."""
    return kernel.shared_bytes + sum(
        nbytes_of(op.memref)
        for op in kernel.body.walk()
        if isinstance(op, memref.AllocaOp) and space_of(op.memref.type) is Space.SHARED
    )
