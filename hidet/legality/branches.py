"""Checks of what branches give, which xDSL's verifier lacks."""

from xdsl.dialects import scf
from xdsl.ir import Operation

from hidet.dialects.walking import ops_of_class
from hidet.legality.report import illegal


def check_branches(root: Operation) -> None:
    """Check that every branch of an `scf.if` yields values of the types of its results."""
    for op in ops_of_class(root, scf.IfOp):
        wanted = [result.type for result in op.results]
        for region in op.regions:
            end = region.block.last_op if region.blocks else None
            given = [*end.operand_types] if isinstance(end, scf.YieldOp) else []
            if given != wanted:
                found, types = (", ".join(map(str, each)) or "nothing" for each in (given, wanted))
                raise illegal(op, f"a branch yields {found}, but the operation gives {types}")
