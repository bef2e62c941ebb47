"""Profiles: what is measured, how kernels become launches, the table and the page."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch

from hidet.arch.roofline import Work
from hidet.errors import HidetError
from hidet.runtime.compiled_graph import CompiledGraph
from hidet.runtime.cuda_graph import CudaGraphExecutor
from hidet.runtime.profile import Profile
from hidet.runtime.profile.measuring import WARM_UP, profile_of
from hidet.runtime.specs import Span

CPU = torch.device("cpu")

GRIDS = {"product": (2, 1, 1), "copy": (3, 1, 1), "look_up": (4, 1, 1)}
BLOCK = (32, 1, 1)

HOSTILE = "</title><script>alert(1)</script><b onclick='x'>&amp;\"{{ 7 * 7 }}"


@pytest.fixture
def branches(plans):
    """Give a plan of four launches: two that wait for the first, and one that waits for these."""
    works = Work(989 * 10**6, 24 * 10**5, "f16"), Work(0, 96 * 10**5, "f32"), Work(0, None, "f32")
    kernels = tuple(
        plans.kernel(name, work=work, grid=GRIDS[name], block=BLOCK)
        for name, work in zip(GRIDS, works, strict=True)
    )
    x, y = ("input", 0), ("output", 0)
    forward = (
        plans.launch(0, x, y),
        plans.launch(1, x, y, waits_for=(0,)),
        plans.launch(1, x, y, waits_for=(0,)),
        plans.launch(2, x, y, waits_for=(1, 2)),
    )
    return plans.simple(target="sm_90a", kernels=kernels, forward=forward)


SPANS = [Span(1000, 5000), Span(5500, 10500), Span(6000, 9000), Span(10700, 11700)]
"""When they ran, in a run of theirs."""


@pytest.fixture
def profile(branches):
    """Give the profile of that plan over three runs, of which one has its clock elsewhere."""
    later = [Span(start + 10**6, end + 10**6) for start, end in SPANS]
    slow = [Span(3 * start, 3 * end) for start, end in SPANS]
    return Profile.of(branches, "a GPU", [SPANS, slow, later])


def test_times_are_medians(profile):
    """Times count from the first start; a launch waits for the last of those ahead of it."""
    first, second, third, last = profile.launches
    assert (first.start, first.end, first.time, first.wait) == (0.0, 4.0, 4.0, None)
    assert (second.start, second.end, second.time, second.wait) == (4.5, 9.5, 5.0, 0.5)
    assert (third.wait, last.wait, last.after) == (1.0, pytest.approx(0.2), (1, 2))
    assert profile.span == 10.7
    assert profile.runs == 3


def test_shares(profile):
    """The roofline is that of products or of bytes; where bytes are not known there is none."""
    first, second, _, last = profile.launches
    assert first.floor == pytest.approx(1.0)
    assert first.share == pytest.approx(0.25)
    assert second.share == pytest.approx(2.0 / 5.0)
    assert last.floor is last.share is None


def test_begun_ahead(branches):
    """Of what begins ahead only that counts which comes after the end of what it waits for."""
    first, second, *_ = branches.forward
    plan = replace(branches, forward=(first, replace(second, edges="programmatic")))
    profile = Profile.of(plan, "a GPU", [[Span(0, 4000), Span(1000, 6000)]])
    launch = profile.launches[1]
    assert (launch.start, launch.end, launch.time, launch.wait) == (1.0, 6.0, 2.0, -3.0)
    assert str(profile).splitlines()[4].split()[-2:] == ["0", "programmatic"]
    assert "programmatic: the kernel may begin earlier" in str(profile)
    # Three of its five microseconds are pale.
    assert '<rect class="early" width="60.000%"' in profile.html()


def test_table(profile):
    summed, _, head, *rows = str(profile).splitlines()
    assert summed.startswith("4 launches on a GPU: 10.70 us from the first start to the last end")
    assert "13.00 us of work; medians of 3 runs" in summed
    names = ["#", "kernel", "start", "time", "wait", "share", "limit", "flops", "bytes"]
    assert head.split() == [*names, "waits", "for"]
    cells = [re.split(r"\s{2,}", row.strip()) for row in rows[:4]]
    assert cells == [
        ["0", "product", "0.00", "4.00", "-", "25%", "flops", "989 M", "2.4 MB"],
        ["1", "copy", "4.50", "5.00", "0.50", "40%", "bytes", "-", "9.6 MB", "0"],
        ["2", "copy", "5.00", "3.00", "1.00", "67%", "bytes", "-", "9.6 MB", "0"],
        ["3", "look_up", "9.70", "1.00", "0.20", "-", "-", "-", "-", "1, 2"],
    ]
    notes = "\n".join(rows[4:])
    assert "the largest sm_90a, 4800 GB/s" in notes
    assert "-: unknown" in notes
    assert "programmatic" not in notes
    assert "more than 100%" not in notes


def test_faster_than_memory(branches):
    """What comes out of the cache is explained."""
    quick = [Span(0, 500), *SPANS[1:]]
    text = str(Profile.of(branches, "a GPU", [quick]))
    assert "200%" in text
    assert "more than 100%: data in the L2 cache" in text


def test_all_is_known(branches):
    """There is no note on what is not there."""
    plan = replace(branches, forward=branches.forward[:1])
    text = str(Profile.of(plan, "a GPU", [SPANS[:1]]))
    assert text.startswith("1 launch on a GPU")
    assert "unknown" not in text


class _Page(HTMLParser):
    """Reads a page: that elements end where they should, and what they refer to."""

    VOID = ("meta", "input", "rect", "line")

    def __init__(self, text):
        super().__init__()
        self.open, self.found, self.texts, self.attributes = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append(tag)
        self.attributes += [(tag, name, value) for name, value in attributes]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))


def test_page(profile):
    """It is well formed, has a bar and a row for each launch, and is all of itself."""
    text = profile.html("a model")
    page = _Page(text)
    assert page.open == []
    assert ("title", "a model") in page.texts
    assert page.found.count("script") == page.found.count("style") == 1
    bars = [value for tag, name, value in page.attributes if (tag, name) == ("svg", "class")]
    assert bars == ["bar flops", "bar bytes", "bar bytes", "bar "]
    assert [v for _, name, v in page.attributes if name == "data-after"] == ["", "0", "0", "1 2"]
    cells = [text for tag, text in page.texts if tag == "td"]
    assert {"25%", "989 M", "9.6 MB", "0.20"} <= set(cells)
    assert "prefers-color-scheme: dark" in text


def test_page_needs_nothing_else(profile):
    """Nothing is loaded, and nothing may be: links lead to rows of the page."""
    text = profile.html()
    page = _Page(text)
    links = [value for _, name, value in page.attributes if name in ("href", "src", "xlink:href")]
    assert links == ["#launch-0", "#launch-0", "#launch-1", "#launch-2"]
    assert not re.search(r"https?:|url\(|@import|fetch\(|import\(", text)
    assert "default-src 'none'" in text
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(set(ids)) == len(ids)
    assert {link[1:] for link in links} <= set(ids)


def test_lanes(profile):
    """Launches that overlap are drawn below each other."""
    page = _Page(profile.html())
    tops = [v for tag, name, v in page.attributes if (tag, name) == ("svg", "y")]
    assert tops == ["22", "22", "48", "22"]


def test_hostile_names(branches):
    """Names are text, whatever they are: in the page, in its title and its tips."""
    kernels = tuple(replace(kernel, symbol=HOSTILE) for kernel in branches.kernels)
    profile = Profile.of(replace(branches, kernels=kernels), HOSTILE, [SPANS])
    page = _Page(profile.html(HOSTILE))
    assert page.open == []
    assert page.found.count("script") == 1
    assert "b" not in page.found
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert "".join(text for tag, text in page.texts if tag == "h1") == HOSTILE


def test_saved(profile, tmp_path):
    """The page is titled by the name of its file, if by nothing else."""
    profile.save(tmp_path / "model.html")
    assert (tmp_path / "model.html").read_text() == profile.html("model")
    profile.save(tmp_path / "model.html", "BERT")
    assert (tmp_path / "model.html").read_text() == profile.html("BERT")


@pytest.mark.parametrize("given", [True, False])
def test_on_the_cpu(plans, cpu_library, given):
    """Launches run one after the other, on the tensors that are given or on others."""
    graph = CompiledGraph(plans.simple(), {"library": cpu_library}, CPU)
    x, w = torch.randn(plans.size), torch.randn(plans.size)
    tensors = ([x], [w]) if given else ()
    profile = graph.profile(*tensors, runs=3)
    assert [launch.name for launch in profile.launches] == ["add", "twice", "add"]
    assert [launch.after for launch in profile.launches] == [(), (0,), (1,)]
    assert profile.runs == 3
    ends = 0.0
    for launch in profile.launches:
        assert ends <= launch.start <= launch.end
        assert launch.time > 0
        ends = launch.start
    assert "share: unknown on a CPU" in str(profile)
    torch.testing.assert_close(graph.run([x], [w])[1], 2 * (x + w))


@pytest.mark.parametrize("runs", [0, -1])
def test_nothing_to_measure(plans, cpu_library, runs):
    graph = CompiledGraph(plans.simple(), {"library": cpu_library}, CPU)
    with pytest.raises(HidetError, match=f"nothing to measure: runs={runs}"):
        graph.profile(runs=runs)
    empty = plans.simple(inputs=(), outputs=(), constants={}, kernels=(), forward=(), arena_bytes=0)
    with pytest.raises(HidetError, match="the graph has no launches"):
        CompiledGraph(empty, {}, CPU).profile()


def test_called_by_others(plans, cpu_library):
    """Launches of another call are not taken for those of the measured one."""
    graph = CompiledGraph(plans.simple(), {"library": cpu_library}, CPU)
    x, w = torch.randn(plans.size), torch.randn(plans.size)
    executor = graph._replicas_for([x], [w]).executor_for([w])
    timed = executor.timed

    def disturbed(*tensors):
        return [*timed(*tensors), *timed(*tensors)]

    executor.timed = disturbed
    with pytest.raises(HidetError, match="was called by another thread"):
        graph.profile([x], [w], runs=1)


def _entry(name, start, end, grid):
    """Return an entry of a trace of torch's profiler."""
    arguments = {"grid": grid, "block": BLOCK}
    return {"cat": "kernel", "name": name, "ts": start, "dur": end - start, "args": arguments}


