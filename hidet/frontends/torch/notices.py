"""The warnings of the torch frontend."""


class UnsupportedOperatorWarning(UserWarning):
    """Operators of a graph are left to eager torch; the message names them."""


class ManyShapesWarning(UserWarning):
    """One graph has been compiled for many shapes, each of them anew."""
