"""A product of matrices on tensor cores, from the text of its IR: printed, compiled, run."""

import re

import numpy as np
import pytest
import torch
from xdsl.parser import Parser

from hidet.arch.instructions import CP_ASYNC, LDMATRIX, MMA_SYNC
from hidet.backend.build import build_kernels
from hidet.backend.cache import Store, artifact_key
from hidet.backend.printer import print_kernels
from hidet.backend.toolchains import Gxx, Nvcc
from hidet.context import make_context
from hidet.dialects.cuda import CpAsyncCommitOp, CpAsyncWaitOp
from hidet.errors import CompilerNotFoundError
from hidet.lowering.pipelines import PassOptions, run_pipeline

PROGRAM = """
#shared = #cuda.space<shared>
#local = #cuda.space<local>

// y = x @ w: 64x64 elements a block, 32x32 a warp, 32 steps of k at a time in two stages.
cuda.kernel @product(%x : memref<{M}x{K}xf16>, %w : memref<{K}x{N}xf16>, %y : memref<{M}x{N}xf32>)
    grid({N64}, {M64}) block(128) {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  %4 = arith.constant 4 : index
  %8 = arith.constant 8 : index
  %16 = arith.constant 16 : index
  %32 = arith.constant 32 : index
  %64 = arith.constant 64 : index
  %K = arith.constant {K} : index
  %M = arith.constant {M} : index
  %zero = arith.constant 0.0 : f32
  %tid = cuda.thread_id x
  %bx = cuda.block_id x
  %by = cuda.block_id y
  %bm = arith.muli %by, %64 : index
  %bn = arith.muli %bx, %64 : index
  %sa = memref.alloca() : memref<2x64x40xf16, #shared>
  %sb = memref.alloca() : memref<2x32x72xf16, #shared>
  %a = memref.alloca() : memref<2x8xf16, #local>
  %b = memref.alloca() : memref<2x8xf16, #local>
  %c = memref.alloca() : memref<2x4x4xf32, #local>
  %warp = arith.divsi %tid, %32 : index
  %lane = arith.remsi %tid, %32 : index
  %warp_row = arith.divsi %warp, %2 : index
  %warp_column = arith.remsi %warp, %2 : index
  %wm = arith.muli %warp_row, %32 : index
  %wn = arith.muli %warp_column, %32 : index
  %row = arith.remsi %lane, %16 : index
  %side = arith.divsi %lane, %16 : index
  %column = arith.muli %side, %8 : index
  scf.for %i = %0 to %2 step %1 {{
    scf.for %j = %0 to %4 step %1 {{
      scf.for %v = %0 to %4 step %1 {{
        memref.store %zero, %c[%i, %j, %v] : memref<2x4x4xf32, #local>
      }} {{cuda.unroll}}
    }} {{cuda.unroll}}
  }} {{cuda.unroll}}
  {load_first}
  cuda.cp_async_commit
  scf.for %k = %0 to %K step %32 {{
    %step = arith.divsi %k, %32 : index
    %stage = arith.remsi %step, %2 : index
    %next = arith.addi %k, %32 : index
    %other = arith.subi %1, %stage : index
    %more = arith.cmpi slt, %next, %K : index
    scf.if %more {{
      {load_next}
    }}
    cuda.cp_async_commit
    cuda.cp_async_wait 1
    cuda.sync_threads
    scf.for %kk = %0 to %32 step %16 {{
      scf.for %i = %0 to %2 step %1 {{
        %i16 = arith.muli %i, %16 : index
        %ra = arith.addi %wm, %i16 : index
        %rb = arith.addi %ra, %row : index
        %ca = arith.addi %kk, %column : index
        cuda.ldmatrix %sa[%stage, %rb, %ca] to %a[%i, %0] count 4
          : memref<2x64x40xf16, #shared> to memref<2x8xf16, #local>
        %rk = arith.addi %kk, %row : index
        %cn = arith.addi %wn, %i16 : index
        %cb = arith.addi %cn, %column : index
        cuda.ldmatrix %sb[%stage, %rk, %cb] to %b[%i, %0] count 4 trans
          : memref<2x32x72xf16, #shared> to memref<2x8xf16, #local>
      }} {{cuda.unroll}}
      scf.for %i = %0 to %2 step %1 {{
        scf.for %j = %0 to %4 step %1 {{
          %j2 = arith.divsi %j, %2 : index
          %jr = arith.remsi %j, %2 : index
          %first = arith.muli %jr, %4 : index
          cuda.mma_sync "m16n8k16_f16_f32" %a[%i, %0], %b[%j2, %first], %c[%i, %j, %0]
            : memref<2x8xf16, #local>, memref<2x8xf16, #local>, memref<2x4x4xf32, #local>
        }} {{cuda.unroll}}
      }} {{cuda.unroll}}
    }} {{cuda.unroll}}
    cuda.sync_threads
  }}
  %group = arith.divsi %lane, %4 : index
  %thread = arith.remsi %lane, %4 : index
  %pair = arith.muli %thread, %2 : index
  scf.for %i = %0 to %2 step %1 {{
    scf.for %j = %0 to %4 step %1 {{
      scf.for %v = %0 to %4 step %1 {{
        %i16 = arith.muli %i, %16 : index
        %half = arith.divsi %v, %2 : index
        %half8 = arith.muli %half, %8 : index
        %m0 = arith.addi %bm, %wm : index
        %m1 = arith.addi %m0, %i16 : index
        %m2 = arith.addi %m1, %half8 : index
        %m = arith.addi %m2, %group : index
        %j8 = arith.muli %j, %8 : index
        %h = arith.remsi %v, %2 : index
        %n0 = arith.addi %bn, %wn : index
        %n1 = arith.addi %n0, %j8 : index
        %n2 = arith.addi %n1, %pair : index
        %n = arith.addi %n2, %h : index
        %inside = arith.cmpi slt, %m, %M : index
        scf.if %inside {{
          %value = memref.load %c[%i, %j, %v] : memref<2x4x4xf32, #local>
          memref.store %value, %y[%m, %n] : memref<{M}x{N}xf32>
        }}
      }} {{cuda.unroll}}
    }} {{cuda.unroll}}
  }} {{cuda.unroll}}
}}
"""

