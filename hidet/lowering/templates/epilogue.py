"""Epilogues: the ops on anchor elements before they are stored."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TypeVar

from xdsl.ir import SSAValue

from hidet.analysis.grids import loads_of
from hidet.analysis.inverse import inverse_of
from hidet.dialects.compute import FusionOp, GridOp, SinkOp, StoreOp
from hidet.dialects.graph import AnchorOp, MatmulOp
from hidet.errors import ScheduleError
from hidet.frontends.script.scalars import Index, index_of
from hidet.frontends.script.tensors import Tensor
from hidet.lowering.templates.base import KernelScope, TemplateEmitter
from hidet.lowering.templates.parts import tensor
from hidet.lowering.templates.problem import Problem
from hidet.rewriting.inlining import element_at

Anchor = TypeVar("Anchor", bound=AnchorOp)


def anchor_of(fusion: FusionOp) -> AnchorOp | None:
    """Return the first anchor of a fusion, None if there is none."""
    return next((op for op in fusion.body.block.ops if isinstance(op, AnchorOp)), None)


def accepted(fusion: FusionOp, kind: type[Anchor]) -> Anchor:
    """Return the anchor of a fusion that a template of this kind of anchors has accepted."""
    anchor = anchor_of(fusion)
    assert isinstance(anchor, kind), "a fusion that the template has accepted"
    return anchor


def matmuls_of(fusion: FusionOp) -> list[MatmulOp]:
    """Return the matmuls of a fusion."""
    products = [op for op in fusion.body.block.ops if isinstance(op, MatmulOp)]
    if not products:
        raise ScheduleError("the fusion has no graph.matmul")
    return products


@lru_cache(maxsize=1)
def problem_of(fusion: FusionOp) -> Problem:
    """Return the problem of a fusion's matmuls; templates need it for configs, launch and body."""
    return Problem.of(*matmuls_of(fusion))


def clone_views(scope: KernelScope, fusion: FusionOp) -> None:
    """Clone the grids of a fusion into a kernel, except those that read anchors."""
    results = {op.result for op in fusion.body.block.ops if isinstance(op, AnchorOp)}
    for op in fusion.body.block.ops:
        if isinstance(op, GridOp) and not any(load.source in results for load in loads_of(op)):
            scope.clone(op)


def anchor_tensors(scope: KernelScope, fusion: FusionOp) -> list[Tensor]:
    """Clone the views of the anchor into a kernel; return its operands and its epilogue sink."""
    anchor = accepted(fusion, AnchorOp)
    clone_views(scope, fusion)
    operands = [tensor(scope.views[operand]) for operand in anchor.operands]
    return [*operands, tensor(epilogue_sink(scope, anchor, scope.outputs))]


Outputs = Sequence[tuple[SSAValue, SSAValue]]
"""Results of a fusion with their output buffers."""


def outputs_of(scope: KernelScope, anchors: Sequence[MatmulOp]) -> list[Outputs]:
    """Return for each matmul the results of the fusion that are stored with it.

    Results of several matmuls are stored with the first one.
    """
    found: list[list[tuple[SSAValue, SSAValue]]] = [[] for _ in anchors]
    for result, buffer in scope.outputs:
        grid = result.owner
        sources = {load.source for load in loads_of(grid)} if isinstance(grid, GridOp) else {result}
        numbers = [n for n, anchor in enumerate(anchors) if anchor.result in sources]
        found[min(numbers, default=0)].append((result, buffer))
    return [*found]


Tile = tuple[Tensor, Sequence[Index]]
"""The accumulator of a matmul, and the indices of its first element in the result."""


def epilogue_sink(
    scope: KernelScope,
    anchor: AnchorOp,
    outputs: Outputs,
    others: Mapping[SSAValue, Tile] = MappingProxyType({}),
) -> SSAValue:
    """Build the sink that takes elements of an anchor and stores results of the fusion.

    Every result is the anchor itself or a grid that loads it through an invertible index map: the
    sink evaluates that grid at the inverse of the stored index. Elements of other anchors are
    loaded from their accumulators.
    """
    builder = scope.builder
    sink = builder.insert(SinkOp(anchor.result.type))
    anchors = (anchor.result, *others)
    with builder.inside(sink.body.block):
        for result, buffer in outputs:
            if result is anchor.result:
                builder.insert(StoreOp(sink.value, buffer, sink.indices))
                continue
            grid = result.owner
            inverse = inverse_of(grid, *anchors) if isinstance(grid, GridOp) else None
            if inverse is None or not isinstance(grid, GridOp):
                raise ScheduleError(
                    f"a result does not depend on a single element of {anchor.name}",
                    where=str(grid.name) if isinstance(grid, GridOp) else None,
                    hint="fuse only grids that load the anchor through an invertible index map",
                )
            indices = inverse.materialize(builder, sink.indices)
            known: dict[SSAValue, SSAValue] = {anchor.result: sink.value}
            for source, tile in others.items():
                if loads_of(grid, source):
                    known[source] = _element(builder, tile, sink.indices)
            value = element_at(builder, grid, indices, scope.views, known)
            builder.insert(StoreOp(value, buffer, indices))
    return sink.result


def _element(builder: TemplateEmitter, tile: Tile, indices: Sequence[SSAValue]) -> SSAValue:
    """Return the element of an accumulator at indices of the result."""
    accumulator, first = tile
    places = zip(indices[-2:], first, strict=True)
    own = [builder.subtract(index, index_of(start)) for index, start in places]
    return builder.load(accumulator.memory, own)
