"""The `task` dialect: kernels at block level, in which every op says who works on what.

Tiles are memrefs. A tile in registers is spread over workers by a task map, its layout; a tile in
shared memory is seen by the whole block. Task ops are collective: all workers of the group reach
them, and they take effect one after the other.
"""

# What its modules define is handed out here.
# ruff: noqa: F403

from hidet.dialects.definitions import dialect_of
from hidet.dialects.task.group import *
from hidet.dialects.task.layout import *
from hidet.dialects.task.ops import *

Task = dialect_of("hidet.dialects.task")
