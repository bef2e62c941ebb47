"""The pass `fuse-horizontally`: makes one kernel of several that do not depend on each other."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.grids import is_elementwise
from hidet.dialects.compute import FusionOp, YieldOp, terminator_of
from hidet.dialects.graph import ConstantOp
from hidet.dialects.shaped import size_of
from hidet.dialects.walking import ops_in
from hidet.rewriting.locations import locate

MAX_POINTERS = 448
"""The most tensors of a kernel, which has 4 KiB of arguments."""

MAX_OPS = 1024
"""The most operations of a kernel. Several are lowered and compiled at once: on 16 cores the first
step of AdamW for ResNet-50 takes 26 s with twelve kernels, and 36 s with six of twice the size; all
later steps take the same time."""


def levels_of(block: Block) -> list[list[FusionOp]]:
    """Return the elementwise fusions between arguments and results of a function.

    They read arguments, weights and each other, and only they and the caller read them. Those of
    a level read earlier levels.
    """
    level: dict[Operation, int] = {}
    for op in block.ops:
        owners = [value.owner for value in op.operands]
        computed = [each for each in owners if not isinstance(each, Block | ConstantOp)]
        if _may_join(op) and level.keys() >= set(computed):
            level[op] = 1 + max((level[each] for each in computed), default=-1)
    for op in reversed(list(level)):
        users = {use.operation for result in op.results for use in result.uses}
        if not users - {block.last_op} <= level.keys():
            del level[op]
    found: defaultdict[int, list[FusionOp]] = defaultdict(list)
    for op, number in level.items():
        if isinstance(op, FusionOp):
            found[number].append(op)
    return [found[number] for number in sorted(found)]


def _may_join(op: Operation) -> bool:
    """Return whether an op is a fusion whose results have one size, and are computed in order."""
    if not isinstance(op, FusionOp) or any((op.config, op.segments, op.inits)):
        return False
    sizes = {size_of(result) for result in op.results}
    return len(sizes) == 1 and sizes != {0} and is_elementwise(op)


def segments_of(fusions: Iterable[FusionOp]) -> list[list[FusionOp]]:
    """Put fusions together whose results are as large as an argument that they share."""
    found: list[list[FusionOp]] = []
    reading: dict[SSAValue, list[FusionOp]] = {}
    for each in fusions:
        size = size_of(each.results[0])
        streamed = [value for value in each.arguments if size_of(value) == size > 1]
        segment = next((reading[value] for value in streamed if value in reading), None)
        if segment is None:
            segment = list[FusionOp]()
            found.append(segment)
        segment.append(each)
        reading.update(dict.fromkeys(streamed, segment))
    return found


def batches_of(segments: Iterable[Sequence[FusionOp]]) -> Iterator[list[Sequence[FusionOp]]]:
    """Divide segments into those that become one kernel."""
    batch, pointers, ops = list[Sequence[FusionOp]](), 0, 0
    for segment in segments:
        own = sum(len(each.operands) + len(each.results) for each in segment)
        size = sum(len(ops_in(each)) for each in segment)
        if batch and (pointers + own > MAX_POINTERS or ops + size > MAX_OPS):
            yield batch
            batch, pointers, ops = [], 0, 0
        batch.append(segment)
        pointers, ops = pointers + own, ops + size
    yield batch


def merged(batch: Sequence[Sequence[FusionOp]]) -> FusionOp:
    """Return one fusion in the place of those of several segments."""
    fusions = list(chain.from_iterable(batch))
    arguments = dict.fromkeys(chain.from_iterable(each.arguments for each in fusions))
    body = Block(arg_types=[value.type for value in arguments])
    inner: dict[SSAValue, SSAValue] = dict(zip(arguments, body.args, strict=True))
    yielded: list[SSAValue] = []
    for fusion in fusions:
        for own, value in zip(fusion.body.block.args, fusion.arguments, strict=True):
            inner[value].name_hint = inner[value].name_hint or own.name_hint
            own.replace_all_uses_with(inner[value])
        yielded += terminator_of(fusion.body).operands
        for op in list(fusion.body.block.ops):
            op.detach()
            if not isinstance(op, YieldOp):
                body.add_op(op)
    body.add_op(YieldOp(*yielded))
    types = [value.type for value in yielded]
    sizes = [sum(len(each.results) for each in segment) for segment in batch]
    segments = sizes if len(sizes) > 1 else None
    whole = FusionOp(list(arguments), types, body=Region(body), segments=segments)
    locate(whole, fusions[0].location)
    return whole


@dataclass(frozen=True)
class FuseHorizontallyPass(ModulePass):
    """Make one kernel of elementwise fusions that are independent, as of the steps of an optimizer.

    Expects the output of `fuse`. Fusions between arguments and results of a function, without
    anchors, reductions or transposed accesses, become one, level by level. Those whose results are
    as large as an argument that they share become a segment, each other one a segment of its own:
    blocks of the kernel compute one segment each. Others, between which there is a product or a
    reduction, stay where they are, to be computed when their operands are there. A kernel has at
    most `MAX_POINTERS` tensors and `MAX_OPS` operations.

    It is the horizontal fusion of multi-tensor kernels (`torch._foreach_add`).
    """

    name = "fuse-horizontally"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuse the independent fusions of every function of a module."""
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                levels = levels_of(function.body.block)
                if any(len(level) > 1 for level in levels):
                    _fuse(function.body.block, levels)


def _fuse(block: Block, levels: Iterable[Sequence[FusionOp]]) -> None:
    """Replace the fusions of each level, at the end of a function."""
    end = block.last_op
    assert end is not None
    for batch in chain.from_iterable(batches_of(segments_of(level)) for level in levels):
        fusions = list(chain.from_iterable(batch))
        results = [result for each in fusions for result in each.results]
        if len(fusions) == 1:
            fusions[0].detach()
            Rewriter.insert_op(fusions[0], InsertPoint.before(end))
            continue
        whole = merged(batch)
        Rewriter.insert_op(whole, InsertPoint.before(end))
        for old, new in zip(results, whole.results, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        for each in fusions:
            Rewriter.erase_op(each)
