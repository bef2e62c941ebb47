"""Programs that are compiled as a whole, or not at all."""

from collections.abc import Collection

from torch import fx

from hidet.errors import DeviceMismatchError
from hidet.frontends.torch.imported import ImportedGraph
from hidet.frontends.torch.importer import import_graph


def import_whole(module: fx.GraphModule, static: Collection[int], hint: str) -> ImportedGraph:
    """Return an FX graph as a program.

    Raises:
        HidetError: an operator is not compiled, or operators run on several devices.
    """
    imported = import_graph(module, static)
    for error in imported.unsupported.values():
        error.hint = hint
        raise error
    if len(imported.used_devices) > 1:
        devices = ", ".join(sorted(map(str, imported.used_devices)))
        raise DeviceMismatchError(f"one program on {devices}", hint="move all tensors to one")
    return imported
