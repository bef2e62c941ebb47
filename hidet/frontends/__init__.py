"""Where programs come from; each frontend ends in a module of the graph dialect.

- `hidet.frontends.torch`: PyTorch models, through `torch.compile`.
"""
