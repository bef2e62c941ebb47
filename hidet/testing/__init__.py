"""A kit for tests of a compiler: FileCheck without a process, lit files, and numbers.

- `hidet.testing.filecheck`: run passes on text and match the result,
- `hidet.testing.lit_file`: run the RUN lines of a lit file in this process,
- `hidet.testing.plugin`: both as a pytest plugin,
- `hidet.testing.numeric`: compare tensors with a reference of higher precision.

Start with `docs/write-a-lowering-test.md`.
"""

from hidet.absent import explain_missing

explain_missing(__name__)
