"""The names of the original's `hidet.lang.cuda` and `hidet.ir.primitives.cuda`, one by one.

`primitives.txt` has them, with the names of their parameters.
"""

import importlib
import inspect
from pathlib import Path

import pytest

import hidet
from hidet.absent import ANY_MODULE, instead_of
from hidet.errors import MissingMemberError
from hidet.lang import attrs, cuda, f16, f32, i32, u32
from hidet.lang.cuda import threadIdx

LINES = Path(__file__).with_name("primitives.txt").read_text().splitlines()
ORIGINAL = {
    name: tuple(filter(None, parameters.removesuffix(")").split(", ")))
    for name, _, parameters in (line.partition("(") for line in LINES)
}


@pytest.mark.parametrize("name", ORIGINAL)
def test_name(name):
    """It is a function with the original's parameters, or the error says what to use."""
    primitives = importlib.import_module("hidet.ir.primitives.cuda")
    hint = instead_of(name, ANY_MODULE)
    if hint is not None:
        for module in (primitives, cuda):
            with pytest.raises(
                MissingMemberError, match=rf"{module.__name__} has no '{name}'"
            ) as e:
                getattr(module, name)
            assert e.value.hint == hint
        return
    function = getattr(primitives, name)
    assert function is getattr(cuda, name)
    signature = inspect.signature(function).parameters
    takes_any = any(each.kind is each.VAR_POSITIONAL for each in signature.values())
    assert takes_any or set(ORIGINAL[name]) <= set(signature)


def test_an_import_says_what_to_use():
    """The message of an import is that of the table."""
    with pytest.raises(ImportError, match=r"has no 'wmma_mma'\n  hint: mma_sync"):
        from hidet.ir.primitives.cuda import wmma_mma  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name 'warp'"):
        from hidet.lang.cuda import warp  # noqa: F401


def test_functions_win_over_modules():
    """`lop3` is a function of the package, and a module for who imports from it."""
    from hidet.ir.primitives.cuda import lop3, prmt, setmaxnreg, shfl
    from hidet.ir.primitives.cuda.lop3 import lop3 as from_module

    assert lop3 is from_module is cuda.lop3
    assert prmt is cuda.prmt
    assert setmaxnreg is cuda.setmaxnreg
    assert inspect.ismodule(shfl)


def test_arguments_of_the_original():
    """Keywords of the original are taken; mistakes.txt has those that are refused."""
    from hidet.ir.primitives.cuda import atomic_add, barrier_sync, cvt, lop3, prmt

    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[32], n: i32[1], w: u32[2]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            barrier_sync(1, count=32, aligned=True)
            x[threadIdx.x] = cvt(src=x[threadIdx.x], dtype=f16)
            lop3(~w[1], w[0], 0xF0, 0xFF, imm_lut=0xC0)
            lop3(d=~w[1], a=w[0], b=0xF0, c=w[1], imm_lut=0x96)
            prmt(~w[1], w[0], b=w[1], c=u32(0x3210))
            atomic_add(addr=~n[0], value=1, sem="relaxed", space="global")

    source = module.build().source()
    assert "hidet::barrier_sync<32>(1)" in source
    assert "hidet::lop3<0xc0>(w[0]," in source
    assert "hidet::lop3<0x96>(w[0], 240, w[1])" in source
    assert "hidet::prmt(w[0], w[1], 12816)" in source
