"""The template `row`: row reductions and the grids computed from them, in one kernel."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import gcd, prod
from typing import Any

from xdsl.ir import Operation, SSAValue

from hidet.analysis.grids import is_cheap, loads_of
from hidet.analysis.rows import Rows, row_reduces, rows_of
from hidet.arch.chips import Arch
from hidet.arch.limits import ACCESS_BYTES, WARP
from hidet.dialects.compute import FusionOp, GridOp, LoadOp, ReduceKind, ReduceOp, YieldOp
from hidet.dialects.shaped import bytes_of, element_of, size_of
from hidet.dialects.walking import ops_in, reached
from hidet.frontends.script.scalars import Scalar
from hidet.frontends.script.tensors import Tensor
from hidet.lang import repeat, script, spatial, task
from hidet.lowering.templates.adjacency import run_across, runs_along
from hidet.lowering.templates.base import KernelScope, Launch, Results, Template, ceil_div
from hidet.lowering.templates.config import Config
from hidet.lowering.templates.elementwise import store
from hidet.lowering.templates.epilogue import anchor_of
from hidet.lowering.templates.parts import (
    combined,
    known,
    neutral,
    place,
    scalar,
    tensor,
    worker_of_grid,
)
from hidet.mapping import TaskMap
from hidet.rewriting.builder import Index, KernelBuilder

MAX_KEPT = 32
"""The most elements of a grid that a lane keeps in registers."""

SECTOR = 16
"""The fewest adjacent rows of a block: 16-bit elements of as many fill the sector of an access."""

MIN_THREADS = 128
"""The fewest threads of a block."""

MAX_THREADS, FEWER_THREADS = 1024, 512
"""The most threads of a block whose lanes are across rows, if rows are long and if they are short:
in the end all threads join the values of a vector."""

FULL_THREADS = 1024
"""The threads of a multiprocessor from which lanes with less to load do not load faster."""

MAX_STEPS = 64
"""The vectors of a row from which on it has more lanes, across rows, in blocks of any size."""

MAX_UNROLLED, FEWER_UNROLLED = 32, 16
"""The most vectors of a thread whose loads are unrolled, as ptxas overlaps those of straight code;
and how many of more at a time. A loop over the same elements after another one then loads them
again: straight code keeps them all, in local memory."""

WORD = 8
"""The bytes of an access of a lane that keeps what it computes."""

MIN_BYTES = 2
"""The bytes of the smallest elements of which an access is full."""

Term = Callable[[Any, Any], Scalar]
"""Computes a value from the indices of a row and of an element in it."""

Reduction = tuple[Tensor, ReduceKind, Term]
"""What is reduced over each row, into a register tile."""


@dataclass(frozen=True)
class RowConfig(Config):
    """The distribution of rows over threads: `lanes` per row, `vector` elements an access.

    Adjacent lanes access adjacent vectors of a row; or, if `across` is not 1, of as many adjacent
    rows, as in the sum over the first dimension of a matrix.
    """

    threads: int
    lanes: int
    vector: int
    across: int = 1

    @property
    def rows_of_block(self) -> int:
        """The number of rows of a block."""
        return self.threads // self.lanes * (self.vector if self.across > 1 else 1)

    def elements(self, blocks: int, length: int) -> TaskMap:
        """Return the map of (row, element) to the workers of the grid."""
        rows = spatial(blocks * self.threads // self.lanes // self.across, 1)
        lanes = spatial(1, self.lanes)
        if self.across == 1:
            steps = ceil_div(length, self.lanes * self.vector)
            return rows * repeat(1, steps) * lanes * repeat(1, self.vector)
        steps = ceil_div(length, self.lanes)
        at_once = steps if steps <= MAX_UNROLLED else FEWER_UNROLLED
        unrolled = repeat(1, steps, attrs=f"uu{at_once}")
        return rows * unrolled * lanes * spatial(self.across, 1) * repeat(self.vector, 1)


class RowTemplate(Template[RowConfig]):
    """`lanes` workers process a row; a block has `threads // lanes` rows.

    Every reduction leaves one value per row, in registers of all lanes of the row. Elementwise
    grids are recomputed at each use; expensive ones with several uses are kept in registers, if a
    lane has no more than `MAX_KEPT` elements.
    """

    name = "row"
    config = RowConfig

    def accepts(self, fusion: FusionOp) -> bool:
        """Accept fusions whose reductions and results have the same rows."""
        rows = rows_of(fusion.body.block.ops)
        return (
            rows is not None
            and anchor_of(fusion) is None
            and all(size_of(r) in (rows.count, rows.size) for r in fusion.results_)
        )

    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[RowConfig]:
        """Return one config: a warp per row, more lanes for long or few rows.

        Short rows have fewer lanes if there are many. Wide vectors are halved if lanes then have
        fewer elements, as the last ones of a row are not all there. Where rows are strided and
        elements of adjacent rows adjacent, lanes are across rows.
        """
        rows = _rows(fusion)
        is_across = rows.stride > 1 or all(size_of(x) == rows.count for x in fusion.results_)
        if rows.count >= SECTOR and is_across and (run := run_across(fusion)) > 0:
            return [_across(fusion, rows, run, arch)]
        lanes, vector = 32, _vector(fusion, rows.length)
        while (
            lanes < 1024
            and (rows.length > 32 * lanes or rows.count * lanes < 128 * arch.processors)
            and rows.length >= 2 * max(vector, 2) * lanes
        ):
            lanes *= 2

        while (
            rows.length < vector * lanes
            and rows.count * lanes >= 2 * FULL_THREADS * arch.processors
        ):
            lanes //= 2

        def elements(vector: int) -> int:
            """Return how many elements a lane has."""
            return ceil_div(rows.length, vector * lanes) * vector

        while vector > 1 and (
            rows.length < vector * lanes
            or (vector > 2 and elements(vector // 2) <= 7 / 8 * elements(vector))
        ):
            vector //= 2
        return [RowConfig(max(MIN_THREADS, lanes), lanes, vector)]

    def launch(self, fusion: FusionOp, config: RowConfig) -> Launch:
        """Return the grid that covers the rows."""
        return Launch((ceil_div(_rows(fusion).count, config.rows_of_block),), (config.threads,))

    def build(self, scope: KernelScope, fusion: FusionOp, config: RowConfig) -> None:
        """Build the kernel body."""
        (blocks,) = self.launch(fusion, config).grid
        rows = _rows(fusion)
        elements = config.elements(blocks, rows.length)
        kernel = _RowKernel(scope, rows, elements, worker_of_grid())
        for op in fusion.body.block.ops:
            if isinstance(op, GridOp):
                kernel.add(op)
        kernel.store_results(config)


# The kernel, in hidet script. The workers are the threads of the grid; `extents` are the number of
# rows and their length.


@script
def reduce_rows(
    reductions: Sequence[Reduction], elements: TaskMap, extents: tuple[int, int], worker: Scalar
) -> None:
    """Reduce terms over each row: per worker, then across the lanes of the row."""
    for tile, kind, _ in reductions:
        for row in tile.on(worker):
            tile[row] = neutral(kind, tile)
    for row, element in elements.on(worker, bound=extents):
        for tile, kind, term in reductions:
            value = term(row, element)
            tile[row] = combined(kind, tile[row], value)
    for tile, kind, _ in reductions:
        task.combine(tile, kind, on=worker)


@script
def keep(
    tile: Tensor, extents: tuple[int, ...], worker: Scalar, value: Callable[[Any], Scalar]
) -> None:
    """Compute a register tile of row values or elements."""
    for element in tile.on(worker, bound=extents):
        tile[element] = value(element)


@script
def store_elements(
    results: Results,
    elements: TaskMap,
    extents: tuple[int, int],
    worker: Scalar,
    number: Term,
) -> None:
    """Store the elements of rows, each by its owner, at linear indices."""
    for row, element in elements.on(worker, bound=extents):
        store(results, number(row, element))


@script
def store_rows(
    results: Results, rows: TaskMap, count: int, worker: Any, lanes: int, across: int
) -> None:
    """Store row values, each by the first lane of its row."""
    for row in rows.on(worker, bound=[count]):
        if worker % (lanes * across) < across:
            store(results, row)


@dataclass
class _RowKernel:
    """A row kernel under construction.

    `elements` maps (row, element) to the workers of the grid, `row_values` are kept in registers.
    The reductions of grids in `pending` are not emitted yet: independent ones share a loop.
    """

    scope: KernelScope
    rows: Rows
    elements: TaskMap
    worker: Scalar
    row_values: set[SSAValue] = field(default_factory=lambda: set[SSAValue]())
    pending: dict[GridOp, Reduction] = field(default_factory=lambda: dict[GridOp, Reduction]())

    @property
    def builder(self) -> KernelBuilder:
        return self.scope.builder

    @property
    def extents(self) -> tuple[int, int]:
        """The number of rows, and their length."""
        return self.rows.count, self.rows.length

    def _number(self, row: Scalar, element: Scalar) -> Scalar:
        """Return the linear index in the whole tensor of an element of a row."""
        outer, length, stride = self.rows.shape
        first, inner = place(row, (outer, stride))
        return (first * length + element) * stride + inner

    def _place(self, number: SSAValue) -> tuple[Scalar, ...]:
        """Return the row and the place in it of an element with a linear index."""
        first, element, inner = place(number, self.rows.shape)
        return first * self.rows.stride + inner, element

    @property
    def map_of_rows(self) -> TaskMap:
        """The map of rows, whose values are replicated over lanes."""
        return self.elements.project([1])

    def add(self, grid: GridOp) -> None:
        """Add a grid of the fusion to the kernel, as row values or as a view."""
        if not self.pending.keys().isdisjoint(reached([grid], _read_by)):
            self.reduce_pending()
        reduces = row_reduces(grid)
        if not reduces and (prod(grid.shape) != self.rows.count or not self._loads_rows(grid)):
            if self._is_worth_keeping(grid):
                self._keep(grid, self.extents, self.elements, {})
            else:
                self.scope.clone(grid)
            return
        self.row_values.add(grid.result)
        if len(reduces) == 1:
            self.pending[grid] = self._reduction(grid, reduces[0], {})
            return
        partial: dict[ReduceOp, SSAValue] = {}
        for reduce in reduces:
            tile, *how = self._reduction(grid, reduce, partial)
            reduce_rows([(tile, *how)], self.elements, self.extents, self.worker)
            partial[reduce] = tile.memory
        self._keep(grid, self.extents[:1], self.map_of_rows, partial)

    def reduce_pending(self) -> None:
        """Emit the loop of the pending reductions, if there are any."""
        if not self.pending:
            return
        pending, self.pending = self.pending, {}
        reduce_rows([*pending.values()], self.elements, self.extents, self.worker)
        for grid, (tile, *_) in pending.items():
            (reduce,) = row_reduces(grid)
            if grid.yielded is reduce.result:
                self._bind(grid, tile.memory, self.extents[:1])
            else:
                self._keep(grid, self.extents[:1], self.map_of_rows, {reduce: tile.memory})

    def _loads_rows(self, grid: GridOp) -> bool:
        """Return whether a grid reads row values, and is computed once per row."""
        return any(
            isinstance(op, LoadOp) and op.source in self.row_values for op in ops_in(grid.body)
        )

    def _is_worth_keeping(self, grid: GridOp) -> bool:
        """Return whether an elementwise grid is expensive and has several uses."""
        return (
            prod(grid.shape) == self.rows.size
            and self.elements.tasks_per_worker <= MAX_KEPT
            and len(list(grid.result.uses)) > 1
            and not is_cheap(grid)
        )

    def _reduction(
        self, grid: GridOp, reduce: ReduceOp, partial: dict[ReduceOp, SSAValue]
    ) -> Reduction:
        """Return the reduction of every row into a new register tile."""

        def term(row: Scalar, element: Scalar) -> Scalar:
            values = self._body(grid, row.ssa, partial, reduce)
            indices = [index.ssa for index in place(element, reduce.shape)]
            values.update(zip(reduce.indices, indices, strict=True))
            self._clone(reduce.body.block.ops, values)
            return scalar(values[reduce.yielded])

        tile = self.builder.register_tile(reduce.result.type, self.map_of_rows)
        tile.name_hint = f"row_{reduce.kind.data}"
        return tensor(tile), reduce.kind.data, term

    def _keep(
        self,
        grid: GridOp,
        extents: tuple[int, ...],
        layout: TaskMap,
        partial: dict[ReduceOp, SSAValue],
    ) -> None:
        self.reduce_pending()

        def value(element: Scalar | tuple[Scalar, ...]) -> Scalar:
            number = self._number(*element) if isinstance(element, tuple) else element
            return scalar(self._body(grid, number.ssa, partial)[grid.yielded])

        tile = self.builder.register_tile(grid.yielded.type, layout)
        tile.name_hint = "kept"
        keep(tensor(tile), extents, self.worker, value)
        self._bind(grid, tile, extents)

    def _bind(self, grid: GridOp, tile: SSAValue, extents: tuple[int, ...]) -> None:
        """Replace a grid by a view of a register tile."""
        tile.name_hint = grid.result.name_hint or tile.name_hint
        view = self.builder.insert(GridOp(grid.result.type))
        with self.builder.inside(view.body.block):
            number = self.builder.index(self.builder.linearize(view.indices, grid.shape))
            at = self._place(number) if len(extents) > 1 else (scalar(number),)
            self.builder.insert(YieldOp(tensor(tile)[at].ssa))
        self.scope.views[grid.result] = view.result

    def _body(
        self,
        grid: GridOp,
        number: Index,
        partial: dict[ReduceOp, SSAValue],
        until: ReduceOp | None = None,
    ) -> dict[SSAValue, SSAValue]:
        """Evaluate the body of a grid at a linear index, up to a reduction or its end.

        In a grid with reductions the index is that of the row, whose partial results are known.
        """
        values = dict(self.scope.views)
        indices = self.builder.delinearize(number, grid.shape)
        values.update(zip(grid.indices, indices, strict=True))
        ops: list[Operation] = []
        for op in grid.body.block.ops:
            if op is until:
                break
            if isinstance(op, ReduceOp) and op in partial:
                values[op.result] = self.builder.load(partial[op], [number])
            else:
                ops.append(op)
        self._clone(ops, values)
        return values

    def _clone(self, ops: Iterable[Operation], values: dict[SSAValue, SSAValue]) -> None:
        for op in ops:
            if not isinstance(op, YieldOp):
                self.builder.insert(op.clone(values))

    def store_results(self, config: RowConfig) -> None:
        """Store the results: elements by all workers, row values by the first lane."""
        self.reduce_pending()
        results: dict[int, list[tuple[Tensor, Tensor]]] = {self.rows.size: [], self.rows.count: []}
        for view, buffer in self.scope.results:
            results[prod(known(view.shape))].append((view, buffer))
        if results[self.rows.size]:
            own = results[self.rows.size]
            store_elements(own, self.elements, self.extents, self.worker, self._number)
        if results[self.rows.count]:
            count = self.rows.count
            lanes = config.lanes, config.across
            store_rows(results[count], self.map_of_rows, count, self.worker, *lanes)


def _read_by(op: Operation) -> list[Operation]:
    """Return the ops of a fusion whose results an op of it reads."""
    sources = [load.source.owner for load in loads_of(op)] if isinstance(op, GridOp) else []
    return [source for source in sources if isinstance(source, Operation)]


def _vector(fusion: FusionOp, extent: int) -> int:
    """Return how many adjacent elements an access has: whole ones that divide an extent."""
    inputs = [x for x in fusion.body.block.args if size_of(x) >= _rows(fusion).size]
    most = ACCESS_BYTES // max([MIN_BYTES, *(bytes_of(element_of(x)) for x in inputs)])
    return gcd(most, extent, *runs_along(fusion))


def _across(fusion: FusionOp, rows: Rows, run: int, arch: Arch) -> RowConfig:
    """Return the config for adjacent rows: whole sectors, or more if they still fill the GPU.

    Where elements are results, a lane has no more than it can keep, in short vectors: what warps
    exchange per row is then little, too.
    """
    vector, width = _vector(fusion, gcd(run, rows.stride) if rows.stride > 1 else run), SECTOR
    is_kept = any(size_of(result) == rows.size for result in fusion.results_)
    widest = 32 * vector
    if is_kept:
        vector = min(vector, WORD // MIN_BYTES)
        widest = min(32 * vector, MAX_KEPT * FEWER_THREADS // rows.length)
    while 2 * width <= widest and 2 * rows.count >= 3 * width * arch.processors:
        width *= 2
    across, blocks = width // vector, ceil_div(rows.count, width)
    lanes = 32 // across

    def is_long() -> bool:
        """Return whether lanes have many elements of a row."""
        if is_kept:
            return rows.length * vector > MAX_KEPT * lanes
        return rows.length >= (8 if lanes * across < FEWER_THREADS else MAX_STEPS) * lanes

    while lanes * across < MAX_THREADS and (
        is_long() or (rows.length >= 2 * lanes and blocks * lanes * across < 64 * arch.processors)
    ):
        lanes *= 2
    fewest = MIN_THREADS if is_kept else WARP
    return RowConfig(max(fewest, lanes * across), lanes, vector, across)


def _rows(fusion: FusionOp) -> Rows:
    rows = rows_of(fusion.body.block.ops)
    assert rows is not None, "a fusion that the template has accepted"
    return rows
