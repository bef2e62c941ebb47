"""Tuning of programs on the CPU: with the real compiler, and with candidates that fail."""

import subprocess
import sys
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from xdsl.parser import Parser

from hidet.arch.chips import Arch
from hidet.backend.cache import Store
from hidet.backend.toolchains import Gxx
from hidet.context import make_context
from hidet.dialects.compute import FusionOp
from hidet.driver import compile_graph
from hidet.driver import tuning as tuning_module
from hidet.driver.options import CompileOptions
from hidet.driver.target import Target
from hidet.driver.tuning import CandidateBuilder
from hidet.tuning import search as search_module
from hidet.tuning import tuner as tuner_module
from hidet.tuning.tuner import Conditions, Tuner, TuningWarning
from hidet.tuning.winners import Winners
from hidet.tuning.workers import WorkerError

CPU = torch.device("cpu")

TWO = """
func.func @forward(%x: tensor<33x20xf32>, %b: tensor<33x36xf32>) -> tensor<33x36xf32> {
  %w = graph.constant "p0" : tensor<20x36xf32>
  %v = graph.constant "p1" : tensor<36x36xf32>
  %y = graph.matmul %x, %w : (tensor<33x20xf32>, tensor<20x36xf32>) -> tensor<33x36xf32>
  %z = graph.add %y, %b : (tensor<33x36xf32>, tensor<33x36xf32>) -> tensor<33x36xf32>
  %s = graph.matmul %z, %v : (tensor<33x36xf32>, tensor<36x36xf32>) -> tensor<33x36xf32>
  %t = graph.matmul %s, %v : (tensor<33x36xf32>, tensor<36x36xf32>) -> tensor<33x36xf32>
  func.return %t : tensor<33x36xf32>
}
"""


class FakeBuilder:
    """Gives candidates made in advance, by the number of the candidate."""

    def __init__(self, choose):
        self.choose = choose
        self.built = 0

    def submit(self, candidates, advance):
        found = [self.choose(self.built + number) for number in range(len(candidates))]
        self.built += len(candidates)
        for _ in candidates:
            advance()
        return [lambda each=each: each for each in found]


def make_tuner(store, builder, space=1):
    conditions = Conditions(Arch.parse("cpu"), "1", False, space, "cpu", "off")
    return Tuner(conditions, Winners(store), lambda: nullcontext(builder))


def configs(module):
    return [op.config for op in module.walk() if isinstance(op, FusionOp)]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cache")


@pytest.fixture(autouse=True)
def _as_many_seeds(monkeypatch):
    """Let a search on the CPU begin with as many candidates as one on a GPU."""
    monkeypatch.setattr(search_module, "SEEDS_ON_CPU", search_module.SEEDS)


def test_bad_candidates_are_rejected_and_the_rest_compared(store, candidate, fusions, caplog):
    """Whatever a candidate does, the search goes on, and the reason is told."""
    kinds = ["slow", "refused", "crashing", "short_of_one", "good", "rounded", "slow", "unbuilt"]

    def choose(number):
        kind = kinds[number]
        return WorkerError("ptxas says no") if kind == "unbuilt" else candidate(kind)

    module = fusions()
    tuner = make_tuner(store, FakeBuilder(choose))
    with caplog.at_level("INFO", logger="hidet.tuning"):
        tuner.tune(module)
    (search,) = tuner.searches
    names = dict(zip((str(config) for config in search.problem.configs), kinds, strict=True))
    order = {str(config): kind for config, kind in zip(search._first, kinds, strict=True)}
    assert set(names) == set(order)
    assert order[str(search.best.config)] in ("good", "rounded")
    reasons = {order[str(each.config)]: each.reason for each in search.rejected()}
    assert set(reasons) == {"refused", "crashing", "short_of_one", "unbuilt"}
    assert "no such instruction" in reasons["refused"]
    assert "signal 11" in reasons["crashing"]
    odd = "its results differ from those of 4 other candidates, by inf times what is allowed"
    assert reasons["short_of_one"] == odd
    assert reasons["unbuilt"] == "ptxas says no"
    for reason in reasons.values():
        assert reason in caplog.text
    assert configs(module) == [search.problem.attribute(search.best.config)]


