"""How fast products with a few rows are: torch and hidet against what memory gives, on one GPU.

    python benchmarks/skinny.py [--rows 1 2 ...] [--problems 4096,4096 ...] [--along k n] [--sweep]

A product is x [m, k] times a matrix in float16, which lies along k (w [n, k], as in a linear layer)
or along n (w [k, n]). Matrices are rotated, so that they come from memory and not from the cache.
Times are medians of runs of 20 launches, which wait in the queue until all are there. The share is
that of the speed at which the GPU copies, measured in the same run. With `--sweep` the compiler's
choice is compared with others: ways to share the product among threads (`gemv`), and numbers of
parts of k (`split-products`) with tensor cores; `choice` is the share of the best one's speed that
the compiler's has.
"""

import argparse
import itertools
import multiprocessing
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from unittest.mock import patch

import torch
from clock import L2_BYTES, microseconds
from xdsl.parser import Parser

from hidet.arch.chips import Arch
from hidet.context import make_context
from hidet.driver import compile_graph
from hidet.lowering.compute import split_products
from hidet.lowering.templates.gemv import GemvTemplate
from hidet.lowering.templates.gemv_config import GemvConfig, candidates
from hidet.lowering.templates.problem import Problem
from hidet.lowering.templates.splits import SPLITS, best_split
from hidet.runtime.compiled_graph import CompiledGraph

PROBLEMS = (
    *("6144,4096", "4096,4096", "28672,4096", "4096,14336", "128256,4096"),  # Llama-3-8B
    *("2304,768", "768,768", "3072,768", "768,3072"),  # BERT-base
    *("16384,4096", "4096,16384"),
)
"""n, k."""

VECTOR = 8
"""The halves of 16 bytes."""

COPIED_BYTES = 1 << 30

SWEPT = 16
"""So many ways of `gemv` are compared: those with the best estimates."""


@dataclass(frozen=True)
class Way:
    """How a product is computed: shared by threads, or in parts of k by tensor cores.

    Attributes:
        sharing: the config of `gemv`; None for tensor cores.
        parts: how many parts of k there are then.
    """

    sharing: GemvConfig | None
    parts: int = 1

    def __str__(self) -> str:
        if self.sharing is None:
            return f"{self.parts} parts"
        return "gemv " + "x".join(map(str, astuple(self.sharing)[1:]))

    @contextmanager
    def chosen(self) -> Iterator[None]:
        """Have the compiler choose this way."""
        found = [] if self.sharing is None else [self.sharing]
        with ExitStack() as stack:
            stack.enter_context(patch.object(GemvTemplate, "configs", return_value=found))
            stack.enter_context(patch.object(split_products, "best_split", return_value=self.parts))
            yield


