"""Products of warp groups, barriers in memory and TMA, which only Hopper has."""

import ctypes
import re

import numpy as np
import pytest
import torch
from xdsl.parser import Parser

from hidet.arch import hopper
from hidet.arch.chips import Arch
from hidet.arch.hopper import WGMMA, WGMMA_RS
from hidet.arch.instructions import MMA_SYNC, Instruction
from hidet.backend.build import build_kernels
from hidet.backend.cache import Store, artifact_key
from hidet.backend.printer import print_kernels
from hidet.backend.toolchains import Gxx, Nvcc
from hidet.context import make_context
from hidet.dialects import cuda
from hidet.errors import CompilerNotFoundError
from hidet.lowering.pipelines import PassOptions, run_pipeline

PROGRAM = """
#shared = #cuda.space<shared>
#local = #cuda.space<local>
!x = !cuda.tensor_map<tensor<{M}x{K}xf16>, box [64, 64], swizzle 128>
!w = !cuda.tensor_map<tensor<{N}x{K}xf16>, box [64, 64], swizzle 128>

// y = x @ w.T: 64x64 elements a block of one warp group, 64 steps of k at a time in two stages.
cuda.kernel @product(%x : !x, %w : !w, %y : memref<{M}x{N}xf32>)
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
  %one = arith.constant 1 : i32
  %bytes = arith.constant 16384 : i32
  %tid = cuda.thread_id x
  %bx = cuda.block_id x
  %by = cuda.block_id y
  %bm = arith.muli %by, %64 : index
  %bn = arith.muli %bx, %64 : index
  %bm32 = arith.index_cast %bm : index to i32
  %bn32 = arith.index_cast %bn : index to i32
  %sa = memref.alloca() : memref<2x64x64xf16, #shared>
  %sb = memref.alloca() : memref<2x64x64xf16, #shared>
  %full = memref.alloca() : memref<2xi64, #shared>
  %d = memref.alloca() : memref<32xf32, #local>
  %is_first = arith.cmpi eq, %tid, %0 : index
  scf.if %is_first {{
    cuda.mbarrier_init %full[%0] count %one : memref<2xi64, #shared>
    cuda.mbarrier_init %full[%1] count %one : memref<2xi64, #shared>
    cuda.fence_mbarrier_init
  }}
  cuda.sync_threads
  scf.if %is_first {{
    %k0 = arith.constant 0 : i32
    cuda.mbarrier_arrive_expect_tx %full[%0] bytes %bytes : memref<2xi64, #shared>
    cuda.tma_load %x(%k0, %bm32) to %sa[%0, %0, %0] barrier %full[%0]
      : memref<2x64x64xf16, #shared>, memref<2xi64, #shared>, !x
    cuda.tma_load %w(%k0, %bn32) to %sb[%0, %0, %0] barrier %full[%0]
      : memref<2x64x64xf16, #shared>, memref<2xi64, #shared>, !w
  }}
  scf.for %k = %0 to %K step %64 {{
    %step = arith.divsi %k, %64 : index
    %stage = arith.remsi %step, %2 : index
    %round = arith.divsi %step, %2 : index
    %odd = arith.remsi %round, %2 : index
    %parity = arith.index_cast %odd : index to i32
    %next = arith.addi %k, %64 : index
    %other = arith.subi %1, %stage : index
    %more = arith.cmpi slt, %next, %K : index
    %loads = arith.andi %is_first, %more : i1
    scf.if %loads {{
      %next32 = arith.index_cast %next : index to i32
      cuda.mbarrier_arrive_expect_tx %full[%other] bytes %bytes : memref<2xi64, #shared>
      cuda.tma_load %x(%next32, %bm32) to %sa[%other, %0, %0] barrier %full[%other]
        : memref<2x64x64xf16, #shared>, memref<2xi64, #shared>, !x
      cuda.tma_load %w(%next32, %bn32) to %sb[%other, %0, %0] barrier %full[%other]
        : memref<2x64x64xf16, #shared>, memref<2xi64, #shared>, !w
    }}
    cuda.mbarrier_wait %full[%stage] parity %parity : memref<2xi64, #shared>
    cuda.wgmma_fence
    scf.for %kk = %0 to %64 step %16 {{
      %a = cuda.matrix_descriptor %sa[%stage, %0, %kk] leading 16 stride 1024 swizzle 128
        : memref<2x64x64xf16, #shared>
      %b = cuda.matrix_descriptor %sb[%stage, %0, %kk] leading 16 stride 1024 swizzle 128
        : memref<2x64x64xf16, #shared>
      %done = arith.addi %k, %kk : index
      %accumulate = arith.cmpi sgt, %done, %0 : index
      cuda.wgmma "m64n64k16_f16_f32" %a, %b, %d[%0] accumulate %accumulate : memref<32xf32, #local>
    }} {{cuda.unroll}}
    cuda.wgmma_commit
    cuda.wgmma_wait 0
    cuda.wgmma_fence_operand %d[%0] count 32 : memref<32xf32, #local>
    cuda.sync_threads
  }}
  %warp = arith.divsi %tid, %32 : index
  %lane = arith.remsi %tid, %32 : index
  %group = arith.divsi %lane, %4 : index
  %thread = arith.remsi %lane, %4 : index
  scf.for %v = %0 to %32 step %1 {{
    %pair = arith.divsi %v, %2 : index
    %below = arith.remsi %pair, %2 : index
    %m0 = arith.muli %warp, %16 : index
    %m1 = arith.muli %below, %8 : index
    %m2 = arith.addi %m0, %m1 : index
    %m3 = arith.addi %m2, %group : index
    %m = arith.addi %bm, %m3 : index
    %block = arith.divsi %v, %4 : index
    %n0 = arith.muli %block, %8 : index
    %n1 = arith.muli %thread, %2 : index
    %n2 = arith.remsi %v, %2 : index
    %n3 = arith.addi %n0, %n1 : index
    %n4 = arith.addi %n3, %n2 : index
    %n = arith.addi %bn, %n4 : index
    %value = memref.load %d[%v] : memref<32xf32, #local>
    memref.store %value, %y[%m, %n] : memref<{M}x{N}xf32>
  }} {{cuda.unroll}}
}}
"""

