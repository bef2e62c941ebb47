"""Names and texts of users: whatever Python takes is compiled, called, and shown as it is."""

import importlib.util
import keyword
import random
import re
import textwrap

import pytest
import torch

import hidet
from hidet.backend.build import build_kernels
from hidet.backend.cache import ArtifactCache
from hidet.backend.toolchains import Gxx, Nvcc
from hidet.dialects.cuda.foreign_names import is_declared
from hidet.dialects.cuda.names import RESERVED, is_identifier, symbol_of
from hidet.errors import CompilerNotFoundError
from hidet.lang import attrs, i32, printf

NASTY = [
    *(name for name in sorted(RESERVED) if name.isidentifier() and not keyword.iskeyword(name)),
    *("INT_MAX", "M_PI", "CHAR_BIT", "EXIT_FAILURE", "cudaStreamDefault", "alloca", "va_arg"),
    *("größe", "λ", "名前", "Ω", "é", "ё", "ª", "ſ", "K", "__x", "_", "__", "_1", "x_1", "x_12"),
    *("tid", "bid", "tx", "v", "buf", "cond", "offset", "smem", "arg", "i", "j", "i1", "x", "x1"),
    *("hidet", "blockIdx", "result", "running", "unreturned", "nullptr", "size_t", "half", "exp"),
]
"""Names that mean something to C++, to CUDA, to the compiler's own naming, or are no C++ at all."""

KERNELS = [
    *("printf", "size_t", "uint8_t", "main", "half", "__global__", "INT_MAX", "NULL", "EOF"),
    *("unix", "linux", "double", "exp", "memcpy", "exp2f", "float4", "omp_get_wtime", "sync"),
    *("größe", "groesse", "λ", "名前", "__", "_", "x_1", "atomicAdd", "hidet", "check", "kernel"),
    *("k", "k_launch", "Kernel", "args", "std", "name", "x" * 300, "cudaMalloc", "threadIdx"),
]

HEAD = """
import hidet
from hidet.lang import attrs as ATTRS, i32 as I32, shared_tensor as SHARED
from hidet.lang.cuda import threadIdx as THREAD, syncthreads as SYNC

with hidet.script_module() as MODULE:
"""


def load(text, path):
    """Run a program from a file; give its module."""
    path.write_text(text)
    specification = importlib.util.spec_from_file_location("program", path)
    program = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(program)
    return program


def program(kernel):
    """Give a kernel with loops, branches and memory, and names drawn from the nasty ones."""
    x, n, a, b, c, d, e, f, inner, tile = random.sample(NASTY, 10)
    return f"""
    @hidet.script
    def {kernel}({x}: I32[32], {n}: I32):
        ATTRS.cuda.grid_dim = 1
        ATTRS.cuda.block_dim = 32
        {a} = THREAD.x
        {tile} = SHARED("i32", [32])
        {tile}[{a}] = {x}[{a}]
        SYNC()
        def {inner}({b}: I32, {c}: I32):
            return {tile}[{b} % 32] + {c} > 3 and {tile}[({c} + 1) % 32] < 9
        {d} = 0
        while {d} < {n} and {inner}({d}, {n}):
            for {e} in [1, {n}, {a}]:
                {e} += 1
                {d} += {e}
                if {tile}[{e} % 32] == 7:
                    break
            for {f} in range({n}):
                {e} = {f} * 2
                {d} += {e} % 5
            {d} += 1
        {x}[{a}] = {d}
    """


def module_of(count, path):
    """Give the text and the built module of random kernels."""
    names = [name for name in random.sample(KERNELS, min(count, len(KERNELS)))]
    names += [f"k{number}" for number in range(count - len(names))]
    text = HEAD + "".join(map(program, names))
    return names, text, load(text, path).MODULE.build()


def in_python(text, name, values, n):
    """Run a kernel of a program as plain Python, one thread after the other."""
    kernel = textwrap.dedent("    @hidet.script" + text.split("@hidet.script\n    def " + name + "(")[1].join(["\n    def f(", ""]).split("    @hidet.script")[0])
    raise NotImplementedError(kernel)


@pytest.mark.parametrize("seed", range(3))
def test_random_names(seed, tmp_path):
    """Every name of a program clashes with something; every kernel is printed, found and right."""
    random.seed(seed)
    names, _, built = module_of(12, tmp_path / "program.py")
    text = built.source()
    assert text.isascii() or all(line.startswith("//") for line in re.findall(r".*[^\x00-\x7f].*", text))
    for name in names:
        assert built[name].name == name
        assert f"\n// {name}\n" in text


def test_kernels_of_any_name(tmp_path):
    """g++ and nvcc take kernels of all names in one file; each is called by its own name."""
    text = HEAD + "".join(
        f"""
    @hidet.script
    def {name}(x: I32[1]):
        ATTRS.cuda.grid_dim = 1
        ATTRS.cuda.block_dim = 1
        x[0] = {number}
    """
        for number, name in enumerate(KERNELS)
    )
    built = load(text, tmp_path / "program.py").MODULE.build()
    cache = ArtifactCache(tmp_path / "cache")
    build_kernels({"all": built.source()}, Gxx(), cache)
    x = torch.zeros(1, dtype=torch.int32)
    for name in ("printf", "名前", "__global__"):
        built[name](x)
        assert x[0] == KERNELS.index(name)
    symbols = [symbol_of(name) for name in KERNELS]
    assert len(set(symbols)) == len(KERNELS)
    assert all(is_identifier(symbol) for symbol in symbols)
    try:
        _ = Nvcc("sm_80").command
    except CompilerNotFoundError as error:
        pytest.skip(f"needs nvcc: {error}")
    build_kernels({"all": built.source()}, Nvcc("sm_80"), cache)
