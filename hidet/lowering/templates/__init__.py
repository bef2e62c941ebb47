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

TEMPLATES: dict[str, str] = {
    "gemv": "hidet.lowering.templates.gemv:GemvTemplate",
    "matmul": "hidet.lowering.templates.matmul:MatmulTemplate",
    "attention": "hidet.lowering.templates.attention:AttentionTemplate",
    "depthwise": "hidet.lowering.templates.depthwise:DepthwiseTemplate",
    "row": "hidet.lowering.templates.row:RowTemplate",
    "transpose": "hidet.lowering.templates.transpose:TransposeTemplate",
    "elementwise": "hidet.lowering.templates.elementwise:ElementwiseTemplate",
}
"""Name to "module:Class", most specialized first."""


@cache
def load_template(name: str) -> Template[Any]:
    """Return the template of a name."""
    module, _, attribute = TEMPLATES[name].partition(":")
    return getattr(import_module(module), attribute)()
