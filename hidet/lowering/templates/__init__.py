"""Kernel templates: how a fusion becomes a kernel, written in the verbs of the task dialect.

The registry is the table below; the first template that accepts a fusion and has a config for it
builds its kernel.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

# A pass that only reads configs needs no template.
if TYPE_CHECKING:
    from hidet.lowering.templates.base import Template

TEMPLATES: dict[str, str] = {
    "gemv": "hidet.lowering.templates.gemv:GemvTemplate",
    "matmul": "hidet.lowering.templates.matmul:MatmulTemplate",
    "attention": "hidet.lowering.templates.attention:AttentionTemplate",
    "row": "hidet.lowering.templates.row:RowTemplate",
    "elementwise": "hidet.lowering.templates.elementwise:ElementwiseTemplate",
}
"""Name to "module:Class", most special first."""


@cache
def load_template(name: str) -> Template[Any]:
    """Return the template of this name.

    Raises:
        KeyError: where the registry has no such name.
    """
    module, _, attribute = TEMPLATES[name].partition(":")
    return getattr(import_module(module), attribute)()
