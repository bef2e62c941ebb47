"""The cache of traces: of what torch has made of its graphs, before programs are made of them."""

from hidet.backend.cache import ArtifactCache, Store, artifact_key
from hidet.driver.options import CompileOptions
from hidet.driver.programs import source_fingerprint

TRACE_FILE = "trace.pickle"


class TraceCache:
    """The traces on disk, as bytes, in this user's cache."""

    def __init__(self, store: Store) -> None:
        self._traces: ArtifactCache = store.traces

    @staticmethod
    def current() -> "TraceCache":
        """Return the one of the current options.

        Raises:
            CacheError: other users can write to the cache.
        """
        return TraceCache(CompileOptions.current().store())

    @staticmethod
    def key(*determined_by: str) -> str:
        """Return the key of what this compiler's source and these texts determine."""
        return artifact_key(source_fingerprint(), *determined_by)

    def load(self, key: str) -> bytes | None:
        """Return a trace, or None if it is missing or damaged."""
        entry = self._traces.entry(key)
        return None if entry is None else entry.files.get(TRACE_FILE)

    def save(self, key: str, trace: bytes, name: str) -> None:
        """Store a trace, with its name in listings."""
        self._traces.put(key, {TRACE_FILE: trace}, {"name": name})
