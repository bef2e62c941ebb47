"""`hidet.ops`: operators that run eagerly or are recorded as flow graphs.

An operator is a function of torch tensors: torch infers shapes and data types, and the torch
frontend lowers it.

- `recording`: operator calls, which run eagerly, or are recorded if an argument is symbolic;
- `tracing`: traces functions of torch tensors to ATen graphs, and imports them;
- `recorded`: recorded operators in topological order;
- `flow_graph`: the public classes of recorded graphs, which are printed, optimized and compiled,
  and of compiled ones;
- `fused`: graphs after the fusion passes;
- `sizes`: symbolic dimensions.
"""
