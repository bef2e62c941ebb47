"""A call, or several, of every ATen operator in the tables, for `test_operators.py`."""

from dataclasses import dataclass, field

import torch

from hidet.dialects import graph
from hidet.dialects.graph.elementwise import BinaryOp, BitwiseOp, UnaryOp
from hidet.frontends.torch.attention import GRADIENTS, WHOLE
from hidet.frontends.torch.decomposed.convolution import FILTER_GRADIENT
from hidet.frontends.torch.nodes import overloads_of
from hidet.frontends.torch.philox import RANDOM

aten = torch.ops.aten


@dataclass
class Case:
    """One call of an operator; tensors among the arguments are inputs of the program."""

    target: object
    arguments: tuple
    keywords: dict = field(default_factory=dict)
    results: tuple = (0,)

    def __str__(self):
        shown = ", ".join(self.show(argument) for argument in self.arguments)
        more = "".join(f", {name}={self.show(value)}" for name, value in self.keywords.items())
        return f"{self.target}({shown}{more})"

    @staticmethod
    def show(value):
        if isinstance(value, torch.Tensor):
            return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
        if isinstance(value, list) and value and isinstance(value[0], torch.Tensor):
            return f"[{', '.join(map(Case.show, value))}]"
        return str(value)


def case(target, *arguments, results=(0,), **keywords):
    return Case(target, arguments, keywords, results)


def floats(*shape, low=-2.0, high=2.0, dtype=torch.float64):
    return torch.empty(shape, dtype=torch.float64).uniform_(low, high).to(dtype)


def integers(*shape, low=-5, high=6, dtype=torch.int64):
    return torch.randint(low, high, shape, dtype=dtype)


def booleans(*shape):
    return torch.randint(0, 2, shape).bool()


def with_zeros(*shape):
    return integers(*shape, low=-1, high=2)


torch.manual_seed(20)
sdpa = torch.nn.functional.scaled_dot_product_attention
QKV = [floats(2, 3, 8, 16, dtype=torch.float16) for _ in range(3)]
MASK = floats(2, 3, 8, 8, dtype=torch.float16)
HEADS = [floats(2, 3, 5, 4) for _ in range(3)]
CAUSAL = torch.zeros(8, 8).masked_fill(~torch.ones(8, 8).bool().tril(), -torch.inf)
ROW = floats(4, dtype=torch.float32)
SPECIAL = torch.tensor([0.0, -0.0, 1.5, -2.5, torch.nan, torch.inf, -torch.inf]).double()

