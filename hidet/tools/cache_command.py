"""`hidet cache`: shows and clears the cache."""

from datetime import datetime
from pathlib import Path

from hidet.backend.cache import EntryInfo, Store
from hidet.backend.cache.entry import DamagedEntryError, read_entry
from hidet.backend.cache.folder import NAMESPACES

SHOWN_ENTRIES = 10


def show(root: Path) -> None:
    """Print the size of the cache, and the most recently used entries."""
    store = Store(root)
    entries = store.entries()
    print(store.folder.root)
    for namespace in NAMESPACES:
        sizes = [info.bytes for info in entries if info.namespace == namespace]
        print(f"  {namespace:<10}{len(sizes):>7} entries {_megabytes(sum(sizes))}")
    print(f"  {'total':<10}{len(entries):>7} entries {_megabytes(store.size())}")
    for info in reversed(entries[-SHOWN_ENTRIES:]):
        used = datetime.fromtimestamp(info.last_used).strftime("%Y-%m-%d %H:%M")
        size = _megabytes(info.bytes)
        print(f"  {used}  {info.namespace:<8}  {info.key[:12]} {size}  {_name(info)}")


def clear(root: Path) -> None:
    """Remove all entries of the cache, and print their size."""
    store = Store(root)
    count = len(store.entries())
    print(f"removed {count} entries, {_megabytes(store.clear()).strip()}, from {store.folder.root}")


def _name(info: EntryInfo) -> str:
    """Return the title of an entry from its metadata, without marking it as used."""
    try:
        meta = read_entry(info.path, info.key).meta
    except (DamagedEntryError, FileNotFoundError) as error:
        return f"({error})"
    if info.namespace == "programs":
        return f"{meta.get('kernels')} kernels for {meta.get('target')}"
    if info.namespace == "winners":
        return f"{meta.get('title')}: {meta.get('config')}"
    return str(meta.get("name", ""))


def _megabytes(size: int) -> str:
    return f"{size / 1e6:9.2f} MB"
