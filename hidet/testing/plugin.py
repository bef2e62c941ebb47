"""A pytest plugin: the fixture `run_filecheck`, and lit files as tests.

Enable it with `-p hidet.testing.plugin` or, in the top `conftest.py`,
`pytest_plugins = ["hidet.testing.plugin"]`. Every `.mlir` and `.py` file below a folder with a
`lit.cfg.py` becomes one in-process test per RUN line.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typing_extensions import override

from hidet.testing.filecheck import filecheck
from hidet.testing.lit_file import LitFailure, needs_shell, read_run_lines, run_line

if TYPE_CHECKING:
    from _pytest._code.code import TerminalRepr


@pytest.fixture
def run_filecheck() -> Callable[[str, str], None]:
    """Return `hidet.testing.filecheck.filecheck`: run passes, match the CHECK comments."""
    return filecheck


class LitItem(pytest.Item):
    """One RUN line of a lit file."""

    line = ""

    @override
    def runtest(self) -> None:
        if not self.line:
            raise LitFailure("the file has no RUN line")
        if needs_shell(self.path):
            pytest.skip("REQUIRES: shell; lit runs this file")
        run_line(self.line, self.path)

    @override
    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None
    ) -> "str | TerminalRepr":
        """Show a failure without Python tracebacks."""
        if isinstance(excinfo.value, LitFailure):
            return f"{excinfo.value}\nRUN: {self.line}"
        return super().repr_failure(excinfo)

    @override
    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"RUN: {self.line}"


class LitFile(pytest.File):
    """A lit file."""

    @override
    def collect(self) -> Iterator[LitItem]:
        """Make a test for each RUN line; a file without one fails."""
        for number, line in enumerate(read_run_lines(self.path) or [""]):
            item: LitItem = LitItem.from_parent(self, name=f"run{number}")
            item.line = line
            yield item


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> LitFile | None:
    """Collect `.mlir` and `.py` files below a folder with a `lit.cfg.py`."""
    if file_path.suffix not in (".mlir", ".py") or file_path.name == "lit.cfg.py":
        return None
    if not any((folder / "lit.cfg.py").exists() for folder in file_path.parents):
        return None
    return LitFile.from_parent(parent, path=file_path)
