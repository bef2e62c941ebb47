"""Forwarding of variables that are stored once."""

from xdsl.dialects import memref
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from hidet.dialects.cuda.attributes import is_variable
from hidet.dialects.cuda.kernel import KernelOp


def forward_single_stores(kernel: KernelOp) -> None:
    """Replace every variable with a single store, in its own block, by the stored value.

    Loads before the store would be uninitialized, so all loads come after it.
    """
    for op in tuple(kernel.body.walk()):
        if isinstance(op, memref.AllocaOp) and is_variable(op.memref):
            _forward(op)


def _forward(alloca: memref.AllocaOp) -> None:
    loads: list[memref.LoadOp] = []
    stores: list[Operation] = []
    for use in alloca.memref.uses:
        if isinstance(use.operation, memref.LoadOp):
            loads.append(use.operation)
        else:
            stores.append(use.operation)
    if len(stores) != 1 or stores[0].parent is not alloca.parent:
        return
    (store,) = stores
    if not isinstance(store, memref.StoreOp):
        return
    store.value.name_hint = store.value.name_hint or alloca.memref.name_hint
    for load in loads:
        Rewriter.replace_op(load, [], [store.value])
    for op in (store, alloca):
        Rewriter.erase_op(op)
