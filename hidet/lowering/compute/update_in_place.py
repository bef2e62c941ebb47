"""The pass `update-in-place`: lets elementwise kernels overwrite what they update."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import Self

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.passes import ModulePass

from hidet.analysis.grids import is_elementwise, is_in_order, loads_of
from hidet.dialects.compute import FusionOp, GridOp, terminator_of
from hidet.dialects.host_functions import updates_of
from hidet.dialects.walking import ops_of_class


@dataclass(frozen=True)
class UpdateInPlacePass(ModulePass):
    """Let elementwise kernels overwrite arguments of the program with their new contents.

    Expects fusions in functions whose `updates` name the arguments that their last results update.
    If a fusion computes such a result, the argument becomes one of its `inits`, unless an element
    of another index, another segment, or a later operation reads the argument.
    """

    name = "update-in-place"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Mark the updates of every function of a module."""
        for function in op.ops:
            if isinstance(function, FuncOp) and function.body.blocks:
                _mark(function)


def _mark(function: FuncOp) -> None:
    """Make the updated arguments of a function the `inits` of fusions."""
    block = function.body.block
    end = block.last_op
    assert end is not None
    order = {op: number for number, op in enumerate(block.ops)}
    accesses = cache(_Accesses.of)
    found: dict[FusionOp, dict[int, BlockArgument]] = {}
    for argument, position in updates_of(function):
        result = end.operands[position]
        fusion = result.owner
        readers = {use.operation for use in argument.uses}
        if not isinstance(fusion, FusionOp) or fusion not in readers or fusion.inits is not None:
            continue
        number = fusion.results.index(result)
        inner = fusion.body.block.args[fusion.arguments.index(argument)]
        is_last = max(readers, key=order.__getitem__) is fusion
        if is_last and argument.type == result.type and accesses(fusion).in_place(inner, number):
            found.setdefault(fusion, {})[number] = inner
    for fusion, updates in found.items():
        _set_inits(fusion, updates)


@dataclass(frozen=True)
class _Accesses:
    """What the grids of an elementwise fusion load.

    Attributes:
        fusion: the fusion.
        segments: the results of each segment, which are all grids.
        shuffled: the values of which some element is loaded for one of another index.
    """

    fusion: FusionOp
    segments: Sequence[Set[SSAValue]]
    shuffled: Set[SSAValue]

    @classmethod
    def of(cls, fusion: FusionOp) -> Self:
        """Return the accesses of a fusion; it has no segments if it is not elementwise."""
        *grids, end = fusion.body.block.ops
        results = end.operands
        if {grid.results[0] for grid in grids} != set(results) or not is_elementwise(fusion):
            return cls(fusion, [], frozenset())
        segments = list(map(frozenset, fusion.by_segment(results)))
        own = ops_of_class(fusion, GridOp)
        reads = {(grid, load.source) for grid in own for load in loads_of(grid)}
        shuffled = {source for grid, source in reads if not is_in_order(grid, source)}
        return cls(fusion, segments, shuffled)

    def in_place(self, argument: BlockArgument, number: int) -> bool:
        """Return whether only the thread of an element of a result reads that of an argument."""
        block, result = argument.block, terminator_of(self.fusion.body).operands[number]
        readers = {block.find_ancestor_op_in_block(use.operation) for use in argument.uses}
        return any(
            result in segment
            and readers <= {each.owner for each in segment}
            and self.shuffled.isdisjoint({argument, *segment})
            for segment in self.segments
        )


def _set_inits(fusion: FusionOp, updates: dict[int, BlockArgument]) -> None:
    """Make some arguments the initial contents of results, which are given by their numbers."""
    block, values = fusion.body.block, list(fusion.arguments)
    for _, old in sorted(updates.items()):  # to the end, as `inits` are the last ones
        values.append(values.pop(old.index))
        new = block.insert_arg(old.type, len(block.args))
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
        block.erase_arg(old)
    fusion.operands = values
    fusion.inits = DenseArrayBase.from_list(i64, sorted(updates))
