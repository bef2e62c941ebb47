"""The content-addressed cache on disk.

A `Store` is a folder with namespaces: `kernels` has binaries, `programs` lowered graphs, `winners`
results of the tuner, `traces` graphs of torch. An `ArtifactCache` is one namespace. All operations
are safe for concurrent threads and processes, which may be killed at any time.
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
