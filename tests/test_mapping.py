"""The algebra of task mappings against its definition.

`Function` evaluates products of factors by the definition of each factor and of composition, with
no digits and no canonical form; everything else is compared with it.
"""

import doctest
import itertools
import pickle
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import hidet.mapping
import hidet.mapping.constructors
from hidet.errors import HidetError
from hidet.mapping import (
    Factor,
    MappingError,
    Task,
    TaskMap,
    auto_map,
    column_repeat,
    column_spatial,
    parse,
    repeat,
    replicate,
    row_repeat,
    row_spatial,
    spatial,
)


@dataclass(frozen=True)
class Function:
    """A map by enumeration: the list of tasks of every worker."""

    shape: tuple[int, ...]
    tasks: tuple[tuple[Task, ...], ...]

    @staticmethod
    def of_factor(factor: Factor, rank: int) -> "Function":
        if factor.kind == "replicate":
            return Function((1,) * rank, (((0,) * rank,),) * factor.dims[0])
        indices = tuple(itertools.product(*(range(extent) for extent in factor.dims)))
        if factor.kind == "repeat":
            return Function(factor.dims, (indices,))
        return Function(factor.dims, tuple((index,) for index in indices))

    def __mul__(self, inner: "Function") -> "Function":
        def compose(outer_task: Task, inner_task: Task) -> Task:
            scaled = zip(outer_task, inner.shape, inner_task, strict=True)
            return tuple(o * extent + i for o, extent, i in scaled)

        return Function(
            tuple(o * i for o, i in zip(self.shape, inner.shape, strict=True)),
            tuple(
                tuple(compose(o, i) for o in outer_tasks for i in inner_tasks)
                for outer_tasks in self.tasks
                for inner_tasks in inner.tasks
            ),
        )


def function_of_product(factors: Sequence[Factor], rank: int) -> Function:
    unit = Function((1,) * rank, (((0,) * rank,),))
    return reduce(Function.__mul__, (Function.of_factor(factor, rank) for factor in factors), unit)


def function_of_map(tasks: TaskMap) -> Function:
    return Function(tasks.shape, tuple(tuple(tasks(worker)) for worker in range(tasks.workers)))


def indices(shape: Sequence[int]) -> list[Task]:
    return list(itertools.product(*(range(extent) for extent in shape)))


@st.composite
def products(draw: st.DrawFn, rank: int | None = None, most_factors: int = 5) -> list[Factor]:
    """Products of factors, at least one of which has a rank; small enough to enumerate."""
    rank = draw(st.integers(1, 3)) if rank is None else rank
    dims = st.tuples(*[st.sampled_from([1, 1, 2, 2, 3, 4])] * rank)
    factor = st.one_of(
        st.builds(Factor, st.sampled_from(["spatial", "repeat"]), dims),
        st.builds(Factor, st.just("replicate"), st.tuples(st.integers(1, 3))),
    )
    factors = draw(st.lists(factor, max_size=most_factors))
    assume(prod(extent for factor in factors for extent in factor.dims) <= 400)
    return [Factor("repeat", (1,) * rank), *factors]


maps = st.builds(TaskMap, products().map(tuple))


