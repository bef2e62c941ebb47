"""The part of the original Hidet's `hidet.cuda` that torch implements."""

import torch

from hidet.absent import explain_missing


def available() -> bool:
    """Return whether there is a GPU."""
    return torch.cuda.is_available()


is_available = available


def device_count() -> int:
    """Return the number of GPUs."""
    return torch.cuda.device_count()


def current_device() -> int:
    """Return the index of the current GPU."""
    return torch.cuda.current_device()


def synchronize() -> None:
    """Wait for the current GPU, if there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


explain_missing(__name__)

__all__ = ["available", "current_device", "device_count", "is_available", "synchronize"]
