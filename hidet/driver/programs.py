"""The cache of whole programs: maps the text of a graph to its plan and binaries.

This is the second level of the cache. The first one maps sources to binaries; an entry here refers
to them by key. A cached program is loaded without the compiler.
"""

import hashlib
import os
import warnings
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version

import hidet
from hidet.backend.build import find_binary
from hidet.backend.cache import ArtifactCache, CacheWarning, Store, artifact_key
from hidet.backend.toolchains import Toolchain
from hidet.driver.target import Target
from hidet.errors import CacheError
from hidet.runtime.plan import Plan

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


PLAN_FILE = "plan.json"


@dataclass(frozen=True)
class Program:
    """A plan with each binary that it names, by artifact key."""

    plan: Plan
    artifacts: dict[str, bytes]


def program_key(text: str, target: Target, winners: str = "") -> str:
    """Return the key of a program in the cache.

    It covers everything that determines the result: the program, the target with the compiler and
    its options, the architecture, this compiler's own source, the options of passes, and the state
    of the tuner's `winners` if they are looked up. Flags of torch that change the program, such as
    those of TF32, are in its text.
    """
    told = replace(target.options.for_passes(str(target.arch)), verify=False)
    of_passes = f"{told} {target.options.search_space}"
    compilers = target.toolchain.fingerprint(), source_fingerprint()
    return artifact_key(text, *compilers, of_passes, winners)


class ProgramCache:
    """The programs on disk whose binaries are from one toolchain."""

    def __init__(self, store: Store, toolchain: Toolchain) -> None:
        self._programs: ArtifactCache = store.programs
        self._kernels: ArtifactCache = store.kernels
        self._toolchain = toolchain

    def load(self, key: str) -> Program | None:
        """Return a program, or None if it, or one of its binaries, is missing or damaged."""
        entry = self._programs.entry(key)
        if entry is None:
            return None
        try:
            plan = Plan.from_json(entry.files[PLAN_FILE].decode())
        except (CacheError, KeyError, UnicodeDecodeError) as error:
            warnings.warn(
                f"the cached program {entry.path} cannot be used and is compiled again: {error}",
                CacheWarning,
                stacklevel=2,
            )
            self._programs.remove(key)
            return None
        artifacts = self.binaries(plan)
        if artifacts is None:
            # What replaces it may name other binaries: comments in sources have lines of the user.
            self._programs.remove(key)
            return None
        return Program(plan, artifacts)

    def binaries(self, plan: Plan) -> dict[str, bytes] | None:
        """Return the binaries of a plan, by their keys, or None if one is missing or damaged."""
        found: dict[str, bytes] = {}
        for kernel in plan.kernels:
            symbol = self._toolchain.entry(kernel.symbol)
            binary = find_binary(self._kernels, kernel.artifact_key, self._toolchain, symbol)
            if binary is None:
                return None
            found[kernel.artifact_key] = binary
        return found

    def save(self, key: str, plan: Plan) -> None:
        """Store a plan, whose binaries are in the cache already."""
        meta = {"target": plan.target, "kernels": len(plan.kernels)}
        self._programs.put(key, {PLAN_FILE: plan.to_json().encode()}, meta)
