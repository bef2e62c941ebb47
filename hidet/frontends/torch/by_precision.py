"""Graphs with convolutions, compiled anew when torch's flag for their precision changes.

dynamo traces a function again when the flag for matrix products changes, but does not watch the one
for convolutions, `torch.backends.cudnn.conv.fp32_precision` (also set by `cudnn.allow_tf32`).
"""

from collections.abc import Callable, Sequence
from typing import Any

from hidet.frontends.torch.late import compiling
from hidet.frontends.torch.operators.emitter import fp32_precision

Boxed = Callable[[list[Any]], Sequence[Any]]
"""A function of the list of its arguments."""


class ProgramsByPrecision:
    """The programs of one graph, by the precision of convolutions that they are for.

    Args:
        compile_now: compiles the graph under the flags of the moment.
    """

    def __init__(self, compile_now: Callable[[], Boxed]) -> None:
        self._boxed_call = True  # tells torch to pass one list
        self._compile_now = compile_now
        self._programs: dict[str, Boxed] = {}
        self._program()

    def __call__(self, arguments: list[Any]) -> Sequence[Any]:
        """Run the program for torch's flag."""
        return self._program()(arguments)

    def _program(self) -> Boxed:
        """Give the program for torch's flag, compiled if this is the first time."""
        precision = fp32_precision("conv")
        if precision not in self._programs:
            with compiling():
                if precision not in self._programs:
                    self._programs[precision] = self._compile_now()
        return self._programs[precision]
