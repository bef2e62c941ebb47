"""The compile driver: cold and warm starts, dumps, and what happens when something fails."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from hidet.arch.chips import Arch
from hidet.backend.cache import CacheWarning, Store
from hidet.backend.toolchains import Gxx, Nvcc
from hidet.context import make_context
from hidet.dialects.cuda.names import symbol_of
from hidet.driver import CompileOptions, compilation, compile_graph, compiler
from hidet.driver import programs as programs_module
from hidet.driver.programs import ProgramCache, program_key
from hidet.driver.target import Target, find_arch, find_target
from hidet.errors import CompilerNotFoundError, LegalityError, OptionError, PassError
from hidet.lowering.cuda.form_expressions import FormExpressionsPass
from hidet.lowering.host.plan_memory import PlanMemoryPass
from hidet.runtime.plan import SCHEMA
from hidet.runtime.snapshots import NativeSnapshots, load_snapshots

CPU = torch.device("cpu")

GRAPH = """
func.func @forward(%x : tensor<64xf32>) -> (tensor<64xf32>, tensor<0xf32>) {
  %w = graph.constant "p0" : tensor<64xf32>
  %y = graph.add %x, %w : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %e = graph.fill 1.0 : f32 : tensor<0xf32>
  func.return %y, %e : tensor<64xf32>, tensor<0xf32>
}
"""

LAUNCHES = """
cuda.kernel @add(%x : memref<64xf32> {cuda.readonly}, %w : memref<64xf32> {cuda.readonly},
                 %y : memref<64xf32>) grid(2) block(32) {
  %b = cuda.block_id x
  %t = cuda.thread_id x
  %c = arith.constant 32 : index
  %s = arith.muli %b, %c : index
  %i = arith.addi %s, %t : index
  %0 = memref.load %x[%i] : memref<64xf32>
  %1 = memref.load %w[%i] : memref<64xf32>
  %2 = arith.addf %0, %1 : f32
  memref.store %2, %y[%i] : memref<64xf32>
}
cuda.kernel @nothing(%y : memref<0xf32>) grid(0) block(32) {
  %c = arith.constant 0 : index
}
func.func @forward(%x : tensor<64xf32>) -> (tensor<64xf32>, tensor<0xf32>) {
  %w = graph.constant "p0" : tensor<64xf32>
  %y = cuda.launch @add(%x, %w) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %e = cuda.launch @nothing() : () -> tensor<0xf32>
  func.return %y, %e : tensor<64xf32>, tensor<0xf32>
}
"""


def _parse(text):
    return Parser(make_context(), text).parse_module()


@dataclass(frozen=True)
class ToLaunches(ModulePass):
    """Stands for all passes from the graph to the launches of one program."""

    name = "test-to-launches"

    def apply(self, ctx, op: ModuleOp):
        for old in list(op.ops):
            old.detach()
            old.erase()
        for new in list(_parse(LAUNCHES).ops):
            new.detach()
            op.body.block.add_op(new)


@dataclass(frozen=True)
class Mark(ModulePass):
    """Leaves a mark on the program."""

    name = "test-mark"

    def apply(self, ctx, op: ModuleOp):
        op.attributes["marked"] = StringAttr("yes")


@dataclass(frozen=True)
class Fail(ModulePass):
    """Fails on the first addition, with the program half rewritten."""

    name = "test-fail"
    arch: str = "sm_90a"

    def apply(self, ctx, op: ModuleOp):
        op.attributes["broken"] = StringAttr("half")
        for inner in op.walk():
            if inner.name == "graph.add":
                raise VerifyException("cannot add")


@dataclass(frozen=True)
class Spoil(ModulePass):
    """Leaves a program that does not verify."""

    name = "test-spoil"

    def apply(self, ctx, op: ModuleOp):
        for inner in op.walk():
            if inner.name == "graph.add":
                inner.operands = [inner.operands[0]]


class Pipeline:
    """The passes that `compile_graph` runs first; `runs` counts how often it asks for them."""

    def __init__(self):
        self.passes = [ToLaunches(), FormExpressionsPass(), PlanMemoryPass()]
        self.runs = 0

    def __call__(self, name, options):
        if name != "schedule-pipeline":
            return iter(())
        self.runs += 1
        return iter(self.passes)


@pytest.fixture
def pipeline(monkeypatch):
    """Put our passes in the place of hidet's own."""
    pipeline = Pipeline()
    monkeypatch.setattr(compilation, "passes_of", pipeline)
    return pipeline


