"""The time of each pass and how it scales with program size: no pass may be quadratic.

Prints the seconds of each pass, and of printing, for ResNet-18 as torch hands it over; then for
networks of residual blocks of growing length, once without two equal layers, so that no kernel
stands for several, and once with all layers equal. Ends with status 1 where the time of a pass
grows more than twice as fast as the program. Nothing is compiled, and no GPU is needed.

    python benchmarks/ir_scaling.py [--blocks 3] [--factors 1 2 5 10] [--repeat 2] [--verify]
"""

from __future__ import annotations

import argparse
import gc
import runpy
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

import torch
from functorch.compile import make_boxed_func
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from xdsl.builder import Builder
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from hidet.backend.printer import print_kernel
from hidet.context import make_context
from hidet.dialects import graph
from hidet.dialects.cuda import KernelOp
from hidet.dialects.graph.base import GraphOp, shape_of
from hidet.frontends.torch.decompositions import decompositions
from hidet.frontends.torch.importer import import_graph
from hidet.loading import collector_paused
from hidet.lowering.pipelines import PassOptions, passes_of

SLACK = 2.0
"""How much worse than linear a pass may grow: room for noise, and for memory that gets scarce."""

NEGLIGIBLE = 0.2
"""Passes that take fewer seconds on the largest program are not judged."""

RESNET = Path(__file__).parents[1] / "examples" / "models" / "resnet.py"

CHANNELS = 16
"""Channels of the first block."""

Times = dict[str, float]
"""Seconds by the name of a pass."""


