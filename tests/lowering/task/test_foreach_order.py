"""The lowering of task ops visits, stores and combines what evaluation of their maps says."""

import random
from collections import defaultdict
from functools import reduce
from math import prod

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from xdsl.dialects import memref

from hidet.mapping import TaskMap, repeat, replicate, spatial

MAX_WORKERS = 64


@st.composite
def task_maps(draw, replicated=True):
    """Small task maps of one to three dimensions, in any order of factors."""
    rank = draw(st.integers(1, 3))
    extents = st.lists(st.integers(1, 4), min_size=rank, max_size=rank)
    kinds = ["spatial", "repeat", *(["replicate"] if replicated else [])]
    tasks = repeat(*[1] * rank)
    for kind in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=5)):
        if kind == "replicate":
            tasks = tasks * replicate(draw(st.integers(2, 4)))
        else:
            tasks = tasks * {"spatial": spatial, "repeat": repeat}[kind](*draw(extents))
    assume(tasks.workers <= MAX_WORKERS and prod(tasks.shape) <= 512)
    return tasks


def tile_type(tasks: TaskMap, element: str) -> str:
    """The type of a register tile."""
    extents = "x".join(map(str, tasks.shape))
    return f"memref<{extents}x{element}, #task.map<{tasks}>, #cuda.space<register>>"


def names(rank: int) -> str:
    return ", ".join(f"%i{dim}" for dim in range(rank))


def index_types(rank: int) -> str:
    return ", ".join(["index"] * rank)


@given(st.data())
def test_foreach_visits_the_tasks_in_order(lower, simulate, data):
    """Every worker runs exactly the tasks of its list that lie in the bound, in that order."""
    tasks: TaskMap = data.draw(task_maps())
    bound = data.draw(
        st.none() | st.tuples(*(st.integers(0, extent + 1) for extent in tasks.shape)).map(list)
    )
    module = lower(
        f"""cuda.kernel @visit() grid(1) block({tasks.workers}) {{
          %worker = cuda.thread_id x
          task.foreach ({names(tasks.rank)}) in #task.map<{tasks}> on %worker
              {"" if bound is None else f"bound {bound}"} {{
            "test.op"({names(tasks.rank)}) : ({index_types(tasks.rank)}) -> ()
          }}
        }}""",
        "lower-task",
    )
    visited = defaultdict(list)
    simulate(module, observe=lambda worker, _, task: visited[worker].append(tuple(task)))
    for worker in range(tasks.workers):
        expected = [
            task
            for task in tasks(worker)
            if bound is None or all(i < limit for i, limit in zip(task, bound, strict=True))
        ]
        assert visited[worker] == expected


@given(st.data())
def test_tiles_live_in_the_registers_of_their_map(lower, simulate, data):
    """Element (i, j) of a tile is in the register that `register_index` gives."""
    tasks: TaskMap = data.draw(task_maps())
    tile = tile_type(tasks, "index")
    at = names(tasks.rank)
    module = lower(
        f"""cuda.kernel @tile() grid(1) block({tasks.workers}) {{
          %worker = cuda.thread_id x
          %tile = memref.alloca() : {tile}
          task.foreach ({at}) of %tile on %worker : {tile} {{
            "test.op"({at}) : ({index_types(tasks.rank)}) -> ()
            compute.store %i0, %tile[{at}] : {tile}
            %back = compute.load %tile[{at}] : {tile}
            "test.op"(%back) {{loaded}} : (index) -> ()
          }}
        }}""",
        "lower-task",
    )
    log = defaultdict(list)

    def observe(worker, op, operands):
        if isinstance(op, memref.StoreOp):
            _, array, *place = operands
            number = reduce(
                lambda n, part: n * part[1] + part[0], zip(place, array.shape, strict=True), 0
            )
            assert prod(array.shape) == tasks.tasks_per_worker
            log[worker].append(number)
        else:
            log[worker].append(tuple(operands))

    simulate(module, observe=observe)
    for worker in range(tasks.workers):
        expected = [
            entry
            for task in tasks(worker)
            for entry in (task, tasks.register_index(task), task[:1])
        ]
        assert log[worker] == expected


