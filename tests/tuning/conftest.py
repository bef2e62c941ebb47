"""Candidates for the CPU that behave in every way, good and bad, and problems to search in."""

import subprocess
from base64 import b64encode

import pytest
from xdsl.parser import Parser

from hidet.arch.chips import Arch
from hidet.context import make_context
from hidet.dialects.compute import FusionOp
from hidet.lowering.pipelines import PassOptions, run_pipeline
from hidet.runtime.plan import Argument, Kernel, Launch, Plan
from hidet.runtime.specs import TensorSpec
from hidet.tuning.problem import Problem, Setting, open_fusions

SIZE = 256

SOURCE = """
#include <unistd.h>
static float* pointer(void** args, int i) { return *static_cast<float**>(args[i]); }
static int twice(void** args, int count) {
  float *x = pointer(args, 0), *w = pointer(args, 1), *y = pointer(args, 2);
  for (int i = 0; i < count; ++i) y[i] = 2 * x[i] + w[i];
  return 0;
}
#define KERNEL(name) \\
  extern "C" int name##_launch(void** args, unsigned, unsigned, unsigned, unsigned)
extern "C" const char* hidet_last_error() { return "no such instruction"; }
KERNEL(good) { return twice(args, 256); }
KERNEL(slow) { usleep(2000); return twice(args, 256); }
KERNEL(rounded) { twice(args, 256); pointer(args, 2)[3] *= 1.0000002f; return 0; }
KERNEL(short_of_one) { return twice(args, 255); }
KERNEL(refused) { return 1; }
KERNEL(crashing) { *static_cast<volatile int*>(nullptr) = 1; return 0; }
KERNEL(hanging) { for (;;) sleep(1); }
"""


@pytest.fixture(scope="session")
def candidate(tmp_path_factory):
    """Give a function that makes a candidate of one of the kernels above."""
    folder = tmp_path_factory.mktemp("candidates")
    (folder / "kernels.cpp").write_text(SOURCE)
    library = folder / "kernels.so"
    command = ["g++", "-shared", "-fPIC", "-O1", folder / "kernels.cpp", "-o", library]
    subprocess.run(command, check=True)
    binary = b64encode(library.read_bytes()).decode()
    vector = TensorSpec((SIZE,), "f32")

    def make(symbol):
        arguments = (Argument("input", 0), Argument("constant", "p1"), Argument("output", 0))
        plan = Plan(
            target="cpu",
            inputs=(vector,),
            outputs=(vector,),
            constants={"p1": vector},
            kernels=(Kernel(symbol, "key", (1, 1, 1), (1, 1, 1), (1, 1, 1), 0),),
            prepare=(),
            forward=(Launch(0, arguments, (2,), ()),),
            copies=(),
            arena_bytes=0,
            prepared_bytes=0,
        )
        return {"plan": plan.to_json(), "artifacts": {"key": binary}}

    return make


PROGRAM = """
func.func @forward(%x: tensor<33x20xf32>, %b: tensor<33x36xf32>) -> tensor<33x36xf32> {
  %w = graph.constant "p0" : tensor<20x36xf32>
  %y = graph.matmul %x, %w : (tensor<33x20xf32>, tensor<20x36xf32>) -> tensor<33x36xf32>
  %z = graph.add %y, %b : (tensor<33x36xf32>, tensor<33x36xf32>) -> tensor<33x36xf32>
  func.return %z : tensor<33x36xf32>
}
"""


@pytest.fixture
def fusions():
    """Give a function that makes a program of fusions for a machine."""

    def make(text=PROGRAM, arch="cpu"):
        module = Parser(make_context(), text).parse_module()
        for name in ("graph-pipeline", "compute-pipeline"):
            run_pipeline(module, make_context(), PassOptions(arch), pipeline=name)
        return module

    return make


@pytest.fixture
def problem(fusions):
    """Give a function that makes the problem of a program with one fusion."""

    def make(text=PROGRAM, arch="cpu", version="1", cold=False):
        setting = Setting(Arch.parse(arch), version, cold)
        ((fusion, template),) = open_fusions(fusions(text, arch), setting.arch)
        assert isinstance(fusion, FusionOp)
        return Problem(fusion, template, setting)

    return make
