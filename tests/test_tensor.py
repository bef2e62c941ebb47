"""Tensors with the names of the original Hidet."""

import pickle

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
    assert str(hidet.asarray([1.0]).dtype) == "hidet.float32"
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
    with pytest.raises(HidetError, match=r"a tensor of torch\.float8_e5m2"):
        hidet.from_torch(torch.zeros(2, dtype=torch.float8_e5m2))


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


X, Y = torch.randn(3, 4), torch.rand(3, 4) + 0.5
INTEGERS = torch.arange(12).reshape(3, 4), torch.arange(12).reshape(3, 4) % 5

OPERATORS = {
    "x + y": lambda x, y: x + y,
    "2 + x": lambda x, y: 2 + x,
    "x - y": lambda x, y: x - y,
    "2 - x": lambda x, y: 2 - x,
    "x * 3": lambda x, y: x * 3,
    "x / y": lambda x, y: x / y,
    "1 / y": lambda x, y: 1 / y,
    "x % y": lambda x, y: x % y,
    "y ** 2": lambda x, y: y**2,
    "x @ y.T": lambda x, y: x @ y.transpose(0, 1),
    "-x": lambda x, y: -x,
    "+x": lambda x, y: +x,
    "abs(x)": lambda x, y: abs(x),
    "comparisons": lambda x, y: (x < y) == (y > x),
    "x <= y": lambda x, y: (x <= y) != (x >= y),
}


@pytest.mark.parametrize("function", OPERATORS.values(), ids=OPERATORS)
@pytest.mark.sample(5)
def test_operators(function):
    """Python's operators compute what torch's do."""
    result = function(hidet.from_torch(X), hidet.from_torch(Y))
    torch.testing.assert_close(result.torch(), function(X, Y))


def test_operators_of_integers():
    x, y = INTEGERS
    for function in (lambda x, y: x & y, lambda x, y: x | y, lambda x, y: ~(x ^ y)):
        result = function(hidet.from_torch(x), hidet.from_torch(y))
        assert result.torch().equal(function(x, y))


@pytest.mark.parametrize(
    "key",
    [1, -1, slice(1, 3), (slice(None), 2), (None, 0, ..., slice(None, None, 2)), ..., ()],
    ids=repr,
)
def test_indexing(key):
    """Basic indices look at the same memory; of a symbol they are an operator."""
    found = hidet.from_torch(X)[key]
    assert found.torch().equal(X[key])
    assert found.torch().data_ptr() == X[key].data_ptr()
    symbol = hidet.symbol([3, 4])
    assert hidet.trace_from(symbol[key])(hidet.from_torch(X)).torch().equal(X[key])


def test_indexing_by_tensors():
    x, rows = hidet.from_torch(X), hidet.asarray([2, 0])
    assert x[rows].torch().equal(X[[2, 0]])
    assert x[:, rows].torch().equal(X[:, [2, 0]])


def test_methods():
    x = hidet.from_torch(X)
    results = {
        x.sum([0]): X.sum(0),
        x.mean(1, keep_dim=True): X.mean(1, keepdim=True),
        x.unsqueeze(0): X[None],
        x.unsqueeze(0).squeeze(0): X,
        x.astype("float16"): X.half(),
        x.expand(2, -1, 4): X.expand(2, 3, 4),
        x.masked_fill(x < 0, 0.0): X.clamp(min=0),
        x.rearrange([[1], [0]]): X.T,
        x.transpose(0, 1): X.T,
        x.view(shape=[12]): X.reshape(12),
        x.float(): X,
    }
    for result, wanted in results.items():
        torch.testing.assert_close(result.torch(), wanted)
    assert [row.tolist() for row in x] == X.tolist()
    assert (len(x), x.signature()) == (3, "float32[3, 4][cpu]")
    assert x.storage.data_ptr() == X.data_ptr()


def test_numbers():
    """A tensor of one element is a number."""
    assert (float(hidet.full([], 2.5)), int(hidet.full([1], 2))) == (2.5, 2)
    assert [5, 6, 7][hidet.asarray(1)] == 6
    assert bool(hidet.ones([1])) is True


def test_printing():
    """As numpy prints it, with two digits after the point."""
    x = hidet.asarray([[-0.891, 0.018, -0.7]])
    assert str(x) == "Tensor(shape=(1, 3), dtype='float32', device='cpu')\n[[-0.89  0.02 -0.7 ]]"
    assert str(hidet.ones([2], "bfloat16")).endswith("\n[1. 1.]")


def test_pickle_and_torch():
    """It goes to other processes, and functions of torch take it."""
    x = hidet.from_torch(X)
    assert pickle.loads(pickle.dumps(x)).torch().equal(X)
    assert torch.relu(x).equal(X.relu())
    assert hidet.from_dlpack(X).torch().equal(X)


def test_likes():
    x = hidet.from_torch(X)
    assert hidet.full_like(x, 2, dtype="int32").tolist() == [[2] * 4] * 3
    assert hidet.zeros_like(x, shape=[2]).shape == (2,)
    assert hidet.randn_like(x, mean=5.0, stddev=0.1).torch().mean() > 4
    assert hidet.linspace(0.0, 1.0, 3).tolist() == [0, 0.5, 1]
