"""nvcc: compiles kernels to a cubin for one GPU architecture."""

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hidet.backend.toolchains.base import KernelResources, Toolchain
from hidet.errors import CompilerNotFoundError

INSTALL_HINT = (
    "install the CUDA toolkit and set CUDA_HOME to its folder, or run: "
    "pip install 'hidet-xdsl[nvcc]'"
)

_KERNEL = re.compile(r"Compiling entry function '(\w+)'")
_NUMBERS = {
    "stack_bytes": re.compile(r"(\d+) bytes stack frame"),
    "spill_store_bytes": re.compile(r"(\d+) bytes spill stores"),
    "spill_load_bytes": re.compile(r"(\d+) bytes spill loads"),
    "registers": re.compile(r"Used (\d+) registers"),
    "shared_bytes": re.compile(r"(\d+) bytes smem"),
}


@dataclass(frozen=True)
class Nvcc(Toolchain):
    """nvcc for one architecture.

    Args:
        target: the architecture, such as "sm_80" or "sm_90a".
        path: the compiler; None: searched in CUDA_HOME, CUDA_PATH, PATH, the installed Python
            packages and /usr/local/cuda, in this order.
    """

    target: str
    path: Path | None = None

    name: ClassVar[str] = "nvcc"
    suffix: ClassVar[str] = ".cubin"
    source_suffix: ClassVar[str] = ".cu"
    machine: ClassVar[str | None] = "cuda"

    @property
    def command(self) -> Sequence[str]:
        """The compiler."""
        places = [("given", self.path)] if self.path is not None else list(_places())
        for _, path in places:
            if path.is_file() and os.access(path, os.X_OK):
                return (str(path),)
        looked = "".join(f", {path} ({origin})" for origin, path in places)
        raise CompilerNotFoundError(f"no nvcc found: looked in PATH{looked}", hint=INSTALL_HINT)

    @property
    def options(self) -> Sequence[str]:
        """The options; ptxas reports registers and spills."""
        return ("-cubin", f"-arch={self.target}", "-std=c++17", "-O3", "-Xptxas=-v")

    def resources(self, log: str) -> dict[str, KernelResources]:
        """Parse the report of ptxas, which has a paragraph per kernel."""
        # After the text before the first kernel, names and paragraphs alternate.
        _, *parts = _KERNEL.split(log)
        return {
            name: KernelResources(**_numbers(text))
            for name, text in zip(parts[::2], parts[1::2], strict=True)
        }

    def hint(self, log: str) -> str | None:
        """Return a hint if the host compiler that nvcc preprocesses with is missing."""
        if shutil.which("g++") is None:
            return "nvcc needs g++ in PATH (Debian, Ubuntu: apt install g++)"
        return None


def _numbers(text: str) -> dict[str, int]:
    """Parse a paragraph of ptxas's report."""
    found = {name: pattern.search(text) for name, pattern in _NUMBERS.items()}
    return {name: int(match[1]) if match else 0 for name, match in found.items()}


def _places() -> Iterator[tuple[str, Path]]:
    """Yield the paths where nvcc may be, each with its origin."""
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield variable, Path(os.environ[variable], "bin", "nvcc")
    if (found := shutil.which("nvcc")) is not None:
        yield "PATH", Path(found)
    # The wheels of NVIDIA share the package `nvidia` and, from CUDA 13 on, one folder in it.
    packages = importlib.util.find_spec("nvidia")
    for folder in (packages and packages.submodule_search_locations) or ():
        for toolkit in sorted(Path(folder).glob("cu[0-9]*"), reverse=True):
            yield "Python package", toolkit / "bin" / "nvcc"
    yield "usual place", Path("/usr/local/cuda/bin/nvcc")
