"""The template `row`: reductions along rows, and what is computed from them, in one kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Operation, SSAValue

from hidet.analysis.grids import is_cheap
from hidet.analysis.rows import Rows, row_reduces, rows_of
from hidet.dialects.compute import FusionOp, GridOp, LoadOp, ReduceOp, StoreOp, YieldOp
from hidet.dialects.graph import MatmulOp
from hidet.dialects.shaped import shape_of, size_of
from hidet.dialects.task import CombineOp, ForeachOp
from hidet.lowering.builder import Index, KernelBuilder
from hidet.lowering.templates.arch import Arch
from hidet.lowering.templates.base import Config, KernelScope, Launch, Template, ceil_div
from hidet.mapping import TaskMap, repeat, spatial

MAX_KEPT = 32
"""How many elements of a grid a lane keeps in registers at most."""


class RowTemplate(Template):
    """`lanes` workers share a row; a block holds `threads // lanes` rows.

    Every reduction leaves one value a row, in registers of all lanes of that row. Grids over the
    rows' elements are evaluated where they are needed; those that cost something and are needed
    more than once are kept in registers too, unless a lane has more than `MAX_KEPT` elements.
    """

    name = "row"

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions whose reductions share their rows and whose results fit them."""
        ops = list(fusion.body.block.ops)
        rows = rows_of(ops)
        return (
            rows is not None
            and not any(isinstance(op, MatmulOp) for op in ops)
            and all(size_of(r) in (rows.count, rows.size) for r in fusion.results_)
        )

    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[Config]:
        """Return a warp for short rows, a block for long ones, more lanes where rows are few."""
        rows = _rows(fusion)
        lanes = 32
        while (
            lanes < 1024
            and (rows.length > 32 * lanes or rows.count * lanes < 128 * arch.processors)
            and rows.length >= 4 * lanes
        ):
            lanes *= 2
        vector = 4 if rows.length % 4 == 0 and rows.length >= 4 * lanes else 1
        return [{"threads": max(128, lanes), "lanes": lanes, "vector": vector}]

    def launch(self, fusion: FusionOp, config: Config) -> Launch:
        """Return as many blocks as it takes to cover the rows."""
        rows_of_block = config["threads"] // config["lanes"]
        return Launch((ceil_div(_rows(fusion).count, rows_of_block),), (config["threads"],))

    def build(self, scope: KernelScope, fusion: FusionOp, config: Config) -> None:
        """Write the kernel's body."""
        (blocks,) = self.launch(fusion, config).grid
        rows = _rows(fusion)
        lanes, vector = config["lanes"], config["vector"]
        # Neighbouring lanes take neighbouring vectors of a row, round after round.
        elements = (
            spatial(blocks * config["threads"] // lanes, 1)
            * repeat(1, ceil_div(rows.length, lanes * vector))
            * spatial(1, lanes)
            * repeat(1, vector)
        )
        kernel = _RowKernel(scope, rows, elements, scope.worker(config["threads"]))
        for op in fusion.body.block.ops:
            if isinstance(op, GridOp):
                kernel.add(op)
        kernel.store_results(config["lanes"])


@dataclass
class _RowKernel:
    """A row kernel that is being written.

    Attributes:
        elements: the map of (row, element of the row) onto all workers of the grid.
        worker: the number of the worker in the grid.
        row_values: values of the fusion that are kept in registers, one a row.
    """

    scope: KernelScope
    rows: Rows
    elements: TaskMap
    worker: SSAValue
    row_values: set[SSAValue] = field(default_factory=lambda: set[SSAValue]())

    @property
    def builder(self) -> KernelBuilder:
        return self.scope.builder

    def add(self, grid: GridOp) -> None:
        """Bring one grid of the fusion into the kernel: as values of rows, or as a view."""
        reduces = row_reduces(grid)
        if not reduces and (prod(grid.shape) != self.rows.count or not self._loads_rows(grid)):
            if self._is_worth_keeping(grid):
                self._keep_elements(grid)
            else:
                self.scope.clone(grid)
            return
        partial: dict[ReduceOp, SSAValue] = {}
        for reduce in reduces:
            partial[reduce] = self._reduce(grid, reduce, partial)
        whole = grid.yielded.owner
        if isinstance(whole, ReduceOp) and whole in partial:
            tile = partial[whole]
        else:
            tile = self._row_tile(grid.yielded.type)
            foreach = self._foreach_row(tile)
            with self.builder.inside(foreach.body.block):
                (row,) = foreach.indices
                value = self._body(grid, row, partial, None)[grid.yielded]
                self.builder.store(value, tile, [row])
        tile.name_hint = grid.result.name_hint
        self.row_values.add(grid.result)
        self.scope.views[grid.result] = self._view_of(tile, grid)

    def _loads_rows(self, grid: GridOp) -> bool:
        """Whether a grid reads values of rows: then it is computed once a row."""
        return any(
            isinstance(op, LoadOp) and op.source in self.row_values for op in grid.body.walk()
        )

    def _is_worth_keeping(self, grid: GridOp) -> bool:
        """Whether a grid of elements is better evaluated once: it costs, and is read repeatedly."""
        return (
            prod(grid.shape) == self.rows.size
            and self.elements.tasks_per_worker <= MAX_KEPT
            and len(list(grid.result.uses)) > 1
            and not is_cheap(grid)
        )

    def _keep_elements(self, grid: GridOp) -> None:
        """Evaluate a grid of elements, each into a register of the worker that it belongs to."""
        builder, extents = self.builder, (self.rows.count, self.rows.length)
        tile = builder.register_tile(grid.yielded.type, self.elements)
        tile.name_hint = grid.result.name_hint
        foreach = builder.insert(ForeachOp(tile, self.worker, bound=list(extents)))
        with builder.inside(foreach.body.block):
            values = dict(self.scope.views)
            number = builder.linearize(foreach.indices, extents)
            place = builder.delinearize(number, grid.shape)
            values.update(zip(grid.indices, place, strict=True))
            self._clone(grid.body.block.ops, values)
            builder.store(values[grid.yielded], tile, foreach.indices)
        view = builder.insert(GridOp(grid.result.type))
        with builder.inside(view.body.block):
            number = builder.linearize(view.indices, grid.shape)
            place = [builder.index(index) for index in builder.delinearize(number, extents)]
            builder.insert(YieldOp(builder.load(tile, place)))
        self.scope.views[grid.result] = view.result

    def _row_tile(self, element: Attribute) -> SSAValue:
        return self.builder.register_tile(element, self.elements.project([1]))

    def _foreach_row(self, tile: SSAValue) -> ForeachOp:
        """Visit the rows of a worker that there are."""
        return self.builder.insert(ForeachOp(tile, self.worker, bound=[self.rows.count]))

    def _foreach_element(self) -> ForeachOp:
        """Visit the elements of a worker that there are."""
        bound = [self.rows.count, self.rows.length]
        return self.builder.insert(ForeachOp(self.elements, self.worker, bound=bound))

    def _reduce(
        self, grid: GridOp, reduce: ReduceOp, partial: dict[ReduceOp, SSAValue]
    ) -> SSAValue:
        """Reduce every row: each worker its elements, then all lanes of the row."""
        builder, kind = self.builder, reduce.kind.data
        tile = self._row_tile(reduce.result.type)
        clear = builder.insert(ForeachOp(tile, self.worker))
        with builder.inside(clear.body.block):
            builder.store(builder.neutral(kind, reduce.result.type), tile, clear.indices)
        foreach = self._foreach_element()
        with builder.inside(foreach.body.block):
            row, element = foreach.indices
            values = self._body(grid, row, partial, reduce)
            inner = reduce.body.block
            for argument, index in zip(
                inner.args, builder.delinearize(element, reduce.shape), strict=True
            ):
                values[argument] = index
            self._clone(inner.ops, values)
            total = builder.combine(kind, builder.load(tile, [row]), values[reduce.yielded])
            builder.store(total, tile, [row])
        builder.insert(CombineOp(kind, tile, self.worker))
        return tile

    def _body(
        self,
        grid: GridOp,
        row: SSAValue,
        partial: dict[ReduceOp, SSAValue],
        until: ReduceOp | None,
    ) -> dict[SSAValue, SSAValue]:
        """Evaluate a grid's body for a row, up to a reduction or to its end."""
        values = dict(self.scope.views)
        indices = self.builder.delinearize(row, grid.shape)
        values.update(zip(grid.indices, indices, strict=True))
        ops: list[Operation] = []
        for op in grid.body.block.ops:
            if op is until:
                break
            if isinstance(op, ReduceOp) and op in partial:
                values[op.result] = self.builder.load(partial[op], [row])
            else:
                ops.append(op)
        self._clone(ops, values)
        return values

    def _clone(self, ops: Iterable[Operation], values: dict[SSAValue, SSAValue]) -> None:
        for op in ops:
            if not isinstance(op, YieldOp):
                self.builder.insert(op.clone(values))

    def _view_of(self, tile: SSAValue, grid: GridOp) -> SSAValue:
        """Return a view of the values of rows, with the shape of the grid that defines them."""
        view = self.builder.insert(GridOp(grid.result.type))
        with self.builder.inside(view.body.block):
            row = self.builder.index(self.builder.linearize(view.indices, grid.shape))
            self.builder.insert(YieldOp(self.builder.load(tile, [row])))
        return view.result

    def store_results(self, lanes: int) -> None:
        """Write the results: elements by all workers, values of rows by the first lane."""
        builder = self.builder
        shapes = [shape_of(view) for view, _ in self.scope.outputs]
        full = [prod(shape) == self.rows.size for shape in shapes]
        if any(full):
            foreach = self._foreach_element()
            with builder.inside(foreach.body.block):
                number = builder.linearize(foreach.indices, (self.rows.count, self.rows.length))
                self._copy_results(number, shapes, full)
        if not all(full):
            foreach = self._foreach_row(self._row_tile(f32))
            with builder.inside(foreach.body.block):
                lane = builder.mod(self.worker, lanes)
                with builder.when(builder.less(lane, 1)):
                    self._copy_results(foreach.indices[0], shapes, [not flag for flag in full])

    def _copy_results(
        self, number: Index, shapes: Sequence[tuple[int, ...]], chosen: Sequence[bool]
    ) -> None:
        """Copy one element of each chosen result from its view to its buffer."""
        outputs = [
            (self.scope.views[value], buffer, self.builder.delinearize(number, shape))
            for (value, buffer), shape, flag in zip(self.scope.outputs, shapes, chosen, strict=True)
            if flag
        ]
        values = [self.builder.insert(LoadOp(view, place)).result for view, _, place in outputs]
        for value, (_, buffer, place) in zip(values, outputs, strict=True):
            self.builder.insert(StoreOp(value, buffer, place))


def _rows(fusion: FusionOp) -> Rows:
    rows = rows_of(fusion.body.block.ops)
    assert rows is not None, "a fusion that the template has accepted"
    return rows