# Two pieces of 8 elements a thread, of x and of w; rows of x after the last one become zero.
LOAD = """
  scf.for %i = %0 to %2 step %1 {{
    %128 = arith.constant 128 : index
    %i128 = arith.muli %i, %128 : index
    %piece = arith.addi %i128, %tid : index
    %ar = arith.divsi %piece, %4 : index
    %ap = arith.remsi %piece, %4 : index
    %ac = arith.muli %ap, %8 : index
    %am = arith.addi %bm, %ar : index
    %ak = arith.addi {k}, %ac : index
    %in = arith.cmpi slt, %am, %M : index
    %valid = arith.select %in, %8, %0 : index
    %am2 = arith.select %in, %am, %0 : index
    cuda.cp_async cg %x[%am2, %ak] to %sa[{stage}, %ar, %ac] width 8 valid %valid
      : memref<{M}x{K}xf16> to memref<2x64x40xf16, #shared>
    %br = arith.divsi %piece, %8 : index
    %bp = arith.remsi %piece, %8 : index
    %bc = arith.muli %bp, %8 : index
    %bk = arith.addi {k}, %br : index
    %bn2 = arith.addi %bn, %bc : index
    cuda.cp_async cg %w[%bk, %bn2] to %sb[{stage}, %br, %bc] width 8
      : memref<{K}x{N}xf16> to memref<2x32x72xf16, #shared>
  }} {{cuda.unroll}}
"""


