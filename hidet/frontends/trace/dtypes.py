"""Data types and devices as users name them."""

import torch

from hidet.frontends.script.types import scalar_type


def torch_dtype(dtype: object) -> torch.dtype:
    """Return torch's type for one of ours, or for its name."""
    if isinstance(dtype, torch.dtype):
        return dtype
    found: torch.dtype = getattr(torch, scalar_type(dtype).name)
    return found


def torch_device(device: object) -> torch.device:
    """Return torch's device for one, or for its name."""
    return device if isinstance(device, torch.device) else torch.device(str(device))
