"""The precision of products in a program, as the settings of a compilation want it."""

from xdsl.dialects.builtin import ModuleOp, StringAttr, f16

from hidet.dialects import graph
from hidet.dialects.graph.base import element_type
from hidet.dialects.walking import ops_of_class
from hidet.frontends.torch.settings import Settings


def set_precision(module: ModuleOp, settings: Settings) -> None:
    """Set the precision of the operators of a GPU program that have one by the settings."""
    for op in ops_of_class(module, graph.GraphOp):
        if "precision" not in op.get_irdl_definition().properties:
            continue
        if not settings["use_tensor_core"]:
            op.properties["precision"] = StringAttr("fma")
        elif settings["use_fp16_reduction"] and element_type(op.operands[0]) == f16:
            op.properties["precision"] = StringAttr("f16")
