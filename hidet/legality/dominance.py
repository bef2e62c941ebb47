"""Checks of dominance, which xDSL's verifier lacks."""

from xdsl.ir import Operation, Region, SSAValue

from hidet.legality.report import illegal


def check_dominance(root: Operation) -> None:
    """Check all ops nested in `root` in one walk.

    A value is visible after its op, in the rest of the block and in nested regions. Control flow is
    structured, so regions have one block.
    """
    for region in root.regions:
        _check_region(region, set())


def _check_region(region: Region, visible: set[SSAValue]) -> None:
    """Check the ops of a region; its definitions are not visible after it."""
    defined: list[SSAValue] = []
    for number, block in enumerate(region.blocks):
        if number > 0:
            op = region.parent
            assert op is not None, "a region of a module"
            raise illegal(op, "a region with several blocks", "use the control flow of scf")
        defined.extend(block.args)
        visible.update(block.args)
        for op in block.ops:
            for number, operand in enumerate(op.operands):
                if operand not in visible:
                    name = f"%{operand.name_hint}" if operand.name_hint else "a value"
                    raise illegal(op, f"operand {number}, {name}, is used before it is defined")
            for inner in op.regions:
                _check_region(inner, visible)
            defined.extend(op.results)
            visible.update(op.results)
    visible.difference_update(defined)
