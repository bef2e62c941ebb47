"""Conversion of data types and devices to torch's."""

import torch

from hidet.frontends.script.types import scalar_type


def torch_dtype(dtype: object) -> torch.dtype:
    """Return the torch type of a hidet type or its name."""
    if isinstance(dtype, torch.dtype):
        return dtype
    found: torch.dtype = getattr(torch, scalar_type(dtype).name)
    return found


def torch_device(device: object) -> torch.device:
    """Return the torch device of a device or its name."""
    return device if isinstance(device, torch.device) else torch.device(str(device))
