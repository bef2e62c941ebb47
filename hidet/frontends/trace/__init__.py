"""`hidet.ops`: operators that run eagerly, or are recorded as flow graphs.

An operator is a function of torch tensors: torch infers shapes and data types, and the torch
frontend lowers it.

- `recording`: calls, which run eagerly, or are recorded if an argument is a symbol;
- `tracing`: traces a function of torch tensors to a program of ATen operators;
- `flow_graph`: recorded graphs: printing, optimization, compilation, calls;
- `fused`: graphs after the fusion passes;
- `built`: compiled graphs.
"""
