"""Task mappings: which worker runs which tasks, and in which order.

A task mapping (`TaskMap`) maps a worker, a number from 0 to `workers` - 1, to the ordered list of
its tasks. A task is an index into a tile. Maps are products of factors:

* `spatial(d0, d1, ...)`: d0 * d1 * ... workers with one task each;
* `repeat(d0, d1, ...)`: one worker with d0 * d1 * ... tasks, the last dimension fastest;
* `replicate(n)`: n workers with the same task; it has no dimensions.

`outer * inner` composes: each task of `outer` becomes a tile of `inner`, and each worker of `outer`
a group of workers of `inner`.

    task   = outer_task * inner.shape + inner_task          in each dimension
    worker = outer_worker * inner.workers + inner_worker
    order  = all tasks of `inner` for the first task of `outer`, then for the second, ...

Maps also describe data: the layout of a register tile is the map whose workers own its elements,
and the position of an element in its owner's list is its register.

Every map is a table of digits (`Digit`) that answers all queries: the tasks of a worker,
the owners of a task, its register, the index arithmetic of lowerings, and the canonical form. A
`TaskMap` is always canonical, so two maps are equal, and print equally, if and only if they are the
same function.

>>> accumulator = repeat(2, 1) * spatial(8, 4) * repeat(1, 2)     # of mma.m16n8k16
>>> accumulator(5)
[(1, 2), (1, 3), (9, 2), (9, 3)]
>>> accumulator.owners((9, 3)), accumulator.register_index((9, 3))
([5], 3)
>>> accumulator.project([1])                                      # its rows
repeat(2) * spatial(8) * replicate(4)
>>> spatial(2, 1) * spatial(8, 1) == spatial(16, 1)
True

Reading order: `factors`, `task_map`, `constructors`, `drawing`, `swizzle`.
"""

from hidet.mapping.constructors import (
    auto_map,
    column_repeat,
    column_spatial,
    parse,
    repeat,
    replicate,
    row_repeat,
    row_spatial,
    spatial,
    vector_map,
)
from hidet.mapping.factors import Digit, Factor, Kind, MappingError
from hidet.mapping.swizzle import SwizzledLayout
from hidet.mapping.task_map import Task, TaskMap

__all__ = [
    "Digit",
    "Factor",
    "Kind",
    "MappingError",
    "SwizzledLayout",
    "Task",
    "TaskMap",
    "auto_map",
    "column_repeat",
    "column_spatial",
    "parse",
    "repeat",
    "replicate",
    "row_repeat",
    "row_spatial",
    "spatial",
    "vector_map",
]
