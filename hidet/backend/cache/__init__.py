"""The cache on disk: what was compiled once is found again by its content.

A `Store` is a folder with namespaces: `kernels` holds the binaries of compilers, `programs` what
the passes made of a graph. An `ArtifactCache` is one namespace. All of it is safe to use from many
threads and processes, which may be killed at any moment.
"""

from hidet.backend.cache.artifacts import (
    ArtifactCache,
    CacheWarning,
    Store,
    artifact_key,
    open_store,
)
from hidet.backend.cache.entry import DamagedEntryError, Entry
from hidet.backend.cache.folder import EntryInfo

__all__ = [
    "ArtifactCache",
    "CacheWarning",
    "DamagedEntryError",
    "Entry",
    "EntryInfo",
    "Store",
    "artifact_key",
    "open_store",
]
