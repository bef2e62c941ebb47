"""The torch frontend: `torch.compile(model, backend="hidet")`.

    dynamo ─► AOTAutograd (decompositions) ─► importer ─► graph ─► hidet.driver ─► program
                                                 └─► partition: the rest stays in eager torch

Read in this order: `backend` (the entry point), `decompositions`, `importer` and `operators` (ATen
to the graph dialect), `outputs` and `storage` (strides and views), `partition` (the fallback),
`program` (the compiled graph); `compiling` (recompilation); `traced`, `pickled` and
`stored_imports` (what another process finds).
"""

from functools import cache
from importlib import import_module

NAME = "hidet"
"""The name of the backend."""
ENTRY_POINTS = "torch_dynamo_backends"
"""The group of entry points of torch's backends."""


@cache
def register() -> None:
    """Register the backend with torch, unless an installed hidet has an entry point.

    Imports torch._dynamo.
    """
    from importlib.metadata import entry_points

    if any(entry_points(group=ENTRY_POINTS, name=NAME)):
        return
    import_module("hidet.frontends.torch.entry")
