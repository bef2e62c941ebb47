"""`HIDET_DUMP=dir`: writes the program after every pass, the kernels, and the plan.

Each program has a folder, named after its key in the cache:

    dir/graph_1f0c62ab9d34/00_graph.mlir       the program of the frontend
                           01_raise-attention.mlir, 02_..., ...
                           kernels/<kernel>.cu   and <kernel>.txt, the compiler's report
                           plan.json

A script module is dumped to `script_<key>`: it begins with `00_task.mlir`, has no plan, and the
reports of the compiler appear when its kernels are compiled, at their first call.

`hidet-opt` reads any of these programs.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from hidet.backend.cache import Store
from hidet.dialects.alias_printer import module_text
from hidet.escape import file_name


class Dump:
    """Writes the files of one program; does nothing without a folder.

    Args:
        folder: the option `dump_dir`.
        key: the key of the program in the cache.
        kind: "graph" or "script".
    """

    def __init__(self, folder: Path | None, key: str, kind: str = "graph") -> None:
        self.folder = None if folder is None else folder / f"{kind}_{key[:12]}"
        self._first = {"graph": "graph", "script": "task"}[kind]
        self._number = 0

    def first(self, module: ModuleOp) -> None:
        """Write the program before all passes."""
        self.program(self._first, module)

    def program(self, name: str, module: ModuleOp) -> None:
        """Write the program after the pass `name`."""
        if self.folder is not None:
            self._write(f"{self._number:02}_{name}.mlir", module_text(module))
            self._number += 1

    def kernels(self, sources: Mapping[str, str]) -> None:
        """Write the source of each kernel, by its symbol."""
        for symbol, source in sources.items():
            self._write(f"kernels/{file_name(symbol)}.cu", source)

    def logs(self, store: Store, keys: Mapping[str, str]) -> None:
        """Write the compiler's output for kernels, by their keys in the cache."""
        for symbol, key in keys.items():
            if entry := store.kernels.entry(key):
                self._write(f"kernels/{file_name(symbol)}.txt", str(entry.meta["log"]))

    def plan(self, text: str) -> None:
        """Write the plan."""
        self._write("plan.json", text)

    def failure(self, pass_name: str, text: str) -> Path:
        """Write the program that a pass failed on, with or without a folder; return the file."""
        folder = self.folder or Path(tempfile.mkdtemp(prefix="hidet-failed-"))
        path = folder / f"{self._number:02}_ahead_of_failed_{pass_name}.mlir"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
        return path

    def _write(self, name: str, text: str) -> None:
        if self.folder is not None:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
