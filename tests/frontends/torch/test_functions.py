"""Functions through torch.compile as a whole, with the reference in the place of compiled programs.

Values, types, strides and shared storage must be those of eager torch, with nothing left to it.
"""

import pytest
import torch
from torch.nn import functional as F

from hidet.frontends.torch.backend import hidet_backend
from hidet.testing.numeric import assert_close


def floats(*shape, dtype=torch.float64):
    return torch.randn(shape, dtype=torch.float64).to(dtype)


def image(*shape):
    return floats(*shape).to(memory_format=torch.channels_last)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(3)


def compile_strictly(function):
    return torch.compile(function, backend=hidet_backend, options={"fallback": False})


def assert_same(actual, expected):
    """Compare what a compiled and an eager function return."""
    assert type(actual) is type(expected)
    if isinstance(expected, tuple | list):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, torch.Tensor):
        assert actual.dtype is expected.dtype
        assert actual.stride() == expected.stride()
        reference = expected.double() if expected.dtype.is_floating_point else expected
        low_precision = actual.dtype in (torch.float16, torch.bfloat16)
        assert_close(actual, reference, 1e-2 if low_precision else 1e-9)
    else:
        assert actual == expected


def views_of_one(x):
    z = x * 2
    return z, z, z.t(), z[1:], z[:, ::2], z.view(-1)


def masked_attention(x):
    mask = torch.ones(x.shape[-2], x.shape[-2]).tril().bool()
    return F.scaled_dot_product_attention(x, x, x, attn_mask=mask)


def activations(x):
    return (
        F.hardswish(x) + F.mish(x) + F.softplus(x) + F.elu(x) + F.leaky_relu(x) + F.relu6(x),
        F.hardsigmoid(x) + F.silu(x) + F.gelu(x) + F.logsigmoid(x) + F.hardtanh(x) + F.selu(x),
    )


