"""Stores imported programs, so that another process need not import their graphs again."""

import pickle
from collections.abc import Collection

import torch

from hidet.frontends.torch.imported import Interface
from hidet.frontends.torch.nodes import fp32_precision
from hidet.frontends.torch.pickled import AtenGraph
from hidet.frontends.torch.settings import Settings


def import_key(graph: AtenGraph, static: Collection[int], settings: Settings) -> str | None:
    """Return the key of what the importer makes of a graph under torch's current flags.

    None if the graph cannot be stored.
    """
    from hidet.driver.traces import TraceCache

    if graph.key is None:
        return None
    flags = fp32_precision("matmul"), fp32_precision("conv"), torch.backends.mkldnn.enabled
    # Eager GELU of infinity, for example, depends on the processor.
    processor = torch.backends.cpu.get_cpu_capability()
    how = str((sorted(static), settings, flags, processor))
    return TraceCache.key("import", torch.__version__, graph.key, how)


def load_import(key: str | None) -> Interface | None:
    """Return a stored program; None if there is none.

    Raises:
        CacheError: other users can write to the cache.
    """
    from hidet.driver.traces import TraceCache

    found = None if key is None else TraceCache.current().load(key)
    return None if found is None else pickle.loads(found)


def store_import(key: str, interface: Interface) -> None:
    """Store a program."""
    from hidet.driver.traces import TraceCache

    name = f"a program with {len(interface.inputs)} inputs"
    TraceCache.current().save(key, pickle.dumps(interface), name)
