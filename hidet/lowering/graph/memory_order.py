"""Which dimension of a tensor will be the fastest in memory, as far as the graph tells."""

from math import prod

from xdsl.ir import Block, Operation, SSAValue

from hidet.dialects import graph
from hidet.dialects.graph.base import shape_of
from hidet.dialects.graph.elementwise import BitwiseNotOp, RetypingOp, TwoOperandsOp, UnaryOp
from hidet.dialects.graph.reduction import NormOp
from hidet.dialects.graph.shape import LookupOp

IN_ORDER = graph.ConstantOp, LookupOp
"""Operators whose results lie in memory in the order of their dimensions, as do arguments."""

VIEWS = graph.PermuteOp, graph.ReshapeOp, graph.ExpandOp
ELEMENTWISE = UnaryOp, TwoOperandsOp, RetypingOp, BitwiseNotOp, graph.WhereOp
"""Operators whose results lie in memory as an operand does: the first of the same shape."""

MIN_COLUMNS = 64
"""The fewest columns and outputs of a product of a weight and columns."""


def adjacent_dim(x: SSAValue, products: int = 2) -> int | None:
    """Return the dimension whose elements will be adjacent in memory, None if that is not known.

    Elementwise operators and norms take the order of what they read first (`order-dimensions`), and
    images have channels last. At most so many products are looked at.
    """
    followed: list[Operation] = []
    while isinstance(op := x.owner, Operation) and (source := _followed(op)) is not None:
        followed.append(op)
        x = source
    op, last = x.owner, len(shape_of(x)) - 1
    dim = None
    if isinstance(op, (Block, *IN_ORDER)):
        dim = last
    elif isinstance(op, graph.Conv2dOp):
        dim = 1
    elif isinstance(op, graph.LinearOp | graph.MatmulOp):
        dim = last - (products > 0 and reads_columns(op, products - 1))
    for op in reversed(followed):
        dim = None if dim is None else _moved(op, dim)
    return dim


def reads_columns(op: graph.LinearOp | graph.MatmulOp, products: int = 1) -> bool:
    """Return whether columns of matrices [.., M, I] times a weight are adjacent, not their rows.

    Then the product of the weight [O, I] and the transposed matrices [.., I, M] loads rows, and
    what reads the result, transposed like x, does so too: mixers mix tokens so.
    """
    x, weight = op.operands[:2]
    shape, outputs = shape_of(x), shape_of(op.result)[-1]
    if len(shape) < 3 or shape[-2] % 8 or min(shape[-2], outputs) < MIN_COLUMNS:
        return False
    return _is_constant(weight) and adjacent_dim(x, products) == len(shape) - 2


def is_read_transposed(x: SSAValue) -> bool:
    """Return whether all that reads matrices [.., M, N] transposes them, possibly after a scale.

    The gradient of a transposed key is one: it is a product [.., E, S] of what is [.., S, E].
    """
    rank = len(shape_of(x))
    if len(users := [*x.uses]) != 1 or rank < 3:
        return False
    user = users[0].operation
    match user:
        case graph.PermuteOp():
            return user.dims.get_values()[-1] == rank - 2
        case graph.MulOp():
            other = next(each for each in user.operands if each is not x)
            return shape_of(other) == () and is_read_transposed(user.result)
        case graph.ReshapeOp():
            keeps = shape_of(user.result)[-2:] == shape_of(x)[-2:]
            return keeps and is_read_transposed(user.result)
        case graph.CastOp():
            return is_read_transposed(user.result)
        case _:
            return False


def _is_constant(x: SSAValue) -> bool:
    """Return whether a value is a view of a constant."""
    while isinstance(x.owner, VIEWS):
        x = x.owner.operands[0]
    return isinstance(x.owner, graph.ConstantOp)


def _followed(op: Operation) -> SSAValue | None:
    """Return the operand of a view, a norm or an elementwise operator whose order it takes."""
    if isinstance(op, (*VIEWS, NormOp)):
        return op.operands[0]
    if not isinstance(op, ELEMENTWISE):
        return None
    shape = shape_of(op.results[0])
    return next((each for each in op.operands if shape_of(each) == shape), None)


def _moved(op: Operation, dim: int) -> int | None:
    """Return the dimension of the result of an operator that is this one of its operand."""
    if isinstance(op, graph.PermuteOp):
        return op.dims.get_values().index(dim)
    if not isinstance(op, VIEWS):
        return dim
    before, after = shape_of(op.operands[0]), shape_of(op.results[0])
    # Along both dimensions, one step is as many elements ahead; others may be merged with them.
    step = prod(before[dim + 1 :])
    found = [n for n, size in enumerate(after) if size > 1 and prod(after[n + 1 :]) == step]
    return found[0] if found else None
