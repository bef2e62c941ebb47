"""Another name of `hidet.driver`, as later versions of the original Hidet have it."""

from hidet.absent import explain_missing
from hidet.driver import build_ir_module

explain_missing(__name__)

__all__ = ["build_ir_module"]
