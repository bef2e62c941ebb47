"""Models of ONNX as modules of PyTorch.

An operator of ONNX is a row of a table: a call of torch. What it does to shapes and data types,
torch says; what it becomes, the tables of the torch frontend say. Operators without a row that ONNX
itself defines by others are taken apart so.

- `table`: the rows; `operators`: what is in them, by family;
- `module`: a model as a module, which walks over the nodes when it is called or traced;
- `values`: what is known before a model is called: weights, sizes, and what is made of them.
"""
