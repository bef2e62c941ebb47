"""The models that the benchmarks measure, with inputs of their usual size."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from models import gpt, lenet, mixer, mlp, resnet


@dataclass(frozen=True)
class Case:
    """A model and what it is called with.

    Attributes:
        model: makes the model, with random weights, in float32 on the CPU.
        inputs: makes the input.
    """

    model: Callable[[], nn.Module]
    inputs: Callable[[], torch.Tensor]

    def make(self, device: str, dtype: torch.dtype) -> tuple[nn.Module, torch.Tensor]:
        """Make model and input on a device; whole numbers in the input keep their type."""
        x = self.inputs().to(device)
        return self.model().eval().to(device, dtype), x.to(dtype) if x.is_floating_point() else x


CASES = {
    "mlp": Case(mlp.mlp, lambda: torch.randn(128, 784)),
    "lenet": Case(lenet.lenet, lambda: torch.randn(16, 1, 28, 28)),
    "resnet18": Case(resnet.resnet18, lambda: torch.randn(1, 3, 224, 224)),
    "mixer": Case(mixer.mixer_base, lambda: torch.randn(1, 3, 224, 224)),
    "gpt2-block": Case(gpt.gpt_block, lambda: torch.randn(1, 128, 768)),
    "gpt2": Case(gpt.gpt2, lambda: torch.randint(0, 50257, (1, 128))),
}
"""The cases by name; `gpt2-block` reads [N, length, features] instead of tokens."""
