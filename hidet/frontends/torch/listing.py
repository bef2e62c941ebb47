"""Generates `docs/operators.md`: the supported ATen operators, and the unsupported ones.

python -m hidet.frontends.torch.listing > docs/operators.md
"""

from collections.abc import Iterable
from pathlib import Path
from textwrap import fill

from jinja2 import Template

from hidet.frontends.torch import decomposed
from hidet.frontends.torch.decompositions import ADDED
from hidet.frontends.torch.nodes import Overload
from hidet.frontends.torch.operators import FAMILIES

TEMPLATE = Path(__file__).with_name("listing.md.jinja")
"""The page without the names of supported operators."""


def _listed(targets: Iterable[Overload]) -> str:
    """Return the sorted names of operators."""
    names = sorted({str(target).split(".")[1] for target in targets})
    return fill(", ".join(f"`{name}`" for name in names), 100, break_on_hyphens=False)


def page() -> str:
    """Return the text of the page."""
    added = ", ".join(f"`{str(packet).removeprefix('aten.')}`" for packet in ADDED)
    template = Template(TEMPLATE.read_text(), trim_blocks=True, keep_trailing_newline=True)
    return template.render(
        compiled=FAMILIES, decomposed=decomposed.FAMILIES, listed=_listed, added=fill(added, 100)
    )


if __name__ == "__main__":
    print(page(), end="")
