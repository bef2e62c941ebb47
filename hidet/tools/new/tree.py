"""Adds files and entries to a checkout."""

from dataclasses import dataclass
from pathlib import Path
from string import Template

from hidet.errors import HidetError

TEXTS = Path(__file__).parent


def fill(text: str, **names: str) -> str:
    """Return a template of this folder with names substituted."""
    return Template((TEXTS / f"{text}.txt").read_text()).substitute(names)


@dataclass(frozen=True)
class Tree:
    """A checkout; all methods return the path that they have changed.

    Raises:
        HidetError: the folder is not a checkout.
    """

    root: Path

    def __post_init__(self) -> None:
        for needed in ("hidet/universe.py", "lit_tests", "CHANGELOG.md"):
            if not (self.root / needed).exists():
                raise HidetError(
                    f"new files belong to a checkout of hidet, and there is no {needed}",
                    where=str(self.root.absolute()),
                    hint="run it in the root of the repository, or give --root",
                )

    def write(self, path: str, text: str) -> str:
        """Write a new file.

        Raises:
            HidetError: it exists.
        """
        file = self.root / path
        if file.exists():
            raise HidetError("there is such a file already", where=path, hint="choose another name")
        file.write_text(text)
        return path

    def append(self, path: str, text: str) -> str:
        """Add text at the end of a file."""
        file = self.root / path
        file.write_text(file.read_text() + text)
        return path

    def insert(self, path: str, text: str, *, after: str = "\n", before: str = "") -> str:
        """Add text at the first place between two others.

        Raises:
            HidetError: there is no such place.
        """
        file = self.root / path
        content = file.read_text()
        start = content.find(after + before)
        if start < 0:
            raise HidetError(f"there is no '{(after + before).strip()}'", where=path)
        start += len(after)
        file.write_text(content[:start] + text + content[start:])
        return path