@given(st.data())
def test_reduced_tiles_belong_to_the_same_workers(lower, simulate, data):
    """In a loop over a map, the tile of the map projected to some dimensions can be accessed."""
    tasks: TaskMap = data.draw(task_maps())
    kept = sorted(data.draw(st.sets(st.integers(0, tasks.rank - 1), min_size=1)))
    rows = tasks.project(set(range(tasks.rank)) - set(kept))
    tile = (
        f"memref<{'x'.join(map(str, rows.shape))}xindex, #task.map<{rows}>, #cuda.space<register>>"
    )
    at = ", ".join(f"%i{dim}" for dim in kept)
    module = lower(
        f"""cuda.kernel @rows() grid(1) block({tasks.workers}) {{
          %worker = cuda.thread_id x
          %tile = memref.alloca() : {tile}
          task.foreach ({names(tasks.rank)}) in #task.map<{tasks}> on %worker {{
            compute.store %i{kept[-1]}, %tile[{at}] : {tile}
          }}
          task.foreach ({at}) of %tile on %worker : {tile} {{
            %value = compute.load %tile[{at}] : {tile}
            "test.op"(%value) : (index) -> ()
          }}
        }}""",
        "lower-task",
    )
    read = defaultdict(list)

    def observe(worker, op, operands):
        if not isinstance(op, memref.StoreOp):
            read[worker].append(operands[0])

    simulate(module, observe=observe)
    for worker in range(tasks.workers):
        assert read[worker] == [task[-1] for task in rows(worker)]


KINDS = {
    "add": lambda values: sum(values),
    "mul": lambda values: prod(values),
    "max": lambda values: max(values),
    "min": lambda values: min(values),
}


@st.composite
def replicated_maps(draw):
    """Maps whose elements have 1, 2, 4, ... owners, at any digits of the worker."""
    tasks = repeat(1)
    for kind in draw(st.lists(st.sampled_from("sprrr"), min_size=1, max_size=5)):
        extent = draw(st.sampled_from([2, 4, 8]))
        factor = {"s": spatial, "p": repeat, "r": replicate}[kind]
        tasks = tasks * factor(extent if kind == "r" else draw(st.integers(1, 3)))
    assume(tasks.workers <= 128 and tasks.tasks_per_worker <= 4)
    # Bits of lanes: what stands below a replicate digit is a power of two.
    assume(all(d.weight & (d.weight - 1) == 0 for d in tasks.replicate_digits))
    return tasks


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@pytest.mark.sample(2)
def test_combine_gives_all_owners_the_combination(lower, simulate, memory, kind, data):
    """After `task.combine` each owner of an element has the combination of what all had."""
    tasks: TaskMap = data.draw(replicated_maps())
    shape = tasks.shape[0]
    tile = tile_type(tasks, "f32")
    module = lower(
        f"""cuda.kernel @combine(%x : memref<{tasks.workers}x{shape}xf32>)
            grid(1) block({tasks.workers}) {{
          %worker = cuda.thread_id x
          %tile = memref.alloca() : {tile}
          task.foreach (%i) of %tile on %worker : {tile} {{
            %v = compute.load %x[%worker, %i] : memref<{tasks.workers}x{shape}xf32>
            compute.store %v, %tile[%i] : {tile}
          }}
          task.combine {kind} %tile on %worker : {tile}
          task.foreach (%i) of %tile on %worker : {tile} {{
            %v = compute.load %tile[%i] : {tile}
            "test.op"(%i, %v) : (index, f32) -> ()
          }}
        }}""",
        "lower-task",
    )
    seed = data.draw(st.integers(0, 1000))
    # Products of powers of two are exact, whatever the order.
    choices = (0.5, 1.0, 2.0) if kind == "mul" else range(-100, 101)
    draw = random.Random(seed)
    partial = {
        (worker, i): draw.choice(choices)
        for worker in range(tasks.workers)
        for (i,) in tasks(worker)
    }
    found = defaultdict(list)

    def observe(worker, op, operands):
        if op.name == "test.op":
            found[worker].append(tuple(operands))

    x = memory((tasks.workers, shape), partial)
    simulate(module, [x], observe, seed)
    for worker in range(tasks.workers):
        assert found[worker] == [
            (i, KINDS[kind]([partial[owner, i] for owner in tasks.owners((i,))]))
            for (i,) in tasks(worker)
        ]
