"""Names and texts of users: whatever Python takes is compiled, called, and shown as it is."""

import importlib.util
import keyword
import random
import textwrap
import unicodedata
from types import SimpleNamespace

import pytest
import torch
from xdsl.parser import Parser

import hidet
from hidet.backend.build import build_kernels
from hidet.backend.cache import Store
from hidet.backend.toolchains import Gxx, Nvcc
from hidet.context import make_context
from hidet.dialects.alias_printer import module_text
from hidet.dialects.cuda.names import RESERVED, is_identifier, symbol_of
from hidet.errors import CompilerNotFoundError, HidetError
from hidet.lang import attrs, f16, f32, i8, i64, printf, u32, u64
from hidet.lang.cuda import threadIdx

NASTY = [
    *(name for name in sorted(RESERVED) if name.isidentifier() and not keyword.iskeyword(name)),
    *("INT_MAX", "M_PI", "CHAR_BIT", "EXIT_FAILURE", "cudaStreamDefault", "alloca", "va_arg"),
    *("größe", "λ", "名前", "Ω", "é", "ё", "ª", "ﬁ", "K", "__x", "_", "__", "_1", "x_1", "x_12"),
    *("tid", "bid", "tx", "v", "buf", "cond", "offset", "smem", "arg", "i", "j", "i1", "x", "x1"),
    *("hidet", "blockIdx", "result", "running", "unreturned", "nullptr", "size_t", "half", "exp"),
]
NASTY = list({unicodedata.normalize("NFKC", name): name for name in NASTY}.values())
"""Names that mean something to C++, to CUDA, to the compiler's own naming, or are no C++ at all;
none of them is to Python the same as another."""

KERNELS = [
    *("printf", "size_t", "uint8_t", "main", "half", "__global__", "INT_MAX", "NULL", "EOF"),
    *("unix", "linux", "double", "exp", "memcpy", "exp2f", "float4", "omp_get_wtime", "sync"),
    *("größe", "groesse", "λ", "名前", "__", "_", "x_1", "atomicAdd", "hidet", "check", "kernel"),
    *("k", "k_launch", "Kernel", "args", "std", "name", "x" * 300, "cudaMalloc", "threadIdx"),
]

HEAD = """
from hidet import script as SCRIPT, script_module as SCRIPT_MODULE
from hidet.lang import attrs as ATTRS, i32 as I32, shared_tensor as SHARED
from hidet.lang.cuda import threadIdx as THREAD, syncthreads as SYNC

with SCRIPT_MODULE() as MODULE:
"""


def load(text, path):
    """Run a program from a file; return its module."""
    path.write_text(text)
    specification = importlib.util.spec_from_file_location("program", path)
    program = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(program)
    return program


def program(kernel):
    """Return a kernel with loops, branches and memory, and names drawn from the nasty ones."""
    x, n, a, b, c, d, e, f, inner, tile = random.sample(NASTY, 10)
    return f"""
    @SCRIPT
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
    """Return the text and the built module of random kernels."""
    names = random.sample(KERNELS, min(count, len(KERNELS)))
    names += [f"k{number}" for number in range(count - len(names))]
    text = HEAD + "".join(map(program, names))
    return names, text, load(text, path).MODULE.build()


def in_python(text, name, values, n):
    """Run a kernel of a program as plain Python, one thread after the other."""
    _, _, rest = text.partition(f"    @SCRIPT\n    def {name}(")
    function = textwrap.dedent(f"    def {name}({rest.partition('    @SCRIPT')[0]}")
    results = []
    for lane in range(len(values)):
        names = {
            "ATTRS": SimpleNamespace(cuda=SimpleNamespace()),
            "I32": {32: None},
            "THREAD": SimpleNamespace(x=lane),
            "SHARED": lambda *_: list(values),
            "SYNC": lambda: None,
        }
        exec(function, names)
        x = list(values)
        names[unicodedata.normalize("NFKC", name)](x, n)
        results.append(x[lane])
    return results


@pytest.mark.parametrize("seed", range(3))
def test_random_names(seed, tmp_path):
    """Every name of a program clashes with something; every kernel is printed, found and right."""
    random.seed(seed)
    names, text, built = module_of(12, tmp_path / "program.py")
    source = built.source()
    assert all(line.isascii() or line.startswith("//") for line in source.splitlines())
    for name in names:
        assert built[name].name == name
        assert f"\n// {name}\n" in source
    values = torch.randint(0, 9, (32,), dtype=torch.int32)
    for name in names[:2]:
        x = values.clone()
        built[name](x, 4)
        assert x.tolist() == in_python(text, name, values.tolist(), 4), text


def test_kernels_of_any_name(tmp_path):
    """g++ and nvcc take kernels of all names in one file; each is called by its own name."""
    text = HEAD + "".join(
        f"""
    @SCRIPT
    def {name}(x: I32[1]):
        ATTRS.cuda.grid_dim = 1
        ATTRS.cuda.block_dim = 1
        x[0] = {number}
    """
        for number, name in enumerate(KERNELS)
    )
    built = load(text, tmp_path / "program.py").MODULE.build()
    cache = Store(tmp_path / "cache").kernels
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


INJECTED = "\nint injected = 0; /*"


def test_path_of_a_script(tmp_path):
    """A folder's name with a newline stays a part of the comment; errors name it in one line."""
    folder = tmp_path / f"a{INJECTED}"
    folder.mkdir(parents=True)
    text = (
        HEAD
        + """
    @SCRIPT
    def kernel(x: I32[1]):
        ATTRS.cuda.grid_dim = 1
        ATTRS.cuda.block_dim = 1
        assert x[0] > 3
        x[0] = 1
    """
    )
    built = load(text, folder / "program.py").MODULE.build()
    assert "\nint injected" not in built.source()
    assert r"a\nint injected = 0; /*" in built.source()
    with pytest.raises(HidetError, match=r"a\\nint injected = 0; /\*/program.py:12: x\[0\] > 3"):
        built(torch.zeros(1, dtype=torch.int32))


