"""Linear layers, compiled as in a model: torch against hidet, in one run on one GPU.

    python benchmarks/linear.py [--models bert-base ...] [--rows 1 16 ...] [--problems m,n,k ...]
                                [--dtype bfloat16] [--tf32]

A layer is x [m, k] times the transpose of w [n, k]. Weights are rotated, so that those of small
layers come from memory and not from the L2 cache. Times are medians of runs of 20 launches. The
last line of each model is the geometric mean and the worst of torch's time over hidet's.
"""

import argparse
import itertools
import math
import multiprocessing
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import torch
from clock import L2_BYTES, microseconds
from xdsl.parser import Parser

from hidet.context import make_context
from hidet.driver import compile_graph
from hidet.runtime.compiled_graph import CompiledGraph

Sizes = tuple[int, int, int]
"""m, n and k."""

MODELS = {
    "llama-3-8b": ((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336), (128256, 4096)),
    "bert-base": ((2304, 768), (768, 768), (3072, 768), (768, 3072)),
    "bert-large": ((3072, 1024), (1024, 1024), (4096, 1024), (1024, 4096)),
}
"""n and k of each layer."""

IR_TYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}

TOLERANCES = {torch.float16: 2e-3, torch.bfloat16: 8e-3, torch.float32: 1e-5}
"""The largest relative error of a result, in the norm."""

TF32_TOLERANCE = 2e-3


def build(sizes: Sizes, dtype: torch.dtype, tf32: bool, folder: str) -> CompiledGraph:
    """Compile a layer; the second time it comes out of the folder."""
    m, n, k = sizes
    x, w, y = (f"tensor<{a}x{b}x{IR_TYPES[dtype]}>" for a, b in ((m, k), (n, k), (m, n)))
    precision = ' {precision = "tf32"}' if tf32 else ""
    text = f"""func.func @forward(%x: {x}, %w: {w}) -> {y} {{
      %y = graph.linear %x, %w{precision} : ({x}, {w}) -> {y}
      func.return %y : {y}
    }}"""
    module = Parser(make_context(), text).parse_module()
    options = {"cache_dir": folder, "progress": "off"}
    return compile_graph(module, device=torch.device("cuda"), options=options)


def prepare(sizes: Sizes, dtype: torch.dtype, tf32: bool, folder: str) -> None:
    """Build a layer in a process of its own."""
    build(sizes, dtype, tf32, folder)


def measure(sizes: Sizes, dtype: torch.dtype, tf32: bool, folder: str) -> float:
    """Print the line of a layer; return torch's time over hidet's."""
    m, n, k = sizes
    x = torch.randn(m, k, device="cuda").to(dtype)
    copies = 1 + L2_BYTES * 2 // (n * k * dtype.itemsize)
    weights = [torch.randn(n, k, device="cuda").to(dtype) for _ in range(copies)]
    turn = itertools.cycle(weights)
    rival = microseconds(lambda: torch.nn.functional.linear(x, next(turn)))
    graph = build(sizes, dtype, tf32, folder)
    (y,) = graph.run([x, weights[0]], [])
    rows = slice(None, None, max(1, m // 256))
    reference = x[rows].double() @ weights[0].double().T
    error = float((y[rows].double() - reference).norm() / reference.norm())
    if not error < (TF32_TOLERANCE if tf32 else TOLERANCES[dtype]):
        raise SystemExit(f"{sizes} in {dtype} is off by {error:.1e}")
    time = microseconds(lambda: graph.run([x, next(turn)], []))
    print(
        f"{m:6} {n:6} {k:6} {rival:9.1f} {time:9.1f} {rival / time:6.2f} {error:7.1e}", flush=True
    )
    return rival / time


def summary(name: str, ratios: list[float]) -> str:
    """Return what the ratios of a model come to."""
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f"{name}: geometric mean {mean:.2f}, worst {min(ratios):.2f}"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Measure linear layers.")
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--rows", nargs="+", type=int, default=[1, 16, 128, 2048])
    parser.add_argument("--problems", nargs="*", default=[], help="m,n,k: others")
    parser.add_argument("--dtype", default="float16", help="of torch")
    parser.add_argument("--tf32", action="store_true", help="permit TF32 for float32")
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = arguments.tf32
    dtype = getattr(torch, arguments.dtype)
    groups: dict[str, list[Sizes]] = {
        name: [(m, n, k) for m in arguments.rows for n, k in MODELS[name]]
        for name in arguments.models
    }
    if arguments.problems:
        others = (map(int, each.split(",")) for each in arguments.problems)
        groups["others"] = [(m, n, k) for m, n, k in others]
    with tempfile.TemporaryDirectory() as folder:
        each = [sizes for group in groups.values() for sizes in group]
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=spawn) as pool:
            work = partial(prepare, dtype=dtype, tf32=arguments.tf32, folder=folder)
            list(pool.map(work, each))
        print(
            f"{'m':>6} {'n':>6} {'k':>6} {'torch us':>9} {'hidet us':>9} {'ratio':>6} {'error':>7}"
        )
        for name, group in groups.items():
            ratios = [measure(sizes, dtype, arguments.tf32, folder) for sizes in group]
            print(summary(name, ratios), flush=True)


if __name__ == "__main__":
    main()
