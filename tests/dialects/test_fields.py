"""Operations are made from their fields, in the order of their declaration."""

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import IndexType, MemRefType, UnitAttr, f16, f32, i32, i64
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.cuda import (
    CopyVectorOp,
    CpAsyncOp,
    LdmatrixOp,
    MatrixDescriptorOp,
    OrderedLoadOp,
    PartOp,
    RoundTf32Op,
    ShflOp,
    ThreadIdOp,
)
from hidet.dialects.cuda.async_copy import CopyCache
from hidet.dialects.cuda.attributes import Dimension, ShuffleKind, Space, SpaceAttr
from hidet.dialects.cuda.memory_access import AccessOrder, AccessScope
from hidet.dialects.fields import Element


def values(*types):
    """Give values of some types."""
    return test.TestOp(result_types=types).results


def array(space, element, *shape):
    """Give the type of an array in a memory space."""
    return MemRefType(element, shape, memory_space=SpaceAttr(space))


def test_order_of_declaration():
    memory, registers, i = values(
        array(Space.SHARED, f16, 8, 8), array(Space.LOCAL, f16, 8), IndexType()
    )
    op = LdmatrixOp(Element(memory, [i, i]), Element(registers, [i]), 4, trans=True)
    op.verify()
    assert op.count.value.data == 4
    assert op.trans == UnitAttr()
    assert list(op.operands) == [memory, i, i, registers, i]
    assert LdmatrixOp(*map(op.element, ("source", "target")), 1).trans is None


def test_optional_fields_and_keywords():
    source, target, i, n = values(
        MemRefType(f32, [64]), array(Space.SHARED, f32, 64), IndexType(), IndexType()
    )
    there, here = Element(source, (i,)), Element(target, (i,))
    op = CpAsyncOp(there, here, 4, CopyCache.CG)
    assert op.valid is None
    assert op.scalars == []
    named = CpAsyncOp(valid=n, width=4, cache=CopyCache.CG, target=here, source=there)
    named.verify()
    assert named.valid is n
    assert named.scalars == [n]
    assert named.elements == (here, there)


def test_results_follow_from_operands():
    x, lane, word, memory, i = values(f32, i32, i64, MemRefType(i32, [4]), IndexType())
    assert ThreadIdOp(Dimension.Y).result.type == IndexType()
    assert RoundTf32Op(x).result.type == f32
    assert ShflOp(ShuffleKind.XOR, x, lane).result.type == f32
    load = OrderedLoadOp(AccessOrder.ACQUIRE, AccessScope.GPU, Element(memory, [i]))
    assert load.result.type == i32
    assert PartOp(word, 1, i32).result.type == i32  # does not follow


def test_template_arguments():
    memory, i = values(array(Space.SHARED, f16, 64, 64), IndexType())
    op = MatrixDescriptorOp(Element(memory, [i, i]), leading=16, stride=1024, swizzle=128)
    op.verify()
    assert op.function == "matrix_descriptor<16, 1024, 128>"


def test_move():
    """Another element takes the place of one, though it has another number of indices."""
    source, target, flat, i, j = values(
        MemRefType(f32, [8, 8]),
        array(Space.LOCAL, f32, 4),
        MemRefType(f32, [64]),
        IndexType(),
        IndexType(),
    )
    op = CopyVectorOp(Element(source, [i, j]), Element(target, [i]), 4)
    op.move("source", Element(flat, [j]))
    op.verify()
    assert op.element("source") == Element(flat, (j,))
    assert op.element("target") == Element(target, (i,))


@pytest.mark.parametrize(
    "make",
    [
        lambda x: RoundTf32Op(x, f32, x),
        lambda x: RoundTf32Op(operand=x),
        lambda x: RoundTf32Op(x, value=x),
    ],
    ids=["too-many", "unknown", "twice"],
)
def test_wrong_fields(make):
    with pytest.raises(TypeError, match="RoundTf32Op takes value, result"):
        make(*values(f32))


def test_types_that_do_not_fit():
    """A result whose type is to follow from operands does not follow from any."""
    with pytest.raises(VerifyException):
        ShflOp(ShuffleKind.XOR, *values(IndexType(), i32))