class NetworkBuilder(Builder):
    """Builds layers; weights are constants named by position, as the frontend names them."""

    def __init__(self, insertion_point: InsertPoint) -> None:
        super().__init__(insertion_point)
        self.weights = 0

    def emit(self, op: GraphOp) -> SSAValue:
        """Insert an operation."""
        return self.insert(op).result

    def weight(self, *shape: int) -> SSAValue:
        """Return a new weight."""
        self.weights += 1
        return self.emit(graph.ConstantOp(f"p{self.weights - 1}", result=TensorType(f32, shape)))

    def conv(self, x: SSAValue, channels: int, kernel: int) -> SSAValue:
        """Return a convolution that keeps height and width, then a batch norm."""
        weight = self.weight(channels, shape_of(x)[1], kernel, kernel)
        y = self.emit(graph.Conv2dOp(x, weight, padding=kernel // 2))
        for op in (graph.SubOp, graph.MulOp, graph.AddOp):  # mean, scale and shift
            y = self.emit(op(y, self.weight(channels, 1, 1)))
        return y

    def block(self, x: SSAValue, channels: int) -> SSAValue:
        """Return the basic block of ResNet, with a projection of the shortcut."""
        y = self.emit(graph.ReluOp(self.conv(x, channels, 3)))
        y = self.conv(y, channels, 3)
        return self.emit(graph.ReluOp(self.emit(graph.AddOp(y, self.conv(x, channels, 1)))))

    def head(self, x: SSAValue, classes: int) -> SSAValue:
        """Return the probabilities of classes."""
        batch, channels = shape_of(x)[:2]
        pooled = self.emit(graph.MeanOp(x, (2, 3)))
        scores = self.emit(
            graph.LinearOp(
                self.emit(graph.ReshapeOp(pooled, (batch, channels))),
                self.weight(classes, channels),
                self.weight(classes),
            )
        )
        return self.emit(graph.SoftmaxOp(scores, 1))


def build_network(blocks: int, step: int) -> ModuleOp:
    """Build a network of residual blocks; each has `step` more channels than the one before."""
    argument = TensorType(f32, [1, CHANNELS, 32, 32])
    body = Block(arg_types=[argument])
    builder = NetworkBuilder(InsertPoint.at_end(body))
    x: SSAValue = body.args[0]
    for number in range(blocks):
        x = builder.block(x, CHANNELS + step * number)
    y = builder.head(x, 100)
    builder.insert(ReturnOp(y))
    signature = FunctionType.from_lists([argument], [y.type])
    return ModuleOp([FuncOp("forward", signature, Region(body))])


def import_resnet() -> ModuleOp:
    """Import ResNet-18 as `torch.compile` does."""
    modules: list[ModuleOp] = []

    def keep(module: fx.GraphModule, inputs: Sequence[torch.Tensor]) -> Callable[..., object]:
        # The input is the last argument, ahead of it stand the weights.
        modules.append(import_graph(module, range(len(inputs) - 1)).module)
        return make_boxed_func(module.forward)

    backend = aot_autograd(
        fw_compiler=keep, inference_compiler=keep, decompositions=decompositions()
    )
    model = runpy.run_path(str(RESNET))["resnet18"]().eval()
    with torch.no_grad():
        torch.compile(model, backend=backend)(torch.randn(1, 3, 224, 224))
    (module,) = modules
    return module


def time_passes(module: ModuleOp, *, verify: bool) -> Times:
    """Lower and print a program; return the seconds of each pass."""
    seconds: defaultdict[str, float] = defaultdict(float)
    context, options = make_context(), PassOptions(arch="sm_90a", verify=verify)
    gc.collect()
    with collector_paused():
        for each in passes_of("hidet-pipeline", options):
            start = perf_counter()
            each.apply(context, module)
            seconds[each.name] += perf_counter() - start
    kernels = [op for op in module.ops if isinstance(op, KernelOp)]
    start = perf_counter()
    for kernel in kernels:
        print_kernel(kernel)
    seconds["(printing)"] = perf_counter() - start
    return seconds


def best_of(runs: int, make: Callable[[], ModuleOp], *, verify: bool) -> Times:
    """Return the least time of each pass of several runs."""
    results = [time_passes(make(), verify=verify) for _ in range(runs)]
    return {name: min(result[name] for result in results) for name in results[0]}


def print_table(title: str, columns: dict[str, Times], factor: float) -> list[str]:
    """Print the times of each pass; return the passes that grow too fast.

    Args:
        title: stands above the table.
        columns: the times of programs of growing length, by what they are called.
        factor: how much longer the last program is than the first; 1 where there is only one.
    """
    first, *_, last = [*columns.values(), *columns.values()]
    print(f"\n{title}\n{'pass':<26}" + "".join(f"{name + ' [s]':>10}" for name in columns), end="")
    print(f"{'ratio':>8}" if factor > 1 else "")
    slow: list[str] = []
    for name in [*last, "all"]:
        row = [sum(c.values()) if name == "all" else c[name] for c in columns.values()]
        line = f"{name:<26}" + "".join(f"{seconds:>10.3f}" for seconds in row)
        if factor > 1:
            ratio = row[-1] / row[0]
            line += f"{ratio:>8.1f}"
            if name in first and ratio > SLACK * factor and row[-1] > NEGLIGIBLE:
                slow.append(name)
                line += "  worse than linear"
        print(line)
    return slow


def main() -> int:
    """Print the tables; return 1 if a pass is worse than linear."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--blocks", type=int, default=3, help="blocks of the shortest network")
    parser.add_argument("--factors", type=int, nargs="+", default=[1, 2, 5, 10])
    parser.add_argument("--repeat", type=int, default=2, help="runs, of which the best counts")
    parser.add_argument("--verify", action="store_true", help="with the checks between stages")
    arguments = parser.parse_args()
    runs, verify = arguments.repeat, arguments.verify
    factors: list[int] = arguments.factors

    resnet = best_of(runs, import_resnet, verify=verify)
    print_table("ResNet-18, one image of 224x224", {"1x": resnet}, factor=1)
    slow: list[str] = []
    for title, step in (("Blocks that all differ", 1), ("Blocks that are all equal", 0)):
        columns = {
            f"{factor}x": best_of(
                runs,
                lambda blocks=arguments.blocks * factor, step=step: build_network(blocks, step),
                verify=verify,
            )
            for factor in factors
        }
        slow += print_table(title, columns, factors[-1] / factors[0])
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
