"""The `compute` dialect: tensors defined element by element, and the fusions that become kernels.

A `compute.grid` says what element (i, j, ...) of a tensor is. Its dual, `compute.sink`, says what
storing to element (i, j, ...) does. Inside a kernel a tensor value is a view (evaluated where it
is loaded) and a memref value is a buffer; `compute.load` and `compute.store` take either, so that
a kernel template never knows what its inputs and outputs are made of.
"""

# What its modules define is handed out here.
# ruff: noqa: F403

from hidet.dialects.compute.fusion import *
from hidet.dialects.compute.ops import *
from hidet.dialects.definitions import dialect_of

Compute = dialect_of("hidet.dialects.compute")
