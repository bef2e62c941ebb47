"""Programs in calls of `hidet.ops`: run at once, or recorded as flow graphs.

An operator here is a function of torch's tensors: what it does to shapes and data types, torch
says; what it becomes, the tables of the torch frontend say. There is no rule of either kind here.

- `recording`: the calls: run where all tensors have elements, noted where one is a symbol;
- `tracing`: from a function of torch's tensors to a program of ATen operators;
- `flow_graph`: what has been noted, as a graph: printed, optimised, compiled, called;
- `fused`: the same after the passes that fuse;
- `built`: a graph that is compiled.
"""
