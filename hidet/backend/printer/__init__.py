"""The printer: kernels of the `cuda` level as CUDA C++ that reads as if a person had written it.

It is a table for each dialect, from an operation to its operator or function, and infers nothing:
which values are named, which are folded into their user, what is `const`, unrolled or 64 bits wide
are decisions of passes, written in the IR.

- `text`: expressions, precedence, parentheses; `types`, `literals`,
- `operators`: the kinds of entries; `arith`, `math`, `memref`, `scf`, `cuda`, `instructions`: the
  tables,
- `writer`: statements and names; `kernel`: heads and whole files, `hidet-opt -t cuda`.

A new operation is one line in the table of its dialect and a line in its lit test.
"""

from hidet.backend.printer.kernel import CudaTarget, print_kernel, print_kernels

__all__ = ["CudaTarget", "print_kernel", "print_kernels"]
