"""Programs whose kernels are lowered in worker processes: equal results, and failures."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from captured_program import captured_program
from torch import nn
from torch.nn import functional
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from hidet.arch.chips import Arch
from hidet.backend.cache import Store
from hidet.backend.toolchains import CompileReport, Toolchain
from hidet.context import make_context
from hidet.dialects.alias_printer import module_text
from hidet.driver import CompileOptions, parallel
from hidet.driver.compilation import compile_program
from hidet.driver.packing import packed, unpacked
from hidet.driver.target import Target
from hidet.errors import CompilationError, PassError
from hidet.lowering.task.insert_barriers import InsertBarriersPass
from hidet.runtime.times import CompileTimes

WORKERS = 2


class Convolutions(nn.Module):
    """A small convolutional network of two branches, a mean and a classifier."""

    def __init__(self):
        super().__init__()
        widths = 3, 32, 64, 64, 96, 128, 128
        self.convs = nn.ModuleList(
            nn.Sequential(nn.Conv2d(a, b, 3, 1 + number % 2, 1), nn.BatchNorm2d(b))
            for number, (a, b) in enumerate(pairwise(widths))
        )
        self.sides = nn.ModuleList(nn.Conv2d(n, n, 1) for n in (32, 64))
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        for number, conv in enumerate(self.convs):
            x = conv(x).relu()
            if number < 2:
                x = x + self.sides[number](x).sigmoid()
        return self.head(functional.max_pool2d(x, 2).mean((2, 3)))


class Transformer(nn.Module):
    """A block of a transformer, and a softmax of sums."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(128), nn.LayerNorm(128)
        self.qkv, self.out = nn.Linear(128, 384), nn.Linear(128, 128)
        self.up, self.down = nn.Linear(128, 512), nn.Linear(512, 128)

    def forward(self, x):
        parts = self.qkv(self.first(x)).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (2, 64)).transpose(1, 2) for part in parts)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        x = x + self.down(functional.gelu(self.up(self.second(x))))
        return (x.cumsum(1).sin() + x.amax(-1, keepdim=True)).softmax(1)


class Chain(nn.Module):
    """Linear layers of several widths."""

    def __init__(self):
        super().__init__()
        widths = range(32, 32 + 13 * 8, 8)
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(widths))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu() * 2
        return x


MODELS = {
    "convolutions": (Convolutions, (2, 3, 48, 48)),
    "transformer": (Transformer, (2, 96, 128)),
    "chain": (Chain, (64, 32)),
}
"""Models by name, with the shapes of their inputs."""


@pytest.fixture(autouse=True)
def _use_two_workers(monkeypatch):
    """Start fewer processes than are worthwhile."""
    monkeypatch.setattr(parallel, "MIN_WORKERS", WORKERS)


@pytest.fixture(scope="module")
def programs():
    """Return the text of the program of each model, with locations."""
    return {
        name: captured_program(make().eval().half(), torch.randn(shape, dtype=torch.float16))
        for name, (make, shape) in MODELS.items()
    }


class CopyingToolchain(Toolchain):
    """Takes the place of nvcc for sm_90a; the binaries are the sources."""

    name = "copier"
    suffix = ".bin"
    source_suffix = ".txt"
    target = "sm_90a"
    command = ("copier",)
    options = ()

    def __init__(self, broken=""):
        self.broken = broken

    def fingerprint(self):
        """It has one version."""
        return "copier"

    def compile(self, source, output, processes=None):
        """Copy the source, unless it has what is broken."""
        if self.broken and self.broken in source:
            raise CompilationError("copier failed", log="no ink")
        output.write_text(source)
        return CompileReport("", 0.0)


@pytest.fixture
def compile_text(tmp_path):
    """Return a function that compiles a program for sm_90a; it returns plan, sources and times."""

    def run(text, workers, toolchain=None):
        module = Parser(make_context(), text).parse_module()
        options = replace(CompileOptions.current({"num_workers": workers}), strict=False)
        store, report = Store(tmp_path / f"cache{workers}"), CompileTimes()
        arch = Arch.parse("sm_90a")
        target = Target(toolchain or CopyingToolchain(), arch, options, store, "cuda:0")
        program = compile_program(module, str(module), "0" * 64, target, report)
        sources = {key: binary.decode() for key, binary in program.artifacts.items()}
        return program.plan, sources, report

    return run


