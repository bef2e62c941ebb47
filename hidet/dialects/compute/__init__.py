"""The `compute` dialect: tensors defined element by element, and the fusions that become kernels.

A `compute.grid` defines element (i, j, ...) of a tensor. Its dual, `compute.sink`, defines a store
to element (i, j, ...). Inside a kernel a tensor value is a view (evaluated at its loads) and a
memref value is a buffer; `compute.load` and `compute.store` accept both, so templates are
independent of the nature of their inputs and outputs.
"""

# The definitions of all modules are exported.
# ruff: noqa: F403

from hidet.dialects.compute.ops import *
from hidet.dialects.fields import dialect_of

Compute = dialect_of("hidet.dialects.compute")
