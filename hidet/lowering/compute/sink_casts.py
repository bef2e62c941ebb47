"""The pass `sink-casts`: moves the widening of results to where they are loaded."""

from xdsl.context import Context
from xdsl.dialects.arith import ExtFOp
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from hidet.analysis.grids import is_view
from hidet.dialects.compute import GridOp, LoadOp
from hidet.lowering.single_walk import rewrite_once


def sink_cast(op: GridOp, rewriter: PatternRewriter) -> None:
    """A grid yields what it computed before it widened that; its loads widen.

        t = a @ b     y[i, j] = extf(truncf(t[i, j]))     z[i, j] = y[i, j] * s[j]

    becomes y[i, j] = truncf(t[i, j]), z[i, j] = extf(y[i, j]) * s[j].
    """
    wide, loads = op.yielded.owner, [use.operation for use in op.result.uses]
    if not isinstance(wide, ExtFOp) or is_view(op) or op.is_stored:
        return
    if not all(isinstance(load, LoadOp) for load in loads):
        return
    narrow = GridOp(TensorType(wide.input.type, op.shape), op.detach_region(op.body))
    narrow.result.name_hint = op.result.name_hint
    terminator = narrow.body.block.last_op
    assert terminator is not None
    terminator.operands[0] = wide.input
    rewriter.insert(narrow)
    for load in loads:
        assert isinstance(load, LoadOp)
        loaded = LoadOp(narrow.result, load.indices)
        rewriter.replace(load, [loaded, ExtFOp(loaded, wide.result.type)])
    rewriter.erase(op)
    if not wide.result.uses.get_length():
        rewriter.erase(wide)


class SinkCastsPass(ModulePass):
    """Widen values where they are loaded, not where they are stored.

    Expects functions of grids, with views inlined. Mixed precision is full of such casts: autocast
    multiplies in f16 what losses and norms read in f32. Results of functions are left alone.
    """

    name = "sink-casts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Sink the casts of a module."""
        rewrite_once(op.body, {GridOp: sink_cast})
