"""The fragment maps against the formulas of the PTX ISA, for every lane and register.

The formulas are written as in the manual, and know nothing of task mappings. The manual gives those
of wgmma as figures only; the formula here is how they read.
"""

from collections.abc import Callable

import pytest

from hidet.arch.fragments import (
    MMA_M16N8K4_TF32,
    MMA_M16N8K8,
    MMA_M16N8K8_TF32,
    MMA_M16N8K16,
    WGMMA_M64K8_TF32_A,
    WGMMA_M64K16_A,
    wgmma_accumulator,
)
from hidet.mapping import MappingError, TaskMap

# (groupID, threadID_in_group, i) -> (row, column) of element i.
Formula = Callable[[int, int, int], tuple[int, int]]


def m16n8k16_a(group: int, thread: int, i: int) -> tuple[int, int]:
    row = group if 0 <= i < 2 or 4 <= i < 6 else group + 8
    column = thread * 2 + (i & 1) if i < 4 else thread * 2 + (i & 1) + 8
    return row, column


def m16n8k16_b(group: int, thread: int, i: int) -> tuple[int, int]:
    row = thread * 2 + (i & 1) if i < 2 else thread * 2 + (i & 1) + 8
    return row, group


def m16n8_c(group: int, thread: int, i: int) -> tuple[int, int]:
    row = group if i < 2 else group + 8
    return row, thread * 2 + (i & 1)


def m16n8k8_a(group: int, thread: int, i: int) -> tuple[int, int]:
    row = group if i in (0, 1) else group + 8
    return row, thread * 2 + (i & 1)


def m16n8k8_b(group: int, thread: int, i: int) -> tuple[int, int]:
    return thread * 2 + i, group


def m16n8k8_tf32_a(group: int, thread: int, i: int) -> tuple[int, int]:
    row = group if i in (0, 2) else group + 8
    column = thread if i in (0, 1) else thread + 4
    return row, column


def m16n8k8_tf32_b(group: int, thread: int, i: int) -> tuple[int, int]:
    return (thread if i == 0 else thread + 4), group


def m16n8k4_tf32_a(group: int, thread: int, i: int) -> tuple[int, int]:
    return (group if i == 0 else group + 8), thread


def m16n8k4_tf32_b(group: int, thread: int, i: int) -> tuple[int, int]:
    return thread, group


@pytest.mark.parametrize(
    ("fragment", "shape", "registers", "formula"),
    [
        pytest.param(MMA_M16N8K16.a, (16, 16), 8, m16n8k16_a, id="m16n8k16-a"),
        pytest.param(MMA_M16N8K16.b, (16, 8), 4, m16n8k16_b, id="m16n8k16-b"),
        pytest.param(MMA_M16N8K16.c, (16, 8), 4, m16n8_c, id="m16n8k16-c"),
        pytest.param(MMA_M16N8K8.a, (16, 8), 4, m16n8k8_a, id="m16n8k8-a"),
        pytest.param(MMA_M16N8K8.b, (8, 8), 2, m16n8k8_b, id="m16n8k8-b"),
        pytest.param(MMA_M16N8K8.c, (16, 8), 4, m16n8_c, id="m16n8k8-c"),
        pytest.param(MMA_M16N8K8_TF32.a, (16, 8), 4, m16n8k8_tf32_a, id="m16n8k8-tf32-a"),
        pytest.param(MMA_M16N8K8_TF32.b, (8, 8), 2, m16n8k8_tf32_b, id="m16n8k8-tf32-b"),
        pytest.param(MMA_M16N8K8_TF32.c, (16, 8), 4, m16n8_c, id="m16n8k8-tf32-c"),
        pytest.param(MMA_M16N8K4_TF32.a, (16, 4), 2, m16n8k4_tf32_a, id="m16n8k4-tf32-a"),
        pytest.param(MMA_M16N8K4_TF32.b, (4, 8), 1, m16n8k4_tf32_b, id="m16n8k4-tf32-b"),
        pytest.param(MMA_M16N8K4_TF32.c, (16, 8), 4, m16n8_c, id="m16n8k4-tf32-c"),
    ],
)
def test_mma(fragment: TaskMap, shape: tuple[int, int], registers: int, formula: Formula):
    assert fragment.workers == 32
    assert fragment.shape == shape
    assert fragment.tasks_per_worker == registers
    assert fragment.replication == 1
    for lane in range(32):
        assert fragment(lane) == [formula(lane >> 2, lane % 4, i) for i in range(registers)]


@pytest.mark.parametrize("n", range(8, 257, 8))
def test_wgmma_accumulator(n: int):
    fragment = wgmma_accumulator(n)
    assert fragment.workers == 128
    assert fragment.shape == (64, n)
    assert fragment.replication == 1
    for thread in range(128):
        assert fragment(thread) == [
            (
                16 * (thread // 32) + thread % 32 // 4 + 8 * (i >> 1 & 1),
                8 * (i >> 2) + 2 * (thread % 4) + (i & 1),
            )
            for i in range(n // 2)
        ]


@pytest.mark.parametrize("n", [0, 4, 12, 264, -8])
def test_wgmma_accumulator_of_no_instruction(n: int):
    with pytest.raises(MappingError, match="multiple of 8 from 8 to 256"):
        wgmma_accumulator(n)


@pytest.mark.parametrize(
    ("fragment", "shape", "of_warp"),
    [
        pytest.param(WGMMA_M64K16_A, (64, 16), m16n8k16_a, id="k16"),
        pytest.param(WGMMA_M64K8_TF32_A, (64, 8), m16n8k8_tf32_a, id="k8-tf32"),
    ],
)
def test_wgmma_a(fragment: TaskMap, shape: tuple[int, int], of_warp: Formula):
    assert fragment.workers == 128
    assert fragment.shape == shape
    assert fragment.replication == 1
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        rows_and_columns = [of_warp(lane >> 2, lane % 4, i) for i in range(shape[1] // 2)]
        assert fragment(thread) == [(16 * warp + row, column) for row, column in rows_and_columns]


def test_they_print_in_row_major_factors():
    assert str(MMA_M16N8K16.a) == ("repeat(1, 2) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)")
    assert str(MMA_M16N8K16.b) == "repeat(2, 1) * spatial(1, 8) * spatial(4, 1) * repeat(2, 1)"
    assert str(MMA_M16N8K16.c) == "repeat(2, 1) * spatial(8, 4) * repeat(1, 2)"


def test_accumulators_are_the_next_left_operand():
    """Two accumulators side by side are an A operand of k = 16: what attention relies on."""
    assert repeat_columns(MMA_M16N8K16.c, 2) == MMA_M16N8K16.a
    assert wgmma_accumulator(16) == WGMMA_M64K16_A


def repeat_columns(fragment: TaskMap, times: int) -> TaskMap:
    return TaskMap.from_factors([("repeat", (1, times))]) * fragment