@pytest.fixture
def profiler(monkeypatch):
    """Put events in the place of torch's profiler: a list of names and microseconds for each run.

    Each run of the profiler gets the next of these; kernels of others are between them.
    """
    told = []

    class Profiler:
        def __init__(self, **_):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def export_chrome_trace(self, path):
            copy = {"cat": "gpu_memcpy", "name": "Memcpy HtoD", "ts": 0.0, "dur": 1e6, "args": {}}
            strange = _entry("copy", 1.0, 2.0, (3, 3, 3))
            entries = [_entry(*each, GRIDS[each[0]]) for each in reversed(told)]
            Path(path).write_text(json.dumps({"traceEvents": [copy, strange, *entries]}))

    monkeypatch.setattr(torch.profiler, "profile", Profiler)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda _: None)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "a GPU")
    return told


def _on_a_gpu(plan, make_services, runs):
    """Profile a plan on a fake GPU."""
    kernels = {kernel.symbol: (2, lambda *_: None) for kernel in plan.kernels}
    services = make_services(kernels)
    executor = CudaGraphExecutor(plan, {"library": b"cubin"}, CPU, services)
    x = [torch.randn(64)]
    found = profile_of(executor, x, x, runs)
    assert services.driver.log.count("cuGraphLaunch") == WARM_UP + 1 + runs
    return found


