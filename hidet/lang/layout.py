"""Layouts of tensors, which are task mappings: where each element is stored.

`row_major(m, n)` and `column_major(m, n)` order the elements of memory or of one thread;
`local_layout(m, n)` assigns one element to each of m * n threads; `*` composes, the left one
outermost, and `+` concatenates dimensions. `row_major(m, n).swizzle(1)` permutes the elements of
each row to avoid bank conflicts.
"""

from collections.abc import Sequence

from hidet.absent import explain_missing
from hidet.mapping import TaskMap, repeat
from hidet.mapping import column_repeat as column_major
from hidet.mapping import row_repeat as row_major
from hidet.mapping import spatial as local_layout


def strided_layout(shape: Sequence[int], ranks: Sequence[int] | None = None) -> TaskMap:
    """Return the layout whose dimensions are ordered by rank, 0 the slowest.

    Raises:
        MappingError: the ranks are no permutation.
    """
    return repeat(*shape, ranks=ranks)


DataLayout = TaskMap
row_layout, col_layout = row_major, column_major

explain_missing(__name__)

__all__ = ["DataLayout", "col_layout", "column_major", "local_layout", "row_layout", "row_major"]
__all__ += ["strided_layout"]