SHAPE = (128, 192, 320)


# What is different where w is a k x n matrix: neighbours in memory are along n.
TRANSPOSED = {
    "y = x @ w.T": "y = x @ w",
    "%w(%k0, %bn32)": "%w(%bn32, %k0)",
    "%w(%next32, %bn32)": "%w(%bn32, %next32)",
    "%sb[%stage, %0, %kk] leading 16": "%sb[%stage, %kk, %0] leading 8192",
    "%a, %b, %d": "%a, %b trans_b, %d",
}


def print_program(m, n, k, transposed=False, strict=False, changes=()):
    """Print the program for an m x k and an n x k matrix; m, n and k are multiples of 64."""
    text = PROGRAM.format(M=m, N=n, K=k, M64=m // 64, N64=n // 64)
    for before, after in [*(TRANSPOSED.items() if transposed else ()), *changes]:
        assert before in text
        text = text.replace(before, after)
    module = Parser(make_context(), text).parse_module()
    module.verify()
    options = PassOptions(verify=True, strict=strict)
    run_pipeline(module, make_context(), options, pipeline="cuda-pipeline")
    return print_kernels(*module.ops)


@pytest.fixture
def nvcc():
    """Skip where there is no nvcc."""
    try:
        _ = Nvcc("sm_90a").command
    except CompilerNotFoundError as error:
        pytest.skip(f"needs nvcc: {error}")


@pytest.mark.usefixtures("nvcc")
def test_product_compiles(tmp_path):
    """No warning: ptxas has not put the products one after the other, and nothing is spilled."""
    cache = Store(tmp_path / "cache").kernels
    source = print_program(*SHAPE)
    build_kernels({"product": source}, Nvcc("sm_90a"), cache)
    entry = cache.entry(artifact_key(source, Nvcc("sm_90a").fingerprint()))
    assert "warning" not in entry.meta["log"].lower()
    assert "serialized" not in entry.meta["log"]
    resources = entry.meta["resources"]["product"]
    assert resources["stack_bytes"] == 0
    assert resources["spill_store_bytes"] == resources["spill_load_bytes"] == 0


class CpuTensorMap(ctypes.Structure):
    """A tensor map as the CPU's device header reads it (hidet_cpu_tensor_copy.h)."""

    _fields_ = (
        ("base", ctypes.c_void_p), ("strides", ctypes.c_longlong * 4), ("rank", ctypes.c_int),
        ("element_bytes", ctypes.c_int), ("swizzle", ctypes.c_int), ("extents", ctypes.c_int * 5),
        ("box", ctypes.c_int * 5), ("pixels", ctypes.c_int * 9),
    )  # fmt: skip

    @classmethod
    def of(cls, x, swizzle=128):
        """Make the map of a matrix, with boxes of 64 x 64 elements."""
        rows, columns = x.shape
        assert ctypes.sizeof(cls) == 128
        bytes_of_row = columns * x.itemsize
        return cls(
            *(x.ctypes.data, (bytes_of_row,), 2, x.itemsize, swizzle),
            *((columns, rows), (64, 64)),
        )


@pytest.fixture
def try_on_cpu(tmp_path, cpu_device, rng):
    """Compile a source for the CPU, run it; give the code, the message, and whether it is right."""

    def run(source, toolchain, swizzle=128, transposed=False):
        built = build_kernels({"product": source}, toolchain, Store(tmp_path / "cache").kernels)
        device = cpu_device(built.values())
        m, n, k = SHAPE
        x, w = (rng.normal(size=(rows, k)).astype(np.float16) for rows in (m, n))
        y = device.poisoned((m, n), np.float32)
        held = w.T.copy() if transposed else w
        maps = [CpuTensorMap.of(matrix, swizzle) for matrix in (x, held)]
        code, message = device.try_launch("product", (n // 64, m // 64, 1), *maps, y)
        expected = x.astype(np.float64) @ w.astype(np.float64).T
        return code, message, bool((np.abs(y - expected) <= 2.0**-19 * k).all())

    return run


@pytest.mark.parametrize(
    "toolchain",
    [Gxx(), Gxx(check=True, late_copies=True), Gxx(strict=True)],
    ids=["plain", "late", "strict"],
)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.sample(2)
def test_product(try_on_cpu, toolchain, transposed):
    """TMA, barriers and products work together on the CPU too."""
    source = print_program(*SHAPE, transposed, toolchain.strict)
    assert try_on_cpu(source, toolchain, transposed=transposed) == (0, "", True)


FAULTS = {
    "no wait": ("hidet::mbarrier_wait(&full[stage], k / 128 % 2);", ""),
    "accumulators change places": (
        "v / 2 % 2 * 1536 + v / 4 * 8 + v % 2",
        "v % 2 * 1536 + v / 4 * 8 + v / 2 % 2",
    ),
    "another swizzle": ("matrix_descriptor<16, 1024, 128>", "matrix_descriptor<16, 1024, 64>"),
    "another stride": ("matrix_descriptor<16, 1024, 128>", "matrix_descriptor<16, 512, 128>"),
    "sums begin anew": ("k + kk > 0", "kk > 0"),
    "matrices transposed": ("f32<0, 0>", "f32<0, 1>"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.sample(2)
def test_faults_show(try_on_cpu, fault):
    """A fault of the program is an error on the strict CPU."""
    before, after = FAULTS[fault]
    source = print_program(*SHAPE)
    assert before in source
    assert not try_on_cpu(source.replace(before, after), Gxx(check=True, late_copies=True))[2]


FAULTS_BY_NAME = {
    "no barrier after the mbarriers are made": (
        ("  }\n  cuda.sync_threads\n  scf.if %is_first", "  }\n  scf.if %is_first"),
        r"(reads full\[[01]\] in line .*, which nothing has written|a race: .* full\[[01]\])",
    ),
    "no wait for the copies": (
        ("cuda.mbarrier_wait %full[%stage] parity %parity : memref<2xi64, #shared>", ""),
        r"reads s[ab]\[\d, \d+, \d+\] in line .*, to which the copy that began in line .* is still",
    ),
    "a wait for the other stage": (
        ("cuda.mbarrier_wait %full[%stage]", "cuda.mbarrier_wait %full[%other]"),
        r"(still under way: a wait is missing|the block hangs)",
    ),
    "no wait for the products ahead of the next copy": (
        ("cuda.wgmma_wait 0", "cuda.wgmma_wait 1"),
        r"writes s[ab]\[.*\] in line .*, which the product that began in line .* may still",
    ),
    "accumulators without a start": (
        ("accumulate %accumulate", "accumulate %true"),
        r"reads d\[0\] in line .*, which nothing has written",
    ),
}


@pytest.mark.parametrize("fault", FAULTS_BY_NAME)
@pytest.mark.sample(2)
def test_strict_mode_says_what_is_wrong(try_on_cpu, fault):
    """A fault is an error of the call, whatever the result would be."""
    change, message = FAULTS_BY_NAME[fault]
    true = ("%tid = cuda.thread_id x", "%true = arith.constant true\n  %tid = cuda.thread_id x")
    source = print_program(*SHAPE, strict=True, changes=(change, true))
    code, found, _ = try_on_cpu(source, Gxx(strict=True))
    assert code != 0
    assert re.search(message, found)


def test_the_wait_of_one_thread_is_enough(try_on_cpu):
    """All of the group multiplies: the thread that has waited may copy to the matrices."""
    change = ("memref<32xf32, #local>\n    cuda.sync_threads", "memref<32xf32, #local>")
    source = print_program(*SHAPE, strict=True, changes=[change])
    assert try_on_cpu(source, Gxx(strict=True)) == (0, "", True)


@pytest.mark.parametrize("wait", ["", "cuda.wgmma_wait 1"])
@pytest.mark.sample(1)
def test_strict_mode_wants_a_wait_ahead_of_the_result(try_on_cpu, wait):
    """The accumulators of the last products are not there yet."""
    change = ("    cuda.wgmma_wait 0\n", f"    {wait}\n")
    steps = (
        ("scf.for %k = %0 to %K step %64", "scf.for %k = %0 to %64 step %64"),
        ("    cuda.sync_threads\n  }", "  }"),
    )
    source = print_program(*SHAPE, strict=True, changes=(change, *steps))
    _, found, _ = try_on_cpu(source, Gxx(strict=True))
    assert re.search(r"reads d\[\d+\] in line .*, which a product that is under way writes", found)


def test_tensor_of_another_swizzle_shows(try_on_cpu):
    """The tensor map and the descriptors agree."""
    assert not try_on_cpu(print_program(*SHAPE), Gxx(), swizzle=64)[2]


def test_a_barrier_at_which_nobody_arrives(try_on_cpu):
    """The block hangs, and the CPU says where."""
    source = print_program(*SHAPE).replace("16384", "16386")
    code, message, _ = try_on_cpu(source, Gxx())
    assert code == 3
    assert "the block hangs: 0 of its 128 threads have finished" in message
    assert re.search(r"wait at mbarrier_wait in line \d+", message)


# ---- the table -----------------------------------------------------------------------------------

HEAD = """#include "hidet_wgmma_bf16.h"
#include "hidet_wgmma_f16.h"
#include "hidet_wgmma_tf32.h"

extern "C" __global__ void __launch_bounds__(128, 1) all(
    const __grid_constant__ hidet::TensorMap map, float* __restrict__ out) {
  __shared__ __align__(1024) hidet::half s[64 * 64];
  __shared__ __align__(8) long long bar[1];
  const long long a = hidet::matrix_descriptor<16, 1024, 128>(s);
  const int i = threadIdx.x;
"""
CALLS = {
    "mbarrier_init": "(bar, 1)", "mbarrier_invalidate": "(bar)", "mbarrier_arrive": "(bar)",
    "cp_async_barrier_arrive": "(bar)",
    "mbarrier_arrive_expect_tx": "(bar, 64)", "mbarrier_wait": "(bar, 0)",
    "fence_mbarrier_init": "()", "fence_proxy_async": "()",
    "fence_proxy_async_global": "()", "wgmma_fence": "()",
    "wgmma_commit": "()", "wgmma_wait": "<0>()", "tma_commit": "()", "tma_wait": "<0>()",
    "barrier_sync": "<128>(i)", "barrier_arrive": "<64>(1)",
    "setmaxnreg_inc": "<232>()", "setmaxnreg_dec": "<40>()",
    "cluster_arrive": "()", "cluster_wait": "()", "mbarrier_arrive_cluster": "(bar, i)",
    "grid_dependency_wait": "()", "launch_dependents": "()",
}  # fmt: skip


def instructions():
    """Give the instructions of the table that are instructions of the machine."""
    entries = [op.ENTRY for op in cuda.Cuda.operations if hasattr(op, "ENTRY")]
    entries += cuda.SetMaxNregOp.ENTRY.values()
    single = [i for i in entries if isinstance(i, Instruction) and i.function in CALLS]
    assert sorted(i.function for i in single) == sorted(CALLS)
    copies = (hopper.TMA_LOAD, hopper.TMA_LOAD_MULTICAST, hopper.TMA_LOAD_PIXELS, hopper.TMA_STORE)
    tables = (*copies, WGMMA, WGMMA_RS)
    return [*single, *(each for table in tables for each in table.values())]


def calls():
    """Give a kernel that calls everything."""
    lines = [f"hidet::{name}{arguments};" for name, arguments in CALLS.items()]
    for rank in hopper.RANKS:
        coordinates = ", i" * rank
        lines += [f"hidet::tma_load(s, bar, map{coordinates});"]
        lines += [f"hidet::tma_load_multicast(s, bar, map, 3{coordinates});"]
        lines += [f"hidet::tma_store(s, map{coordinates});"]
    for rank in hopper.TMA_LOAD_PIXELS:
        lines += [f"hidet::tma_load_pixels(s, bar, map{', i' * (2 * rank - 2)});"]
    for instruction in WGMMA.values():
        (d,) = instruction.operands
        count = d.fragment.tasks_per_worker
        turned = int("tf32" not in instruction.name)
        _, a = WGMMA_RS[instruction.name].operands
        kind = {"f16": "hidet::half", "bf16": "hidet::bfloat16", "f32": "float"}[a.element]
        lines += [
            f"{{ float d[{count}]; {kind} f[{a.fragment.tasks_per_worker}];",
            f"for (auto& x : f) x = hidet::cast<{kind}>(1.0f);",
            f"hidet::{WGMMA_RS[instruction.name].function}<{turned}>(d, f, a, i > 3);",
            f"hidet::{instruction.function}<0, 0>(d, a, a, false);",
            f"hidet::{instruction.function}<{turned}, {turned}>(d, a, a, i > 3);",
            "hidet::wgmma_wait<0>();",
            f"hidet::wgmma_fence_operand<{count}>(d);",
            f"for (int j = 0; j < {count}; ++j) out[i * {count} + j] = d[j]; }}",
        ]
    return HEAD + "\n".join(lines) + "\n}\nHIDET_KERNEL(all, 128, 1, 1, HIDET_COLLECTIVE)\n"


@pytest.mark.usefixtures("nvcc")
def test_every_instruction_compiles(tmp_path, nvcc_to_ptx):
    """Each function becomes the instruction that the table names.

    Nothing is optimized: that takes a minute, and makes the same instructions.
    """
    nvcc_to_ptx("sm_90a", optimize=False).compile(calls(), tmp_path / "ptx")
    found = re.sub(r"\s+", " ", (tmp_path / "ptx").read_text())
    for instruction in instructions():
        assert re.search(rf"{re.escape(instruction.ptx)}[ ;]", found), instruction.ptx


@pytest.mark.slow
@pytest.mark.usefixtures("nvcc")
def test_ptxas_takes_every_instruction(tmp_path):
    """What ptxas makes of all of them at once takes minutes."""
    Nvcc("sm_90a").compile(calls(), tmp_path / "cubin")
    assert (tmp_path / "cubin").stat().st_size > 0


@pytest.mark.slow
def test_every_instruction_compiles_for_the_cpu(tmp_path):
    """The device header has both bodies for each function."""
    Gxx().compile(calls(), tmp_path / "all.so")
    assert (tmp_path / "all.so").stat().st_size > 0


def test_where_instructions_run():
    """The table knows the machines."""
    (wgmma, *_), (mma, *_) = WGMMA.values(), MMA_SYNC.values()
    machines = [Arch.parse(name) for name in ("sm_80", "sm_90", "sm_90a", "sm_100a", "cpu")]
    assert [wgmma.runs_on(arch) for arch in machines] == [False, False, True, False, True]
    machines[0] = Arch.parse("sm_75")
    assert [mma.runs_on(arch) for arch in machines] == [False, True, True, True, True]


# ---- on a GPU ------------------------------------------------------------------------------------


def tensor_map(x):
    """Encode a map of a matrix on the GPU, with boxes of 64 x 64 elements swizzled in 128 bytes."""
    from cuda.bindings import driver

    rows, columns = x.shape
    error, encoded = driver.cuTensorMapEncodeTiled(
        driver.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        2,
        x.data_ptr(),
        [driver.cuuint64_t(columns), driver.cuuint64_t(rows)],
        [driver.cuuint64_t(columns * 2)],
        [driver.cuuint32_t(64), driver.cuuint32_t(64)],
        [driver.cuuint32_t(1), driver.cuuint32_t(1)],
        driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        driver.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B,
        driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )
    assert error == driver.CUresult.CUDA_SUCCESS, error
    return (ctypes.c_char * 128).from_buffer_copy(ctypes.string_at(encoded.getPtr(), 128))


@pytest.mark.gpu
@pytest.mark.parametrize("transposed", [False, True])
def test_product_on_a_gpu(tmp_path, cuda_device, rng, transposed):
    """TMA, barriers and products work together."""
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("needs a Hopper GPU")
    m, n, k = SHAPE
    source = print_program(*SHAPE, transposed)
    built = build_kernels({"product": source}, Nvcc("sm_90a"), Store(tmp_path / "cache").kernels)
    device = cuda_device(built.values(), {"product": source})
    x, w = (torch.from_numpy(rng.normal(size=(rows, k))).half().cuda() for rows in (m, n))
    y = device.poisoned((m, n), np.float32)
    held = w.T.contiguous() if transposed else w
    device.launch("product", (n // 64, m // 64, 1), tensor_map(x), tensor_map(held), y)
    expected = (x.double() @ w.double().T).cpu().numpy()
    assert (np.abs(y - expected) <= 2.0**-19 * k).all()
