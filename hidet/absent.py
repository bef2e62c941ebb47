"""Names of the original Hidet that do not exist, each with a line that says what to use.

An import of one of them fails with that line. Here are those that scripts use, which several
modules have; `absent_modules` has the others.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from types import ModuleType
from typing import NoReturn, TypeVar

from hidet.absent_modules import ABSENT_IN, ABSENT_MODULES
from hidet.errors import MissingMemberError, MissingNameError

_WMMA = "mma_sync(MmaConfig.m16n8k16_f16_f32(), a, b, c), with ldmatrix for its operands"
_TENSOR_MEMORY = "wgmma_async of Hopper; tensor memory and tcgen05 of Blackwell are not supported"
_DIVIDE = "a // d and a % d; the compiler of CUDA divides by a constant in this way"
_COPY = "kernels copy in loops, cp_async and tma_load; the host copies tensors: y.copy_(x)"
_BYTES = "mbarrier_arrive_and_expect_tx(~bar[0], bytes) for the bytes that tma_load brings"

PRIMITIVES: dict[str, str] = {
    "ldg*": "load(~x[i], dtype=f32x4) loads a vector, with cache='lu' and others as hints",
    "stg*": "store(~x[i], f32x4(a, b, c, d)) stores a vector",
    "lds* sts*": (
        "x[i] in shared memory, or load and store with a vector: load(~tile[i, 0], dtype=f32x4)"
    ),
    "wmma_*": _WMMA,
    "tcgen05_* compute_tmem_* get_register_count make_tcgen05_cp_desc": _TENSOR_MEMORY,
    "acquire_lock": "while atomic_cas(~lock[0], 0, 1, sem='acquire') != 0: pass; by one thread",
    "release_lock": "atomic_exchange(~lock[0], 0, sem='release'), after syncthreads()",
    "acquire_seq_semaphore": "while load(~s[0], sync='acquire') != status: pass; by one thread",
    "release_seq_semaphore": "store(~s[0], status, sync='release'), after syncthreads()",
    "check_cuda_error": "a launch that fails raises an error of Python",
    "create_tensor_map": "a parameter of the kernel, a: tensor_map(f16[m, k], box=(128, 64))",
    "cvta_generic_to_shared": "addresses are passed as they are: ~smem[i, j]",
    "cvtv": "f16x2(v) converts each element of the vector v",
    "fast_intdiv fast_intmod": _DIVIDE,
    "make_wgmma_desc": "matrix_descriptor(~smem[0, 0])",
    "matrix_descriptor_encode": "matrix_descriptor(~smem[0, 0]), which encodes the address",
    "mbarrier_*_transaction": _BYTES,
    "mbarrier_t*_wait": "mbarrier_wait(~bar[0], phase) waits for a phase",
    "memcpy memcpy_async": _COPY,
    "set_kernel_max_dynamic_smem_bytes": "attrs.cuda.dynamic_smem_bytes = n, in the kernel",
}
"""What to use instead of names of `hidet.lang.cuda` and `hidet.ir.primitives.cuda`, by patterns."""

ABSENT: dict[str, str] = {
    **PRIMITIVES,
    "asm": "the functions of hidet.lang.cuda; there is no inline PTX, and no C++",
    "*Stmt *Builder Task": (
        "a function of Python that scripts call: its statements become part of the kernel"
    ),
    "Constant Expr Var": "a value of the script: f32(1), or an argument of the kernel",
    "request_*_workspace": "a tensor that is passed to the kernel",
    "[iu][124]": "i8 or u8, with shifts and masks",
    "complex* conj imag make_complex real": "two tensors, of the real and the imaginary parts",
    "fused_operator": "hidet.graph.optimize, which fuses",
    "all_gather all_reduce reduce_scatter wait_tensor": "torch.distributed",
    "float8_*": "f16 or bf16; floats of 8 bits are not there",
    "symbol_var": "an argument of the kernel, n: i32, with which shapes are written: x: f32[n]",
    "declare_extern_func": "hidet.lang.cuda and hidet.lang.math: kernels call what these have",
    "get_cuda_stream": "torch.cuda.stream: kernels are launched on torch's current stream",
    "cublas": "torch.matmul around the kernel",
    "build_ir_module_batch": "build_ir_module of each; kernels of a module are compiled together",
    "gcd lcm": "math.gcd and math.lcm of Python",
}
"""The same for all modules."""


def instead_of(name: str, module: str = "") -> str | None:
    """Return what to use instead of a name, None for one that the original does not have either.

    Args:
        name: the name, without its module.
        module: the module, as the original calls it, or the class, without its module; none: names
            that any module may have.
    """
    tables = [table for modules, table in ABSENT_IN.items() if module in modules.split()]
    hints = (_hint(name, table) for table in (*tables, ABSENT))
    return next(filter(None, hints), None) or ABSENT_MODULES.get(f"{module}.{name}")


def _hint(name: str, table: Mapping[str, str]) -> str | None:
    """Return what a table says about a name."""
    for patterns, hint in table.items():
        if any(fnmatchcase(name, pattern) for pattern in patterns.split()):
            return hint
    return None


def _is_import(depth: int) -> bool:
    """Return whether so many calls up there is the word `import` of `from module import name`."""
    from dis import opmap
    from inspect import currentframe

    frame = currentframe()
    for _ in range(depth):
        frame = frame and frame.f_back
    return frame is not None and frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]


def missing(module: str, name: str, sources: Sequence[str] = ()) -> Exception:
    """Return the error of a name that a module does not have, for its `__getattr__` to raise.

    Args:
        module: the module.
        name: the name.
        sources: the modules whose names it shows, if it has none of its own.
    """
    hint = ABSENT_MODULES.get(module) or instead_of(name, module)
    if hint is not None:
        # `from module import name` forgets what an AttributeError says; all others, such as
        # `hasattr` and pickle, which looks into all modules, want one.
        error = MissingNameError if _is_import(depth=3) else MissingMemberError
        return error(f"{module} has no '{name}'", hint=hint)
    shows = f"; it shows {', '.join(sources)}" if sources else ""
    return AttributeError(f"module '{module}' has no attribute '{name}'{shows}")


def show_absent_modules() -> None:
    """Have modules that are not there fail when a name of theirs is used, with what to use."""
    for path in ABSENT_MODULES:
        module = sys.modules[path] = ModuleType(path, "A module of the original; not there.")
        module.__path__ = []
        module.__dict__["__getattr__"] = _refuse(path)


def _refuse(path: str) -> Callable[[str], NoReturn]:
    """Return what refuses all names of a module but those that Python itself looks for."""

    def find(name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(f"module '{path}' has no attribute '{name}'")
        raise missing(path, name)

    return find


def explain_missing(module: str) -> None:
    """Have a module say what to use instead of a name that it does not have.

    Type checkers do not see it, and go on to report such names.
    """

    def find(name: str) -> NoReturn:
        raise missing(module, name)

    vars(sys.modules[module])["__getattr__"] = find


def missing_member(what: str, cls: str, name: str) -> AttributeError:
    """Return the error of a method or property that something does not have, by its class."""
    hint = _hint(name, ABSENT_IN[cls])
    text = f"{what} has no '{name}'"
    return AttributeError(text) if hint is None else MissingMemberError(text, hint=hint)


_Class = TypeVar("_Class", bound=type)


def explains_members(cls: _Class) -> _Class:
    """Have a class say what to use instead of a method or property of the original's class."""

    def find(self: object, name: str) -> NoReturn:
        raise missing_member(f"a {cls.__name__}", cls.__name__, name)

    cls.__getattr__ = find  # pyright: ignore[reportAttributeAccessIssue]
    return cls