CASES = [
    # ---- one tensor
    *(
        case(target, floats(3, 4))
        for target in (
            aten.abs.default,
            aten.atan.default,
            aten.cos.default,
            aten.cosh.default,
            aten.erf.default,
            aten.erfc.default,
            aten.exp.default,
            aten.exp2.default,
            aten.expm1.default,
            aten.neg.default,
            aten.reciprocal.default,
            aten.relu.default,
            aten.sigmoid.default,
            aten.silu.default,
            aten.sin.default,
            aten.sinh.default,
            aten.asinh.default,
            aten.lgamma.default,
            aten.tan.default,
            aten.tanh.default,
            aten.ceil.default,
            aten.floor.default,
            aten.round.default,
            aten.trunc.default,
            aten.sign.default,
            aten.gelu.default,
            aten.alias.default,
            aten.clone.default,
            aten.detach.default,
            aten.lift_fresh_copy.default,
        )
    ),
    *(
        case(target, floats(3, 4, low=0.1))
        for target in (
            aten.log.default,
            aten.log10.default,
            aten.log1p.default,
            aten.log2.default,
            aten.rsqrt.default,
            aten.sqrt.default,
        )
    ),
    case(aten.acos.default, floats(5, low=-1, high=1)),
    case(aten.atanh.default, floats(5, low=-1, high=1)),
    case(aten.acosh.default, floats(5, low=1, high=9)),
    case(aten.hypot.default, floats(3, 4), floats(4)),
    case(aten.copysign.Tensor, floats(3, 4), floats(4)),
    case(aten.copysign.Scalar, floats(3, 4), -0.0),
    case(aten.nextafter.default, floats(3, 4), floats(4)),
    case(aten.asin.default, floats(5, low=-1, high=1)),
    case(aten.sin.default, integers(5)),
    case(aten.sigmoid.default, booleans(5)),
    case(aten.neg.default, integers(5, dtype=torch.int8)),
    case(aten.relu.default, SPECIAL),
    case(aten.floor.default, integers(5)),
    case(aten.sign.default, SPECIAL[[0, 2, 3, 5, 6]]),
    case(aten.sign.default, booleans(5)),
    case(aten.gelu.default, floats(5), approximate="tanh"),
    case(aten.isinf.default, SPECIAL),
    case(aten.isnan.default, SPECIAL),
    case(aten.isnan.default, integers(3)),
    case(aten.bitwise_not.default, integers(4)),
    case(aten.bitwise_not.default, booleans(4)),
    case(aten.logical_not.default, with_zeros(5)),
    case(aten.logical_not.default, SPECIAL),
    case(aten.clamp.default, floats(9), -1, 1),
    case(aten.clamp.default, SPECIAL, 0, 1),
    case(aten.clamp.default, floats(9), 1, -1),
    case(aten.clamp.default, booleans(3), 0.5, None),
    case(aten.clamp.default, floats(9), None, 0.5),
    case(aten.clamp.default, integers(9), -2, 2),
    case(aten.clamp.default, integers(9), -1.5),
    case(aten._to_copy.default, floats(3), dtype=torch.int32),
    case(aten._to_copy.default, SPECIAL, dtype=torch.bool),
    case(aten._to_copy.default, booleans(3), dtype=torch.float64),
    case(aten._to_copy.default, floats(3), dtype=torch.float64),
    case(torch.ops.prims.convert_element_type.default, floats(3), torch.int64),
    # ---- two tensors, or a tensor and a number
    *(
        case(target, *arguments)
        for target in (aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.div.Tensor)
        for arguments in (
            (floats(3, 4), floats(4)),
            (floats(3, 1), floats(3, 4)),
            (floats(3, 4), integers(4, low=1)),
            (integers(3, 4), integers(4, low=1, dtype=torch.int32)),
            (integers(3), floats()),
            (floats(0, 4), floats(4)),
        )
    ),
    case(aten.add.Tensor, booleans(9), booleans(9)),
    case(aten.mul.Tensor, booleans(9), booleans(9)),
    case(aten.mul.Tensor, booleans(9), floats(9)),
    case(aten.add.Tensor, floats(3), floats(3), alpha=2.5),
    case(aten.add.Tensor, integers(3), integers(3), alpha=2),
    case(aten.add.Tensor, floats(3), 2),
    case(aten.add.Scalar, floats(3), 2, 3),
    case(aten.sub.Tensor, floats(3), floats(3), alpha=-1),
    case(aten.sub.Scalar, floats(3), 0.5),
    case(aten.mul.Scalar, floats(3), 2),
    case(aten.mul.Scalar, integers(3), 3),
    case(aten.div.Scalar, floats(3), 3),
    *(
        case(target, left, right, rounding_mode=mode)
        for mode in (None, "floor", "trunc")
        for target, left, right in (
            (aten.div.Tensor_mode, floats(9), floats(9, low=0.5)),
            (aten.div.Tensor_mode, integers(9), torch.tensor([2, -2, 3, -3, 1, -1, 5, 7, -4])),
            (aten.div.Scalar_mode, floats(9), -0.75),
            (aten.div.Scalar_mode, integers(9), -2),
        )
    ),
    *(
        case(target, left, right)
        for target in (aten.fmod.Tensor, aten.remainder.Tensor)
        for left, right in (
            (floats(9), floats(9, low=0.5)),
            (integers(9), torch.tensor([2, -2, 3, -3, 1, -1, 5, 7, -4])),
        )
    ),
    case(aten.fmod.Scalar, floats(9), -0.7),
    case(aten.remainder.Scalar, floats(9), -0.7),
    case(aten.remainder.Scalar_Tensor, 5, integers(5, low=1)),
    case(aten.maximum.default, SPECIAL, floats(7)),
    case(aten.minimum.default, SPECIAL, floats(7)),
    case(aten.maximum.default, integers(4), integers(1, dtype=torch.int32)),
    case(aten.pow.Tensor_Tensor, floats(4, low=0.1), floats(4)),
    case(aten.pow.Tensor_Scalar, floats(4), 2),
    case(aten.pow.Tensor_Scalar, integers(4), 3),
    case(aten.pow.Tensor_Scalar, integers(4, low=1), 0.5),
    case(aten.pow.Scalar, 2, floats(4)),
    *(
        case(getattr(getattr(aten, name), form), *arguments)
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
        for form, arguments in (
            ("Tensor", (integers(9), integers(9))),
            ("Tensor", (booleans(9), booleans(9))),
            ("Scalar", (integers(9), 3)),
        )
    ),
    *(
        case(getattr(getattr(aten, name), form), *arguments)
        for names in (("bitwise_left_shift", "__lshift__"), ("bitwise_right_shift", "__rshift__"))
        for name, forms in zip(
            names, (("Tensor_Scalar", "Scalar_Tensor"), ("Scalar",)), strict=True
        )
        for form, arguments in (
            ("Tensor", (integers(9), torch.tensor([0, 1, 3, 31, 62, 63, 64, 99, -1]))),
            ("Tensor", (integers(9, dtype=torch.int8), integers(9, dtype=torch.int8))),
            *((f, (7, integers(9)) if f == "Scalar_Tensor" else (integers(9), 2)) for f in forms),
        )
    ),
    case(aten.floor_divide.default, integers(9), torch.tensor([2, -2, 3, -3, 1, -1, 5, 7, -4])),
    case(aten.floor_divide.default, floats(9), floats(9, low=0.5)),
    case(aten.floor_divide.Scalar, floats(9), -0.75),
    *(
        case(getattr(getattr(aten, name), form), *arguments)
        for name in ("eq", "ge", "gt", "le", "lt", "ne")
        for form, arguments in (
            ("Tensor", (with_zeros(3, 4), with_zeros(4))),
            ("Tensor", (SPECIAL, SPECIAL.flip(0))),
            ("Tensor", (with_zeros(9), floats(9))),
            ("Tensor", (with_zeros(9), torch.tensor(0.5))),
            ("Scalar", (with_zeros(9), 0)),
            ("Scalar", (with_zeros(9), 0.5)),
            ("Scalar", (booleans(9), 1)),
        )
    ),
    *(
        case(target, left, right)
        for target in (
            aten.logical_and.default,
            aten.logical_or.default,
            aten.logical_xor.default,
        )
        for left, right in ((with_zeros(9), with_zeros(9)), (booleans(9), floats(9).round()))
    ),
    case(aten.where.self, booleans(3, 1), floats(3, 4), floats(4)),
    case(aten.where.self, booleans(4), integers(4), floats()),
    case(aten.clamp.Tensor, floats(9), floats(9, high=0), floats(9, low=0)),
    case(aten.clamp.Tensor, floats(9), None, floats(1)),
    # ---- shapes
    case(aten.view.default, floats(3, 4), [2, -1]),
    case(aten.view.dtype, floats(3, 4), torch.int64),
    case(aten._unsafe_view.default, floats(3, 4), [4, 3]),
    case(aten.squeeze.dims, floats(1, 3, 1), [0, 1]),
    case(aten.unsqueeze.default, floats(3), -1),
    case(aten.permute.default, floats(2, 3, 4), [-1, 0, 1]),
    case(aten.expand.default, floats(3, 1), [2, -1, 4]),
    case(aten.slice.Tensor, floats(6, 5), 0, 1, 9223372036854775807, 2),
    case(aten.slice.Tensor, floats(6, 5), -1, -3, -1),
    case(aten.slice.Tensor, floats(6, 5), 1, 4, 2),
    case(aten.select.int, floats(3, 4), -1, -2),
    case(aten.split_with_sizes.default, floats(6, 2), [1, 3, 2], results=(0, 1, 2)),
    case(aten.cat.default, [floats(2, 3), floats(2, 4), floats(2, 0)], -1),
    case(aten.cat.default, [floats(2, 3), torch.empty(0, dtype=torch.float64)], 1),
    case(aten.cat.default, [floats(2), integers(2)]),
    case(aten.constant_pad_nd.default, floats(3, 4), [1, 2], 0.5),
    case(aten.constant_pad_nd.default, floats(3, 4), [1, -2, -1, 0]),
    case(aten.constant_pad_nd.default, integers(3, 4), [0, 1], 7),
    case(aten.flip.default, floats(3, 4), [-1, 0]),
    case(aten.repeat.default, floats(3, 4), [2, 1, 3]),
    case(aten.unfold.default, floats(2, 7), 1, 3, 2),
    case(aten.unfold.default, floats(5, 2), 0, 2, 1),
    case(aten.diagonal.default, floats(3, 4)),
    case(aten.diagonal.default, floats(2, 4, 3), -1, -2, -1),
    case(aten.diagonal.default, floats(3, 2, 4), 1, 0, 2),
    case(aten.as_strided.default, floats(12), [3, 2], [1, 4], 2),
    case(aten.as_strided.default, floats(3, 4), [2, 5], [1, 2]),
    case(aten.copy.default, floats(3, 4), integers(4)),
    case(aten.index_put.default, floats(2, 3, 4, 5), [None, None, torch.tensor([3, 0])], floats(5)),
    case(
        aten.index_put.default,
        floats(2, 3, 4, 5),
        [torch.tensor([[1], [0]]), None, torch.tensor([3, 0])],
        floats(2, 2, 3, 5),
    ),
    # ---- look-ups
    case(aten.embedding.default, floats(7, 3), integers(2, 4, low=0, high=7)),
    case(aten.embedding.default, floats(7, 3), integers(5, low=0, high=7, dtype=torch.int32), 0),
    # ---- writes at positions
    case(
        aten.index_put.default,
        floats(4, 5, 6),
        [integers(3, low=-4, high=4), None, integers(2, 1, low=0, high=6)],
        floats(2, 3, 5),
        True,
    ),
    case(aten.index_put.default, floats(4, 5), [None, torch.tensor([3, 0, -1])], floats(4, 3)),
    case(aten._unsafe_index_put.default, floats(4, 5), [torch.tensor([3, 0])], floats(5)),
    case(aten.index_put.default, floats(2, 3, 4), [None, booleans(3)], floats(1)),
    case(aten.index_put.default, floats(2, 3, 4), [booleans(2, 3)], floats()),
    case(aten.index_put.default, floats(2, 3, 4), [booleans(2)], floats(3, 4)),
    case(aten.scatter.src, floats(3, 5), 1, torch.tensor([[3, 0], [1, 4]]), floats(3, 2)),
    case(aten.scatter.value, floats(3, 5), 0, integers(1, 5, low=0, high=3), 2.5),
    case(aten.scatter.value, floats(), 0, torch.tensor(0), 2.5),
    case(aten.scatter_add.default, floats(3, 5), -1, integers(2, 9, low=0, high=5), floats(2, 9)),
    case(
        aten.scatter_add.default,
        integers(5, dtype=torch.int8),
        0,
        integers(4, low=0, high=5),
        integers(4, dtype=torch.int8),
    ),
    case(aten.put.default, floats(3, 5), torch.tensor([[-1, 4], [0, 7]]), floats(2, 2)),
    case(aten.index_select.default, floats(3, 4), 1, integers(6, low=0, high=4)),
    case(aten.index_select.default, floats(), 0, integers(1, low=0, high=1)),
    case(aten.gather.default, floats(3, 4), 1, integers(3, 2, low=0, high=4)),
    case(aten.gather.default, floats(5), 0, integers(2, 0, low=0, high=4)),
    case(aten.gather.default, floats(), 0, integers(1, low=0, high=1)),
    case(aten.index.Tensor, floats(6), [integers(3, low=-6, high=6)]),
    case(aten.index.Tensor, floats(3, 6, 2), [None, integers(2, 5, low=-6, high=6)]),
    case(
        aten.index.Tensor,
        floats(2, 4, 5, 3),
        [None, integers(6, 1, low=-4, high=4), integers(1, 7, low=-5, high=5)],
    ),
    case(
        aten.index.Tensor,
        floats(4, 2, 5),
        [integers(3, low=-4, high=4), None, integers(3, low=-5, high=5, dtype=torch.int32)],
    ),
    case(aten._unsafe_index.Tensor, floats(3, 6), [None, integers(4, low=0, high=6)]),
    # ---- tensors made of nothing
    case(aten.full.default, [2, 3], 1.5, dtype=torch.float64),
    case(aten.full.default, [2], True),
    case(aten.full_like.default, integers(3), 7),
    case(aten.scalar_tensor.default, -torch.inf, dtype=torch.float64),
    case(aten.empty.memory_format, [0, 3], dtype=torch.float64),
    case(aten.new_empty_strided.default, floats(2), [0, 3], [3, 1]),
    case(aten.empty_strided.default, [0, 3], [3, 1], dtype=torch.float64),
    case(aten.empty_permuted.default, [0, 3], [0, 1], dtype=torch.float64),
    case(aten.arange.start_step, 1, 10, 3),
    case(aten.arange.start_step, 0.5, 2.0, 0.25, dtype=torch.float64),
    case(aten.arange.start_step, 5, 0, -1),
    case(RANDOM, integers(3, 2, dtype=torch.int32), 2, [4, 5], "uniform", torch.float64),
    case(RANDOM, integers(3, 2, dtype=torch.int32), 0, [7], "bits", torch.int64),
    # ---- reductions
    *(
        case(target, floats(2, 3, 4), *arguments)
        for target in (aten.sum.dim_IntList, aten.mean.dim, aten.amax.default, aten.amin.default)
        for arguments in (([0],), ([-1, 0], True), ([],))
    ),
    case(aten.sum.default, floats(2, 3)),
    case(aten.sum.dim_IntList, integers(2, 3, dtype=torch.int32), [1]),
    case(aten.sum.dim_IntList, booleans(2, 3), [1]),
    case(aten.sum.dim_IntList, floats(2, 0), [1]),
    case(aten.sum.dim_IntList, floats(), [0]),
    case(aten.mean.default, floats(2, 3)),
    case(aten.mean.dim, floats(3), None),
    case(aten.prod.default, floats(2, 3)),
    case(aten.prod.dim_int, integers(2, 3), 1, True),
    case(aten.max.default, floats(2, 3)),
    case(aten.min.default, integers(2, 3)),
    case(aten.max.default, booleans(2, 3)),
    case(aten.amax.default, booleans(4, 3), [1]),
    case(aten.amin.default, booleans(4, 3), [0]),
    *(
        case(target, with_zeros(4, 2), *arguments)
        for name in ("any", "all")
        for target, arguments in (
            (getattr(aten, name).default, ()),
            (getattr(aten, name).dim, (1, True)),
            (getattr(aten, name).dims, ([0, 1],)),
        )
    ),
    case(aten.var.correction, floats(2, 3, 4), [1]),
    case(aten.var.correction, floats(2, 3, 4), None, correction=0, keepdim=True),
    case(aten.var_mean.correction, floats(2, 3, 4), [0, 2], correction=0, results=(0, 1)),
    # ---- products
    case(aten.mm.default, floats(3, 4), floats(4, 5)),
    case(aten.bmm.default, floats(2, 3, 4), floats(2, 4, 5)),
    case(
        aten._grouped_mm.default,
        integers(9, 8, low=-2, high=3, dtype=torch.bfloat16),  # whose sums are exact
        integers(3, 8, 16, low=-2, high=3, dtype=torch.bfloat16),
        torch.tensor([4, 4, 9], dtype=torch.int32),
    ),
    case(aten.addmm.default, floats(5), floats(3, 4), floats(4, 5)),
    case(aten.addmm.default, floats(3, 5), floats(3, 4), floats(4, 5), beta=2, alpha=0.5),
    case(aten.addmm.default, floats(3, 5), floats(3, 4), floats(4, 5), beta=0),
    case(aten.linear.default, floats(2, 3, 4), floats(5, 4), floats(5)),
    case(aten.linear.default, floats(3, 4), floats(5, 4)),
    case(
        aten.convolution.default,
        floats(2, 4, 7, 6),
        floats(6, 2, 3, 2),
        floats(6),
        [2, 1],
        [1, 0],
        [1, 2],
        False,
        [0, 0],
        2,
    ),
    case(
        aten.convolution.default,
        floats(2, 3, 9),
        floats(4, 3, 3),
        None,
        [2],
        [1],
        [1],
        False,
        [0],
        1,
    ),
    case(
        FILTER_GRADIENT,
        floats(2, 4, 7, 6),
        floats(2, 6, 4, 4),
        [3, 2],
        [2, 1],
        [1, 0],
        [1, 2],
        2,
    ),
    case(FILTER_GRADIENT, floats(2, 4, 9), floats(2, 4, 5), [3], [2], [1], [1], 4),
    case(
        aten._scaled_dot_product_flash_attention_for_cpu.default,
        floats(2, 3, 5, 4),
        floats(2, 3, 5, 4),
        floats(2, 3, 5, 4),
        0.0,
        True,
    ),
    case(
        aten._scaled_dot_product_flash_attention_for_cpu.default,
        floats(2, 3, 5, 4),
        floats(2, 3, 6, 4),
        floats(2, 3, 6, 4),
        attn_mask=floats(2, 1, 5, 6),
        scale=0.3,
    ),
    case(
        WHOLE,
        floats(2, 4, 5, 4),
        floats(2, 2, 6, 4),
        floats(2, 2, 6, 3),
        booleans(5, 6),
        False,
        0.3,
    ),
    case(
        GRADIENTS,
        *HEADS,
        None,
        True,
        0.3,
        sdpa(*HEADS, is_causal=True, scale=0.3),
        floats(2, 3, 5, 4),
        results=(0, 1, 2),
    ),
    # ---- statistics
    case(aten._softmax.default, floats(2, 3, 4), 1, False),
    case(aten._log_softmax.default, floats(2, 3, 4), -1, False),
    case(aten._softmax.default, floats(), 0, False),
    case(aten.native_layer_norm.default, floats(2, 3, 4), [3, 4], floats(3, 4), floats(3, 4), 1e-5),
    case(aten.native_layer_norm.default, floats(2, 4), [4], None, None, 1e-3),
    case(aten.native_layer_norm.default, floats(2, 4), [4], None, floats(4), 1e-3),
    case(
        aten.native_layer_norm.default, floats(2, 4), [4], floats(4), None, 1e-3, results=(0, 1, 2)
    ),
    case(aten.native_group_norm.default, floats(2, 6, 5), floats(6), floats(6), 2, 6, 5, 3, 1e-5),
    case(
        aten._native_batch_norm_legit_no_training.default,
        floats(2, 3, 4),
        floats(3),
        floats(3),
        floats(3),
        floats(3, low=0.5),
        0.1,
        1e-3,
    ),
    case(
        aten._native_batch_norm_legit_no_training.default,
        floats(2, 3, 4, 5),
        None,
        None,
        floats(3),
        floats(3, low=0.5),
        0.1,
        1e-5,
    ),
    case(
        aten._native_batch_norm_legit_no_training.default,
        *(floats(2, 3, 4), floats(3), None, floats(3), floats(3, low=0.5), 0.1, 1e-5),
        results=(0, 1, 2),
    ),
    # ---- pooling
    case(aten.max_pool2d_with_indices.default, floats(2, 3, 8, 7), [3, 2], [2, 2], [1, 0]),
    case(aten.max_pool2d_with_indices.default, floats(3, 8, 7), [2]),
    case(
        aten.max_pool2d_with_indices.default,
        floats(2, 3, 8, 7),
        [3, 2],
        [2, 2],
        [1, 0],
        [1, 2],
        True,
        results=(0, 1),
    ),
    case(aten.max_pool2d_with_indices.default, floats(2, 3, 8, 7), [2], [3], [1], [2], True),
    case(aten.avg_pool2d.default, floats(2, 3, 8, 7), [3, 2], [2, 1], [1, 1], True, False, 4),
    case(aten.avg_pool2d.default, floats(2, 3, 8, 7), [3], [], [1]),
    case(aten.avg_pool2d.default, floats(3, 8, 7), [2], [2], [0], False, True, 3),
]

