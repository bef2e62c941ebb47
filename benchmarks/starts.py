"""How long the first call of a model takes: inductor and hidet, cold and warm, in one run.

    python benchmarks/starts.py [--model resnet18] [--dtype float16] [--train] [--runs 3]

Each start is a process of its own. A cold one has empty caches, the warm ones those that it left.
Times are in seconds, from the call of `torch.compile` until the result is there, without imports of
torch and hidet; with `--train` until the gradients of the sum of the results are there. `dynamo` is
the part that any backend has: the trace and the guards. Warm times are medians.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import torch
from cases import CASES
from torch._dynamo.utils import compilation_time_metrics

import hidet  # noqa: F401  the time of imports does not count

BACKENDS = ("inductor", "hidet")
BACKEND_TIME = "OutputGraph.call_user_compiler"
"""The part of `_compile.compile_inner` that is not dynamo's own, as torch names it."""


def start(arguments: argparse.Namespace) -> dict[str, float]:
    """Return the times of one start, in this process."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, x = CASES[arguments.model].make(device, getattr(torch, arguments.dtype))
    model.train(arguments.train)
    begin = perf_counter()
    compiled = torch.compile(model, backend=arguments.backend)
    with torch.set_grad_enabled(arguments.train):
        y = compiled(x)
        if arguments.train:
            y.sum().backward()
        y.sum().item()
    total = perf_counter() - begin
    times = {name: sum(each) for name, each in compilation_time_metrics.items()}
    return {"total": total, "dynamo": times["_compile.compile_inner"] - times[BACKEND_TIME]}


def starts(arguments: argparse.Namespace, backend: str, folder: str) -> dict[str, float]:
    """Return the times of a cold start, and the medians of warm ones."""
    environment = {
        **os.environ,
        "HIDET_CACHE_DIR": str(Path(folder) / "hidet"),
        "TORCHINDUCTOR_CACHE_DIR": str(Path(folder) / "inductor"),
        "TRITON_CACHE_DIR": str(Path(folder) / "triton"),
    }
    found: list[dict[str, float]] = []
    for _ in range(1 + arguments.runs):
        command = [sys.executable, __file__, *sys.argv[1:], "--backend", backend]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    warm = {name: statistics.median(each[name] for each in found[1:]) for name in found[0]}
    return {"cold": found[0]["total"], "warm": warm["total"], "dynamo": warm["dynamo"]}


def main() -> None:
    """Run the benchmark, or one start of it."""
    parser = argparse.ArgumentParser(description="Measure first calls, cold and warm.")
    parser.add_argument("--model", default="resnet18", choices=list(CASES))
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--train", action="store_true", help="a step of training")
    parser.add_argument("--runs", type=int, default=3, help="the number of warm starts")
    parser.add_argument("--backend", choices=BACKENDS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.backend is not None:
        print(json.dumps(start(arguments)))
        return
    print(f"{arguments.model}, {arguments.dtype}: seconds until the first result")
    print(f"{'':<10} {'cold':>8} {'warm':>8} {'dynamo':>8}")
    for backend in BACKENDS:
        with tempfile.TemporaryDirectory() as folder:
            times = starts(arguments, backend, folder)
        print(f"{backend:<10} " + " ".join(f"{times[name]:8.2f}" for name in times))


if __name__ == "__main__":
    main()