@dataclass(frozen=True)
class Case:
    """A product [m, k] times [k, n], whose matrix lies along k or n."""

    m: int
    n: int
    k: int
    along: str

    def ways(self, arch: Arch) -> list[Way]:
        """Return the compiler's choice, and after it others."""
        problem = Problem(1, self.m, self.n, self.k, "f16", "f32", 2)
        shared = [Way(each) for each in candidates(problem, self.along, VECTOR, arch)[:SWEPT]]
        parts = [best_split(problem, arch), 1, *(p for p in SPLITS if self.k % (64 * p) == 0)]
        return shared + [Way(None, each) for each in dict.fromkeys(parts)]

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix in memory."""
        return (self.n, self.k) if self.along == "k" else (self.k, self.n)

    @property
    def program(self) -> str:
        """The product as text."""
        x, y = f"tensor<{self.m}x{self.k}xf16>", f"tensor<{self.m}x{self.n}xf16>"
        w = f"tensor<{self.shape[0]}x{self.shape[1]}xf16>"
        name = "linear" if self.along == "k" else "matmul"
        return f"""func.func @forward(%x: {x}, %w: {w}) -> {y} {{
          %y = graph.{name} %x, %w : ({x}, {w}) -> {y}
          func.return %y : {y}
        }}"""


def build(case: Case, way: Way, folder: str) -> CompiledGraph:
    """Compile a product in a way; the second time it comes out of the folder."""
    with way.chosen():
        module = Parser(make_context(), case.program).parse_module()
        options = {"cache_dir": folder, "progress": "off"}
        return compile_graph(module, device=torch.device("cuda"), options=options)


def prepare(job: tuple[Case, Way, str]) -> None:
    """Build a product in a process of its own."""
    build(*job)


def copy_speed() -> float:
    """Return how many bytes the GPU reads and writes in a microsecond when it copies."""
    source = torch.empty(COPIED_BYTES, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * COPIED_BYTES / microseconds(lambda: target.copy_(source))


def measure(case: Case, ways: list[Way], folders: list[str], speed: float) -> None:
    """Print the line of one product."""
    x = torch.randn(case.m, case.k, device="cuda").half()
    count = 1 + L2_BYTES * 2 // (case.n * case.k * 2)
    matrices = [torch.randn(*case.shape, device="cuda").half() for _ in range(count)]
    factor = matrices[0].T if case.along == "k" else matrices[0]
    reference = x.double() @ factor.double()
    turn = itertools.cycle(matrices)
    along_k = case.along == "k"
    rival = microseconds(lambda: x @ (next(turn).T if along_k else next(turn)))
    times: list[float] = []
    for way, folder in zip(ways, folders, strict=True):
        graph = build(case, way, folder)
        (y,) = graph.run([x, matrices[0]], [])
        error = float((y.double() - reference).norm() / reference.norm())
        if not error < 2e-3:
            raise SystemExit(f"{case} by {way} is off by {error:.1e}")
        times.append(microseconds(lambda graph=graph: graph.run([x, next(turn)], [])))
    best = min(range(len(times)), key=times.__getitem__)
    moved = 2 * (case.m * case.k + case.n * case.k + case.m * case.n)
    print(
        f"{case.m:4} {case.n:6} {case.k:6} {case.along:>5} {rival:9.1f} {times[0]:9.1f} "
        f"{rival / times[0]:6.2f} {moved / speed / times[0]:6.0%} {times[best] / times[0]:7.2f}  "
        f"{ways[0]}; best {ways[best]} {times[best]:.1f}",
        flush=True,
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Measure products with a few rows.")
    parser.add_argument("--rows", nargs="+", type=int, default=[1, 2, 4, 8, 16])
    parser.add_argument("--problems", nargs="+", default=PROBLEMS, help="n,k")
    parser.add_argument("--along", nargs="+", default=["k"], choices=["k", "n"])
    parser.add_argument("--sweep", action="store_true", help="measure other choices, too")
    arguments = parser.parse_args()
    capability = "".join(map(str, torch.cuda.get_device_capability()))
    arch = Arch.parse(f"sm_{capability}a" if capability == "90" else f"sm_{capability}")
    with tempfile.TemporaryDirectory() as folder:
        jobs: list[tuple[Case, Way, str]] = []
        for text, along, m in itertools.product(
            arguments.problems, arguments.along, arguments.rows
        ):
            n, k = map(int, text.split(","))
            case = Case(m, n, k, along)
            for way in case.ways(arch)[: None if arguments.sweep else 1]:
                jobs.append((case, way, str(Path(folder, str(len(jobs))))))
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=spawn) as pool:
            list(pool.map(prepare, jobs, chunksize=2))
        speed = copy_speed()
        print(f"copies at {speed / 1e6:.2f} TB/s")
        print(
            f"{'m':>4} {'n':>6} {'k':>6} {'along':>5} {'torch us':>9} {'hidet us':>9} {'ratio':>6} "
            f"{'share':>6} {'choice':>7}  way: vector x lanes x groups x unroll x columns, or parts"
        )
        for case, group in itertools.groupby(jobs, key=lambda job: job[0]):
            _, ways, folders = zip(*group, strict=True)
            measure(case, list(ways), list(folders), speed)


if __name__ == "__main__":
    main()
