"""Names of the original Hidet's `hidet.lang.constructs`; they are defined in `hidet.lang`."""

from hidet.lang import meta
from hidet.original import show_elsewhere

show_elsewhere(__name__, {"declare": ["hidet.lang"], "loops": ["hidet.lang"]})

__all__ = ["meta"]
