"""The `task` dialect: block-level kernels, whose ops are distributed over workers by task maps.

Tiles are memrefs. A register tile is distributed over workers by a task map, its layout; a shared
tile is visible to the whole block. Task ops are collective: all workers of the group execute them,
and they take effect in order.
"""

# The definitions of all modules are exported.
# ruff: noqa: F403

from hidet.dialects.fields import dialect_of
from hidet.dialects.task.group import *
from hidet.dialects.task.layout import *
from hidet.dialects.task.ops import *

Task = dialect_of("hidet.dialects.task")
