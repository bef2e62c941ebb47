"""The `task` dialect: kernels at block level, in which every op says who works on what.

Tiles are memrefs. A tile in registers is spread over workers by a task map, its layout; a tile in
shared memory is seen by the whole block. Task ops are collective: all workers of the group reach
them, and they take effect one after the other.
"""

from hidet.dialects.definitions import dialect_of
from hidet.dialects.task.group import GroupOp
from hidet.dialects.task.layout import SharedLayoutAttr, TaskMapAttr
from hidet.dialects.task.ops import CombineOp, CopyOp, ForeachOp, MatmulOp

__all__ = [
    "CombineOp",
    "CopyOp",
    "ForeachOp",
    "GroupOp",
    "MatmulOp",
    "SharedLayoutAttr",
    "Task",
    "TaskMapAttr",
]

Task = dialect_of("hidet.dialects.task")
