"""The page of operators."""

from pathlib import Path

from hidet.frontends.torch.listing import page

PAGE = Path(__file__).parents[3] / "docs" / "operators.md"


def test_page():
    """It is what `python -m hidet.frontends.torch.listing` writes."""
    command = "python -m hidet.frontends.torch.listing > docs/operators.md"
    assert PAGE.read_text() == page(), f"{command} writes the page"
