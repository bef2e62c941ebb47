"""The fingerprint of the compiler itself, as part of cache keys."""

import hashlib
import os
from functools import cache
from importlib.metadata import version

import hidet

# Files that affect the generated code.
_SUFFIXES = (".py", ".h", ".cuh")


@cache
def source_fingerprint() -> str:
    """Return a hash of the package's own files and of xDSL's version, computed once per process.

    It hashes content: versions would miss a developer's edits, and modification times what git or
    an archive restores. It takes some 10 ms for 500 files.
    """
    package = os.path.dirname(hidet.__file__)
    digest = hashlib.sha256(version("xdsl").encode())
    # Path objects would take longer than reading the files.
    for folder, folders, names in os.walk(package):
        folders.sort()
        for name in sorted(names):
            if name.endswith(_SUFFIXES):
                path = os.path.join(folder, name)
                with open(path, "rb", buffering=0) as file:
                    content = file.read()
                digest.update(f"{path[len(package) :]}\0{len(content)}\0".encode())
                digest.update(content)
    return digest.hexdigest()
