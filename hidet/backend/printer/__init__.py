"""The printer: emits kernels of the `cuda` level as readable CUDA C++.

It is a table per dialect, from an operation to its operator or function, and infers nothing: passes
decide which values are named or folded into their user, `const`, unrolled or 64 bits wide, and
record it in the IR.

- `text`: expressions, precedence, parentheses; `types`; `signs`: signedness of integers,
- `operators`: the kinds of entries; `arith`, `math`, `memref`, `scf`, `cuda`: the tables,
- `writer`: statements and names; `kernel`: signatures and files, `hidet-opt -t cuda`.

A new operation is one line in the table of its dialect and a line in its lit test.
"""

from hidet.backend.printer.kernel import CudaTarget, print_kernels

__all__ = ["CudaTarget", "print_kernels"]