class TestEvaluation:
    @given(products())
    def test_it_is_the_definition(self, factors: list[Factor]):
        tasks = TaskMap(tuple(factors))
        assert function_of_map(tasks) == function_of_product(factors, tasks.rank)

    @given(st.integers(1, 3).flatmap(lambda rank: st.tuples(*[products(rank, 3)] * 2)))
    def test_composition(self, pair: tuple[list[Factor], list[Factor]]):
        outer, inner = (TaskMap(tuple(factors)) for factors in pair)
        assume(outer.workers * inner.workers * prod(outer.shape) * prod(inner.shape) <= 20_000)
        composed = function_of_map(outer) * function_of_map(inner)
        assert function_of_map(outer * inner) == composed

    @given(st.integers(1, 3).flatmap(lambda rank: st.tuples(*[products(rank, 3)] * 3)))
    def test_composition_is_associative(self, triple: tuple[list[Factor], ...]):
        x, y, z = (TaskMap(tuple(factors)) for factors in triple)
        assert (x * y) * z == x * (y * z)

    @given(maps)
    def test_sizes(self, tasks: TaskMap):
        lists = [tasks(worker) for worker in range(tasks.workers)]
        assert {len(tasks_of_worker) for tasks_of_worker in lists} == {tasks.tasks_per_worker}
        assert {len(task) for task in lists[0]} == {tasks.rank}
        assert {task for of_worker in lists for task in of_worker} == set(indices(tasks.shape))

    @given(maps)
    def test_owners_are_the_inverse(self, tasks: TaskMap):
        owners: defaultdict[Task, list[int]] = defaultdict(list)
        for worker in range(tasks.workers):
            for task in tasks(worker):
                owners[task].append(worker)
        for task in indices(tasks.shape):
            assert tasks.owners(task) == owners[task]
        assert {len(workers) for workers in owners.values()} == {tasks.replication}

    @given(maps)
    def test_register_is_the_position(self, tasks: TaskMap):
        for worker in range(tasks.workers):
            for position, task in enumerate(tasks(worker)):
                assert tasks.register_index(task) == position


class TestLowering:
    """What a lowering writes down, from the digits alone."""

    @given(maps)
    def test_loops_visit_the_tasks_in_order(self, tasks: TaskMap):
        for worker in range(tasks.workers):
            visited: list[Task] = []
            for counters in itertools.product(*(range(d.extent) for d in tasks.repeat_digits)):
                task = [0] * tasks.rank
                for digit in tasks.spatial_digits:
                    task[digit.dim] += worker // digit.weight % digit.extent * digit.stride
                for counter, digit in zip(counters, tasks.repeat_digits, strict=True):
                    task[digit.dim] += counter * digit.stride
                visited.append(tuple(task))
            assert visited == tasks(worker)

    @given(maps)
    def test_register_from_the_task(self, tasks: TaskMap):
        for position, task in enumerate(tasks(tasks.workers - 1)):
            register = sum(
                task[digit.dim] // digit.stride % digit.extent * digit.weight
                for digit in tasks.repeat_digits
            )
            assert register == position

    def test_digits_of_an_accumulator(self):
        tasks = repeat(2, 1) * spatial(8, 4) * replicate(3) * repeat(1, 2)
        table = [(d.kind, d.dim, d.extent, d.stride, d.weight) for d in tasks.digits]
        assert table == [
            ("repeat", 0, 2, 8, 2),
            ("spatial", 0, 8, 1, 12),
            ("spatial", 1, 4, 2, 3),
            ("repeat", 1, 2, 1, 1),
            ("replicate", -1, 3, 0, 1),
        ]


