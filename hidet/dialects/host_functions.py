"""The functions of a program that run on the host: their names and attributes."""

FORWARD = "forward"
"""The function that runs in every call."""

PREPARE = "prepare"
"""The function that runs once for a set of weights; it need not exist."""

OUTPUT_COUNT = "outputs"
ARENA_BYTES = "arena_bytes"
PREPARED_BYTES = "prepared_bytes"
"""The attributes of a function that has its memory planned."""


def prepared_name(position: int) -> str:
    """Name the constant of `@forward` that is the result of `@prepare` at a position."""
    return f"prepared{position}"
