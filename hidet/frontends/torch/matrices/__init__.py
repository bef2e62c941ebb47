"""Script kernels for batches of small matrices: a warp per matrix, or a lane per column.

Each module has functions that build the kernel of one shape and type. Matrices are in shared
memory, where each lane owns rows or columns. Results are column-major, as in LAPACK and torch.
"""