class TestCanonicalForm:
    @given(maps)
    def test_it_is_a_fixed_point(self, tasks: TaskMap):
        assert TaskMap(tasks.factors).factors == tasks.factors

    @given(products())
    def test_it_is_no_longer_than_what_was_written(self, factors: list[Factor]):
        written = [factor for factor in factors if set(factor.dims) != {1}]
        assume(any(factor.kind != "replicate" for factor in written))
        assert len(TaskMap(tuple(factors)).factors) <= len(written)

    @pytest.mark.parametrize(
        ("rank", "extents", "most_factors"), [(1, (2, 3, 4), 3), (2, (2,), 5), (2, (2, 4), 3)]
    )
    def test_equal_functions_have_equal_forms(
        self, rank: int, extents: tuple[int, ...], most_factors: int
    ):
        """Equal functions, equal texts, and conversely, over all products of some factors."""
        letters = [Factor("replicate", (extent,)) for extent in extents]
        for kind, extent, dim in itertools.product(("spatial", "repeat"), extents, range(rank)):
            dims = tuple(extent if index == dim else 1 for index in range(rank))
            letters.append(Factor(kind, dims))
        unit = Factor("repeat", (1,) * rank)
        texts_of_function: defaultdict[Function, set[str]] = defaultdict(set)
        functions_of_text: defaultdict[str, set[Function]] = defaultdict(set)
        for length in range(most_factors + 1):
            for factors in itertools.product(letters, repeat=length):
                function = function_of_product(factors, rank)
                text = str(TaskMap((unit, *factors)))
                texts_of_function[function].add(text)
                functions_of_text[text].add(function)
        assert all(len(texts) == 1 for texts in texts_of_function.values())
        assert all(len(functions) == 1 for functions in functions_of_text.values())

    @given(st.data())
    def test_order_of_factors_matters_only_if_it_does(self, data: st.DataObject):
        factors = data.draw(products(most_factors=4))
        rank = len(factors[0].dims)
        others = data.draw(st.permutations(factors))
        same_function = function_of_product(factors, rank) == function_of_product(others, rank)
        first, second = TaskMap(tuple(factors)), TaskMap(tuple(others))
        assert (first == second) == same_function
        assert (str(first) == str(second)) == same_function

    @pytest.mark.parametrize(
        ("tasks", "text"),
        [
            (spatial(2, 1) * spatial(8, 1), "spatial(16, 1)"),
            (spatial(2, 2) * spatial(1, 4), "spatial(2, 8)"),
            (spatial(2, 1) * spatial(1, 4), "spatial(2, 4)"),
            (repeat(1, 2) * repeat(2, 1), "repeat(1, 2) * repeat(2, 1)"),
            (repeat(2, 1) * repeat(1, 2), "repeat(2, 2)"),
            (spatial(8, 1) * repeat(1, 4), "repeat(1, 4) * spatial(8, 1)"),
            (spatial(8) * repeat(4), "spatial(8) * repeat(4)"),
            (replicate(2) * replicate(3) * spatial(4), "replicate(6) * spatial(4)"),
            (spatial(4) * replicate(2) * repeat(1), "spatial(4) * replicate(2)"),
            (repeat(4) * replicate(2), "repeat(4) * replicate(2)"),
            (replicate(2) * repeat(4), "repeat(4) * replicate(2)"),
            (
                repeat(1, 2) * spatial(1, 2) * repeat(2, 2),
                "repeat(1, 2) * spatial(1, 2) * repeat(2, 2)",
            ),
            (spatial(1, 1) * repeat(1, 1), "repeat(1, 1)"),
            (replicate(2) * spatial(1, 1), "repeat(1, 1) * replicate(2)"),
            (replicate(1), "replicate(1)"),
            (
                spatial(2, 2) * repeat(4, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2),
                "spatial(2, 2) * repeat(4, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)",
            ),
        ],
    )
    def test_examples(self, tasks: TaskMap, text: str):
        assert str(tasks) == text

    def test_maps_are_values(self):
        tasks = repeat(2, 1) * spatial(8, 4)
        again = parse("repeat(2, 1) * spatial(2, 1) * spatial(4, 4)")
        assert tasks == again
        assert hash(tasks) == hash(again)
        assert pickle.loads(pickle.dumps(tasks)) == tasks
        assert tasks != spatial(8, 4) * repeat(2, 1)


class TestProjection:
    @given(maps, st.sets(st.integers(0, 2)))
    def test_it_is_enumeration(self, tasks: TaskMap, dims: set[int]):
        dims = {dim for dim in dims if dim < tasks.rank}
        reduced = tasks.project(dims)
        assert reduced.rank == tasks.rank - len(dims)
        assert reduced.workers == tasks.workers
        for worker in range(tasks.workers):
            left = (
                tuple(index for dim, index in enumerate(task) if dim not in dims)
                for task in tasks(worker)
            )
            # What falls together is listed once, where it came first.
            assert reduced(worker) == list(dict.fromkeys(left))

    def test_example(self):
        accumulator = repeat(2, 1) * spatial(8, 4) * repeat(1, 2)
        assert str(accumulator.project([1])) == "repeat(2) * spatial(8) * replicate(4)"
        assert str(accumulator.project([0])) == "replicate(8) * spatial(4) * repeat(2)"
        assert accumulator.project([]) == accumulator
        assert accumulator.project([0, 1]) == replicate(32)
        row = replicate(8) * spatial(1, 4) * repeat(1, 2)
        assert accumulator.project([0], keep=True) == row