def test_packing():
    """Requests keep what custom forms of operations drop, signs of zeros, names and locations."""
    module = Parser(
        make_context(),
        """
        %i = arith.constant 0 : index
        %zero = arith.constant 0.0 : f32
        %zero_1 = arith.constant -0.0 : f32
        %p = "arith.cmpi"(%i, %i) <{predicate = 0 : i64}> {mark} : (index, index) -> i1
        scf.while () : () -> () {
          scf.condition(%p)
        } do {
          scf.yield loc("model.py":3:0)
        }
        """,
    ).parse_module()
    request = json.loads(json.dumps(packed(module)))
    again = unpacked(make_context(), request)
    assert isinstance(again, ModuleOp)
    assert again.is_structurally_equivalent(module)
    text = module_text(again, generic=True, locations=True)
    assert text == module_text(module, generic=True, locations=True)
    assert all(each in text for each in ("mark", '"model.py":3:0', "%zero_1", "-0.0"))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.sample(1)
def test_equal_to_serial(compile_text, programs, name):
    """Sources, locations in them included, and plans are equal."""
    plan, sources, report = compile_text(programs[name], WORKERS)
    assert "lower kernels" in report.stages
    assert "print" not in report.stages
    expected, expected_sources, serial = compile_text(programs[name], 1)
    assert "lower kernels" not in serial.stages
    assert sources == expected_sources
    assert plan == expected
    assert len(sources) >= parallel.MIN_KERNELS
    places = (f"//   from {__file__}:", "/kernels/scan.py:")  # of what the model calls, or a script
    assert all(any(place in source for place in places) for source in sources.values())
    assert any("grid_dependency_wait" in source for source in sources.values())
    of_both = [name for name, _ in report.passes] + [name for name, _ in report.kernel_steps]
    assert sorted(of_both) == sorted([*(name for name, _ in serial.passes), "print", "unpack"])


def test_tensor_maps(compile_text, programs):
    """The launches of the plan pass what the headers of kernels say."""
    plan, _, _ = compile_text(programs["convolutions"], WORKERS)
    passed = [argument for launch in plan.forward for argument in launch.arguments]
    assert "TensorMap" in {type(argument).__name__ for argument in passed}


@pytest.mark.parametrize(
    "options", [{"num_workers": 1}, {"dump_dir": "dump"}, {"verify_level": True}, {"strict": True}]
)
def test_serial_options(programs, options):
    module = Parser(make_context(), programs["chain"]).parse_module()
    defaults = CompileOptions.current({"num_workers": WORKERS})
    assert parallel.kernel_workers(module, defaults) is not None
    assert parallel.kernel_workers(module, replace(defaults, **options)) is None


# ---- failures ------------------------------------------------------------------------------------

FAILING = """
import os, sys, time
from hidet.driver import lowering_worker
from hidet.errors import HidetError
from hidet.lowering.task.insert_barriers import InsertBarriersPass
from hidet.tuning.workers import serve

def lower(request):
    with open({folder!r} + f"/{{os.getpid()}}", "w"):
        pass
    {statement}
    return lowering_worker.lower(request)

serve(lower)
"""


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """Return a function that makes a statement part of each request of the workers."""
    (tmp_path / "pids").mkdir()

    def change(statement):
        text = FAILING.format(folder=str(tmp_path / "pids"), statement=statement)
        (tmp_path / "failing_kernel_worker.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(parallel, "WORKER", "failing_kernel_worker")

    yield change
    check_no_process_stays(tmp_path)


def check_no_process_stays(folder):
    """All workers are gone."""
    for pid in os.listdir(folder / "pids"):
        assert not os.path.exists(f"/proc/{pid}") or pid == str(os.getpid())


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("os._exit(3)", "its process ended with status 3"),
        ("raise ValueError('broken')", "its process ended with status 1: [^$]*ValueError: broken"),
        ("time.sleep(1000)", "it did not end within 1 seconds"),
        ("raise HidetError('refused')", None),
    ],
)
@pytest.mark.sample(2)
def test_failing_worker(compile_text, programs, worker, monkeypatch, statement, reason):
    """This process lowers the program; if a worker crashed, with one warning."""
    worker(statement)
    monkeypatch.setattr(parallel, "LOWER_SECONDS", 1 if "sleep" in statement else 120)
    if reason is None:
        result = compile_text(programs["chain"], WORKERS)
    else:
        with pytest.warns(RuntimeWarning, match=f"lowers them: {reason}") as caught:
            result = compile_text(programs["chain"], WORKERS)
        assert len(caught) == 1
    plan, sources, report = result
    assert report.kernel_steps == []
    assert "insert-barriers" in dict(report.passes)
    assert (plan, sources) == compile_text(programs["chain"], 1)[:2]


