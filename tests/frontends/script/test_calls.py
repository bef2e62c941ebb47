"""Calling built kernels: what is checked, how several kernels are told apart."""

import pytest
import torch

import hidet
from hidet.errors import DeviceMismatchError, HidetError, UnsupportedDtypeError
from hidet.lang import attrs, f16, f32, i32, u8
from hidet.lang.cuda import threadIdx


@pytest.fixture(scope="module")
def module():
    """Two kernels."""
    with hidet.script_module() as script_module:

        @hidet.script
        def scale(x: f32[4], y: ~f32, factor: f32, count: i32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 4
            i = threadIdx.x
            if i < count:
                y[i] = x[i] * factor

        @hidet.script
        def narrow(x: f16[4], a: f16, b: u8):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 4
            x[threadIdx.x] = a + b

        @hidet.script
        def nothing(x: f32[0]):
            attrs.cuda.grid_dim = 0
            attrs.cuda.block_dim = 32
            x[threadIdx.x] = 1.0

    return hidet.driver.build_ir_module(script_module.ir_module())


def test_kernels_by_name(module):
    """Several kernels are called by name; the short one takes short scalars."""
    x = torch.zeros(4, dtype=torch.float16)
    module["narrow"](x, 1.5, 200)
    assert torch.equal(x, torch.full_like(x, 201.5))
    assert "narrow(" in module.source()
    assert "scale(" not in module.narrow.source()
    module.nothing(torch.empty(0))
    with pytest.raises(HidetError, match="no function 'launch', but scale, narrow, nothing"):
        module(x)
    with pytest.raises(HidetError, match="the module has no function 'long'"):
        module["long"]
    with pytest.raises(AttributeError, match="no function 'long'"):
        _ = module.long


def test_views(module):
    """A tensor that starts inside another one is read and written there."""
    memory = torch.arange(11, dtype=torch.float32)
    out = torch.full((10,), -1.0)
    module.scale(memory[3:7], out[1:8], 2.0, 3)
    assert out.tolist() == [-1, 6, 8, 10, -1, -1, -1, -1, -1, -1]


X, Y = torch.ones(4), torch.ones(4)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((X, Y, 1.0), HidetError, "takes 4: x: f32[4], y: ~f32, factor: f32, count: i32"),
        ((X.half(), Y, 1.0, 1), UnsupportedDtypeError, "'x' of kernel 'scale' has data type"),
        ((X[:3], Y, 1.0, 1), HidetError, "'x' of kernel 'scale' has shape (3,), not (4,)"),
        ((torch.ones(8)[::2], Y, 1.0, 1), HidetError, "has strides (2,), but must be contiguous"),
        ((X, "y", 1.0, 1), HidetError, "'y' of kernel 'scale' is a str, not a tensor ~f32"),
        ((X, Y, "a", 1), HidetError, "'factor' of kernel 'scale' is 'a', not a number of type f32"),
        ((X, Y, X, 1), HidetError, "'factor' of kernel 'scale' is a Tensor, not a number of"),
        ((X, Y, 1.0, 1.5), HidetError, "'count' of kernel 'scale' is 1.5, not a number"),
        ((X, Y, 1.0, 1 << 31), HidetError, "which does not fit i32"),
        ((X, Y, 1e39, 8), HidetError, "which does not fit f32"),
        ((X, Y, 10**400, 8), HidetError, "which does not fit f32"),
        ((X, X, 1.0, 1), HidetError, "arguments 'x' and 'y' of kernel 'scale' share memory"),
        ((X, Y.to("meta"), 1.0, 1), DeviceMismatchError, "'y' of kernel 'scale' is on meta"),
    ],
)
def test_wrong_arguments(module, arguments, error, message):
    """A call with a mismatching argument names it."""
    with pytest.raises(error) as caught:
        module.scale(*arguments)
    assert message in str(caught.value)
    assert X.eq(1).all()
    assert Y.eq(1).all()


def test_compiled_once(module, monkeypatch):
    """The second call compiles nothing."""
    module.scale(X, torch.empty(4), 1.0, 4)
    monkeypatch.setattr("hidet.driver.script.build_kernels", None)
    out = torch.empty(4)
    module.scale(X, out, 3.0, 4)
    assert out.eq(3).all()