TEXTS = [
    '"',
    "\\",
    "\\\\n",
    "*/",
    "//",
    "??/",
    "\\\n",
    "%",
    "é",
    "名",
    "😀",
    "\u202e",
    "\x1b",
    "\r",
    "x41",
]


def test_texts(tmp_path, capfd):
    """Formats, labels and messages hold anything; what is printed is what was written."""
    formats = ["".join(random.choices(TEXTS, k=6)) for _ in range(20)]
    lines = [f"printf({text.replace('%', '%%') + '|'!r})" for text in formats]
    text = (
        HEAD.replace("as I32,", "as I32, printf,")
        + f"""
    @SCRIPT
    def kernel(x: I32[1]):
        ATTRS.label = {"".join(TEXTS).replace(chr(10), "")!r}
        ATTRS.cuda.grid_dim = 1
        ATTRS.cuda.block_dim = 1
        {"; ".join(lines)}
        assert x[0] > 3, {"".join(TEXTS)!r}
    """
    )
    built = load(text, tmp_path / "program.py").MODULE.build()
    again = Parser(make_context(), built.ir()).parse_module()
    assert module_text(again) == built.ir()
    with pytest.raises(HidetError) as caught:
        built(torch.zeros(1, dtype=torch.int32))
    assert "".join(TEXTS) in str(caught.value)
    assert capfd.readouterr().out.replace("\r\n", "\n") == "".join(each + "|" for each in formats)
    built(torch.full((1,), 4, dtype=torch.int32))


def test_values_of_printf(capfd):
    """Integers of all widths and signs are printed whole, in kernels and on the host."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: i64[3], y: u64[1], z: u32[1], b: i8[1], f: f16[1]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            printf("%d %ld %lld %i %5d|", x[0], x[1], x[2], x[0], z[0])
            printf("%d %u %x %d %zu|", y[0], y[0], y[0], z[0], z[0])
            printf("%d %hhu %x %c%c|", b[0], b[0], b[0], 65, b[0] + 67)
            printf("%s %6.2f %g %% %d%s|", "100%", f[0], f[0], threadIdx.x, "\n")

        @hidet.script
        def launch(n: i64, m: u32, f: f32):
            printf("%d %u %x %5.1f %s%%|", n, m, m, f, "é")
            return 0

    x = torch.tensor([2**62, -(2**62), 2**40])
    y = torch.tensor([2**64 - 1], dtype=torch.uint64)
    z = torch.tensor([2**32 - 1], dtype=torch.uint32)
    b, f = torch.tensor([-1], dtype=torch.int8), torch.tensor([1.5], dtype=torch.float16)
    built = module.build()
    built["kernel"](x, y, z, b, f)
    assert capfd.readouterr().out == (
        f"{2**62} {-(2**62)} {2**40} {2**62} {2**32 - 1}|"
        f"{2**64 - 1} {2**64 - 1} {2**64 - 1:x} {2**32 - 1} {2**32 - 1}|"
        "-1 255 ffffffff AB|100%   1.50 1.5 % 0\n|"
    )
    built(2**40, 2**32 - 1, 2.25)
    assert capfd.readouterr().out == f"{2**40} {2**32 - 1} ffffffff   2.2 é%|"


def test_under_torch_compile():
    """A kernel and parameters of any name are an operator of torch, and a kernel of a graph."""
    with hidet.script_module() as module:

        @hidet.script
        def größe(λ: f32[32], int: f32[32], new: f32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            int[threadIdx.x] = λ[threadIdx.x] * new

    built = module.build()

    @torch.compile(backend="hidet", fullgraph=True)
    def doubled(x):
        y = torch.empty_like(x)
        built["größe"](x.relu(), y, 2.0)
        return y + 1.0

    torch.manual_seed(0)
    x = torch.randn(32)
    torch.testing.assert_close(doubled(x), x.relu() * 2 + 1)
