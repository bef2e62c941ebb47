"""Models of PyTorch and of ONNX as functions of `hidet.Tensor`."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import torch
from torch.func import functional_call, functionalize

from hidet.errors import MissingNameError
from hidet.foreign import HoldsTensor
from hidet.frontends.trace.recording import Operator
from hidet.tensor import Tensor
from hidet.tensor import from_torch as _wrap

if TYPE_CHECKING:
    from onnx import ModelProto

    from hidet.frontends.onnx.module import OnnxModule


class TorchModel:
    """A module of PyTorch that takes tensors and symbols.

    It keeps the mode that it is called in, and its weights are read in every call.
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

    def to(self, device: object) -> TorchModel:
        """Return the model, with its weights on a device."""
        self.module.to(str(device))
        return self

    def cuda(self) -> TorchModel:
        """Return the model, with its weights on the current GPU."""
        return self.to("cuda")

    def cpu(self) -> TorchModel:
        """Return the model, with its weights on the CPU."""
        return self.to("cpu")

    def _run(self, weights: dict[str, torch.Tensor], arguments: tuple[Any, ...]) -> Any:
        def call(*tensors: Any) -> Any:
            return functional_call(self.module, weights, tensors)

        return functionalize(call)(*arguments)


def from_torch(module: torch.nn.Module | torch.Tensor) -> TorchModel | Tensor:
    """Return a module of PyTorch as a function of `hidet.Tensor`; a tensor as one of ours."""
    return _wrap(module) if isinstance(module, torch.Tensor) else TorchModel(module)


class OnnxModel(TorchModel):
    """A model of ONNX, or a file of one, that takes tensors and symbols.

    Raises:
        HidetError: it is malformed; the error names the node, its operator and the opset.
        UnsupportedOperatorError: it has an operator that is not there.
        UnsupportedDtypeError: it has tensors of a type that is not there.
        MissingNameError: the package `onnx` is not installed.
        OSError: the file cannot be read.
    """

    module: OnnxModule

    def __init__(self, model: ModelProto | str | PathLike[str]) -> None:
        try:
            from hidet.frontends.onnx.module import OnnxModule, read_model
        except ModuleNotFoundError as error:
            if error.name != "onnx":
                raise
            hint = "pip install onnx, or hidet-xdsl[onnx]"
            raise MissingNameError("the package 'onnx' is not installed", hint=hint) from error
        super().__init__(OnnxModule(read_model(model)))

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs."""
        return self.module.input_names

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        return self.module.output_names

    def dict_forward(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outputs by name, for inputs by name."""
        found: Any = self(*(inputs[name] for name in self.input_names))
        if len(self.output_names) == 1:
            found = [found]
        return dict(zip(self.output_names, found, strict=True))

    def _run(self, weights: dict[str, torch.Tensor], arguments: tuple[Any, ...]) -> Any:
        return functional_call(self.module, weights, arguments)


def from_onnx(model: ModelProto | str | PathLike[str]) -> OnnxModel:
    """Return a model of ONNX as a function of `hidet.Tensor`; see `OnnxModel`."""
    return OnnxModel(model)


__all__ = ["OnnxModel", "TorchModel", "from_onnx", "from_torch"]