FUNCTIONS = {
    # ---- strides of inputs
    "transposed input": (lambda x: x * 2, floats(3, 4).t()),
    "transposed and plain input": (lambda x, y: x + y, floats(3, 4).t(), floats(4, 3)),
    "every second column": (lambda x: x * 2, floats(3, 4)[:, ::2]),
    "inner columns": (lambda x: x * 2, floats(3, 4)[:, 1:3]),
    "expanded input": (lambda x: x * 2, floats(1, 4).expand(7, 4)),
    "channels last input": (lambda x: x * 2, image(2, 3, 4, 5)),
    "convolution of channels last": (lambda x: F.conv2d(x, x[:, :, :2, :2]), image(2, 3, 4, 5)),
    "reduced transposed input": (lambda x: x.sum(0), floats(3, 4).t()),
    "empty input": (lambda x: x + 1, floats(0, 4)),
    # ---- strides and storage of outputs
    "view of an input": (lambda x: x.t(), floats(3, 4)),
    "reshaped input": (lambda x: (x.view(-1), x.view(2, 6) + 1), floats(3, 4)),
    "part of an input with an offset": (lambda x: x[1:, 2], floats(3, 4)[:, 1:]),
    "transposed output": (lambda x: (x + 1).t(), floats(3, 4)),
    "output with gaps": (lambda x: (x + 1)[:, 1::2], floats(3, 4)),
    "expanded output": (lambda x: (x + 1).expand(5, 3, 4), floats(3, 4)),
    "overlapping output": (lambda x: (x + 1).unfold(1, 2, 1), floats(3, 4)),
    "channels last output": (
        lambda x: x.contiguous(memory_format=torch.channels_last) * 2,
        floats(2, 3, 4, 5),
    ),
    "views of one intermediate": (views_of_one, floats(3, 4)),
    "chunks of a transposed tensor that overlap": (
        lambda x: (x + 1).transpose(0, 1).as_strided((3, 2, 4), (1, 6, 3)),
        floats(6, 3),
    ),
    "storage of a transposed input": (lambda x: x.as_strided((2, 5), (1, 2)) + 1, floats(3, 4).t()),
    "split": (lambda x: (x + 1).chunk(3, 1), floats(3, 4)),
    "the input": (lambda x: (x, x + 1), floats(3, 4)),
    "copy of the input": (lambda x: x.clone(), floats(3, 4)),
    "copy of a transposed input": (lambda x: x.clone(), floats(3, 4).t()),
    "one output twice": (lambda x: (x + 1,) * 2, floats(3, 4)),
    "no tensor": (lambda x: (None, 3, x + 1), floats(3, 4)),
    "empty output": (lambda x: (x[:0] + 1, torch.zeros(0, 3)), floats(3, 4)),
    "scalar output": (lambda x: x.sum(), floats(3, 4)),
    # ---- tensors that the function holds
    "table": (lambda x: torch.tensor([1.0, 2.0, 3.0]), floats(3)),
    "table in use": (lambda x: x * torch.tensor([1.0, 2.0, 3.0]), floats(3)),
    "scalar": (lambda x: torch.tensor(2.0) * x, floats(3)),
    "scalars alone": (lambda x: torch.tensor(2.0) * 3, floats(3)),
    "range": (lambda x: x + torch.arange(4), floats(3, 4)),
    # ---- mutation
    "input changed in place": (lambda x: x.add_(1), floats(3, 4)),
    "part of an input changed": (lambda x: (x[0].add_(1), x.sum())[1], floats(3, 4)),
    "intermediate changed": (lambda x: (x * 2).add_(1).relu_(), floats(3, 4)),
    "part of an intermediate changed": (lambda x: (x * 1).select(0, 1).mul_(2), floats(3, 4)),
    # ---- types
    "to half and back": (lambda x: (x.half() * 2).float(), floats(3, 4)),
    "bfloat16": (lambda x: x.bfloat16() + 1, floats(3, 4)),
    "count": (lambda x: (x > 0).sum(), floats(3, 4)),
    "integer and float": (lambda x: x.long() * 0.5 + (x > 0), floats(3, 4)),
    "scalar promotion": (lambda x: x.float() * torch.tensor(2.0, dtype=torch.float64), floats(3)),
    # ---- operators that torch takes apart
    "matmul": (lambda x: x @ x.transpose(-1, -2), floats(2, 3, 4, 5)),
    "matmul by a matrix": (lambda x, y: x @ y, floats(2, 3, 4), floats(4, 5)),
    "matmul by a vector": (lambda x: torch.mv(x, x[0]) + torch.dot(x[0], x[1]), floats(3, 3)),
    "baddbmm": (lambda x: torch.baddbmm(x, x, x, alpha=2), floats(2, 3, 3)),
    "einsum": (lambda x: torch.einsum("bij,bkj->ikb", x, x), floats(2, 3, 4)),
    "einsum of two letters": (
        lambda x, y: torch.einsum("ind,hnd->ih", x.transpose(0, 1), y),
        floats(4, 8, 16),
        floats(6, 4, 16),
    ),
    "linear": (lambda x, w, b: F.linear(x, w, b), floats(2, 3, 4), floats(5, 4), floats(5)),
    "attention": (lambda x: F.scaled_dot_product_attention(x, x, x), floats(2, 3, 8, 4)),
    "causal attention": (
        lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True, scale=0.1),
        floats(2, 3, 8, 4),
    ),
    "attention with a mask": (masked_attention, floats(2, 3, 8, 4)),
    "grouped attention": (
        lambda x: F.scaled_dot_product_attention(x, x[:, :1], x[:, :1], enable_gqa=True),
        floats(2, 3, 8, 4),
    ),
    "attention of matrices": (lambda x: F.scaled_dot_product_attention(x, x, x), floats(8, 4)),
    "rms norm": (lambda x: F.rms_norm(x, (4,), x[0]), floats(3, 4)),
    "group and instance norm": (
        lambda x: F.group_norm(x, 2) + F.instance_norm(x),
        floats(2, 4, 5, 5),
    ),
    "batch norm of training": (
        lambda x: F.batch_norm(x, None, None, training=True),
        floats(4, 3, 5),
    ),
    "activations": (activations, floats(3, 4)),
    "statistics": (
        lambda x: (x.std(0), x.norm(dim=0), torch.logsumexp(x, 0), x.amax(1), x.max(1)[0]),
        floats(3, 4),
    ),
    "powers": (lambda x: x.pow(2) + x.abs().pow(0.5) + 2**x + x.square(), floats(3, 4)),
    "masked fill": (lambda x: x.masked_fill(x > 0, -torch.inf), floats(3, 4)),
    "where": (lambda x: torch.where(x > 0, x, 0.0), floats(3, 4)),
    "triangle": (lambda x: x.roll(1, 0).tril().flip(0), floats(4, 4)),
    "stack and unbind": (lambda x: torch.stack([x, x + 1], 1).unbind(1), floats(3, 4)),
    "repeat": (lambda x: x.repeat(2, 3) + x.tile(2, 3), floats(3, 4)),
    "advanced index": (lambda x: x[torch.tensor([0, -1]), torch.tensor([1, 3])], floats(3, 4)),
    "index of each dimension": (
        lambda x: x[:, torch.tensor([[2], [0], [-1]]), torch.tensor([1, 3])],
        floats(2, 3, 4),
    ),
    "reflecting padding": (lambda x: F.pad(x, (1, 1), mode="reflect"), floats(1, 3, 4)),
    "pixel shuffle": (lambda x: F.pixel_shuffle(x, 2), floats(1, 4, 3, 3)),
    "nearest": (lambda x: F.interpolate(x, scale_factor=2), floats(1, 2, 3, 4)),
    "bilinear": (lambda x: F.interpolate(x, size=(5, 7), mode="bilinear"), floats(1, 2, 3, 4)),
    "pooling": (
        lambda x: (F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, (3, 2))),
        floats(2, 7, 5),
    ),
    "convolution of one image": (lambda x: F.conv2d(x, x[None, :, :3, :3]), floats(3, 8, 8)),
    "convolution of a line": (lambda x: F.conv1d(x, x[:, :, :3], padding="same"), floats(3, 3, 8)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.sample(37)
def test_function(name, programs):
    """A compiled function does what the function does."""
    function, *arguments = FUNCTIONS[name]
    copies = [argument.clone() if argument.is_contiguous() else argument for argument in arguments]
    with torch.no_grad():
        actual = compile_strictly(function)(*copies)
        eager = [
            argument.clone() if argument.is_contiguous() else argument for argument in arguments
        ]
        assert_same(actual, function(*eager))
    assert_same(copies, eager)


@pytest.mark.parametrize("name", ["linear", "causal attention", "views of one intermediate"])
def test_function_in_inference_mode(name, programs):
    """Operators arrive in another way in inference mode, with the same result."""
    function, *arguments = FUNCTIONS[name]
    with torch.inference_mode():
        assert_same(compile_strictly(function)(*arguments), function(*arguments))


@pytest.mark.parametrize("name", ["view of an input", "the input", "views of one intermediate"])
def test_shared_storage(name, programs):
    """Outputs share storage with inputs and with each other as in eager torch."""
    function, x = FUNCTIONS[name]

    def sharing(results):
        tensors = [x, *(results if isinstance(results, tuple) else (results,))]
        return [
            [a.untyped_storage()._cdata == b.untyped_storage()._cdata for a in tensors]
            for b in tensors
        ]

    with torch.no_grad():
        assert sharing(compile_strictly(function)(x)) == sharing(function(x))


def test_nothing_to_compute(programs):
    """A graph of views alone needs no program."""
    with torch.no_grad():
        compile_strictly(lambda x: (x.t(), x[0]))(floats(3, 4))
    assert programs == []


def test_results_are_new(programs):
    """Every call returns tensors of its own, also of tables."""
    function = compile_strictly(lambda x: (x + 1, torch.tensor([1.0, 2.0])))
    x = floats(3)
    with torch.no_grad():
        first, table = function(x)
        first.zero_()
        table.zero_()
        assert_same(function(x), (x + 1, torch.tensor([1.0, 2.0])))
