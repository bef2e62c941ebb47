"""The device header: what generated kernels include, with one body for nvcc and one for g++.

The C++ stands beside this file; `hidet.h` is where to begin reading. nvcc itself includes
`cuda_runtime.h`.
"""

import functools
import hashlib
from pathlib import Path

INCLUDE_DIR = Path(__file__).parent
"""The folder that compilers search for `hidet.h`."""


def header_files() -> tuple[Path, ...]:
    """List all files that kernels may include, by name."""
    return tuple(sorted([*INCLUDE_DIR.glob("*.h"), *INCLUDE_DIR.glob("*.cuh")]))


@functools.cache
def header_digest() -> str:
    """Return a sha256 of the names and contents of all headers; read once a process."""
    digest = hashlib.sha256()
    for path in header_files():
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
