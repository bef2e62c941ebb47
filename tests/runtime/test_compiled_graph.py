"""The border of the runtime: which executor runs, what is read from where, what is reported."""

import warnings
from dataclasses import replace

import pytest
import torch

from hidet.errors import DeviceMismatchError, HidetError
from hidet.runtime.compiled_graph import CompiledGraph
from hidet.runtime.plan import Argument, Copy, Plan
from hidet.runtime.times import CompileTimes

CPU = torch.device("cpu")


def test_runs_on_the_cpu(plans, cpu_library):
    graph = CompiledGraph(plans.prepared(), {"library": cpu_library}, CPU)
    assert graph.constant_names == ("p0", "p1")
    x, p0, p1 = (torch.randn(plans.size) for _ in range(3))
    (y,) = graph.run([x], [p0, p1])
    torch.testing.assert_close(y, x + 4 * p1 + p0)


def test_outputs_in_other_layouts(plans, cpu_library):
    """Allocated so, not viewed; the elements are where they were."""
    graph = CompiledGraph(plans.simple(), {"library": cpu_library}, CPU)
    assert graph.lay_out({0: ((4, 1, 16), (1, 99, 4))}) == {0}
    x, w = torch.randn(plans.size), torch.randn(plans.size)
    y, z = graph.run([x], [w])
    assert (y.shape, y.stride(), y._base) == ((4, 1, 16), (1, 99, 4), None)
    torch.testing.assert_close(y.permute(2, 1, 0).flatten(), 2 * (x + w) + x)
    torch.testing.assert_close(z, 2 * (x + w))


@pytest.mark.parametrize(
    "layout",
    [((4, 8), (1, 8)), ((32,), (1,)), ((64, 2), (1, 0)), ((0, 64), (64, 1)), ((64,), (2,))],
    ids=["gaps", "part", "overlap", "empty", "apart"],
)
def test_layouts_of_other_elements(plans, cpu_library, layout):
    graph = CompiledGraph(plans.simple(), {"library": cpu_library}, CPU)
    assert graph.lay_out({1: layout}) == frozenset()
    outputs = graph.run([torch.randn(plans.size)], [torch.randn(plans.size)])
    assert [y.shape for y in outputs] == [(plans.size,)] * 2


def test_passed_tensors_have_their_elements(plans, cpu_library):
    """Kernels read as many as the program says."""
    graph = CompiledGraph(plans.simple(), {"library": cpu_library}, CPU)
    for passed in ("inputs", "constants"):
        with pytest.raises(HidetError, match="does not hold TensorSpec"):
            graph.lay_out({}, **{passed: {0: ((8, 4), (1, 8))}})


def test_copied_outputs_stay_contiguous(plans, cpu_library):
    graph = CompiledGraph(plans.copying(), {"library": cpu_library}, CPU)
    assert graph.lay_out({number: ((8, 8), (1, 8)) for number in range(5)}) == frozenset()


def test_runs_from_the_text_of_its_plan(plans, cpu_library):
    plan = Plan.from_json(plans.simple().to_json())
    graph = CompiledGraph(plan, {"library": cpu_library}, CPU)
    x, w = torch.randn(plans.size), torch.randn(plans.size)
    torch.testing.assert_close(graph.run([x], [w])[1], 2 * (x + w))


@pytest.mark.parametrize("first", ["counted", "uncounted"])
def test_weights_without_versions(plans, cpu_library, first):
    """Weights made in inference mode are prepared in every call, those of other modules too."""
    graph = CompiledGraph(plans.copying(), {"library": cpu_library}, CPU)
    x, p0, p1 = (torch.randn(plans.size) for _ in range(3))
    if first == "counted":
        graph.run([x], [p0, p1])
    with torch.inference_mode():
        q0, q1 = (torch.randn(plans.size) for _ in range(2))
        with pytest.warns(RuntimeWarning, match="no version counter"):
            graph.run([x], [q0, q1])
        q1.add_(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        for w0, w1 in [(q0, q1), (p0, p1)]:
            y, _, _, prepared, _ = graph.run([x], [w0, w1])
            torch.testing.assert_close(y, x + 4 * w1 + w0)
            torch.testing.assert_close(prepared, 4 * w1)


def test_weights_that_change(plans, cpu_library):
    """They may be prepared in every call, which then compares no versions."""
    graph = CompiledGraph(plans.copying(), {"library": cpu_library}, CPU)
    graph.prepare_in_calls()
    x, p0, p1 = (torch.randn(plans.size) for _ in range(3))
    for _ in range(3):
        p1.add_(1)
        y, _, _, prepared, _ = graph.run([x], [p0, p1])
        torch.testing.assert_close(y, x + 4 * p1 + p0)
        torch.testing.assert_close(prepared, 4 * p1)


def test_what_is_copied_is_prepared_before(plans, cpu_library):
    """A program without launches of its own copies ahead of them, but not ahead of others."""
    plan = plans.prepared()
    copy = Copy(Argument("prepared", 256), Argument("output", 0), 4 * plans.size, "ahead")
    graph = CompiledGraph(replace(plan, forward=(), copies=(copy,)), {"library": cpu_library}, CPU)
    graph.prepare_in_calls()
    for _ in range(2):  # what the arena holds of the last call is not the result
        x, p0, p1 = (torch.randn(plans.size) for _ in range(3))
        torch.testing.assert_close(graph.run([x], [p0, p1]), [4 * p1])


def test_graph_without_tensors(plans):
    plan = plans.simple(inputs=(), outputs=(), constants={}, kernels=(), forward=(), arena_bytes=0)
    assert CompiledGraph(plan, {}, CPU).run([], []) == []


def test_tensors_on_another_kind_of_device(plans):
    binaries = {"library": b"cubin"}
    graph = CompiledGraph(plans.simple(target="sm_90a"), binaries, torch.device("cuda"))
    with pytest.raises(DeviceMismatchError, match="on the CPU, but the graph was compiled for sm_"):
        graph.run([torch.randn(plans.size)], [torch.randn(plans.size)])


def test_report_adds_up_and_lists_passes_below_their_stage():
    report = CompileTimes()
    report.stages = {"passes": 0.25, "build": 0.5}
    report.passes = [("fuse", 0.125), ("schedule", 0.0625)]
    assert report.total == 0.75
    lines = [line.split() for line in report.table().splitlines()]
    assert lines == [
        ["passes", "250.00", "ms"],
        ["fuse", "125.00", "ms"],
        ["schedule", "62.50", "ms"],
        ["build", "500.00", "ms"],
        ["total", "750.00", "ms"],
    ]
    report.stages["lower kernels"], report.workers = 0.125, 8
    report.add_kernel([("parse", 0.125), ("fuse", 0.25)])
    report.add_kernel([("parse", 0.5), ("fuse", 0.25)])
    assert [line.split() for line in report.table().splitlines()][4:] == [
        ["lower", "kernels", "(8", "workers)", "125.00", "ms"],
        ["parse", "625.00", "ms"],
        ["fuse", "500.00", "ms"],
        ["total", "875.00", "ms"],
    ]
    report.cached = True
    assert "total (cached)" in report.table()


def test_stage_counts_failures_too():
    report = CompileTimes()
    with pytest.raises(ValueError, match="no"), report.stage("passes"):
        raise ValueError("no")
    assert report.stages["passes"] > 0
