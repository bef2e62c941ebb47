"""The dialects of hidet, from whole tensors down to the instructions of one thread.

`graph` holds operators on tensors, `compute` tensors defined element by element, `task` what a
block of threads does, and `cuda` what one thread does. They are registered in `hidet.universe`.
"""