def test_failing_pass(compile_text, programs, worker, monkeypatch):
    """The error is that of the serial compiler: pass, line, and a file to repeat it."""
    worker("InsertBarriersPass.run = None")

    def fail(self, kernel):
        first = kernel.body.block.first_op
        raise ValueError(f"cannot synchronize {first.name}")

    monkeypatch.setattr(InsertBarriersPass, "run", fail)
    with warnings.catch_warnings(), pytest.raises(PassError) as raised:
        compile_text(programs["chain"], WORKERS)
    assert str(raised.value).startswith("pass 'insert-barriers' failed: cannot synchronize")
    assert f"at: {__file__}:" in str(raised.value)
    assert "task.copy" in program_of(raised.value)


def program_of(error):
    """Return the program that the hint of an error names."""
    return Path(error.hint.split("hidet-opt ")[1].split()[0]).read_text()


def test_failing_pass_on_launches(compile_text, programs, monkeypatch):
    """Passes of the workers run again for the file."""
    from hidet.lowering.host.overlap_launches import OverlapLaunchesPass

    def fail(self, ctx, op):
        raise ValueError("no launches")

    monkeypatch.setattr(OverlapLaunchesPass, "apply", fail)
    with pytest.raises(PassError, match="no launches") as raised:
        compile_text(programs["chain"], WORKERS)
    text = program_of(raised.value)
    assert "cuda.formed" in text
    assert "cuda.buffer" in text
    assert "memref.store" in text


def test_failing_compiler(compile_text, programs, worker):
    """Its error ends the workers, and is the same as without them."""
    worker("pass")
    toolchain = CopyingToolchain(broken="_kernel3(")
    with pytest.raises(CompilationError, match=r"kernel '\w+_kernel3': copier failed"):
        compile_text(programs["chain"], WORKERS, toolchain)


INTERRUPTED = """
import signal, sys
from hidet.backend.cache import Store
from hidet.driver import CompileOptions, parallel
from test_parallel_lowering import *

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
parallel.WORKER, parallel.MIN_WORKERS = "failing_kernel_worker", WORKERS
text, folder = Path(sys.argv[1]).read_text(), Path(sys.argv[2])
options = CompileOptions.current({"num_workers": WORKERS})
target = Target(CopyingToolchain(), Arch.parse("sm_90a"), options, Store(folder), "cuda:0")
module = Parser(make_context(), text).parse_module()
compile_program(module, text, "0" * 64, target, CompileTimes())
"""


def test_interrupt(programs, worker, tmp_path):
    """A Ctrl-C ends the compilation at once, and its workers."""
    worker("time.sleep(1000)")
    (tmp_path / "program.mlir").write_text(programs["chain"])
    folders = [str(tmp_path), str(Path(__file__).parent), *filter(None, sys.path)]
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path / "program.mlir"), str(tmp_path / "c")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(1200):
        if len(os.listdir(tmp_path / "pids")) == WORKERS or process.poll() is not None:
            break
        time.sleep(0.1)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert errors.endswith("KeyboardInterrupt\n")
    assert time.monotonic() - start < 30
    assert len(os.listdir(tmp_path / "pids")) == WORKERS
