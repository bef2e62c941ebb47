"""A reference for programs of the graph dialect: each operation by torch, with what it means."""

import importlib.util
import math
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from attention_reference import masked_scores
from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType

from hidet.dialects import graph
from hidet.dialects.graph.attention import AttentionOp
from hidet.dialects.graph.base import python_number
from hidet.dialects.host_functions import PACKED_INPUTS, PACKED_OUTPUTS, packing_of, updates_of
from hidet.frontends.torch import program
from hidet.frontends.torch.dtypes import ELEMENTS
from hidet.frontends.torch.philox import RANDOM
from hidet.runtime.tensors import in_memory
from hidet.runtime.times import CompileTimes
from hidet.testing.numeric import poison


@torch.library.custom_op("hidet_tests::left", mutates_args=())
def left(x: torch.Tensor) -> torch.Tensor:
    """An operator that stays with eager torch."""
    return x.sin()


left.register_fake(torch.empty_like)

DTYPES = {element: dtype for dtype, element in ELEMENTS.items()}
MODELS = Path(__file__).parents[3] / "examples" / "models"


def dtype_of(type_: TensorType) -> torch.dtype:
    """Give the data type for a type of a tensor."""
    return DTYPES[type_.element_type]


def fill(op: graph.FillOp) -> torch.Tensor:
    found = op.result.type
    return torch.full(found.get_shape(), python_number(op.value), dtype=dtype_of(found))


def iota(op: graph.IotaOp) -> torch.Tensor:
    found = op.result.type
    dim = op.dim.value.data
    shape = found.get_shape()
    steps = torch.arange(shape[dim], dtype=torch.int64).to(dtype_of(found))
    values = python_number(op.start) + python_number(op.step) * steps
    return values.reshape([-1 if i == dim else 1 for i in range(len(shape))]).expand(shape)


def random(op: graph.RandomOp, seeds: torch.Tensor) -> torch.Tensor:
    found = op.result.type
    number, distribution = op.number.value.data, op.distribution.data
    return RANDOM(seeds, number, found.get_shape(), distribution, dtype_of(found))


def slice_(op: graph.SliceOp, x: torch.Tensor) -> torch.Tensor:
    bounds = zip(*(p.get_values() for p in (op.starts, op.stops, op.steps)), strict=True)
    for dim, bound in enumerate(bounds):
        x = x.index_select(dim, torch.arange(*bound) if range(*bound) else torch.arange(0))
    return x


def pad(op: graph.PadOp, x: torch.Tensor) -> torch.Tensor:
    found = op.result.type
    result = torch.full(found.get_shape(), python_number(op.value), dtype=x.dtype)
    low = op.low.get_values()
    result[tuple(slice(a, a + n) for a, n in zip(low, x.shape, strict=True))] = x
    return result


def reduction(function, **keywords):
    def run(op, x):
        axes = op.axes.get_values()
        return function(x, axes, bool(op.keepdims)) if axes else function(x[None], [0], False)

    return run


def product(x, axes, keepdims):
    for axis in sorted(axes, reverse=True):
        x = x.prod(axis, keepdim=keepdims)
    return x


def variance(op: graph.VarOp, x: torch.Tensor) -> torch.Tensor:
    axes = op.axes.get_values()
    correction = op.correction.value.data
    return torch.var(x, axes, keepdim=bool(op.keepdims), correction=correction)


def convolution(function):
    def run(op, x, weight, bias=None):
        w = op.window
        return function(x, weight, bias, w.stride, w.padding, w.dilation, op.groups.value.data)

    return run


def scale_of(op: AttentionOp) -> float:
    scale = op.scale
    return op.matrices[0].type.get_shape()[-1] ** -0.5 if scale is None else scale.value.data


def scores(op: AttentionOp, q, k, mask=None) -> torch.Tensor:
    return masked_scores(q, k, mask, scale_of(op), bool(op.causal))


def attention(op: graph.ScaledDotProductAttentionOp, q, k, v, mask=None) -> torch.Tensor:
    return scores(op, q, k, mask).softmax(-1) @ v


def logsumexp(op: graph.AttentionLogsumexpOp, q, k, mask=None) -> torch.Tensor:
    return scores(op, q, k, mask).logsumexp(-1, keepdim=True)


def query_gradient(op: AttentionOp, q, k, v, g, ends, delta, mask=None) -> torch.Tensor:
    weights = (scores(op, q, k, mask) - ends).exp()
    return weights * (g @ v.transpose(-1, -2) - delta) @ k * scale_of(op)


def key_value_gradients(op: AttentionOp, q, k, v, g, ends, delta, mask=None) -> torch.Tensor:
    weights = (scores(op, q, k, mask) - ends).exp()
    slopes = weights * (g @ v.transpose(-1, -2) - delta) * scale_of(op)
    return torch.stack([slopes.transpose(-1, -2) @ q, weights.transpose(-1, -2) @ g])


