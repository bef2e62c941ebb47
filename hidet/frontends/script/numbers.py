"""Numbers of numpy: each counts as the number of Python that it is."""

from __future__ import annotations

from typing import cast

import numpy as np


def plain_number(value: object) -> object:
    """Return a number of numpy as one of Python; also those of a tuple. All else stays."""
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return cast("object", value.item())
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        if any(isinstance(item, np.generic) for item in items):
            return tuple(map(plain_number, items))
    return cast("object", value)
