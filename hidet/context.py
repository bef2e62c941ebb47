"""The xDSL context of hidet's programs."""

from xdsl.context import Context
from xdsl.dialects import get_all_dialects

from hidet.universe import HIDET_UNIVERSE

# The dialects of xDSL that hidet uses; `test` is for tests.
_CORE_DIALECTS = ("builtin", "func", "arith", "math", "scf", "memref", "tensor", "test")


def make_context() -> Context:
    """Return a context with hidet's dialects and those of xDSL that hidet uses.

    Programs built in Python need one too, as folding looks up dialects.
    """
    context = Context()
    core = get_all_dialects()
    for name in _CORE_DIALECTS:
        context.register_dialect(name, core[name])
    for name, factory in HIDET_UNIVERSE.all_dialects.items():
        context.register_dialect(name, factory)
    return context