def grouped_matmul(op: graph.GroupedMatmulOp, x, w, ends) -> torch.Tensor:
    y = x.new_zeros(op.result.type.get_shape())
    for matrix, (begin, end) in zip(w, pairwise([0, *ends.tolist()]), strict=True):
        y[begin:end] = x[begin:end] @ matrix
    return y


def windows(op: graph.WindowsOp, x: torch.Tensor) -> torch.Tensor:
    w, counts = op.window, op.result.type.get_shape()[-4:-2]
    spans = [(kernel - 1) * step + 1 for kernel, step in zip(w.kernel, w.dilation, strict=True)]
    pads: list[int] = []
    for n in (1, 0):  # behind, as far as the last window
        end = (counts[n] - 1) * w.stride[n] + spans[n]
        pads += [w.padding[n], end - w.padding[n] - x.shape[n - 2]]
    x = F.pad(x, pads, value=python_number(op.outside))
    x = x.unfold(-2, spans[0], w.stride[0]).unfold(-2, spans[1], w.stride[1])
    return x[..., :: w.dilation[0], :: w.dilation[1]]


def trailing(op, x: torch.Tensor) -> tuple[int, ...]:
    return tuple(x.shape[x.dim() - op.normalized_rank.value.data :])


def checked_positions(op: graph.CheckedPositionsOp, x: torch.Tensor) -> torch.Tensor:
    size = op.size.value.data
    positions = x if op.from_end is None else torch.where(x < 0, x + size, x)
    assert bool(((positions >= 0) & (positions < size)).all())
    return positions


def checked_divisor(op: graph.CheckedDivisorOp, x: torch.Tensor) -> torch.Tensor:
    assert bool((x != 0).all())
    return x


