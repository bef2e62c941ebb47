"""The dialects of hidet, from whole tensors to the instructions of one thread.

`graph` has operators on tensors, `compute` tensors defined element by element, `task` block-level
kernels, and `cuda` per-thread code. They are registered in `hidet.universe`.
"""
