"""The graph dialect: one operation per operator on whole tensors.

    %w = graph.constant "p0" : tensor<64x3x7x7xf32>
    %0 = graph.conv2d %x, %w {stride = array<i64: 2, 2>} : (tensor<1x3x..>, ...) -> tensor<...>
    %1 = graph.relu %0 : tensor<...>

Values are `tensor`s of builtin with static shapes, which may contain 0 or be empty (scalars).
Element types are f64, f32, f16, bf16, i64, i32, i16, i8 and i1 (torch.bool). All operations are
pure and have one result, whose type is inferred by constructors and verifiers alike. An operation
has the semantics of torch's operator of its name. `graph.constant` refers to weights, which are not
part of the program. `graph.call_kernel` is no operator: it calls a kernel of the module, and has as
many results as that writes.

The operations are grouped by family in the modules of this package and re-exported here, so that
`from hidet.dialects import graph` provides `graph.AddOp` and the rest.
"""

# ruff: noqa: F403

from hidet.dialects.fields import dialect_of
from hidet.dialects.graph.attention import *
from hidet.dialects.graph.base import GraphOp as GraphOp
from hidet.dialects.graph.contraction import *
from hidet.dialects.graph.creation import *
from hidet.dialects.graph.elementwise import *
from hidet.dialects.graph.kernels import *
from hidet.dialects.graph.reduction import *
from hidet.dialects.graph.shape import *

Graph = dialect_of("hidet.dialects.graph")
