"""Flow graphs, as the original Hidet hands them out.

graph = hidet.trace_from(y)
with hidet.graph.PassContext() as ctx:
    ctx.set_precision("float16")
    graph = hidet.graph.optimize(graph)
graph(a)
"""

from hidet import ops
from hidet.frontends.trace.built import BuiltGraph, CudaGraph
from hidet.frontends.trace.flow_graph import FlowGraph, optimize, trace_from
from hidet.frontends.trace.pass_context import PassContext
from hidet.frontends.trace.recording import Operator
from hidet.graph import frontend
from hidet.tensor import Tensor

__all__ = [
    "BuiltGraph",
    "CudaGraph",
    "FlowGraph",
    "Operator",
    "PassContext",
    "Tensor",
    "frontend",
    "ops",
    "optimize",
    "trace_from",
]