class TestConstructors:
    @given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.data())
    def test_ranks_give_the_order_of_traversal(self, dims: list[int], data: st.DataObject):
        ranks = data.draw(st.permutations(range(len(dims))))
        order = sorted(
            indices(dims), key=lambda task: [task[ranks.index(r)] for r in range(len(dims))]
        )
        assert repeat(*dims, ranks=ranks)(0) == order
        workers = spatial(*dims, ranks=ranks)
        assert [workers(worker) for worker in range(prod(dims))] == [[task] for task in order]

    def test_row_and_column_variants(self):
        assert column_repeat(2, 3) == repeat(1, 3) * repeat(2, 1) == repeat(2, 3, ranks=[1, 0])
        assert column_spatial(4, 8) == spatial(1, 8) * spatial(4, 1)
        assert row_repeat(2, 3) == repeat(2, 3, ranks=[0, 1])
        assert row_spatial(4, 8) == spatial(4, 8)

    def test_chaining(self):
        tasks = spatial(4, 2).repeat(2, 2).spatial(2, 16).replicate(2)
        assert tasks == spatial(4, 2) * repeat(2, 2) * spatial(2, 16) * replicate(2)
        column = spatial(4, 2).repeat(2, 2, ranks=[1, 0]).spatial(2, 16, ranks=[1, 0])
        assert column == spatial(4, 2) * column_repeat(2, 2) * column_spatial(2, 16)

    def test_words_of_layouts(self):
        layout = spatial(4, 2).row_major(2, 2).local(2, 16).column_major(4, 3)
        assert layout == spatial(4, 2) * repeat(2, 2) * spatial(2, 16) * column_repeat(4, 3)
        assert (layout.num_workers, layout.size, layout.task_shape) == (256, 48, (64, 192))

    def test_hints(self):
        """Hints of loops are checked, and change nothing."""
        assert repeat(2, 3, attrs="u.") == row_repeat(2, 3, attrs="u+") == repeat(2, 3)
        assert spatial(4, 2).repeat(2, 3, attrs="u4u") == spatial(4, 2).repeat(2, 3)
        assert column_repeat(2, 3, attrs=".") == column_repeat(2, 3)
        assert repeat(2, 3).hints == (0, 0)
        assert repeat(2, 3, attrs="u.").hints == (-1, 0)
        assert repeat(2, 3, attrs="u").hints == row_repeat(2, 3, attrs="u+").hints == (-1, -1)
        assert spatial(4, 2).repeat(2, 3, attrs="u4.").hints == (4, 0)
        outer = repeat(2, 3, attrs="uu") * spatial(4, 2)
        assert outer.hints == outer.spatial(2, 2).hints == (-1, -1)
        assert (outer * repeat(2, 2, attrs=".u8")).hints == (-1, 8)
        assert (repeat(2) + outer).hints == (0, -1, -1)
        for attrs in ("x", "uuu", "u x"):
            with pytest.raises(MappingError, match="no hints for the 2 loops"):
                repeat(2, 3, attrs=attrs)

    def test_the_task_of_a_worker(self):
        assert spatial(4, 8).map(13) == (1, 5)
        assert column_spatial(4, 8).map(13) == (1, 3)

    def test_failure_of_auto_map(self):
        """A template may turn the failure into an error of its own."""
        messages: list[str] = []
        with pytest.raises(MappingError):
            auto_map(8, 41, workers=64, on_fail=messages.append)
        assert messages == ["cannot spread the 328 tasks of shape (8, 41) evenly over 64 workers"]

    def test_three_spellings_of_evaluation(self):
        tasks = spatial(4, 2).repeat(1, 2)
        assert tasks.on(3) == tasks.map(3) == tasks[3] == tasks(3) == [(1, 2), (1, 3)]

    @given(st.lists(st.integers(1, 12), min_size=1, max_size=3), st.data())
    def test_auto_map(self, shape: list[int], data: st.DataObject):
        divisors = [n for n in range(1, prod(shape) + 1) if prod(shape) % n == 0]
        workers = data.draw(st.sampled_from(divisors))
        ranks = data.draw(st.permutations(range(len(shape))))
        tasks = auto_map(*shape, workers=workers, ranks=ranks)
        assert tasks.shape == tuple(shape)
        assert tasks.workers == workers
        assert tasks.replication == 1

    @pytest.mark.parametrize(
        ("tasks", "text"),
        [
            (auto_map(8, 32, workers=64), "repeat(4, 1) * spatial(2, 32)"),
            (auto_map(8, 64, workers=64), "repeat(8, 1) * spatial(1, 64)"),
            (auto_map(8, 96, workers=64), "repeat(4, 3) * spatial(2, 32)"),
            (auto_map(8, 16, 24, workers=32), "repeat(8, 4, 3) * spatial(1, 4, 8)"),
            (
                auto_map(8, 96, workers=64, ranks=[1, 0]),
                "repeat(1, 12) * spatial(1, 8) * spatial(8, 1)",
            ),
        ],
    )
    def test_auto_map_examples(self, tasks: TaskMap, text: str):
        assert str(tasks) == text


