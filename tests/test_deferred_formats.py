"""Formats of operations are read late, and are the same then."""

import pytest
from xdsl.dialects.builtin import i32
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def
from xdsl.utils.exceptions import ParseError
from xdsl.utils.test_value import create_ssa_value

from hidet.deferred_formats import formats_deferred


def define(text):
    """Define an operation with a format."""

    @irdl_op_definition
    class PairOp(IRDLOperation):
        name = "test.pair"
        lhs = operand_def()
        rhs = operand_def()
        assembly_format = text

    return PairOp


FORMAT = "$lhs `with` $rhs attr-dict `:` type($lhs) `,` type($rhs)"


def test_prints_the_same():
    """An operation prints by its format, whenever that was read."""
    values = [create_ssa_value(i32), create_ssa_value(i32)]
    early = define(FORMAT)
    with formats_deferred():
        late = define(FORMAT)
    assert str(late(operands=values)) == str(early(operands=values))
    assert "with" in str(late(operands=values))


def test_read_at_the_first_use():
    """What is wrong with a format is told when it is used first, outside as ever."""
    with formats_deferred():
        wrong = define("$lhs `with` $middle")
    with pytest.raises(ParseError, match="middle"):
        str(wrong(operands=[create_ssa_value(i32)] * 2))
    with pytest.raises(Exception, match="assembly format"):
        define("$lhs `with` $middle")


def test_comes_back_after_an_error():
    """Inside of another one, the outer one goes on."""
    with formats_deferred():
        with pytest.raises(KeyError), formats_deferred():
            raise KeyError
        define("$nothing")
    with pytest.raises(Exception, match="assembly format"):
        define("$nothing")


def test_comes_back_when_threads_leave_in_turn():
    """The one that entered first may leave first."""
    first, second = formats_deferred(), formats_deferred()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    define("$nothing")
    second.__exit__(None, None, None)
    with pytest.raises(Exception, match="assembly format"):
        define("$nothing")
