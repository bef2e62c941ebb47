"""The graph dialect: shapes agree with torch's, text round-trips, mistakes are named."""

from collections.abc import Callable, Sequence
from io import StringIO

import pytest
from xdsl.context import Context
from xdsl.dialects import test
from xdsl.dialects.builtin import Builtin, ModuleOp, TensorType, f16, f32, i1, i16, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from hidet.dialects import graph
from hidet.dialects.graph.base import shape_of
from hidet.dialects.graph.contraction import Window
from hidet.dialects.graph.elementwise import BinaryOp, BitwiseOp, ComparisonOp, UnaryOp


def value(shape: Sequence[int], element: Attribute = f32) -> SSAValue:
    """A tensor made by an operation that knows nothing of the graph dialect."""
    return test.TestOp(result_types=[TensorType(element, shape)]).results[0]


Build = Callable[[], graph.GraphOp]

# Every operation of the dialect at least once: how it is built, and the shape it must have.


def operands():
    """Give query, key, value, gradient, logsumexp and delta of attention."""
    sizes = ([2, 5, 8], [2, 6, 8], [2, 6, 8], [2, 5, 8], [2, 5, 1], [2, 5, 1])
    return [value(size) for size in sizes]


EXAMPLES: list[tuple[Build, tuple[int, ...]]] = [
    (lambda: graph.ConstantOp("p0", result=TensorType(f32, [2, 3])), (2, 3)),
    (lambda: graph.FillOp(1.5, TensorType(f32, [])), ()),
    (lambda: graph.FillOp(float("-inf"), TensorType(f16, [2, 0])), (2, 0)),
    (lambda: graph.FillOp(True, TensorType(i1, [2])), (2,)),
    (lambda: graph.IotaOp(TensorType(i64, [4]), start=1, step=2), (4,)),
    (lambda: graph.IotaOp(TensorType(f16, [2, 4]), dim=-1, step=0.1), (2, 4)),
    (
        lambda: graph.RandomOp(value([3, 2], i32), 2, "normal", result=TensorType(f32, [2, 3])),
        (2, 3),
    ),
    (lambda: graph.GeluOp(value([2]), "tanh"), (2,)),
    (lambda: graph.BitwiseNotOp(value([2], i1)), (2,)),
    (lambda: graph.CheckedDivisorOp(value([2], i64), "aten.remainder"), (2,)),
    (lambda: graph.CheckedPositionsOp(value([2], i64), 8, True, "aten.gather"), (2,)),
    (lambda: graph.CastOp(value([2]), i64), (2,)),
    (lambda: graph.BitcastOp(value([2], f16), i16), (2,)),
    (lambda: graph.WhereOp(value([3, 1], i1), value([1, 4]), value([])), (3, 4)),
    (lambda: graph.ReshapeOp(value([6, 4]), [2, 12]), (2, 12)),
    (lambda: graph.ReshapeOp(value([1]), []), ()),
    (lambda: graph.PermuteOp(value([2, 3, 4]), [2, 0, -2]), (4, 2, 3)),
    (lambda: graph.PackOp(value([2, 3, 4]), [2, 0, -2]), (4, 2, 3)),
    (lambda: graph.ExpandOp(value([3, 1]), [2, 3, 4]), (2, 3, 4)),
    (lambda: graph.SliceOp(value([10, 4]), [1, 0], [8, 4], [3, 1]), (3, 4)),
    (lambda: graph.SliceOp(value([4, 3]), [3, 0], [-1, 3], [-2, 1]), (2, 3)),
    (
        lambda: graph.ResampleOp(
            value([2, 3]), axis=1, size=6, step=1, offset=-1, repeat=2, low=0, high=2
        ),
        (2, 6),
    ),
    (lambda: graph.AsStridedOp(value([10]), [2, 3], [4, 2], 1), (2, 3)),
    (lambda: graph.ConcatOp([value([2, 3]), value([2, 0]), value([2, 4])], -1), (2, 7)),
    (lambda: graph.PadOp(value([2, 3]), [1, 0], [0, 2], 7), (3, 5)),
    (lambda: graph.GatherOp(value([2, 3]), value([1, 6], i64), 1), (1, 6)),
    (lambda: graph.ScatterOp(value([4, 3]), value([2], i64), value([2, 3])), (4, 3)),
    (lambda: graph.VarOp(value([2, 3]), [1], correction=0), (2,)),
    (lambda: graph.SoftmaxOp(value([2, 3])), (2, 3)),
    (lambda: graph.LogSoftmaxOp(value([2, 3]), 0), (2, 3)),
    (lambda: graph.LayerNormOp(value([2, 3], f16), eps=1e-6), (2, 3)),
    (lambda: graph.RmsNormOp(value([2, 3]), normalized_rank=2), (2, 3)),
    (lambda: graph.MatmulOp(value([5, 1, 2, 3]), value([4, 3, 7])), (5, 4, 2, 7)),
    (
        lambda: graph.MatmulOp(
            value([2, 3], f16), value([3, 7], f16), precision="tf32", result_element=f32
        ),
        (2, 7),
    ),
    (lambda: graph.GroupedMatmulOp(value([5, 3]), value([4, 3, 7]), value([4], i32)), (5, 7)),
    (lambda: graph.LinearOp(value([5, 3]), value([7, 3])), (5, 7)),
    (lambda: graph.LinearOp(value([3]), value([7, 3]), value([7])), (7,)),
    (
        lambda: graph.ScaledDotProductAttentionOp(
            value([2, 4, 5, 8]), value([2, 4, 6, 8]), value([2, 4, 6, 3]), causal=True, scale=0.5
        ),
        (2, 4, 5, 3),
    ),
    (
        lambda: graph.ScaledDotProductAttentionOp(
            value([2, 5, 8]), value([2, 6, 8]), value([2, 6, 8]), value([5, 6], i1)
        ),
        (2, 5, 8),
    ),
    (lambda: graph.AttentionLogsumexpOp(value([2, 5, 8]), value([6, 8]), causal=True), (2, 5, 1)),
    (lambda: graph.AttentionQueryGradientOp(*operands()), (2, 5, 8)),
    (
        lambda: graph.AttentionKeyValueGradientsOp(*operands(), value([5, 6], i1), scale=0.5),
        (2, 2, 6, 8),
    ),
    (
        lambda: graph.Conv2dOp(
            value([2, 4, 9, 8]),
            value([6, 2, 3, 3]),
            value([6]),
            stride=(2, 1),
            padding=1,
            dilation=(1, 2),
            groups=2,
        ),
        (2, 6, 5, 6),
    ),
    (
        lambda: graph.GroupedConv2dOp(
            value([2, 9, 8, 4]), value([3, 2, 2, 6]), stride=(2, 1), dilation=(1, 3)
        ),
        (2, 4, 5, 6),
    ),
    (
        lambda: graph.Conv2dFilterGradientOp(
            value([2, 4, 9, 8]),
            value([2, 6, 5, 6]),
            kernel=(3, 3),
            stride=(2, 1),
            padding=(1, 1),
            dilation=(1, 2),
            groups=2,
        ),
        (6, 2, 3, 3),
    ),
    (
        lambda: graph.GroupedFilterGradientOp(
            value([2, 9, 8, 4]),
            value([2, 4, 5, 6]),
            kernel=(3, 2),
            stride=(2, 1),
            dilation=(1, 3),
            groups=2,
        ),
        (1, 3, 2, 2, 6),
    ),
    (
        lambda: graph.WindowsOp(value([2, 3, 8, 8]), 0, Window((3, 3), (2, 2), (1, 1))),
        (2, 3, 4, 4, 3, 3),
    ),
]