@pytest.fixture
def cache_dir(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def compile_text(pipeline, cache_dir):
    """Give a function that compiles a program for the CPU."""

    def compile_program(text=GRAPH, **options):
        return compile_graph(_parse(text), device=CPU, options={"cache_dir": cache_dir} | options)

    return compile_program


def _check(graph):
    x, w = torch.randn(64), torch.randn(64)
    y, e = graph.run([x], [w])
    torch.testing.assert_close(y.double(), x.double() + w.double(), rtol=1e-6, atol=1e-6)
    assert e.shape == (0,)


def test_cold_and_warm(compile_text, pipeline):
    cold = compile_text()
    _check(cold)
    assert pipeline.runs == 1
    assert not cold.report.cached
    assert [name for name, _ in cold.report.passes] == [each.name for each in pipeline.passes]
    assert set(cold.report.stages) == {
        *("look up", "import", "passes", "print", "build", "plan", "store", "load")
    }
    assert [kernel.symbol for kernel in cold.plan.kernels] == ["add"]
    warm = compile_text()
    _check(warm)
    assert pipeline.runs == 1
    assert warm.report.cached
    assert set(warm.report.stages) == {"look up", "load"}
    assert warm.plan == cold.plan


def test_names_that_are_none_in_the_binary(compile_text, monkeypatch):
    """A plan says what a kernel is called in its binary, which is found and loaded by that."""
    monkeypatch.setitem(globals(), "LAUNCHES", LAUNCHES.replace("@add", "@float4"))
    for cached in (False, True):
        graph = compile_text()
        _check(graph)
        assert graph.report.cached is cached
        assert [kernel.symbol for kernel in graph.plan.kernels] == [symbol_of("float4")]
    assert symbol_of("float4") != "float4"


def test_warm_start_of_a_new_process_loads_no_compiler(compile_text, cache_dir):
    compile_text()
    script = f"""
import sys, torch
from xdsl.parser import Parser
from hidet.context import make_context
from hidet.driver import compile_graph
module = Parser(make_context(), {GRAPH!r}).parse_module()
options = {{"cache_dir": {str(cache_dir)!r}}}
graph = compile_graph(module, device=torch.device("cpu"), options=options)
x, w = torch.randn(64), torch.randn(64)
assert torch.equal(graph.run([x], [w])[0], x + w)
assert graph.report.cached
for part in ("hidet.lowering", "hidet.backend.printer", "hidet.driver.extract"):
    assert part not in sys.modules, part
"""
    root = Path(__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": str(root)}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)


def test_missing_binary_is_a_miss(compile_text, pipeline, cache_dir):
    compile_text()
    shutil.rmtree(cache_dir / "kernels")
    _check(compile_text())
    assert pipeline.runs == 2
    _check(compile_text())
    assert pipeline.runs == 2


def _entry_files(cache_dir, namespace):
    return sorted(p for p in (cache_dir / namespace).rglob("*") if p.is_file())


@pytest.mark.parametrize("namespace", ["programs", "kernels"])
@pytest.mark.parametrize("keep", [0, 0.5])
def test_files_cut_short_are_made_again(compile_text, pipeline, cache_dir, namespace, keep):
    compile_text()
    for path in _entry_files(cache_dir, namespace):
        content = path.read_bytes()
        path.unlink()  # this process has mapped the library; it keeps the old file
        path.write_bytes(content[: int(len(content) * keep)])
    with pytest.warns(CacheWarning):
        graph = compile_text()
    _check(graph)
    assert pipeline.runs == 2
    _check(compile_text())
    assert pipeline.runs == 2


def test_intact_entry_with_a_wrong_plan_is_a_miss(compile_text, pipeline, cache_dir):
    """The checksums are right, but the plan is none; such an entry is of another program."""
    key = _key()
    plan = json.dumps({"schema": SCHEMA, "plan": {}})
    Store(cache_dir).programs.put(key, {"plan.json": plan.encode()}, {})
    with pytest.warns(CacheWarning, match=r"cannot be used and is compiled again: object"):
        graph = compile_text()
    _check(graph)
    _check(compile_text())
    assert pipeline.runs == 1


def test_killed_between_kernels_and_program(compile_text, pipeline, monkeypatch):
    def die(*_):
        raise KeyboardInterrupt

    save = ProgramCache.save
    monkeypatch.setattr(ProgramCache, "save", die)
    with pytest.raises(KeyboardInterrupt):
        compile_text()
    monkeypatch.setattr(ProgramCache, "save", save)
    monkeypatch.setattr(Gxx, "compile", die)  # the kernels are there already
    _check(compile_text())
    assert pipeline.runs == 2


def _key(text=GRAPH, toolchain=None, arch_text="cpu", **options):
    settings = CompileOptions.current(options)
    arch = Arch.parse(arch_text)
    target = Target(toolchain or Gxx(), arch, settings, settings.store(), arch_text)
    return program_key(str(_parse(text)), target)


def test_key_holds_all_that_decides(monkeypatch):
    keys = {
        _key(),
        _key(GRAPH.replace("64", "65")),
        _key(GRAPH.replace("p0", "p1")),
        _key(toolchain=Gxx(check=True)),
        _key(search_space=1),
        _key(strict=True),
        _key(checks=False),
        _key(overlap_launches=False),
        _key(parallel_k="disabled"),
        _key(arch_text="cpu/processors=3"),
    }
    monkeypatch.setattr(programs_module, "source_fingerprint", lambda: "another compiler")
    keys.add(_key())
    assert len(keys) == 11


def test_key_does_not_hold_what_is_for_people():
    located = GRAPH.replace("tensor<64xf32>\n  %e", 'tensor<64xf32> loc("model.py":3:1)\n  %e')
    assert located != GRAPH
    assert _key(located) == _key() == _key(num_workers=7, progress="off", verify_level=True)


def test_dump(compile_text, pipeline, tmp_path):
    folder = tmp_path / "dump"
    pipeline.passes.insert(0, Mark())
    compile_text()
    _check(compile_text(dump_dir=folder))  # the passes run although the program is known
    assert pipeline.runs == 2
    (graph,) = folder.iterdir()
    assert sorted(str(p.relative_to(graph)) for p in graph.rglob("*") if p.is_file()) == [
        "00_graph.mlir",
        "01_test-mark.mlir",
        "02_test-to-launches.mlir",
        "03_form-expressions.mlir",
        "04_plan-memory.mlir",
        "kernels/add.cu",
        "kernels/add.txt",
        "plan.json",
    ]
    assert str(_parse((graph / "00_graph.mlir").read_text())) == str(_parse(GRAPH))
    assert "marked" in (graph / "01_test-mark.mlir").read_text()
    assert "void __launch_bounds__(32) add(" in (graph / "kernels" / "add.cu").read_text()
    assert json.loads((graph / "plan.json").read_text())["plan"]["target"] == "cpu"


def _failed_file(error):
    """Give the file that the hint of an error names, and the command after it."""
    words = error.hint.split("hidet-opt ")[1].split(" ", 1)
    return Path(words[0]), words[1]


def test_failing_pass_is_named_and_can_be_repeated(compile_text, pipeline, tmp_path):
    pipeline.passes = [Mark(), Fail("sm_80")]
    module = _parse(GRAPH)
    for op in module.walk():
        if op.name == "graph.add":
            op.location = FileLineColLoc(StringAttr("model.py"), IntAttr(12), IntAttr(1))
    with pytest.raises(PassError) as raised:
        compile_graph(module, device=CPU, options={"cache_dir": tmp_path})
    error = raised.value
    assert str(error).startswith("pass 'test-fail' failed: cannot add\n  at: model.py:12\n")
    path, command = _failed_file(error)
    assert command == "-p 'test-fail{arch=\"sm_80\"}'"
    program = path.read_text()
    assert "marked" in program  # what was done ahead of the failing pass
    assert "broken" not in program  # and not what it had begun
    assert "graph.add" in str(_parse(program))


def test_failing_pass_writes_into_the_dump(compile_text, pipeline, tmp_path):
    pipeline.passes = [Mark(), Fail()]
    with pytest.raises(PassError) as raised:
        compile_text(dump_dir=tmp_path / "dump")
    path, _ = _failed_file(raised.value)
    assert path.parent.parent == tmp_path / "dump"
    assert path.name == "02_ahead_of_failed_test-fail.mlir"


def test_failed_check_between_stages_keeps_its_class(compile_text, pipeline, monkeypatch):
    def check(self, ctx, op):
        raise LegalityError("a view is written", hint="see inline-compute")

    monkeypatch.setattr(Fail, "apply", check)
    pipeline.passes = [Fail()]
    with pytest.raises(LegalityError, match="a view is written") as raised:
        compile_text()
    assert raised.value.hint.startswith("see inline-compute\n")
    assert _failed_file(raised.value)[0].exists()


def test_verification_between_passes_is_an_option(compile_text, pipeline):
    pipeline.passes.insert(0, Spoil())
    _check(compile_text(verify_level=False))
    with pytest.raises(PassError, match="pass 'test-spoil' failed"):
        compile_text(GRAPH.replace("%w", "%v"), verify_level=True)


@pytest.mark.parametrize(
    ("capability", "target"),
    [((8, 0), "sm_80"), ((8, 9), "sm_89"), ((9, 0), "sm_90a"), ((10, 3), "sm_103a")],
)
def test_target_of_a_gpu(monkeypatch, capability, target):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    gpu = torch.device("cuda", 0)
    assert find_target(gpu, CompileOptions.current()) == target
    assert find_target(gpu, CompileOptions.current({"arch": "sm_75"})) == "sm_75"
    device = SimpleNamespace(multi_processor_count=7, L2_cache_size=8 << 20)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device_: device)
    arch = find_arch(gpu, CompileOptions.current())
    assert str(arch) == f"{target}/processors=7/l2_bytes={8 << 20}"
    assert find_arch(gpu, CompileOptions.current({"arch": "sm_75"})) == Arch.parse("sm_75")


def test_target_of_the_cpu():
    assert find_target(CPU, CompileOptions.current()) == "cpu"
    assert find_arch(CPU, CompileOptions.current()) == Arch.parse("cpu")
    assert find_target(CPU, CompileOptions.current({"target": "cpu", "arch": "sm_80"})) == "cpu"


@pytest.mark.parametrize(("device", "target"), [("cpu", "cuda"), ("cuda", "cpu"), ("meta", "auto")])
def test_target_that_does_not_fit(device, target):
    with pytest.raises(OptionError, match=f"on device '{device}' cannot be compiled for target"):
        find_target(torch.device(device), CompileOptions.current({"target": target}))


def test_options_are_checked():
    with pytest.raises(OptionError, match="no option 'speed' of a compilation"):
        CompileOptions.current({"speed": 11})
    with pytest.raises(OptionError, match="option 'num_workers' cannot be 0"):
        CompileOptions.current({"num_workers": 0})
    assert CompileOptions.current({"dump_dir": "/tmp/x"}).dump_dir == Path("/tmp/x")
    assert CompileOptions.current({"use_cuda_graph": False}).use_cuda_graph is False


def test_cubins_are_built_for_an_architecture(compile_text, monkeypatch, cache_dir):
    """All of the way to a loaded graph but the device."""
    properties = SimpleNamespace(multi_processor_count=132, L2_cache_size=50 << 20)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    try:
        Nvcc("sm_90a").fingerprint()
    except CompilerNotFoundError as error:
        pytest.skip(str(error))
    options = {"cache_dir": cache_dir}
    graph = compile_graph(_parse(GRAPH), device=torch.device("cuda", 0), options=options)
    assert graph.plan.target == "sm_90a"
    (content,) = graph._binaries.values()
    assert content.startswith(b"\x7fELF")


def test_native_snapshots_are_built_once(cache_dir):
    store = Store(cache_dir, max_bytes=1 << 30)
    library = compiler.native_library(store)
    assert isinstance(load_snapshots(library), NativeSnapshots)
    assert compiler.native_library(Store(cache_dir, max_bytes=1 << 30)) == library


def test_without_gxx_a_warning_says_so(cache_dir, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.warns(RuntimeWarning, match="no g\\+\\+ found"):
        assert compiler.native_library(Store(cache_dir, max_bytes=1 << 30)) is None
