"""Layouts of tensors, which are task mappings: what a thread holds, and in which order.

`row_major(m, n)` and `column_major(m, n)` are the elements of one thread, or of memory, in order;
`local_layout(m, n)` is one element for each of m * n threads; `*` composes, the left one outside,
and `+` puts the dimensions of one before those of the other. `row_major(m, n).swizzle(1)` lets the
elements of a row trade places, so that threads meet in no bank of shared memory.
"""

from collections.abc import Sequence

from hidet.absent import explain_missing
from hidet.mapping import TaskMap, repeat
from hidet.mapping import column_repeat as column_major
from hidet.mapping import row_repeat as row_major
from hidet.mapping import spatial as local_layout


def strided_layout(shape: Sequence[int], ranks: Sequence[int] | None = None) -> TaskMap:
    """Return the layout whose dimensions are in the order of the ranks, 0 the slowest.

    Raises:
        MappingError: the ranks are no permutation.
    """
    return repeat(*shape, ranks=ranks)


DataLayout = TaskMap
row_layout, col_layout = row_major, column_major

explain_missing(__name__)

__all__ = ["DataLayout", "col_layout", "column_major", "local_layout", "row_layout", "row_major"]
__all__ += ["strided_layout"]
