"""What a compiled program depends on beside its text: the compiler itself."""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

import hidet

# Whatever can change the code that comes out.
_SUFFIXES = (".py", ".h", ".cuh")


@cache
def source_fingerprint() -> str:
    """Give a hash of the package's own files and of xDSL's version, read once a process.

    It is the content that counts. Versions would not see what a developer edits, and times of
    files would not see what git or an archive restores. It takes a few milliseconds.
    """
    package = Path(hidet.__file__).parent
    digest = hashlib.sha256(version("xdsl").encode())
    files = sorted(path for path in package.rglob("*") if path.suffix in _SUFFIXES)
    for path in files:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(package)}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