def resampled(op: graph.ResampleOp, x: torch.Tensor) -> torch.Tensor:
    numbers = {name: value.value.data for name, value in op.properties.items()}
    places = torch.arange(numbers["size"]) * numbers["step"] + numbers["offset"]
    places = (places // numbers["repeat"]).clamp(numbers["low"], numbers["high"])
    return x.index_select(numbers["axis"], places)


def scatter(op: graph.ScatterOp, x, positions, source) -> torch.Tensor:
    rows = x.reshape(-1, source.shape[1])
    return rows.index_put((positions,), source, accumulate=bool(op.accumulate)).reshape(x.shape)


def filter_gradient(op, x, grad):
    window = op.window
    how = window.stride, window.padding, window.dilation, op.groups.value.data
    return torch.nn.grad.conv2d_weight(x, op.result.type.get_shape(), grad, *how)


F = torch.nn.functional
SPECIAL = {
    graph.FillOp: fill,
    graph.IotaOp: iota,
    graph.RandomOp: random,
    graph.SiluOp: lambda op, x: F.silu(x),
    graph.GeluOp: lambda op, x: F.gelu(x, approximate=op.approximate.data),
    graph.CastOp: lambda op, x: x.to(dtype_of(op.result.type)),
    graph.BitcastOp: lambda op, x: x.view(dtype_of(op.result.type)),
    graph.ReshapeOp: lambda op, x: x.reshape(op.result.type.get_shape()),
    graph.PermuteOp: lambda op, x: x.permute(op.dims.get_values()),
    graph.ExpandOp: lambda op, x: x.expand(op.result.type.get_shape()),
    graph.SliceOp: slice_,
    graph.ResampleOp: resampled,
    graph.AsStridedOp: lambda op, x: x.clone().as_strided(
        op.result.type.get_shape(), op.strides.get_values(), op.offset.value.data
    ),
    graph.ConcatOp: lambda op, *parts: torch.cat(parts, op.axis.value.data),
    graph.PadOp: pad,
    graph.CheckedPositionsOp: checked_positions,
    graph.CheckedDivisorOp: checked_divisor,
    graph.GatherOp: lambda op, x, ids: x.gather(op.axis.value.data, ids.long()),
    graph.ScatterOp: scatter,
    graph.SumOp: reduction(lambda x, axes, keep: x.sum(axes, keep, dtype=x.dtype)),
    graph.MeanOp: reduction(torch.mean),
    graph.ProdOp: reduction(product),
    graph.MaxOp: reduction(torch.amax),
    graph.MinOp: reduction(torch.amin),
    graph.VarOp: variance,
    graph.MatmulOp: lambda op, a, b: a @ b,
    graph.GroupedMatmulOp: grouped_matmul,
    graph.LinearOp: lambda op, x, w, b=None: F.linear(x, w, b),
    graph.Conv2dOp: convolution(F.conv2d),
    graph.Conv2dFilterGradientOp: filter_gradient,
    graph.ScaledDotProductAttentionOp: attention,
    graph.AttentionLogsumexpOp: logsumexp,
    graph.AttentionQueryGradientOp: query_gradient,
    graph.AttentionKeyValueGradientsOp: key_value_gradients,
    graph.SoftmaxOp: lambda op, x: x.softmax(op.axis.value.data),
    graph.LogSoftmaxOp: lambda op, x: x.log_softmax(op.axis.value.data),
    graph.LayerNormOp: lambda op, x: F.layer_norm(x, trailing(op, x), eps=op.eps.value.data),
    graph.RmsNormOp: lambda op, x: F.rms_norm(x, trailing(op, x), eps=op.eps.value.data),
    graph.WindowsOp: windows,
}


def evaluate_op(op: graph.GraphOp, operands: list[torch.Tensor]) -> torch.Tensor:
    """Compute one operation, and check the type that it says it gives."""
    special = SPECIAL.get(type(op))
    if special is None:
        # It means what the operator of ATen of its name means.
        assert not op.properties, f"say in SPECIAL of this file what {op.name} means"
        result = getattr(torch.ops.aten, op.name.removeprefix("graph."))(*operands)
    else:
        result = special(op, *operands)
    assert tuple(result.shape) == op.result.type.get_shape(), op
    assert result.dtype is dtype_of(op.result.type), op
    return result


def evaluate_module(module, inputs, constants) -> list[torch.Tensor]:
    """Run a program; inputs and constants must be of the types that it declares."""
    (entry,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    block = entry.body.block
    values = {}
    for argument, tensor in zip(block.args, unpacked(entry, inputs), strict=True):
        check_input(argument.type, tensor)
        values[argument] = in_memory(tensor)
    for op in block.ops:
        if isinstance(op, func.ReturnOp):
            # A compiled program hands out new contiguous tensors.
            results = [values[operand] for operand in op.operands]
            new = [poison(torch.empty(result.shape, dtype=result.dtype)) for result in results]
            new = [tensor.copy_(result) for tensor, result in zip(new, results, strict=True)]
            written = updates_of(entry)
            for argument, number in written:
                values[argument].copy_(new[number])
            return packed(entry, new[: len(new) - len(written)])
        if isinstance(op, graph.ConstantOp):
            tensor = constants[op.key.data]
            check_input(op.result.type, tensor)
            values[op.result] = in_memory(tensor)
        else:
            values[op.result] = evaluate_op(op, [values[operand] for operand in op.operands])
    raise AssertionError("the program returns nothing")


def unpacked(entry, inputs):
    """Return the inputs of a program, taken out of the tensor that holds the last ones."""
    bounds = packing_of(entry, PACKED_INPUTS)
    if not bounds:
        return inputs
    *own, whole = inputs
    assert whole.dtype is torch.int8
    assert len(whole) == bounds[-1]
    types = [argument.type for argument in entry.body.block.args[len(own) :]]
    return [*own, *(part(whole, *each) for each in zip(bounds, types, strict=False))]


def packed(entry, outputs):
    """Return the outputs of a program, the last of which may be put into one tensor."""
    bounds = packing_of(entry, PACKED_OUTPUTS)
    if not bounds:
        return outputs
    own = len(outputs) - len(bounds) + 1
    whole = torch.full((bounds[-1],), 0x7F, dtype=torch.int8)
    types = entry.function_type.outputs.data[own : len(outputs)]
    for start, kind, tensor in zip(bounds, types, outputs[own:], strict=False):
        part(whole, start, kind).copy_(tensor)
    return [*outputs[:own], whole]


def part(whole, start, kind):
    """Return the tensor of a type that lies at an offset."""
    dtype, shape = dtype_of(kind), kind.get_shape()
    return whole[start : start + math.prod(shape) * dtype.itemsize].view(dtype).view(shape)


def check_input(type_, tensor):
    """Check what a program is given: its elements in memory may be those of another shape."""
    assert in_memory(tensor).shape == type_.get_shape()
    assert tensor.dtype is dtype_of(type_)


class ReferenceProgram:
    """A program in the place of a compiled one."""

    def __init__(self, module):
        self.module = module
        self.constant_names = [
            op.key.data for op in module.walk() if isinstance(op, graph.ConstantOp)
        ]
        self.calls = 0
        self.report = CompileTimes()

    def lay_out(self, outputs, *, inputs, constants):
        return frozenset()

    def prepare_in_calls(self):
        """Remember that; it computes all in every call anyway."""
        self.is_prepared_in_calls = True

    def run(self, inputs, constants):
        self.calls += 1
        inputs = [x.view(torch.int8) if x.dtype is torch.uint8 else x for x in inputs]
        named = dict(zip(self.constant_names, constants, strict=True))
        return evaluate_module(self.module, inputs, named)


@pytest.fixture
def programs(monkeypatch, reference):
    """Run programs by the reference instead of compiling them; gives all that were made."""
    made = []

    def compile_module(imported, settings):
        imported.module.verify()
        made.append(reference(imported.module))
        return made[-1]

    monkeypatch.setattr(program, "compile_module", compile_module)
    torch._dynamo.reset()
    return made


@pytest.fixture
def reference():
    """Give the class of programs that the reference runs; they are imported anew, not stored."""
    with torch._functorch.config.patch(enable_autograd_cache=False):
        yield ReferenceProgram


@pytest.fixture
def evaluate():
    """Give the function that runs a module."""
    return evaluate_module


@pytest.fixture(scope="session")
def models():
    """Give the modules of `examples/models` by name."""

    def load(name):
        spec = importlib.util.spec_from_file_location(name, MODELS / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
