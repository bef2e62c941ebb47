"""Kernels for batches of small matrices, as scripts: a warp takes a matrix, or a lane a column.

Each module has functions that build the kernel of one shape and type. Matrices lie in shared
memory, where each lane has rows or columns of its own. Results are stored by columns, as LAPACK and
thus torch has them.
"""
