"""Checks of tiles: shapes of maps, ranks of indices, and shared memory size."""

from xdsl.dialects import memref
from xdsl.ir import Operation

from hidet.arch.chips import MAX_SHARED_BYTES, Arch
from hidet.dialects.cuda import KernelOp, Space, space_of
from hidet.dialects.shaped import memref_type, nbytes_of, optional_memref_type
from hidet.dialects.task import TaskMapAttr
from hidet.dialects.walking import ops_of_class
from hidet.legality.report import illegal


def check_ranks(root: Operation) -> None:
    """Check that every access to a memref has one index per dimension.

    xDSL's verifier raises a bare `Exception` without a location, so this check comes first.
    """
    for op in ops_of_class(root, memref.LoadOp, memref.StoreOp):
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
    for op in ops_of_class(kernel.body, memref.AllocaOp):
        kind = memref_type(op.memref)
        space, tasks = space_of(kind), kind.layout
        if space is Space.GLOBAL:
            hint = "a kernel gets it as argument"
            raise illegal(op, f"{kind} is allocated in global memory", hint)
        has_map = isinstance(tasks, TaskMapAttr)
        if has_map != (space is Space.REGISTER):
            raise illegal(
                op,
                f"{kind} is in space {space.value} and has {'a' if has_map else 'no'} task map",
                "register tiles have a task map, other tiles have none",
            )
        shape = kind.get_shape()
        if has_map and tasks.data is not None and tasks.data.shape != shape:
            raise illegal(op, f"a tile of shape {shape} has a map of shape {tasks.data.shape}")


def check_shared_memory(kernel: KernelOp, arch: Arch | None = None) -> None:
    """Check the shared arrays of a kernel, static and dynamic, against the limit of a GPU.

    By default, that is the largest limit of any.
    """
    arrays = [op.memref for op in ops_of_class(kernel.body, memref.AllocaOp)]
    shared = (nbytes_of(array) for array in arrays if space_of(array.type) is Space.SHARED)
    total = kernel.shared_bytes + sum(shared)
    has = MAX_SHARED_BYTES if arch is None else arch.shared_bytes_per_block
    if total > has:
        where = "" if arch is None else f" on {arch.name}"
        what = f"{total} bytes of shared memory; a block has {has}{where}"
        raise illegal(kernel, what, "smaller tiles")