def test_found_again_without_measuring(store, candidate, fusions):
    """Another tuner takes what the first has found, in space 0 too; a larger space searches."""
    module = fusions()
    make_tuner(store, FakeBuilder(lambda _: candidate("good"))).tune(module)
    for space, built in ((0, 0), (1, 0), (2, 8)):
        builder = FakeBuilder(lambda _: candidate("good"))
        again = fusions()
        make_tuner(store, builder, space).tune(again)
        assert builder.built == built
        if space < 2:
            assert configs(again) == configs(module)


def test_nothing_is_measured_in_space_0(store, candidate, fusions):
    builder = FakeBuilder(lambda _: candidate("good"))
    tuner = make_tuner(store, builder, space=0)
    assert not tuner.has_work
    module = fusions()
    tuner.tune(module)
    assert builder.built == 0
    assert configs(module) == [None]


def test_all_candidates_fail(store, fusions):
    """The cost model decides, with a warning that has the reason; nothing is kept."""
    module = fusions()
    builder = FakeBuilder(lambda _: WorkerError("out of luck"))
    tuner = make_tuner(store, builder)
    with pytest.warns(TuningWarning, match=r"matmul 33 x 36 x 20 f32: .*: out of luck"):
        tuner.tune(module)
    assert configs(module) == [None]
    tuner.tune(fusions())  # once is enough, also where an error has the passes run again
    assert builder.built == 8
    assert Winners(store).state() == ""


@pytest.mark.parametrize("arch", ["sm_90a", "cpu"])
def test_measured_while_others_are_built(store, monkeypatch, arch):
    """On a GPU a candidate waits for no later one, and a round for no other search."""
    events = []

    class Rounds:
        best, problem = None, SimpleNamespace(text="", attribute=str)

        def __init__(self, *rounds):
            self.rounds = list(rounds)

        def next_round(self):
            return self.rounds.pop(0) if self.rounds else []

        def add(self, outcome):
            events.append(f"measured {outcome}")

    class Builder:
        def submit(self, candidates, advance):
            return [partial(events.append, f"built {config}") for _, config in candidates]

    bench = SimpleNamespace(
        measure=lambda search, config, built: config,
        time_again=lambda search: None,
        close=lambda: None,
    )
    monkeypatch.setattr(tuner_module, "_Bench", lambda conditions: bench)
    monkeypatch.setattr(Tuner, "_keep", lambda self, search: events.append("kept"))
    conditions = Conditions(Arch.parse(arch), "1", False, 2, arch, "off")
    tuner = Tuner(conditions, Winners(store), lambda: nullcontext(Builder()))
    tuner.search([Rounds(["a1"], ["a2"]), Rounds(["b1", "b2"])])
    order = ["built a1", "measured a1", "built b1", "measured b1", "built b2", "measured b2"]
    ahead = ["built a1", "built b1", "built b2"] if arch == "cpu" else []
    assert events == [*ahead, *order, "kept", "built a2", "measured a2", "kept"]


def test_equal_fusions_are_searched_once(store, candidate, fusions):
    module = fusions(TWO)
    builder = FakeBuilder(lambda _: candidate("good"))
    tuner = make_tuner(store, builder)
    tuner.tune(module)
    first, second, third = configs(module)
    assert len(tuner.searches) == 2
    assert builder.built == 16
    assert second == third
    assert None not in (first, second)


def test_what_is_over_is_kept(store, candidate, fusions, monkeypatch):
    """A tuning that is interrupted keeps the winners of the searches that were over."""
    keep = Tuner._keep

    def interrupt(self, search):
        keep(self, search)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Tuner, "_keep", interrupt)
        tuner = make_tuner(store, FakeBuilder(lambda _: candidate("good")))
        with pytest.raises(KeyboardInterrupt):
            tuner.tune(fusions(TWO))
    builder = FakeBuilder(lambda _: candidate("good"))
    module = fusions(TWO)
    make_tuner(store, builder).tune(module)
    assert builder.built == 8
    assert None not in configs(module)


def test_a_hanging_finalist(store, candidate, fusions, monkeypatch, caplog):
    """Where the finalists cannot be timed again, the first times count."""
    ask = tuner_module.Worker.ask

    def fail_again(self, request):
        if "against" not in request:
            raise WorkerError("the clock is broken")
        return ask(self, request)

    monkeypatch.setattr(tuner_module.Worker, "ask", fail_again)
    module = fusions()
    with caplog.at_level("INFO", logger="hidet.tuning"):
        make_tuner(store, FakeBuilder(lambda _: candidate("good"))).tune(module)
    assert configs(module) != [None]
    assert "the clock is broken" in caplog.text