OPERATIONS = list(graph.Graph.operations)
UNARY = [op for op in OPERATIONS if issubclass(op, UnaryOp) and op is not graph.GeluOp]
BITWISE = [op for op in OPERATIONS if issubclass(op, BitwiseOp)]
BINARY = [op for op in OPERATIONS if issubclass(op, BinaryOp | ComparisonOp) and op not in BITWISE]
REDUCTIONS = [
    *(graph.SumOp, graph.ProdOp, graph.MaxOp, graph.MinOp),
    graph.MeanOp,
]
EXAMPLES += [(lambda op=op: op(value([2, 3])), (2, 3)) for op in UNARY]
EXAMPLES += [(lambda op=op: op(value([2, 1, 3]), value([4, 1])), (2, 4, 3)) for op in BINARY]
EXAMPLES += [(lambda op=op: op(value([2], i64), value([], i64)), (2,)) for op in BITWISE]
EXAMPLES += [(lambda op=op: op(value([2, 3, 4]), [-1, 0]), (3,)) for op in REDUCTIONS]
EXAMPLES += [(lambda op=op: op(value([2, 3]), [1], True), (2, 1)) for op in REDUCTIONS]
EXAMPLES += [(lambda op=op: op(value([2, 3])), ()) for op in REDUCTIONS]


