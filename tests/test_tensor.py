"""Tensors with the names of the original Hidet."""

import numpy as np
import pytest
import torch

import hidet
from hidet.errors import HidetError
from hidet.lang import attrs
from hidet.lang.cuda import threadIdx


def test_makers():
    """Each makes what its name says, in float32 on the CPU unless told otherwise."""
    assert hidet.zeros([2, 3]).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert hidet.ones([2], dtype=hidet.int32).torch().equal(torch.ones(2, dtype=torch.int32))
    assert hidet.full([2], 4.5, "float16").torch().equal(torch.full((2,), 4.5).half())
    assert hidet.arange(3).tolist() == [0, 1, 2]
    assert hidet.arange(1, 7, 2, dtype="float32").torch().dtype is torch.float32
    assert hidet.asarray([[1.0, 2.0]]).shape == (1, 2)
    assert hidet.asarray(np.ones((2, 2)), dtype="f32").dtype is hidet.float32
    assert hidet.empty([3, 4], dtype="bool").shape == (3, 4)
    numbers = hidet.randint(3, shape=[100]).torch()
    assert (numbers.dtype, int(numbers.min()), int(numbers.max())) == (torch.int32, 0, 2)
    normal = hidet.randn([1000], mean=10.0, stddev=0.1).torch()
    assert 9 < float(normal.min()) < float(normal.max()) < 11
    x = hidet.randn([3], dtype=torch.float64)
    for like in (hidet.zeros_like(x), hidet.ones_like(x), hidet.empty_like(x)):
        assert (like.shape, like.dtype) == ((3,), hidet.float64)


def test_properties():
    data = torch.arange(6).reshape(2, 3)
    x = hidet.from_torch(data)
    assert (x.shape, x.dtype, x.size, x.nbytes) == ((2, 3), hidet.int64, 6, 48)
    assert x.device == torch.device("cpu")
    assert str(x).startswith("Tensor(shape=(2, 3), dtype='int64', device='cpu')\n[[0 1 2]")


def test_conversions():
    """Memory is shared, unless a conversion needs memory of its own."""
    data = torch.arange(6).reshape(2, 3)
    x = hidet.from_torch(data)
    assert x.torch() is data
    assert hidet.asarray(x).torch() is data
    x.numpy()[0, 0] = 7
    assert data[0, 0] == 7
    assert torch.from_dlpack(x).data_ptr() == data.data_ptr()
    assert x.cpu().torch().data_ptr() == data.data_ptr()
    assert x.copy().torch().data_ptr() != data.data_ptr()
    assert x.to("float32").dtype is hidet.float32
    assert x.reshape([6]).tolist() == [7, 1, 2, 3, 4, 5]
    assert hidet.from_torch(data.T).contiguous().torch().is_contiguous()
    assert hidet.full([], 3.0).item() == 3.0
    with pytest.raises(HidetError, match=r"a tensor of torch\.complex64"):
        hidet.from_torch(torch.zeros(2, dtype=torch.complex64))


def test_a_script_takes_them():
    """A built module takes tensors of both kinds in one call."""
    with hidet.script_module() as module:

        @hidet.script
        def scale(x: hidet.float32[8], y: hidet.float32[8], factor: hidet.float32):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 8
            y[threadIdx.x] = x[threadIdx.x] * factor

    x, y = hidet.randn([8]), torch.empty(8)
    module.build()(x, y, 3.0)
    torch.testing.assert_close(y, x.torch() * 3)


@pytest.mark.gpu
def test_on_a_gpu():
    x = hidet.randn([4], device="cuda")
    assert x.device.type == "cuda"
    assert x.cpu().cuda().torch().equal(x.torch())
