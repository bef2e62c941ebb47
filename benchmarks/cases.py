"""The models that the benchmarks measure, with inputs of typical size."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from models import gpt, lenet, mixer, mlp, resnet
from networks import NETWORKS, settle


@dataclass(frozen=True)
class Case:
    """A model and its input.

    Attributes:
        model: makes the model, with random weights, in float32 on the CPU.
        inputs: makes the input.
    """

    model: Callable[[], nn.Module]
    inputs: Callable[[], torch.Tensor]

    def make(self, device: str, dtype: torch.dtype) -> tuple[nn.Module, torch.Tensor]:
        """Make model and input on a device; integer inputs keep their type."""
        x = self.inputs().to(device)
        return self.model().eval().to(device, dtype), x.to(dtype) if x.is_floating_point() else x


class Transformer(nn.Module):
    """A model of transformers with random weights, whose result is its last hidden state."""

    def __init__(self, config: str, **settings: object) -> None:
        import transformers

        super().__init__()
        self.model = transformers.AutoModel.from_config(getattr(transformers, config)(**settings))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the last hidden state."""
        return self.model(x)[0]


def wide_mlp() -> nn.Module:
    """Return two linear layers from 4096 to 16384 features and back."""
    return nn.Sequential(nn.Linear(4096, 16384), nn.GELU(), nn.Linear(16384, 4096))


LLAMA = {
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "use_cache": False,
}

B0 = {"width_coefficient": 1.0, "depth_coefficient": 1.0, "hidden_dim": 1280}

IMAGE_NETWORKS = {
    "convnext": partial(Transformer, "ConvNextConfig"),
    "efficientnet": partial(Transformer, "EfficientNetConfig", **B0),
    "mobilenet": partial(Transformer, "MobileNetV2Config"),
    "regnet": partial(Transformer, "RegNetConfig"),
    **NETWORKS,
}
"""Convolutional networks beside ResNets: depthwise filters, squeeze and excitation, groups, ..."""


def image_case(make: Callable[[], nn.Module]) -> Case:
    """Return the case of a network that sees one image."""
    return Case(lambda: settle(make()), lambda: torch.randn(1, 3, 224, 224))


class SinCos(nn.Module):
    """The cosine of a sine: a call that is nearly all overhead."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a tensor of the input's shape."""
        return torch.cos(torch.sin(x))


CASES = {
    "sin-cos": Case(SinCos, lambda: torch.randn(1024)),
    "mlp": Case(mlp.mlp, lambda: torch.randn(128, 784)),
    "lenet": Case(lenet.lenet, lambda: torch.randn(16, 1, 28, 28)),
    "resnet18": Case(resnet.resnet18, lambda: torch.randn(1, 3, 224, 224)),
    "mixer": Case(mixer.mixer_base, lambda: torch.randn(1, 3, 224, 224)),
    "gpt2-block": Case(gpt.gpt_block, lambda: torch.randn(1, 128, 768)),
    "gpt2": Case(gpt.gpt2, lambda: torch.randint(0, 50257, (1, 128))),
    "wide-mlp-16": Case(wide_mlp, lambda: torch.randn(16, 4096)),
    "wide-mlp-4096": Case(wide_mlp, lambda: torch.randn(4096, 4096)),
    "bert": Case(partial(Transformer, "BertConfig"), lambda: torch.randint(0, 30522, (1, 128))),
    "bert-32": Case(partial(Transformer, "BertConfig"), lambda: torch.randint(0, 30522, (32, 512))),
    "llama": Case(
        partial(Transformer, "LlamaConfig", **LLAMA), lambda: torch.randint(0, 32000, (1, 512))
    ),
    "vit-64": Case(partial(Transformer, "ViTConfig"), lambda: torch.randn(64, 3, 224, 224)),
    "resnet50": Case(partial(Transformer, "ResNetConfig"), lambda: torch.randn(1, 3, 224, 224)),
    "resnet50-128": Case(
        partial(Transformer, "ResNetConfig"), lambda: torch.randn(128, 3, 224, 224)
    ),
    **{name: image_case(make) for name, make in IMAGE_NETWORKS.items()},
}
"""The cases by name; `gpt2-block` reads [N, length, features] instead of tokens."""
