"""How ATen operators become operations of the graph dialect: one table for each family.

A new operator is a line in the table of its family, and a function if none there fits; a test case
in `tests/frontends/torch/cases.py` is asked for by the tests.
"""

from hidet.frontends.torch.operators.binary import BINARY
from hidet.frontends.torch.operators.contraction import CONTRACTION
from hidet.frontends.torch.operators.creation import CREATION
from hidet.frontends.torch.operators.emitter import Emitter, Table
from hidet.frontends.torch.operators.lookup import LOOKUP
from hidet.frontends.torch.operators.normalization import NORMALIZATION
from hidet.frontends.torch.operators.pooling import POOLING
from hidet.frontends.torch.operators.reduction import REDUCTION
from hidet.frontends.torch.operators.scatter import SCATTER
from hidet.frontends.torch.operators.shape import SHAPE
from hidet.frontends.torch.operators.unary import UNARY

FAMILIES: dict[str, Table] = {
    "one tensor, element by element": UNARY,
    "two tensors, element by element": BINARY,
    "shapes": SHAPE,
    "look-ups": LOOKUP,
    "creation": CREATION,
    "reductions": REDUCTION,
    "products": CONTRACTION,
    "norms": NORMALIZATION,
    "pools": POOLING,
    "writes at positions": SCATTER,
}
"""The tables by what their operators have in common."""

OPERATORS: Table = {target: f for table in FAMILIES.values() for target, f in table.items()}
"""All operators that can be compiled."""

__all__ = ["FAMILIES", "OPERATORS", "Emitter"]