NAMES = ["product", "copy", "copy", "look_up"]


def test_on_a_gpu(branches, make_services, profiler):
    """The first run does not count; equal kernels side by side are told."""
    slow = [
        (n, 1 + 50 * s.start / 1e3, 50 * s.end / 1e3) for n, s in zip(NAMES, SPANS, strict=True)
    ]
    fast = [(n, 900 + s.start / 1e3, 900 + s.end / 1e3) for n, s in zip(NAMES, SPANS, strict=True)]
    profiler += [*slow, *fast]
    found = _on_a_gpu(branches, make_services, 1)
    assert [launch.name for launch in found.launches] == NAMES
    assert [launch.time for launch in found.launches] == [4.0, 5.0, 3.0, pytest.approx(1.0)]
    assert found.alike == (1, 2)
    assert "whose times may be swapped: 1, 2" in str(found)


def test_equal_kernels_in_a_row(branches, make_services, profiler):
    """Of equal kernels the one that waits for the other is the later one."""
    first, second, third, _ = branches.forward
    forward = (first, replace(third, dependencies=(0,)), replace(second, dependencies=(1,)))
    plan = replace(branches, forward=forward)
    for start in (0, 100):
        profiler += [
            ("product", start + 0.0, start + 4.0),
            ("copy", start + 4.5, start + 5.0),
            ("copy", start + 6.0, start + 9.0),
        ]
    found = _on_a_gpu(plan, make_services, 1)
    assert [launch.time for launch in found.launches] == [4.0, 0.5, 3.0]
    assert found.alike == ()


