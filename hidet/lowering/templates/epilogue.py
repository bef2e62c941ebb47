"""Epilogues: what happens to an element of an anchor before it is stored."""

from __future__ import annotations

from xdsl.ir import SSAValue

from hidet.analysis.epilogue import inverse_of
from hidet.analysis.grids import loads_of
from hidet.dialects.compute import FusionOp, GridOp, SinkOp, StoreOp
from hidet.dialects.graph import AnchorOp, MatmulOp
from hidet.errors import ScheduleError
from hidet.frontends.script.values import Tensor
from hidet.lowering.templates.base import KernelScope
from hidet.lowering.templates.parts import tensor
from hidet.rewriting.inlining import element_at


def anchor_of(fusion: FusionOp) -> AnchorOp | None:
    """Return the operator that a fusion is built around, if there is one."""
    return next((op for op in fusion.body.block.ops if isinstance(op, AnchorOp)), None)


def product_of(fusion: FusionOp) -> MatmulOp:
    """Return the product of matrices that a fusion is built around.

    Raises:
        ScheduleError: it is built around nothing, or something else.
    """
    anchor = anchor_of(fusion)
    if not isinstance(anchor, MatmulOp):
        raise ScheduleError("the fusion has no graph.matmul")
    return anchor


def anchor_tensors(scope: KernelScope, fusion: FusionOp) -> list[Tensor]:
    """Bring the anchor of a fusion into a kernel; return its operands, and where results go."""
    anchor = anchor_of(fusion)
    assert anchor is not None, "a fusion that the template has accepted"
    for op in fusion.body.block.ops:
        if isinstance(op, GridOp) and not loads_of(op, anchor.result):
            scope.clone(op)
    operands = [tensor(scope.views[operand]) for operand in anchor.operands]
    return [*operands, tensor(epilogue_sink(scope, anchor))]


def epilogue_sink(scope: KernelScope, anchor: AnchorOp) -> SSAValue:
    """Build the sink that takes elements of the anchor and stores the results of the fusion.

    Every result is the anchor itself or a grid that loads it at an invertible place: the sink
    evaluates that grid at the element that loads what is being stored.
    """
    builder = scope.builder
    sink = builder.insert(SinkOp(anchor.result.type))
    with builder.inside(sink.body.block):
        for result, buffer in scope.outputs:
            if result is anchor.result:
                builder.insert(StoreOp(sink.value, buffer, sink.indices))
                continue
            grid = result.owner
            inverse = inverse_of(grid, anchor.result) if isinstance(grid, GridOp) else None
            if inverse is None or not isinstance(grid, GridOp):
                raise ScheduleError(
                    f"a result of the fusion does not follow from one element of its {anchor.name}",
                    where=str(grid.name) if isinstance(grid, GridOp) else None,
                    hint="fuse only grids that load the anchor at an invertible place",
                )
            indices = inverse.materialize(builder, sink.indices)
            known: dict[SSAValue, SSAValue] = {anchor.result: sink.value}
            value = element_at(builder, grid, indices, scope.views, known)
            builder.insert(StoreOp(value, buffer, indices))
    return sink.result
