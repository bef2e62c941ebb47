"""The torch frontend: `torch.compile(model, backend="hidet")`.

    dynamo ─► AOTAutograd (decompositions) ─► importer ─► graph ─► hidet.driver ─► program
                                                 └─► partition: the rest stays in eager torch

Read in this order: `backend` (the entry), `decompositions` (which operators arrive), `importer` and
`operators` (how they become graph operations), `outputs` and `storage` (strides and views),
`partition` (what cannot be compiled), `program` (what is called); `by_shape` and `by_precision`
(when a graph is compiled anew).
"""

from functools import cache
from importlib import import_module

NAME = "hidet"
"""The name of the backend."""
ENTRY_POINTS = "torch_dynamo_backends"
"""The group of entry points in which torch looks for backends."""


@cache
def register() -> None:
    """Announce the backend to torch, where torch does not find it by itself; loads torch._dynamo.

    An installed hidet has an entry point, which torch reads when it first looks for a backend.
    """
    from importlib.metadata import entry_points

    if any(entry_points(group=ENTRY_POINTS, name=NAME)):
        return
    import_module("hidet.frontends.torch.entry")
