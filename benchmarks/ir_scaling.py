"""How the time of each pass grows with the program: no pass may be quadratic.

Builds a network of residual blocks twice, the second one ten times as long, runs the whole pipeline
on both, and prints a table of seconds. No two blocks have the same number of channels, so that no
kernel stands for several. Ends with status 1 where a pass takes more than twice ten times as long.

    python benchmarks/ir_scaling.py [--blocks 3] [--factor 10] [--repeat 2]
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections import defaultdict
from collections.abc import Callable
from time import perf_counter

from xdsl.builder import Builder
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from hidet.context import make_context
from hidet.dialects import graph
from hidet.dialects.graph.base import GraphOp, shape_of
from hidet.lowering.pipelines import PassOptions, run_pipeline

SLACK = 2.0
"""How much worse than linear a pass may grow: room for noise, and for memory that gets scarce."""

NEGLIGIBLE = 0.2
"""Passes that take fewer seconds on the large program are not judged."""

CHANNELS = 16
"""Channels of the first block; each block has one more."""


class NetworkBuilder(Builder):
    """Builds layers; weights are constants named by position, as the frontend names them."""

    def __init__(self, insertion_point: InsertPoint) -> None:
        super().__init__(insertion_point)
        self.weights = 0

    def emit(self, op: GraphOp) -> SSAValue:
        """Insert an operation."""
        return self.insert(op).result

    def weight(self, *shape: int) -> SSAValue:
        """Give a new weight."""
        self.weights += 1
        return self.emit(graph.ConstantOp(f"p{self.weights - 1}", TensorType(f32, shape)))

    def conv(self, x: SSAValue, channels: int, kernel: int) -> SSAValue:
        """Give a convolution that keeps height and width, then a batch norm."""
        weight = self.weight(channels, shape_of(x)[1], kernel, kernel)
        y = self.emit(graph.Conv2dOp(x, weight, padding=kernel // 2))
        scale, shift, mean, variance = (self.weight(channels) for _ in range(4))
        return self.emit(graph.BatchNormOp(y, scale, shift, mean, variance))

    def block(self, x: SSAValue, channels: int) -> SSAValue:
        """Give the basic block of ResNet, with a projection of the shortcut."""
        y = self.emit(graph.ReluOp(self.conv(x, channels, 3)))
        y = self.conv(y, channels, 3)
        return self.emit(graph.ReluOp(self.emit(graph.AddOp(y, self.conv(x, channels, 1)))))

    def head(self, x: SSAValue, classes: int) -> SSAValue:
        """Give the probabilities of classes."""
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


def build_network(blocks: int) -> ModuleOp:
    """Build a network of residual blocks."""
    argument = TensorType(f32, [1, 3, 32, 32])
    body = Block(arg_types=[argument])
    builder = NetworkBuilder(InsertPoint.at_end(body))
    x: SSAValue = body.args[0]
    for number in range(blocks):
        x = builder.block(x, CHANNELS + number)
    y = builder.head(x, 100)
    builder.insert(ReturnOp(y))
    signature = FunctionType.from_lists([argument], [y.type])
    return ModuleOp([FuncOp("forward", signature, Region(body))])


def time_passes(blocks: int) -> dict[str, float]:
    """Run the pipeline on a network; give the seconds of each pass."""
    module = build_network(blocks)
    module.verify()
    seconds: defaultdict[str, float] = defaultdict(float)

    def timed(each: ModulePass, _: ModuleOp, run: Callable[[], None]) -> None:
        gc.collect()
        start = perf_counter()
        run()
        seconds[each.name] += perf_counter() - start

    options = PassOptions(arch="sm_90a", verify=True)
    run_pipeline(module, make_context(), options, on_pass=timed)
    return seconds


def best_of(runs: int, blocks: int) -> dict[str, float]:
    """Give the least time of each pass of several runs."""
    results = [time_passes(blocks) for _ in range(runs)]
    return {name: min(result[name] for result in results) for name in results[0]}


def main() -> int:
    """Print the table; give 1 if a pass is worse than linear."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--blocks", type=int, default=3, help="blocks of the small network")
    parser.add_argument("--factor", type=int, default=10, help="how much larger the large one is")
    parser.add_argument("--repeat", type=int, default=2, help="runs, of which the best counts")
    arguments = parser.parse_args()

    factor: int = arguments.factor
    small = best_of(arguments.repeat, arguments.blocks)
    large = best_of(arguments.repeat, arguments.blocks * factor)
    slow: list[str] = []
    print(f"{'pass':<26}{'1x [s]':>10}{f'{factor}x [s]':>10}{'ratio':>8}")
    for name, seconds in large.items():
        ratio = seconds / small[name]
        if ratio > SLACK * factor and seconds > NEGLIGIBLE:
            slow.append(name)
        mark = "  worse than linear" if name in slow else ""
        print(f"{name:<26}{small[name]:>10.3f}{seconds:>10.3f}{ratio:>8.1f}{mark}")
    totals = sum(small.values()), sum(large.values())
    print(f"{'all':<26}{totals[0]:>10.3f}{totals[1]:>10.3f}{totals[1] / totals[0]:>8.1f}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
