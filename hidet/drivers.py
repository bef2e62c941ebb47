"""An alias of `hidet.driver`, as in later versions of the original Hidet."""

from hidet.absent import explain_missing
from hidet.driver import build_ir_module

explain_missing(__name__)

__all__ = ["build_ir_module"]
