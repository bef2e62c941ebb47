"""The pass `decompose-graph`: decomposes composite operators."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, bf16, f16, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from hidet.arch.chips import Arch
from hidet.dialects import graph
from hidet.dialects.graph.base import (
    computation_type,
    element_type,
    is_float,
    python_number,
    shape_of,
)
from hidet.dialects.graph.contraction import sum_type
from hidet.dialects.graph.elementwise import BinaryOp
from hidet.dialects.graph.shape import is_argument
from hidet.lowering.graph.attention import ATTENTION
from hidet.lowering.graph.filter_gradient import decompose_filter_gradient
from hidet.lowering.graph.graph_builder import GraphBuilder
from hidet.lowering.graph.memory_order import is_read_transposed, reads_columns
from hidet.lowering.graph.norms import SOFTMAX_AND_NORMS
from hidet.lowering.graph.pointwise import decompose_pointwise, has_channels_first_only
from hidet.lowering.graph.reductions import SPLIT, split_reduction, split_variance
from hidet.lowering.graph.windows import FILTERS_LAST, RUN, are_small, matrix_of_windows
from hidet.lowering.single_walk import Rule, apply_rules

# ----------------------------------------------------------------------------- matmuls


LARGE = 512
"""The rows, columns and depth of a matmul from which operands are packed for tensor cores."""

ROW_ALIGNMENT: dict[Attribute, int] = {f16: 8, bf16: 8, f32: 4}
"""The elements in 16 bytes, to which TMA needs rows aligned (CUDA driver API,
cuTensorMapEncodeTiled)."""


def decompose_matmul(b: GraphBuilder, op: graph.MatmulOp, arch: Arch) -> SSAValue | None:
    """A matmul of f16 or bf16 is accumulated in f32 and cast, so that epilogues use f32.

    Large operands of TF32 are packed along K: tensor cores transpose 16-bit elements only. If
    columns are adjacent in memory, or what reads the result transposes it, the transposed product
    is computed, so that the result's columns are adjacent.
    """
    element, lhs, rhs = op.result_type.element_type, op.lhs, op.rhs
    is_swapped = reads_columns(op) or is_read_transposed(op.result)
    if is_swapped:
        lhs, rhs = b.transposed(rhs), b.transposed(lhs)
    if op.precision.data == "tf32" and is_large(lhs, rhs):
        lhs, rhs = packed_along(b, lhs, -1), packed_along(b, rhs, -2)
    lhs, rhs = aligned(b, lhs, rhs, op.precision, arch)
    if sum_type(element, op.precision) == element and (lhs, rhs) == (op.lhs, op.rhs):
        return None
    product = b.cast(b.matmul(lhs, rhs, op.precision), element)
    return b.transposed(product) if is_swapped else product


def decompose_grouped_matmul(b: GraphBuilder, op: graph.GroupedMatmulOp) -> SSAValue | None:
    """A grouped matmul of f16 or bf16 is accumulated in f32 and cast."""
    element = op.result_type.element_type
    if (total := sum_type(element, op.precision)) == element:
        return None
    product = graph.GroupedMatmulOp(*op.operands, precision=op.precision, result_element=total)
    return b.cast(b.emit(product), element)


def is_large(lhs: SSAValue, rhs: SSAValue) -> bool:
    """Return whether packing operands costs little beside their matmul."""
    return min(*shape_of(lhs)[-2:], *shape_of(rhs)[-1:]) >= LARGE


def aligned(
    b: GraphBuilder, lhs: SSAValue, rhs: SSAValue, precision: StringAttr, arch: Arch
) -> tuple[SSAValue, SSAValue]:
    """Return operands of a large matmul on tensor cores with rows that TMA can load."""
    on_tensor_cores = precision.data == "tf32" or element_type(lhs) in (f16, bf16)
    if on_tensor_cores and precision.data != "fma" and not arch.is_cpu and is_large(lhs, rhs):
        return with_aligned_rows(b, lhs), with_aligned_rows(b, rhs)
    return lhs, rhs


def with_aligned_rows(b: GraphBuilder, x: SSAValue) -> SSAValue:
    """Return a tensor whose rows in memory are aligned for TMA: a slice of a padded copy."""
    owner, shape = x.owner, shape_of(x)
    if isinstance(owner, graph.AsStridedOp):
        return x
    if isinstance(owner, graph.PermuteOp):
        inner = with_aligned_rows(b, owner.x)
        return x if inner is owner.x else b.emit(graph.PermuteOp(inner, owner.dims.get_values()))
    missing = -shape[-1] % ROW_ALIGNMENT[element_type(x)]
    if not missing:
        return x
    pack = padded_before(x, missing)
    if pack is None:
        none = [0] * len(shape)
        pad = graph.PadOp(x, none, [*none[1:], missing])
        start, after = InsertPoint.at_start, InsertPoint.after
        b.insert(pad, start(owner) if isinstance(owner, Block) else after(owner))
        pack = b.insert(graph.PackOp(pad.result, range(len(shape))), InsertPoint.after(pad)).result
    return b.narrow(pack, -1, 0, shape[-1])


def padded_before(x: SSAValue, missing: int) -> SSAValue | None:
    """Return the copy of a tensor with padded rows that another operand has already."""
    *sizes, row = shape_of(x)
    for pad in (use.operation for use in x.uses):
        if isinstance(pad, graph.PadOp) and shape_of(pad.result) == (*sizes, row + missing):
            for pack in (use.operation for use in pad.result.uses):
                if isinstance(pack, graph.PackOp) and not any(pad.low.get_values()):
                    return pack.result
    return None


def packed_along(b: GraphBuilder, x: SSAValue, dim: int) -> SSAValue:
    """Return matrices in memory contiguous along a dimension, -1 or -2."""
    last, owner = len(shape_of(x)) - 1, x.owner
    if isinstance(owner, graph.PermuteOp):
        is_contiguous = owner.dims.get_values()[dim] == last
    elif isinstance(owner, graph.AsStridedOp):
        is_contiguous = owner.strides.get_values()[dim] == 1
    else:
        is_contiguous = dim == -1
    return x if is_contiguous else b.packed(x, [*range(last - 1), last, last - 1])


def decompose_linear(b: GraphBuilder, op: graph.LinearOp, arch: Arch) -> SSAValue:
    """A matrix of x [..., I], times the transposed weight, plus bias.

    If columns of x are adjacent in memory, it is the weight times them, so that the result's are.
    """
    *leading, inputs = shape_of(op.x)
    is_swapped, bias = reads_columns(op), op.bias
    if is_swapped:
        operands = op.weight, b.transposed(op.x)
    else:
        operands = b.reshape(op.x, [prod(leading), inputs]), b.transposed(op.weight)
    total = b.matmul(*aligned(b, *operands, op.precision, arch), op.precision)
    if bias is not None:
        bias = b.cast(bias, element_type(total))
        bias = b.reshape(bias, [*shape_of(bias), 1]) if is_swapped else bias
        total = b.emit(graph.AddOp(total, bias))
    result = b.cast(total, element_type(op.x))
    return b.transposed(result) if is_swapped else b.reshape(result, op.result_type.get_shape())


def decompose_conv2d(b: GraphBuilder, op: graph.Conv2dOp) -> SSAValue:
    """A matmul of windows and filters in the accumulator type, then bias and cast.

    Filters are packed, and images if that pays. One of small groups stays a convolution.
    """
    x, weight, element = op.x, op.weight, op.result_type.element_type
    groups, precision = op.groups.value.data, op.precision.data
    filters, depth, *kernel = shape_of(weight)
    is_small = are_small(groups, depth, filters // groups)
    if (prod(kernel) > 1 or is_small) and not reads_planes(op):
        missing = -depth % RUN if groups == 1 else 0
        x, weight = padded_channels(b, x, missing), padded_channels(b, weight, missing)
        if missing or ((depth > 1 or has_many_taps(op)) and has_channels_first(op.x)):
            x = b.packed(x, [0, 2, 3, 1])
        weight = (
            b.packed(weight, FILTERS_LAST) if is_small else packed_filters(b, weight, precision)
        )
    if is_small:
        total = convolution_of_groups(b, op, x, weight)
    else:
        windows = b.emit(graph.WindowsOp(x, 0, op.window))
        total = product_of_windows(b, windows, weight, groups, op.precision)
    total = b.reshape(total, op.result_type.get_shape())
    if op.bias is not None:
        bias = b.reshape(b.cast(op.bias, element_type(total)), [shape_of(op.bias)[0], 1, 1])
        total = b.emit(graph.AddOp(total, bias))
    return b.cast(total, element)


MANY_TAPS, MANY_PIXELS = 16, 1 << 20
"""The taps and the elements of the result from which a depthwise convolution is worth it to bring
the channels of an argument last, and those of the result back."""


def has_many_taps(op: graph.Conv2dOp) -> bool:
    """Return whether filters and result of a convolution have many elements."""
    size = prod(op.result_type.get_shape())
    return prod(op.window.kernel) >= MANY_TAPS and size >= MANY_PIXELS


VIEWS = graph.AsStridedOp, graph.PadOp, graph.PermuteOp, graph.ReshapeOp, graph.SliceOp


def has_channels_first(x: SSAValue) -> bool:
    """Return whether images are an argument, or views of one, without contiguous channels."""
    owner = x.owner
    if isinstance(owner, graph.PermuteOp) and owner.dims.get_values()[1] == len(shape_of(x)) - 1:
        return False
    if isinstance(owner, graph.AsStridedOp) and owner.strides.get_values()[1] == 1:
        return False
    while isinstance(owner, VIEWS):
        owner = owner.x.owner
    return isinstance(owner, Block)


def reads_planes(op: graph.Conv2dOp) -> bool:
    """Return whether a depthwise convolution has few taps of an argument, as it comes."""
    is_depthwise = op.groups.value.data > 1 and shape_of(op.weight)[1] == 1
    return is_depthwise and is_argument(op.x) and not has_many_taps(op)


def convolution_of_groups(
    b: GraphBuilder, op: graph.Conv2dOp, x: SSAValue, weight: SSAValue
) -> SSAValue:
    """Return the convolution of other operands without a bias, in the accumulator type.

    Images are padded, and their channels last. A depthwise one of few taps of an argument, whose
    channels are not last, is left to `lower-graph-to-compute`.
    """
    window, element = op.window, sum_type(op.result_type.element_type, op.precision)
    stride, dilation, groups = window.stride, window.dilation, op.groups.value.data
    if reads_planes(op):
        return b.emit(
            graph.Conv2dOp(
                x,
                weight,
                stride=stride,
                padding=window.padding,
                dilation=dilation,
                groups=groups,
                precision=op.precision.data,
                result_element=element,
            )
        )
    images = b.padded_images(x, window.padding)
    filters = b.permute(weight, FILTERS_LAST)
    total = b.emit(
        graph.GroupedConv2dOp(
            images, filters, stride=stride, dilation=dilation, result_element=element
        )
    )
    total.name_hint = "conv"
    return b.permute(total, [0, 3, 1, 2])


def product_of_windows(
    b: GraphBuilder, windows: SSAValue, weight: SSAValue, groups: int, precision: StringAttr
) -> SSAValue:
    """Return the matmul of windows [g, N OH OW, K] and filters [g, K, O / g] as [N, g, O, OH, OW].

    The dimension of groups is absent for one group.
    """
    images, _, *positions, height, width = shape_of(windows)
    filters, depth = shape_of(weight)[0] // groups, shape_of(weight)[1]
    batch = [groups] if groups > 1 else []
    n = len(batch)
    first = range(n)
    lhs = matrix_of_windows(b, windows, groups)
    rhs = b.reshape(weight, [*batch, filters, depth, height, width])
    rhs = b.permute(rhs, [*first, n + 2, n + 3, n + 1, n])
    rhs = b.reshape(rhs, [*batch, height * width * depth, filters])
    product = b.matmul(lhs, rhs, precision)
    product.name_hint = "conv"
    product = b.reshape(product, [*batch, images, *positions, filters])
    return b.permute(product, [n, *first, n + 3, n + 1, n + 2])


def padded_channels(b: GraphBuilder, x: SSAValue, missing: int) -> SSAValue:
    """Return images or filters padded with `missing` zero channels."""
    return b.emit(graph.PadOp(x, [0] * 4, [0, missing, 0, 0])) if missing else x


def packed_filters(b: GraphBuilder, weight: SSAValue, precision: str) -> SSAValue:
    """Return filters [O, C, KH, KW] in the memory layout of a matmul operand [K, O].

    Filters in torch's `channels_last` format, which are contiguous along K, are not copied.
    """
    owner = weight.owner
    if isinstance(owner, graph.AsStridedOp) and owner.strides.get_values()[1] == 1:
        return weight
    along_k = precision == "tf32" or (precision != "fma" and _is_best_along_k(weight))
    return b.packed(weight, [0, 2, 3, 1] if along_k else [2, 3, 1, 0])


def _is_best_along_k(weight: SSAValue) -> bool:
    """Return whether tensor cores are faster if filters are contiguous along K.

    Then tiles of any width have long rows: UNets of 320 to 1280 channels were 8% faster, Inception,
    with 48 and 80 channels, 10%. But if tiles are whole cache lines anyway, VGG-16 was 5% slower,
    DenseNet-121 3%, and with a few channels ConvNeXt 4% (H100).
    """
    filters, channels = shape_of(weight)[:2]
    has_whole_lines = channels % 32 == 0 and filters.bit_count() == 1
    is_aligned = channels % 8 == 0 and element_type(weight) in (f16, bf16)
    return is_aligned and not has_whole_lines


# ----------------------------------------------------------------------------- powers


def decompose_pow(b: GraphBuilder, op: BinaryOp, arch: Arch) -> SSAValue | None:
    """Powers with a small constant exponent become multiplications and roots, as in torch.

    Roots of -inf and -0.0 differ from powers, so torch's choice matters: it uses roots if the
    exponent is a scalar, but on the CPU not for f16.
    """
    exponent = op.rhs.owner
    if not isinstance(exponent, graph.FillOp) or shape_of(op.lhs) != op.result_type.get_shape():
        return None
    element = element_type(op.lhs)
    has_roots = shape_of(op.rhs) == () and not (arch.is_cpu and element == f16)
    x = b.cast(op.lhs, computation_type(element))
    power = power_of(b, x, float(python_number(exponent.value)), has_roots=has_roots)
    return None if power is None else b.cast(power, element)


def power_of(b: GraphBuilder, x: SSAValue, exponent: float, *, has_roots: bool) -> SSAValue | None:
    """Return a power of x without logarithms, None if that is not possible."""
    if exponent in (2, 3):
        square = b.emit(graph.MulOp(x, x))
        return square if exponent == 2 else b.emit(graph.MulOp(square, x))
    if not is_float(element_type(x)):
        return None
    if exponent in (-1, -2):
        return b.emit(graph.ReciprocalOp(x if exponent == -1 else b.emit(graph.MulOp(x, x))))
    roots = {0.5: graph.SqrtOp, -0.5: graph.RsqrtOp} if has_roots else {}
    return b.emit(roots[exponent](x)) if exponent in roots else None


DECOMPOSITIONS: dict[type[Operation], Rule[GraphBuilder]] = {
    graph.Conv2dOp: decompose_conv2d,
    graph.GroupedMatmulOp: decompose_grouped_matmul,
    graph.VarOp: split_variance,
    **{kind: split_reduction for kind in SPLIT},
}
"""The decomposition of each operator. Its result is not decomposed again."""

DECOMPOSITIONS_FOR_ARCH: dict[type[Operation], Callable[..., SSAValue | None]] = {
    graph.Conv2dFilterGradientOp: decompose_filter_gradient,
    graph.LinearOp: decompose_linear,
    graph.MatmulOp: decompose_matmul,
    graph.PowOp: decompose_pow,
    **ATTENTION,
}
"""Decompositions that depend on the target."""


@dataclass(frozen=True)
class DecomposeGraphPass(ModulePass):
    """Decompose composite operators into a small set that the lowerings support.

    linear, softmax, layer_norm and rms_norm are decomposed, and attention and its gradients
    unless a template computes them in one kernel. Weights times columns that are adjacent in memory
    are transposed matmuls. conv2d becomes a matmul of windows, unless its groups are small; neither
    has a bias. In programs that keep channels first, one of single pixels is a batch of matmuls.
    matmul, grouped_matmul and conv2d accumulate in f32 for f16 and bf16,
    followed by a cast, so that ops fused with them use f32. Large operands of matmuls with rows
    that TMA cannot load are copied into aligned ones. Filters of conv2d are packed, as are images
    with few channels (padded with zeros) and channels-first inputs. Gradients of filters are
    matmuls over all pixels, or sums of parts. Reductions of a few long rows
    are split in two. Computation on weights alone is kept separate, for `hoist-constants`.
    """

    name = "decompose-graph"

    arch: str = "sm_90a"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Decompose all functions of a module."""
        arch = Arch.parse(self.arch)
        for_arch = {
            kind: partial(rule, arch=arch) for kind, rule in DECOMPOSITIONS_FOR_ARCH.items()
        }
        if has_channels_first_only(op):
            apply_rules(op.body, GraphBuilder, {graph.Conv2dOp: decompose_pointwise})
        apply_rules(op.body, GraphBuilder, DECOMPOSITIONS | for_arch)
        apply_rules(op.body, GraphBuilder, SOFTMAX_AND_NORMS)
