"""The pass `share-outputs`: stores what an output is a view of in the output itself."""

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from hidet.dialects import graph
from hidet.dialects.graph.base import shape_of
from hidet.dialects.walking import ops_of_class
from hidet.lowering.graph.graph_builder import GraphBuilder

NOT_STORED = graph.ConstantOp, graph.IotaOp, graph.FillOp
"""Operators whose results a launch does not store: constants are there, others are computed."""


def share_output(end: func.ReturnOp, number: int) -> None:
    """What reads the source of an output that is a view in order reads the output instead.

        %s = ...                                %s = ...
        %v = reshape %s           becomes       %v = reshape %s
        %r = relu %s                            %w = reshape %v
        return %v, %r                           %r = relu %w
                                                return %v, %r

    so that one tensor is stored, not two.
    """
    output = end.operands[number]
    *views, source = chain_in_order(output)
    producer = source.owner
    if not views or not isinstance(producer, Operation) or isinstance(producer, NOT_STORED):
        return
    if all(value.has_one_use() for value in (*views, source)):
        return
    others = [use for use in source.uses if use.operation is not end]
    b = GraphBuilder(InsertPoint.after(producer))
    shared = b.reshape(source, shape_of(output))
    shared.name_hint = output.name_hint
    restored = b.reshape(shared, shape_of(source))
    for use in others:
        use.operation.operands[use.index] = restored
    end.operands[number] = shared


def chain_in_order(value: SSAValue) -> list[SSAValue]:
    """Return a value, what it is a view of with all elements in their order, and those between."""
    chain = [value]
    while isinstance(view := chain[-1].owner, graph.ReshapeOp | graph.PermuteOp):
        passed = [view.x]
        if isinstance(view, graph.PermuteOp):
            dims = view.dims.get_values()
            if isinstance(inner := view.x.owner, graph.PermuteOp):  # which it may undo
                passed.append(inner.x)
                before = inner.dims.get_values()
                dims = [before[dim] for dim in dims]
            moved = [dim for dim in dims if shape_of(passed[-1])[dim] > 1]
            if moved != sorted(moved):
                break
        chain += passed
    return chain


class ShareOutputsPass(ModulePass):
    """Store what an output is a view of in the output itself.

    torch saves views of activations for gradients, such as the rows that a linear layer reads.
    """

    name = "share-outputs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Share the outputs of all functions of a module."""
        for end in ops_of_class(op.body, func.ReturnOp):
            for number in range(len(end.operands)):
                share_output(end, number)