def compile_two(fusions_text, folder, **options):
    module = Parser(make_context(), fusions_text).parse_module()
    settings = {"cache_dir": folder, "num_workers": 2, "progress": "off"} | options
    return compile_graph(module, device=CPU, options=settings)


def check(graph):
    x, b = torch.randn(33, 20), torch.randn(33, 36)
    w, v = torch.randn(20, 36), torch.randn(36, 36)
    (out,) = graph.run([x, b], [w, v])
    wide = ((x.double() @ w.double() + b.double()) @ v.double()) @ v.double()
    torch.testing.assert_close(out.double(), wide, rtol=1e-5, atol=1e-3)


@pytest.mark.slow
def test_compiled_programs(tmp_path):
    """Spaces 1 and 0, cold and warm: the winners are in the program, and it is right."""
    folder = tmp_path / "cache"
    plain = compile_two(TWO, folder)
    check(plain)
    assert "tune" not in dict(plain.report.passes)
    tuned = compile_two(TWO, folder, search_space=1, dump_dir=tmp_path / "dump")
    check(tuned)
    assert "tune" in dict(tuned.report.passes)
    (text,) = (tmp_path / "dump").glob("*/*_tune.mlir")
    assert text.read_text().count('config {template = "matmul"') == 3
    assert len(list((folder / "winners").glob("??/*"))) == 2
    assert compile_two(TWO, folder, search_space=1).report.cached
    looked_up = compile_two(TWO, folder)  # there are winners now: another program than before
    assert not looked_up.report.cached
    assert dict(looked_up.report.passes)["tune"] < 1
    check(looked_up)
    assert compile_two(TWO, folder).report.cached


@pytest.mark.slow
def test_strict_kernels_are_not_measured(tmp_path):
    strict = compile_two(TWO, tmp_path / "cache", search_space=2, strict=True)
    check(strict)
    assert not (tmp_path / "cache" / "winners").exists() or not list(
        (tmp_path / "cache" / "winners").iterdir()
    )


def cpu_target(store):
    """Return the target of candidates for the CPU, with two workers."""
    options = CompileOptions.current({"num_workers": 2})
    return Target(Gxx(), Arch.parse("cpu"), options, store, "cpu")


@pytest.mark.slow
def test_builder_finds_the_culprit(store, problem, monkeypatch):
    """One candidate that does not compile, in a run with others, is the only one rejected."""
    the_problem = problem()
    texts = [
        (the_problem.text, str(the_problem.attribute(config))) for config in the_problem.configs
    ]
    texts[2] = (the_problem.text, '{template = "matmul"}')  # does not lower
    builder = CandidateBuilder(cpu_target(store))
    ask = builder._pool.ask

    def break_one(request):
        reply = ask(request)
        if request["config"] == texts[5][1]:
            reply = {**reply, "source": reply["source"] + "\nsyntax error;\n"}
        return reply

    monkeypatch.setattr(builder._pool, "ask", break_one)
    done = []
    with builder:
        built = [each() for each in builder.submit(texts, lambda: done.append(None))]
    assert len(done) == len(texts) == 8
    bad = {number: str(each) for number, each in enumerate(built) if isinstance(each, WorkerError)}
    assert set(bad) == {2, 5}
    assert "does not have the parameters of the template" in bad[2]
    assert "could not compile" in bad[5]
    files = {next(iter(each["artifacts"].values())) for n, each in enumerate(built) if n not in bad}
    assert 2 <= len(files) <= 6  # some share a file


def test_runs_of_the_compiler_are_shared(store, problem, monkeypatch):
    """No more runs than it takes, and no more candidates in one than the limit."""
    the_problem = problem()
    texts = [(the_problem.text, str(the_problem.attribute(c))) for c in the_problem.configs]
    sources = []
    build_kernels = tuning_module.build_kernels

    def count(kernels, *arguments, **options):
        sources.extend(kernels.values())
        return build_kernels(kernels, *arguments, **options)

    monkeypatch.setattr(tuning_module, "build_kernels", count)
    with CandidateBuilder(cpu_target(store)) as builder:
        for built in builder.submit(texts, lambda: None):
            built()
    assert [source.count("HIDET_KERNEL(") for source in sources] == [4, 4]


def test_lowering_needs_no_torch():
    """Each core starts a worker, so what it imports counts."""
    program = "import sys, hidet.driver.lowering_worker; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
