"""Models of PyTorch as functions of `hidet.Tensor`."""

from __future__ import annotations

from typing import Any

import torch
from torch.func import functional_call, functionalize

from hidet.foreign import HoldsTensor
from hidet.frontends.trace.recording import Operator
from hidet.tensor import Tensor
from hidet.tensor import from_torch as _wrap


class TorchModel:
    """A module of PyTorch that takes tensors and symbols.

    Args:
        module: the module, in the mode that it is called in; its weights are read in every call.
    """

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = module

    def __call__(self, *arguments: Any) -> Any:
        """Return what the module gives: tensors, or symbols where an argument is one."""
        module = self.module
        weights = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        held = {name: Tensor(weight.detach()) for name, weight in weights.items()}
        taken = [
            Tensor(a) if isinstance(a, torch.Tensor) and not isinstance(a, HoldsTensor) else a
            for a in arguments
        ]
        name = type(module).__name__
        return Operator(name, self._run, {}, (held, tuple(taken)), {}).run()

    def _run(self, weights: dict[str, torch.Tensor], arguments: tuple[Any, ...]) -> Any:
        def call(*tensors: Any) -> Any:
            return functional_call(self.module, weights, tensors)

        return functionalize(call)(*arguments)


def from_torch(module: torch.nn.Module | torch.Tensor) -> TorchModel | Tensor:
    """Return a module of PyTorch as a function of `hidet.Tensor`; a tensor as one of ours."""
    return _wrap(module) if isinstance(module, torch.Tensor) else TorchModel(module)


__all__ = ["TorchModel", "from_torch"]
