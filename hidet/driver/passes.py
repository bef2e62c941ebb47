"""Runs passes on a program, with times, dumps, and reproducers of failures.

`HIDET_DUMP=dir` writes a folder for each program, named after its key in the cache:

    dir/graph_1f0c62ab9d34/00_graph.mlir       the program of the frontend
                           01_raise-attention.mlir, 02_..., ...
                           kernels/<kernel>.cu   and <kernel>.txt, the compiler's report
                           plan.json

A script module is dumped to `script_<key>`: it begins with `00_task.mlir`, has no plan, and the
reports of the compiler appear when its kernels are compiled, at their first call. `hidet-opt` reads
any of these programs.
"""

import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import chain
from pathlib import Path
from time import perf_counter

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from hidet.backend.cache import Store
from hidet.context import make_context
from hidet.dialects.alias_printer import module_text
from hidet.errors import HidetError
from hidet.escape import file_name
from hidet.loading import collector_paused
from hidet.lowering.blame import blame
from hidet.runtime.times import CompileTimes


class Dump:
    """Writes the files of a program, of kind "graph" or "script"; nothing without a folder."""

    def __init__(self, folder: Path | None, key: str, kind: str = "graph") -> None:
        self.folder = None if folder is None else folder / f"{kind}_{key[:12]}"
        self.first = {"graph": "graph", "script": "task"}[kind]
        """The name of the program before all passes."""
        self._number = 0

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
        return _write(folder / f"{self._number:02}_ahead_of_failed_{pass_name}.mlir", text)

    def _write(self, name: str, text: str) -> None:
        if self.folder is not None:
            _write(self.folder / name, text)


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")
    return path


@dataclass(eq=False)
class Lowering:
    """Lowers a program in place, by passes in order.

    If a pass fails, the program before the pass is written to a file; the error's hint names it,
    and the command that reproduces the failure. `again` returns a new copy of the program before
    all passes.
    """

    module: ModuleOp
    dump: Dump
    report: CompileTimes
    _: KW_ONLY
    again: Callable[[], ModuleOp]
    verify: bool

    def __post_init__(self) -> None:
        self._context = make_context()
        self._done: list[Iterable[ModulePass]] = []
        self.dump.program(self.dump.first, self.module)

    def run(self, passes: Iterable[ModulePass]) -> None:
        """Run passes, after those of earlier calls.

        Raises:
            PassError: a pass failed; it names the pass and the source line of the operation.
            LegalityError: a check between two stages failed.
        """
        with collector_paused():
            for each in passes:
                start = perf_counter()
                try:
                    with blame(each):
                        each.apply(self._context, self.module)
                        if self.verify:
                            self.module.verify()
                except HidetError as error:
                    # The pass may have left the program partially rewritten: start again.
                    replayed = self.again()
                    for earlier in chain.from_iterable(self._done):
                        earlier.apply(self._context, replayed)
                    path = self.dump.failure(each.name, module_text(replayed))
                    command = f"hidet-opt {path} -p '{each.pipeline_pass_spec()}'"
                    hints = filter(None, (error.hint, f"to repeat it: {command}"))
                    error.hint = "\n        ".join(hints)
                    raise
                self.report.passes.append((each.name, perf_counter() - start))
                self._done.append([each])
                self.dump.program(each.name, self.module)

    def have_run(self, passes: Iterable[ModulePass]) -> None:
        """Record passes that have run elsewhere, for reproducers of later failures.

        They are not looked at before, as passes are imported when they are.
        """
        self._done.append(passes)
