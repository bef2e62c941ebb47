"""How long a script takes to become CUDA: trace and passes of the matmul of the tutorial.

    python benchmarks/script_compile.py [repetitions]

Nothing is compiled by nvcc or g++. The first time includes what Python imports on the way.
"""

import importlib.util
import statistics
import sys
import time
from pathlib import Path
from types import ModuleType

EXAMPLE = Path(__file__).parents[1] / "examples" / "script" / "matmul_simt.py"


def load_example() -> ModuleType:
    """Import the example."""
    specification = importlib.util.spec_from_file_location("matmul_simt", EXAMPLE)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def main() -> None:
    """Measure, and print a table."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    example = load_example()
    times = []
    for number in range(repetitions):
        start = time.perf_counter()
        example.build(4096, 4096, 4096 - 8 * number).source()
        times.append(time.perf_counter() - start)
    first, *others = (1e3 * seconds for seconds in times)
    print(f"{'script to CUDA':<16} {'ms':>8}")
    for name, value in (
        ("first", first),
        ("median", statistics.median(others)),
        ("slowest", max(others)),
    ):
        print(f"{name:<16} {value:8.1f}")


if __name__ == "__main__":
    main()
