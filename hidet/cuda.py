"""Names of the original Hidet's `hidet.cuda`: the GPUs of the machine, as torch sees them."""

import torch

from hidet.absent import explain_missing
from hidet.original import show_elsewhere


def available() -> bool:
    """Return whether there is a GPU."""
    return torch.cuda.is_available()


is_available = available


def device_count() -> int:
    """Return the number of GPUs."""
    return torch.cuda.device_count()


def current_device() -> int:
    """Return the number of the current GPU."""
    return torch.cuda.current_device()


def synchronize() -> None:
    """Wait until the current GPU has finished; without a GPU there is nothing to wait for."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


show_elsewhere(__name__, {"graph": ["hidet.graph"]})

explain_missing(__name__)

__all__ = ["available", "current_device", "device_count", "is_available", "synchronize"]
