"""Translation of ATen operators to the graph dialect: one table per family.

A new operator is a line in the table of its family, and possibly a function; tests require a case
in `tests/frontends/torch/cases.py`.
"""

from typing import Any

from hidet.frontends.torch.operators.contraction import CONTRACTION, LIBRARIES
from hidet.frontends.torch.operators.elementwise import BINARY, UNARY
from hidet.frontends.torch.operators.emitter import Table, Translation
from hidet.frontends.torch.operators.positions import LOOKUP, SCATTER
from hidet.frontends.torch.operators.reduction import NORMALIZATION, POOLING, REDUCTION
from hidet.frontends.torch.operators.shape import CREATION, SHAPE

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
"""The tables by family."""

OPERATORS: Table = {target: f for table in FAMILIES.values() for target, f in table.items()}
"""All supported operators of ATen."""


def translation_of(target: Any) -> Translation | None:
    """Return the translation of an operator, None if it has none."""
    return OPERATORS.get(target) or LIBRARIES.get(str(target))
