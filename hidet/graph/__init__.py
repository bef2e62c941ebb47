"""The API of flow graphs of the original Hidet.

graph = hidet.trace_from(y)
with hidet.graph.PassContext() as ctx:
    ctx.set_precision("float16")
    graph = hidet.graph.optimize(graph)
graph(a)
"""

from hidet import ops
from hidet.absent import explain_missing
from hidet.frontends.trace.flow_graph import BuiltGraph, CudaGraph, FlowGraph, optimize, trace_from
from hidet.frontends.trace.pass_context import PassContext
from hidet.frontends.trace.recording import Operator
from hidet.graph import frontend
from hidet.graph.loaded import LoadedGraph, load_compiled, load_graph
from hidet.graph.saved import save_compiled, save_graph
from hidet.tensor import Tensor

explain_missing(__name__)

__all__ = [
    "BuiltGraph",
    "CudaGraph",
    "FlowGraph",
    "LoadedGraph",
    "Operator",
    "PassContext",
    "Tensor",
    "frontend",
    "load_compiled",
    "load_graph",
    "ops",
    "optimize",
    "save_compiled",
    "save_graph",
    "trace_from",
]
