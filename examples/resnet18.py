"""Compile ResNet-18, run it, compare it with PyTorch, and show one kernel at every level.

    python examples/resnet18.py [--device cuda] [--dtype float16] [--batch 1]

Exits with an error where the result is further from a float64 reference than the type allows.
"""

import argparse
import copy
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import torch
from models.resnet import resnet18
from torch import nn

import hidet
from hidet.testing.numeric import error_of

TOLERANCE = {torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-1}
"""The largest error |a - r| / (|r| + 1) that is right, by type."""

LEVELS = {
    "graph": ("00_graph", "func.func @forward"),
    "compute": ("fuse", "compute.fusion"),
    "task": ("schedule", "cuda.kernel"),
    "cuda": ("form-expressions", "cuda.kernel"),
}
"""For each level a pass to look behind, and how the piece to show begins; the last one counts."""


def synchronize(device: torch.device) -> None:
    """Wait for the device."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def milliseconds(function: Callable[[], object], device: torch.device) -> float:
    """Measure a call: the median of the calls that fit into a second, after a warm-up."""
    times: list[float] = []
    function()
    synchronize(device)
    end = perf_counter() + 1.0
    while perf_counter() < end or len(times) < 3:
        start = perf_counter()
        function()
        synchronize(device)
        times.append(perf_counter() - start)
    return statistics.median(times) * 1e3


def piece(text: str, start: str, lines: int) -> str:
    """Return head and tail of the last piece of a program that begins with `start`."""
    every = text.splitlines()
    first = max(i for i, line in enumerate(every) if start in line)
    indent = len(every[first]) - len(every[first].lstrip())
    last = next(i for i in range(first, len(every)) if every[i].startswith(" " * indent + "}"))
    shown = [line[indent:] for line in every[first : last + 1]]
    if len(shown) > lines + 1:
        head, tail = lines // 3, lines - lines // 3
        shown[head:-tail] = [f"  ... {len(shown) - lines} more lines ..."]
    return "\n".join(line if len(line) <= 140 else line[:137] + "..." for line in shown)


def show_levels(block: nn.Module, x: torch.Tensor, lines: int = 15) -> None:
    """Print the kernel of a block at each level, as `HIDET_DUMP` writes it."""
    with tempfile.TemporaryDirectory() as folder, hidet.option.context(dump_dir=folder):
        torch.compile(block, backend="hidet")(x)
        (dump,) = Path(folder).iterdir()
        for level, (name, start) in LEVELS.items():
            (file,) = dump.glob(f"*{name}.mlir")
            print(f"\n--- {level}\n{piece(file.read_text(), start, lines)}")
        source = max(dump.glob("kernels/*.cu"), key=lambda file: file.stat().st_size)
        print(f"\n--- CUDA\n{piece(source.read_text(), 'extern', 2 * lines)}")


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    default = "cuda" if torch.cuda.is_available() else "cpu"
    parser = argparse.ArgumentParser(description="ResNet-18, compiled by hidet.")
    parser.add_argument("--device", default=default, type=torch.device)
    parser.add_argument("--dtype", default="float32", choices=["float32", "float16", "bfloat16"])
    parser.add_argument("--batch", default=1, type=int)
    return parser.parse_args()


@torch.no_grad()
def main() -> int:
    """Run the demo and return its exit status."""
    arguments = parse_arguments()
    device, dtype = arguments.device, getattr(torch, arguments.dtype)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    model = resnet18().to(device, dtype)
    x = torch.randn(arguments.batch, 3, 224, 224, device=device, dtype=dtype)
    reference = copy.deepcopy(model).double()(x.double())

    compiled = torch.compile(model, backend="hidet")
    start = perf_counter()
    y = compiled(x)
    synchronize(device)
    first_call = perf_counter() - start
    report = hidet.torch.compiled_graphs()[-1].report

    block = nn.Sequential(model.conv1, model.bn1, model.relu)
    print(f"ResNet-18, {arguments.dtype} {list(x.shape)} on {device}")
    print("\nThe first convolution, with batch norm and ReLU in the same kernel:")
    show_levels(block, x)
    print(f"\n--- time\n{report.table()}")
    print(f"the first call took {first_call:.2f} s; what is not above is torch.compile's own")

    error, tolerance = float(error_of(y, reference).max()), TOLERANCE[dtype]
    print(f"\n--- error\n|a - r| / (|r| + 1) against float64: {error:.2e}, allowed {tolerance:g}")
    print("\n--- speed, ms a call")
    print(f"eager  {milliseconds(lambda: model(x), device):9.3f}")
    print(f"hidet  {milliseconds(lambda: compiled(x), device):9.3f}")
    return int(not error <= tolerance)


if __name__ == "__main__":
    sys.exit(main())
