"""Matmuls: torch.matmul against hidet, in one run on one GPU.

    python benchmarks/matmul.py [--problems 4096,4096,4096 16,16384,4096 ...] [--sweep]

A product is x [m, k] times the transpose of w [n, k], as in a linear layer, in float16. Weights are
rotated, so that those of small products come from memory and not from the L2 cache. Times are
medians of runs of 20 launches. With `--sweep` all blockings that the template lists are measured,
built in processes side by side, and the column `choice` says what share of the best one's speed the
cost model's first choice has.
"""

import argparse
import itertools
import multiprocessing
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple
from pathlib import Path
from unittest.mock import patch

import torch
from clock import L2_BYTES, microseconds
from xdsl.parser import Parser

from hidet.arch.chips import Arch
from hidet.context import make_context
from hidet.driver import compile_graph
from hidet.lowering.compute import split_products
from hidet.lowering.templates.blocking import Blocking
from hidet.lowering.templates.gemv import GemvTemplate
from hidet.lowering.templates.matmul import MatmulTemplate
from hidet.lowering.templates.problem import Problem
from hidet.lowering.templates.tilings import candidates
from hidet.runtime.compiled_graph import CompiledGraph

PROBLEMS = (
    *("4096,4096,4096", "8192,8192,8192", "2048,4096,4096", "2048,11008,4096", "512,2048,8192"),
    *("128,768,3072", "128,3072,768", "16,16384,4096", "16,4096,4096", "1,4096,16384"),
)
"""m, n, k."""

PEAK_FLOPS, PEAK_BYTES = 790e12, 4.26e12
"""Of an H200: 16-bit products a second, and bytes a second from memory, as measured."""


def program(m: int, n: int, k: int) -> str:
    """Return a linear layer as text."""
    x, w, y = f"tensor<{m}x{k}xf16>", f"tensor<{n}x{k}xf16>", f"tensor<{m}x{n}xf16>"
    return f"""func.func @forward(%x: {x}, %w: {w}) -> {y} {{
      %y = graph.linear %x, %w : ({x}, {w}) -> {y}
      func.return %y : {y}
    }}"""


def build(sizes: tuple[int, int, int], blocking: Blocking, folder: str) -> CompiledGraph:
    """Compile a product with a blocking; the second time it comes out of the folder."""
    with (
        patch.object(MatmulTemplate, "best", return_value=blocking),
        patch.object(GemvTemplate, "configs", return_value=[]),
        patch.object(split_products, "best_split", return_value=1),
    ):
        module = Parser(make_context(), program(*sizes)).parse_module()
        options = {"cache_dir": folder, "progress": "off"}
        return compile_graph(module, device=torch.device("cuda"), options=options)


def prepare(job: tuple[tuple[int, int, int], Blocking, str]) -> None:
    """Build a product in a process of its own."""
    build(*job)


def measure(sizes: tuple[int, int, int], blockings: list[Blocking], folders: list[str]) -> None:
    """Print the line of one product."""
    m, n, k = sizes
    x = torch.randn(m, k, device="cuda").half()
    copies = 1 + L2_BYTES * 2 // (n * k * 2)
    weights = [torch.randn(n, k, device="cuda").half() for _ in range(copies)]
    reference = x.double() @ weights[0].double().T
    turn = itertools.cycle(weights)
    rival = microseconds(lambda: torch.nn.functional.linear(x, next(turn)))
    times: list[float] = []
    for blocking, folder in zip(blockings, folders, strict=True):
        graph = build(sizes, blocking, folder)
        (y,) = graph.run([x, weights[0]], [])
        error = float((y.double() - reference).norm() / reference.norm())
        if not error < 2e-3:
            raise SystemExit(f"{sizes} by {blocking} is off by {error:.1e}")
        times.append(microseconds(lambda graph=graph: graph.run([x, next(turn)], [])))
    best = min(range(len(times)), key=times.__getitem__)
    floor = max(2 * m * n * k / PEAK_FLOPS, 2 * (m * k + n * k + m * n) / PEAK_BYTES) * 1e6
    chosen = "x".join(map(str, astuple(blockings[best])[1:]))
    print(
        f"{m:6} {n:6} {k:6} {rival:9.1f} {times[best]:9.1f} {rival / times[best]:6.2f} "
        f"{floor / times[best]:6.0%} {times[best] / times[0]:7.2f}  {chosen}",
        flush=True,
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Measure products of matrices.")
    parser.add_argument("--problems", nargs="+", default=PROBLEMS, help="m,n,k")
    parser.add_argument("--sweep", action="store_true", help="measure all blockings")
    arguments = parser.parse_args()
    capability = "".join(map(str, torch.cuda.get_device_capability()))
    arch = Arch.parse(f"sm_{capability}a" if capability == "90" else f"sm_{capability}")
    jobs: list[tuple[tuple[int, int, int], list[Blocking], list[str]]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(arguments.problems):
            m, n, k = map(int, text.split(","))
            found = candidates(Problem(1, m, n, k, "f16", "f32", 2), arch)
            found = list(found if arguments.sweep else found[:1])
            folders = [str(Path(folder) / f"{number}_{each}") for each in range(len(found))]
            jobs.append(((m, n, k), found, folders))
        each = [
            (sizes, blocking, place)
            for sizes, found, folders in jobs
            for blocking, place in zip(found, folders, strict=True)
        ]
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=spawn) as pool:
            list(pool.map(prepare, each, chunksize=2))
        print(
            f"{'m':>6} {'n':>6} {'k':>6} {'torch us':>9} {'hidet us':>9} {'ratio':>6} {'floor':>6} "
            f"{'choice':>7}  block_m x block_n x block_k x rows x columns x stages"
        )
        for job in jobs:
            measure(*job)


if __name__ == "__main__":
    main()
