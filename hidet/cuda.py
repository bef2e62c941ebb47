"""The part of the original Hidet's `hidet.cuda` that torch implements."""

import torch.cuda
from torch.cuda import current_device, device_count, is_available

from hidet.absent import explain_missing
from hidet.original import show_elsewhere

available = is_available


def synchronize() -> None:
    """Wait for the current GPU, if there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


show_elsewhere(__name__, {"graph": ["hidet.graph"]})

explain_missing(__name__)

__all__ = ["available", "current_device", "device_count", "is_available", "synchronize"]
