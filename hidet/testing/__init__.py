"""Test utilities: in-process FileCheck and lit, and numeric comparisons.

- `hidet.testing.filecheck`: runs passes on text and matches the result,
- `hidet.testing.lit_file`: runs the RUN lines of a lit file in this process,
- `hidet.testing.plugin`: both as a pytest plugin,
- `hidet.testing.numeric`: compares tensors with a reference of higher precision.

Start with `docs/write-a-lowering-test.md`.
"""

from hidet.absent import explain_missing

explain_missing(__name__)
