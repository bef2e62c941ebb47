"""The xDSL context that hidet's programs live in."""

from xdsl.context import Context
from xdsl.dialects import get_all_dialects

from hidet.universe import HIDET_UNIVERSE

# What hidet uses of xDSL; `test` is for programs of tests.
_CORE_DIALECTS = ("builtin", "func", "arith", "math", "scf", "memref", "tensor", "test")


def make_context() -> Context:
    """Return a context that knows hidet's dialects and those of xDSL that hidet uses.

    Programs that are built in Python need one too: folding asks the context for dialects.
    """
    context = Context()
    core = get_all_dialects()
    for name in _CORE_DIALECTS:
        context.register_dialect(name, core[name])
    for name, factory in HIDET_UNIVERSE.all_dialects.items():
        context.register_dialect(name, factory)
    return context