def names() -> list[str]:
    """A readable name for each example."""
    return [f"{build().name}{list(shape)}" for build, shape in EXAMPLES]


def module_of(op: graph.GraphOp) -> ModuleOp:
    """A module that holds an operation and those that make its operands."""
    makers = [operand.owner for operand in op.operands]
    assert all(isinstance(maker, Operation) for maker in makers)
    return ModuleOp([*makers, op])  # type: ignore[list-item]


def text_of(module: ModuleOp, generic: bool) -> str:
    """The text of a module."""
    stream = StringIO()
    Printer(stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


@pytest.mark.parametrize(("build", "shape"), EXAMPLES, ids=names())
def test_shape_and_round_trip(build: Build, shape: tuple[int, ...]) -> None:
    op = build()
    assert shape_of(op.result) == shape
    module = module_of(op)
    module.verify()
    context = Context()
    for dialect in (Builtin, graph.Graph):
        context.load_dialect(dialect)
    context.load_op(test.TestOp)
    for generic in (False, True):
        parsed = Parser(context, text_of(module, generic)).parse_module()
        parsed.verify()
        assert parsed.is_structurally_equivalent(module)


def test_every_operation_has_an_example() -> None:
    built = {type(build()) for build, _ in EXAMPLES}
    # The call of a kernel is no operator; a lit test shows it.
    assert set(graph.Graph.operations) == built | {graph.CallKernelOp}


def test_operations_are_documented() -> None:
    for op in graph.Graph.operations:
        assert op.__dict__.get("__doc__"), op.name


def test_defaults_are_not_printed() -> None:
    text = text_of(module_of(graph.Conv2dOp(value([1, 3, 8, 8]), value([4, 3, 3, 3]))), False)
    line = next(line for line in text.splitlines() if "graph.conv2d" in line)
    assert line.strip() == (
        "%2 = graph.conv2d %0, %1 : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> "
        "tensor<1x4x6x6xf32>"
    )


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: graph.PermuteOp(value([2, 3]), [0, 2]), "axis 2 is out of range"),
        (lambda: graph.SumOp(value([2, 3]), [-3]), "axis -3 is out of range"),
        (lambda: graph.FillOp(1.5, TensorType(i64, [])), "1.5 is no value of type i64"),
        (lambda: graph.FillOp(1 << 63, TensorType(i64, [])), "is no value of type i64"),
        (lambda: graph.FillOp(float("inf"), TensorType(i64, [])), "inf is no value of type i64"),
        (lambda: graph.AddOp(value([2]), value([3])), r"\[2\] and \[3\] do not broadcast"),
        (lambda: graph.ReluOp(test.TestOp(result_types=[f32]).results[0]), "a tensor is needed"),
    ],
)
def test_constructors_name_mistakes(build: Build, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        build()