def program_text(m, n, k):
    """Give the program for an m x k by a k x n matrix; n is a multiple of 64, k of 32."""
    sizes = {"M": m, "N": n, "K": k, "M64": -(-m // 64), "N64": n // 64}
    loads = {
        "load_first": LOAD.format(k="%0", stage="%0", **sizes),
        "load_next": LOAD.format(k="%next", stage="%other", **sizes),
    }
    return PROGRAM.format(**sizes, **loads)


def print_program(text, strict=False):
    """Print a program as CUDA C++, after all passes of its level, each of them checked."""
    context = make_context()
    module = Parser(context, text).parse_module()
    module.verify()
    options = PassOptions(verify=True, strict=strict)
    run_pipeline(module, context, options, pipeline="cuda-pipeline")
    return print_kernels(*module.ops)


@pytest.fixture
def run_on_cpu(tmp_path, cpu_device):
    """Print and compile a program, and give a function that runs it on matrices."""

    def prepare(text, toolchain):
        source = print_program(text, toolchain.strict)
        built = build_kernels({"product": source}, toolchain, Store(tmp_path / "cache").kernels)
        device = cpu_device(built.values())
        return lambda x, w: launch(device, x, w)

    return prepare


def launch(device, x, w):
    """Run the product of two matrices."""
    y = device.poisoned((x.shape[0], w.shape[1]), np.float32)
    device.launch("product", (w.shape[1] // 64, -(-x.shape[0] // 64), 1), x, w, y)
    return y


def matrices(rng, m, n, k):
    """Give random matrices and their product in float64."""
    x, w = rng.normal(size=(m, k)).astype(np.float16), rng.normal(size=(k, n)).astype(np.float16)
    return x, w, x.astype(np.float64) @ w.astype(np.float64)


def is_close(y, expected, k):
    """Tell whether a sum of k products in float is near its value."""
    return bool((np.abs(y - expected) <= 2.0**-19 * k).all())


@pytest.mark.parametrize(
    "toolchain",
    [Gxx(), Gxx(check=True, late_copies=True), Gxx(strict=True)],
    ids=["plain", "late", "strict"],
)
@pytest.mark.parametrize("shape", [(100, 64, 32), (70, 128, 160)], ids=str)
@pytest.mark.sample(3)
def test_product(run_on_cpu, rng, shape, toolchain):
    """The product is right, at the edge too, and every copy is waited for."""
    x, w, expected = matrices(rng, *shape)
    y = run_on_cpu(program_text(*shape), toolchain)(x, w)
    assert is_close(y, expected, shape[2])


FAULTS = {
    "a wait for too few copies": ("cuda.cp_async_wait 1", "cuda.cp_async_wait 2"),
    "no commit": ("cuda.cp_async_commit\n    cuda.cp_async_wait", "cuda.cp_async_wait"),
    "fragments of B not transposed": ("count 4 trans", "count 4"),
    "rows and columns of fragments change places": (
        "%sa[%stage, %rb, %ca]",
        "%sa[%stage, %ra, %ca]",
    ),
    "the wrong accumulator": ("%c[%i, %j, %0]", "%c[%0, %j, %0]"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.sample(2)
def test_faults_show(run_on_cpu, rng, fault):
    """A fault of the program is an error on the strict CPU."""
    shape = (64, 64, 96)
    before, after = FAULTS[fault]
    text = program_text(*shape)
    assert before in text
    x, w, expected = matrices(rng, *shape)
    y = run_on_cpu(text.replace(before, after), Gxx(check=True, late_copies=True))(x, w)
    assert not is_close(y, expected, shape[2])


FAULTS_BY_NAME = {
    "a wait for too few copies": (
        *FAULTS["a wait for too few copies"],
        "reads s[ab]\\[.*\\] in line .*, to which the copy that began in line .* is still",
    ),
    "no commit": (*FAULTS["no commit"], "is still under way: a wait is missing"),
    "no barrier after the wait": (
        "cuda.cp_async_wait 1\n    cuda.sync_threads",
        "cuda.cp_async_wait 1",
        "which nothing has written so far|is still under way|a race: thread",
    ),
    "no barrier before the next copy": (
        "    cuda.sync_threads\n  }\n",
        "  }\n",
        "a race: thread .* writes s[ab]\\[.*\\] in line .*, and thread .* reads it|under way",
    ),
    "rows beyond the tile": (
        "cuda.ldmatrix %sa[%stage, %rb, %ca]",
        "cuda.ldmatrix %sa[%stage, %bm, %ca]",
        "accesses sa",
    ),
    "an accumulator without a start": (
        "memref.store %zero, %c[%i, %j, %v]",
        "memref.store %zero, %c[%0, %j, %v]",
        "reads c\\[1, 0, 0\\] in line .*, which nothing has written",
    ),
}


@pytest.mark.parametrize("fault", FAULTS_BY_NAME)
@pytest.mark.sample(3)
def test_strict_mode_says_what_is_wrong(run_on_cpu, rng, fault):
    """A fault is an error of the call, whatever the result would be."""
    before, after, message = FAULTS_BY_NAME[fault]
    text = program_text(128, 64, 96)
    assert before in text
    x, w, _ = matrices(rng, 128, 64, 96)
    with pytest.raises(AssertionError, match=message):
        run_on_cpu(text.replace(before, after), Gxx(strict=True))(x, w)


@pytest.fixture
def nvcc():
    """Skip where there is no nvcc."""
    try:
        _ = Nvcc("sm_80").command
    except CompilerNotFoundError as error:
        pytest.skip(f"needs nvcc: {error}")


@pytest.mark.usefixtures("nvcc")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_product_compiles_for_gpus(tmp_path, arch):
    """No warning, and all fragments are in registers."""
    cache = Store(tmp_path / "cache").kernels
    source = print_program(program_text(256, 256, 256))
    build_kernels({"product": source}, Nvcc(arch), cache)
    entry = cache.entry(artifact_key(source, Nvcc(arch).fingerprint()))
    assert "warning" not in entry.meta["log"]
    resources = entry.meta["resources"]["product"]
    assert resources["stack_bytes"] == 0
    assert resources["spill_store_bytes"] == resources["spill_load_bytes"] == 0
    assert 0 < resources["registers"] <= 128


@pytest.mark.usefixtures("nvcc")
def test_instructions_are_those_of_the_table(tmp_path, kernel_sources, nvcc_to_ptx):
    """Each function becomes the instruction that the table names."""
    nvcc_to_ptx("sm_80").compile(kernel_sources["mma"], tmp_path / "ptx")
    found = re.sub(r"\s+", " ", (tmp_path / "ptx").read_text())
    tables = [*MMA_SYNC.values(), *LDMATRIX.values(), *CP_ASYNC.values()]
    for instruction in [*tables, CpAsyncCommitOp.ENTRY, CpAsyncWaitOp.ENTRY]:
        assert re.search(rf"{re.escape(instruction.ptx)}[ ;]", found), instruction.ptx


@pytest.mark.gpu
def test_product_on_a_gpu(tmp_path, cuda_device, rng):
    """The GPU computes what the CPU does."""
    shape = (200, 192, 320)
    source = print_program(program_text(*shape))
    major, minor = torch.cuda.get_device_capability()
    cache = Store(tmp_path / "cache").kernels
    built = build_kernels({"product": source}, Nvcc(f"sm_{major}{minor}"), cache)
    x, w, expected = matrices(rng, *shape)
    y = launch(cuda_device(built.values(), {"product": source}), x, w)
    assert is_close(y, expected, shape[2])
