"""Kernel templates: schedules that turn fusions into kernels of the task dialect.

The first template in the registry below that accepts a fusion and has a config for it is used.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

# Avoid importing templates in passes that only read configs.
if TYPE_CHECKING:
    from hidet.lowering.templates.base import Template

TEMPLATES = (
    *("gemv", "matmul", "grouped", "attention", "backward", "stencil", "filters"),
    *("segmented", "row", "transpose", "elementwise"),
)
"""The templates, most specialized first: `row` is `RowTemplate` of the module `row`."""


@cache
def load_template(name: str) -> Template[Any]:
    """Return the template of a name."""
    module = import_module(f"hidet.lowering.templates.{name}")
    return getattr(module, f"{name.capitalize()}Template")()
