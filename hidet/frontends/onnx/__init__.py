"""Imports ONNX models as PyTorch modules.

A table maps ONNX operators to functions of torch, which infer shapes and data types, and which the
torch frontend compiles. Other operators are decomposed if ONNX defines them as functions.

- `table`, `operators`: the table, by family;
- `module`: a model as a module, which interprets the nodes when it is called or traced;
- `values`: data types, and constants: weights, sizes, and what depends on them alone.
"""
