"""The part of the original Hidet's `hidet.cuda` that torch implements."""

import torch.cuda
from torch.cuda import current_device, device_count, is_available

from hidet.absent import explain_missing

available = is_available


def synchronize() -> None:
    """Wait for the current GPU, if there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


explain_missing(__name__)

__all__ = ["available", "current_device", "device_count", "is_available", "synchronize"]
