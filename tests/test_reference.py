"""The API reference (`make docs`) has a place for everything that users import."""

import importlib
import re
from pathlib import Path
from types import ModuleType

import hidet
from hidet.frontends.trace.operators import FAMILIES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TARGET = re.compile(r"^::: (\S+)$", re.MULTILINE)


def test_every_public_name():
    """What `hidet` hands out is a module with a page, or from such a module."""
    pages = (DOCS / "reference").glob("*.md")
    targets = {target for page in pages for target in TARGET.findall(page.read_text())}
    found = [vars(importlib.import_module(target)).values() for target in targets]
    public = {name: getattr(hidet, name) for name in hidet.__all__}
    modules = {value.__name__ for value in public.values() if isinstance(value, ModuleType)}
    assert modules <= targets
    identities = {id(value) for values in found for value in values}
    others = {name for name, value in public.items() if not isinstance(value, ModuleType)}
    assert {name for name in others if id(public[name]) not in identities} == {"__version__"}
    assert {family.__name__ for family in FAMILIES} <= targets


def test_every_page_is_in_the_navigation():
    """Pages that no menu leads to are not found."""
    listed = set(re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    assert {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} == listed
