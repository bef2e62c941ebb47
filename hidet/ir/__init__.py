"""Names of the original Hidet's `hidet.ir`, as scripts import them; defined in `hidet.lang`.

The modules below are names only, see `hidet.original`. What builds or rewrites the original IR
(`builders.StmtBuilder`, `stmt.ForStmt`, `functors`, `compute`, ...) is not there: the IR is
xDSL's, in `hidet.dialects`.
"""

from hidet.absent import explain_missing
from hidet.frontends.script.functional import (
    if_then_else,
    is_constant,
    logical_and,
    logical_not,
    logical_or,
)
from hidet.frontends.script.kernels import ScriptFunction as Function
from hidet.frontends.script.module import IRModule
from hidet.lang.types import data_type
from hidet.original import show_elsewhere

_CUDA = """
atomic barrier cluster copy_tma cp_async cvta half ldst lop3 mma prmt setmaxnreg shfl smem sync
tensor_map time vars wgmma
"""
"""The modules of `hidet.ir.primitives.cuda`, one for each family of instructions."""

show_elsewhere(
    __name__,
    {
        "builders": [],
        "func": ["hidet.ir"],
        "module": ["hidet.ir"],
        "type": ["hidet.lang.types"],
        "dtypes": ["hidet.lang.types"],
        "expr": ["hidet.frontends.script.functional", "hidet.lang"],
        "stmt": ["hidet.lang"],
        "layout": ["hidet.lang.layout"],
        "mapping": ["hidet.lang.mapping"],
        "primitives": ["hidet.lang.math", "hidet.lang.cuda"],
        "primitives.math": ["hidet.lang.math"],
        "primitives.debug": ["hidet.lang.cuda"],
        "primitives.cuda": ["hidet.lang.cuda"],
        **{f"primitives.cuda.{family}": ["hidet.lang.cuda"] for family in _CUDA.split()},
    },
)

explain_missing(__name__)

__all__ = ["Function", "IRModule", "data_type", "if_then_else", "is_constant", "logical_and"]
__all__ += ["logical_not", "logical_or"]
