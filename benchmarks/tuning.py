"""What tuning costs, and how good the cost model is.

    python benchmarks/tuning.py [--product 4096,4096,4096] [--dtype f16] [--problems 40]

First the seconds from a program of one product to something that runs, with an empty cache, in
spaces 0, 1 and 2. Then, for each of many products, the time of the cost model's first choice next
to that of the winner of space 2, with cold weights; the last line is the geometric mean of winner
over first choice, 1 where the cost model is always right.
"""

import argparse
import tempfile
from statistics import geometric_mean
from time import perf_counter

from products import DEVICE, Sizes, fresh_tuner, fusions, program
from xdsl.parser import Parser

from hidet.context import make_context
from hidet.driver import compile_graph
from hidet.tuning.search import Search, Timed

WIDTHS = (
    *((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336)),  # Llama-3-8B: n, k
    *((768, 768), (3072, 768), (768, 3072)),  # BERT-base
    *((1024, 1024), (4096, 1024)),  # BERT-large
)
ROWS = (1, 16, 128, 2048)
OTHERS: tuple[Sizes, ...] = (
    *((4096, 4096, 4096), (8192, 8192, 8192)),
    *((1000, 1000, 1000), (4000, 500, 2000)),
)
PROBLEMS: tuple[Sizes, ...] = (*((m, n, k) for n, k in WIDTHS for m in ROWS), *OTHERS)


def seconds_of_spaces(product: Sizes, dtype: str) -> None:
    """Print how long it takes to compile a product in each space."""
    # Once for what a process does once: torch, the driver, the compiler's version.
    for name, space in (("first of all", 0), ("space 0", 0), ("space 1", 1), ("space 2", 2)):
        with tempfile.TemporaryDirectory() as folder:
            module = Parser(make_context(), program([product], dtype)).parse_module()
            start = perf_counter()
            options = {"search_space": space, "cache_dir": folder, "progress": "off"}
            compile_graph(module, device=DEVICE, options=options)
            print(f"{name:<12} {perf_counter() - start:6.2f} s", flush=True)


def first_choices(problems: list[Sizes], dtype: str) -> None:
    """Print the cost model's first choices next to the winners."""
    with fresh_tuner(2, cold=True) as (tuner, arch):
        start = perf_counter()
        tuner.tune(fusions(program(problems, dtype), arch))
        seconds = perf_counter() - start
    print(f"{'first us':>9} {'best us':>9} {'share':>6} {'roofline':>8}  product, winner")
    shares = [share for search in tuner.searches if (share := _line(search)) is not None]
    print(f"{len(shares)} problems in {seconds:.1f} s")
    print(f"geometric mean of the first choice's share of the best speed: {_mean(shares)}")


def _mean(shares: list[float]) -> str:
    return f"{geometric_mean(shares):.3f}" if shares else "none was measured"


def _line(search: Search) -> float | None:
    """Print the line of one problem; return the share of the best speed, if there is one."""
    problem, best = search.problem, search.best
    first = search.outcome(problem.configs[0])
    if best is None or not isinstance(first, Timed):
        print(f"{'':35}  {problem.title}: {first}")
        return None
    share = best.microseconds / first.microseconds
    roofline = problem.work.share(best.microseconds, problem.setting.arch)
    print(
        f"{first.microseconds:9.1f} {best.microseconds:9.1f} {share:6.2f} {roofline:>8}  "
        f"{problem.title}, {best.config}"
    )
    return share


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Measure the tuner and the cost model.")
    parser.add_argument("--product", default="4096,4096,4096", help="m,n,k of the first part")
    parser.add_argument("--dtype", default="f16", help="the type of the factors")
    parser.add_argument("--problems", type=int, default=len(PROBLEMS), help="how many")
    arguments = parser.parse_args()
    m, n, k = map(int, arguments.product.split(","))
    seconds_of_spaces((m, n, k), arguments.dtype)
    if arguments.problems:
        first_choices(list(PROBLEMS[: arguments.problems]), arguments.dtype)


if __name__ == "__main__":
    main()
