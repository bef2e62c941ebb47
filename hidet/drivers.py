"""Another name of `hidet.driver`, as later versions of the original Hidet have it."""

from hidet.driver import build_ir_module

__all__ = ["build_ir_module"]