# There is no code for these on a CPU, so there is nothing to compare with but what they mean.


def element_case(op, target):
    """A case of a function of the elements, where all functions are defined."""

    def operand():
        return integers(3, 4) if issubclass(op, BitwiseOp) else floats(3, 4, low=0.1, high=0.9)

    types = [str(argument.type) for argument in target._schema.arguments]
    return case(target, *(operand() if each == "Tensor" else 3 for each in types))


LISTED = {example.target for example in CASES}
CASES += [
    element_case(op, target)
    for op in graph.Graph.operations
    if issubclass(op, UnaryOp | BinaryOp)
    for target in overloads_of(op.name, len(op.get_irdl_definition().operands))
    if target not in LISTED
]

GPU_CASES = [
    case(aten._scaled_dot_product_flash_attention.default, *QKV, 0.0, True, scale=0.3),
    case(aten._scaled_dot_product_efficient_attention.default, *QKV, MASK, False),
    case(aten._scaled_dot_product_cudnn_attention.default, *QKV, MASK, False, 0.0, True),
    case(aten._fused_rms_norm.default, floats(3, 4, dtype=torch.float32), [4], ROW, 1e-3),
    case(aten._fused_rms_norm.default, floats(3, 4, dtype=torch.float32), [3, 4], None, None),
    case(aten.native_layer_norm.default, floats(3, 4, dtype=torch.float16), [4], ROW, ROW, 1e-5),
]
GPU_REFERENCES = [
    lambda q, k, v: sdpa(q, k, v, is_causal=True, scale=0.3),
    lambda q, k, v, mask: sdpa(q, k, v, attn_mask=mask),
    lambda q, k, v, mask: sdpa(q, k, v, attn_mask=mask + CAUSAL),
    lambda x, weight: torch.nn.functional.rms_norm(x, [4], weight, 1e-3),
    lambda x: torch.nn.functional.rms_norm(x, [3, 4], eps=torch.finfo(torch.float32).eps),
    lambda x, weight, bias: torch.nn.functional.layer_norm(x, [4], weight, bias),
]