def test_names_of_unloaded_kernels(branches, make_services, profiler, monkeypatch):
    """Kernels that CUPTI takes for others are told by their extents."""
    for start in (0, 100):
        profiler += [(name, start + n, start + n + 1) for n, name in enumerate(NAMES)]
    true_entry, names = _entry, {"product": "look_up", "look_up": "a kernel of another model"}
    monkeypatch.setitem(
        globals(), "_entry", lambda name, *rest: true_entry(names.get(name, name), *rest)
    )
    found = _on_a_gpu(branches, make_services, 1)
    assert [launch.name for launch in found.launches] == NAMES
    assert [launch.start for launch in found.launches] == [0.0, 1.0, 2.0, 3.0]


def test_what_the_profiler_misses(branches, make_services, profiler):
    profiler += [(name, 0.0, 1.0) for name in NAMES]
    with pytest.raises(HidetError, match="recorded 4 kernels in 2 runs of 4 launches"):
        _on_a_gpu(branches, make_services, 1)


def test_a_wrong_choice_among_equal_kernels(branches, make_services, profiler):
    """What depends on the other one of two is found, and the two are told."""
    product, first, second, look_up = branches.forward
    forward = (product, first, second, replace(look_up, dependencies=(2,), edges="full"))
    names = ["product", "copy", "look_up", "copy"]  # in truth the second copy is the first to start
    for start in (0, 100):
        profiler += [(name, start + 2.0 * n, start + 2.0 * n + 1) for n, name in enumerate(names)]
    found = _on_a_gpu(replace(branches, forward=forward), make_services, 1)
    assert [launch.name for launch in found.launches] == NAMES
    assert [launch.start for launch in found.launches] == [0.0, 2.0, 6.0, 4.0]
    assert found.alike == (1, 2)


def test_a_kernel_that_runs_too_often(branches, make_services, profiler):
    for start in (0, 100):
        profiler += [
            (name, start + n, start + n + 1) for n, name in enumerate([*NAMES[:3], "copy"])
        ]
    with pytest.raises(HidetError, match="'copy' more often than launched"):
        _on_a_gpu(branches, make_services, 1)


@pytest.mark.gpu
@pytest.mark.parametrize("use_cuda_graph", [True, False])
def test_gpu(plans, gpu_cubin, use_cuda_graph):
    """Each launch is found, with its own times and the edges of the plan."""
    plan = plans.simple(target="sm_90a")
    device = torch.device("cuda", 0)
    graph = CompiledGraph(plan, {"library": gpu_cubin}, device, use_cuda_graph=use_cuda_graph)
    profile = graph.profile(runs=10)
    assert [launch.name for launch in profile.launches] == ["add", "twice", "add"]
    for before, launch in zip(profile.launches, profile.launches[1:], strict=False):
        assert before.start < before.end <= launch.start < launch.end
    assert profile.device == torch.cuda.get_device_name(0)
    assert profile.alike == ()
