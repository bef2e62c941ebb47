"""The warnings of the torch frontend."""


class UnsupportedOperatorWarning(UserWarning):
    """Operators of a graph are left to eager torch; the message names them."""


class NoEffectWarning(UserWarning):
    """A setting of the original Hidet is accepted, but changes nothing here."""


class ManyShapesWarning(UserWarning):
    """One graph has been compiled for many shapes, each of them anew."""
