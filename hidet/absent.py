"""Names of the original Hidet that do not exist, each with a line that says what to use.

An import of one of them fails with that line.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

from hidet.errors import MissingNameError

_LOAD = "load(~x[i], dtype=f32x4) loads a vector, with cache='lu' and others as hints"
_STORE = "store(~x[i], f32x4(a, b, c, d)) stores a vector"
_SHARED = "x[i] in shared memory, or load and store with a vector: load(~tile[i, 0], dtype=f32x4)"
_LOCK = "while atomic_cas(~lock[0], 0, 1, sem='acquire') != 0: pass; by one thread"
_UNLOCK = "atomic_exchange(~lock[0], 0, sem='release'), after syncthreads()"
_PHASE = "mbarrier_wait(~bar[0], phase) waits for a phase"
_BYTES = "mbarrier_arrive_and_expect_tx(~bar[0], bytes) for the bytes that tma_load brings"
_TENSOR_MEMORY = "wgmma_async of Hopper; tensor memory and tcgen05 of Blackwell are not supported"
_WMMA = "mma_sync(MmaConfig.m16n8k16_f16_f32(), a, b, c), with ldmatrix for its operands"
_PAIRS = "f16x2 has the operators +, -, * and /: d = a * b + c"
_DIVIDE = "a // d and a % d; the compiler of CUDA divides by a constant in this way"
_COPY = "kernels copy in loops, cp_async and tma_load; the host copies tensors: y.copy_(x)"

PRIMITIVES: dict[str, str] = {
    **{f"ldg{bits}": _LOAD for bits in (16, 32, 64, 128, 256)},
    **{f"ldg{bits}_lu": _LOAD for bits in (32, 64, 128, 256)},
    **{f"stg{bits}": _STORE for bits in (16, 32, 64, 128, 256, 512)},
    **{f"{kind}{bits}": _SHARED for kind in ("lds", "sts") for bits in (8, 16, 32, 64, 128)},
    **{f"wmma_{each}": _WMMA for each in ("load_a", "load_b", "mma", "store")},
    **{
        f"tcgen05_{each}": _TENSOR_MEMORY
        for each in (
            *("alloc", "cp", "dealloc", "ld", "shift", "st", "wait"),
            "relinquish_alloc_permit",
        )
    },
    **dict.fromkeys(
        (
            "compute_tmem_address",
            "compute_tmem_offset_address",
            "get_register_count",
            "make_tcgen05_cp_desc",
        ),
        _TENSOR_MEMORY,
    ),
    "acquire_lock": _LOCK,
    "release_lock": _UNLOCK,
    "acquire_seq_semaphore": "while load(~s[0], sync='acquire') != status: pass; by one thread",
    "release_seq_semaphore": "store(~s[0], status, sync='release'), after syncthreads()",
    "check_cuda_error": "a launch that fails raises an error of Python",
    "cp_async_barrier_arrive": "cp_async_wait_all(), then mbarrier_arrive(~bar[0])",
    "create_tensor_map": "a parameter of the kernel, a: tensor_map(f16[m, k], box=(128, 64))",
    "cvta_generic_to_shared": "addresses are passed as they are: ~smem[i, j]",
    "cvtv": "f16x2(v) converts each element of the vector v",
    "fast_intdiv": _DIVIDE,
    "fast_intmod": _DIVIDE,
    "fma_f16x2": _PAIRS,
    "sub_f16x2": _PAIRS,
    "make_wgmma_desc": "matrix_descriptor(~smem[0, 0])",
    "matrix_descriptor_encode": "matrix_descriptor(~smem[0, 0]), which encodes the address",
    "mbarrier_complete_transaction": _BYTES,
    "mbarrier_expect_transaction": _BYTES,
    "mbarrier_invalidate": "nothing: the memory of a barrier is not used for anything else",
    "mbarrier_test_wait": _PHASE,
    "mbarrier_try_wait": _PHASE,
    "memcpy": _COPY,
    "memcpy_async": _COPY,
    "set_kernel_max_dynamic_smem_bytes": "attrs.cuda.dynamic_smem_bytes = n, in the kernel",
}
"""What to use instead of each name of `hidet.lang.cuda` and `hidet.ir.primitives.cuda`."""

_CALLS = "the functions of hidet.lang.cuda; there is no inline PTX, and no C++"
_PYTHON = "a function of Python that scripts call: its statements become part of the kernel"
_VALUE = "a value of the script: f32(1), or an argument of the kernel"
_PASSED = "a tensor that is passed to the kernel"
_BITS = "i8 or u8, with shifts and masks"
_MATMUL = "matmul, which chooses the kernel itself"
_PROCESSES = "torch.distributed"
_TORCH = "torch's function, on x.torch(), and hidet.from_torch of what it gives"
_TWO = "two tensors, of the real and of the imaginary parts"

ABSENT: dict[str, str] = {
    **PRIMITIVES,
    **dict.fromkeys(("asm", "BlackBoxStmt"), _CALLS),
    **dict.fromkeys(("AssignStmt", "DeclareStmt", "ForStmt", "IfStmt"), _PYTHON),
    **dict.fromkeys(("StmtBuilder", "FunctionBuilder", "Task"), _PYTHON),
    **dict.fromkeys(("Constant", "Expr", "Var"), _VALUE),
    **dict.fromkeys(("request_cuda_workspace", "request_cpu_workspace"), _PASSED),
    **dict.fromkeys(("i1", "i2", "i4", "u1", "u2", "u4"), _BITS),
    **dict.fromkeys(("complex64", "complex128"), _TWO),
    **dict.fromkeys(("float8_e4m3", "float8_e5m2"), "f16 or bf16; floats of 8 bits are not there"),
    **dict.fromkeys(("cuda_batch_matmul", "matmul_cublas", "matmul_x86"), _MATMUL),
    **dict.fromkeys(("conj", "imag", "make_complex", "real"), _TWO),
    **dict.fromkeys(("all_gather", "all_reduce", "reduce_scatter", "wait_tensor"), _PROCESSES),
    **dict.fromkeys(("einops_rearrange", "resize2d", "set_strided_slice"), _TORCH),
    **dict.fromkeys(("symmetric_dequantize", "symmetric_quantize"), _TORCH),
    "symbol_var": "an argument of the kernel, n: i32, with which shapes are written: x: f32[n]",
    "declare_extern_func": "hidet.lang.cuda and hidet.lang.math: kernels call what these have",
    "get_cuda_stream": "torch.cuda.stream: kernels are launched on torch's current stream",
    "cublas": "torch.matmul around the kernel",
    "build_ir_module_batch": "build_ir_module of each; kernels of a module are compiled together",
    "gcd": "math.gcd of Python",
    "lcm": "math.lcm of Python",
}
"""The same for all modules."""


def missing(module: str, name: str, sources: Sequence[str] = ()) -> Exception:
    """Return the error of a name that a module does not have.

    Args:
        module: the module.
        name: the name.
        sources: the modules whose names it shows, if it has none of its own.
    """
    if name in ABSENT:
        return MissingNameError(f"{module} has no '{name}'", hint=ABSENT[name])
    shows = f"; it shows {', '.join(sources)}" if sources else ""
    return AttributeError(f"module '{module}' has no attribute '{name}'{shows}")


def explain_missing(module: str) -> None:
    """Have a module say what to use instead of a name that it does not have.

    Type checkers do not see it, and go on to report such names.
    """

    def find(name: str) -> NoReturn:
        raise missing(module, name)

    vars(sys.modules[module])["__getattr__"] = find


__all__ = ["ABSENT", "PRIMITIVES", "explain_missing", "missing"]