class TestText:
    @given(maps)
    def test_round_trip(self, tasks: TaskMap):
        assert parse(str(tasks)) == tasks
        assert parse(str(tasks).replace(" ", "")) == tasks
        assert repr(tasks) == str(tasks)

    @given(maps)
    def test_from_factors(self, tasks: TaskMap):
        assert TaskMap.from_factors((f.kind, list(f.dims)) for f in tasks.factors) == tasks

    @pytest.mark.parametrize(
        "text", ["", "repeat", "repeat(2", "repeat()", "repeat(2) *", "repeat(2,) ", "repeat(-1)"]
    )
    def test_no_product(self, text: str):
        with pytest.raises(MappingError, match="expected a factor, got"):
            parse(text)

    def test_examples_of_the_documentation(self):
        for module in (hidet.mapping, hidet.mapping.constructors):
            results = doctest.testmod(module)
            assert results.attempted > 0
            assert results.failed == 0


def test_errors_say_what_would_be_right():
    tasks = spatial(4, 2)
    mistakes = {
        "cannot compose spatial(4, 2) of rank 2 with repeat(2) of rank 1": lambda: (
            tasks * repeat(2)
        ),
        "one extent for each dimension": lambda: replicate(2) * repeat(2) * tasks,
        "unknown factor 'warp'": lambda: parse("warp(2)"),
        "repeat(0) is not a valid factor": lambda: repeat(0),
        "spatial() is not a valid factor": lambda: column_spatial(),
        "replicate(2, 3) has 2 extents": lambda: parse("replicate(2, 3)"),
        "ranks [0, 0] do not order": lambda: repeat(2, 2, ranks=[0, 0]),
        "a permutation of 0 to 1": lambda: auto_map(2, 2, workers=2, ranks=[1]),
        "has no worker 8": lambda: tasks(8),
        "its workers are 0 to 7": lambda: tasks.on(-1),
        "has no task (4, 0)": lambda: tasks.owners((4, 0)),
        "a tile of shape (4, 2)": lambda: tasks.register_index((0,)),
        "cannot reduce dimensions [2]": lambda: tasks.project([2]),
        "the 6 tasks of shape (2, 3) evenly over 4": lambda: auto_map(2, 3, workers=4),
        "must be a multiple": lambda: auto_map(2, workers=0),
    }
    for message, mistake in mistakes.items():
        with pytest.raises(MappingError) as caught:
            mistake()
        assert message in str(caught.value)
        assert isinstance(caught.value, ValueError)
        assert isinstance(caught.value, HidetError)
        assert caught.value.hint is not None
