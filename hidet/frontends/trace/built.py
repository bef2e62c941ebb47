"""Compiled flow graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from hidet.errors import HidetError
from hidet.foreign import plain
from hidet.frontends.torch.spec import Spec
from hidet.frontends.trace.recorded import Recorded


class BuiltGraph:
    """A compiled flow graph.

    Args:
        program: what runs it, on the list of inputs and constants.
        recorded: what it has been compiled from.
        text: the graph as text.
    """

    def __init__(
        self,
        program: Callable[[list[Any]], Sequence[torch.Tensor]],
        recorded: Recorded,
        text: str,
    ) -> None:
        self._program = program
        self._specs = [Spec.of(symbol.example) for symbol in recorded.inputs]
        self._constants = [tensor.torch() for tensor in recorded.constants]
        self._tensor_class = recorded.tensor_class
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __call__(self, *inputs: Any) -> Any:
        """Return the output, or a list of several.

        Raises:
            HidetError: the inputs are not such as the graph has been compiled for.
        """
        results = self.run_async(inputs)
        return results[0] if len(results) == 1 else results

    def run_async(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the outputs, without waiting for a GPU to have computed them."""
        if len(inputs) != len(self._specs):
            raise HidetError(f"{len(inputs)} inputs for a graph that takes {len(self._specs)}")
        tensors = [
            spec.checked(plain(given), "input", number)
            for number, (given, spec) in enumerate(zip(inputs, self._specs, strict=True))
        ]
        return [self._tensor_class(r) for r in self._program([*tensors, *self._constants])]

    def dummy_inputs(self) -> list[Any]:
        """Return random inputs; integers are zeros and ones, so that they are positions, too."""
        return [self._tensor_class(_random(spec)) for spec in self._specs]

    def cuda_graph(self) -> CudaGraph:
        """Return the graph with inputs of its own, to be replayed on a GPU.

        Raises:
            HidetError: it is for the CPU.
        """
        if any(spec.device.type != "cuda" for spec in self._specs):
            raise HidetError(
                "a CUDA graph of a graph for the CPU", hint="symbols are on device='cuda'"
            )
        return CudaGraph(self)


class CudaGraph:
    """A compiled graph with inputs of its own, whose kernels one CUDA Graph launches.

    Args:
        built: the graph.

    Attributes:
        inputs: the inputs that are taken where none are given.
        outputs: the outputs of the last run.
    """

    def __init__(self, built: BuiltGraph) -> None:
        self._built = built
        self.inputs = built.dummy_inputs()
        self.outputs: list[Any] = built.run_async(self.inputs)

    def run(self, inputs: Sequence[Any] | None = None) -> list[Any]:
        """Return the outputs, when they are computed; they are new tensors."""
        outputs = self.run_async(inputs)
        torch.cuda.synchronize()
        return outputs

    def run_async(self, inputs: Sequence[Any] | None = None) -> list[Any]:
        """Return the outputs, without waiting for them to be computed."""
        self.outputs = self._built.run_async(self.inputs if inputs is None else inputs)
        return self.outputs

    def __call__(self, *inputs: Any) -> Any:
        """Return the output, or a list of several."""
        outputs = self.run_async(inputs)
        return outputs[0] if len(outputs) == 1 else outputs


def _random(spec: Spec) -> torch.Tensor:
    """Return a random tensor."""
    if spec.dtype.is_floating_point:
        return torch.randn(spec.shape, device=spec.device).to(spec.dtype)
    return torch.randint(2, spec.shape, device=spec.device).to(spec.dtype)


__all__ = ["BuiltGraph", "CudaGraph"]
