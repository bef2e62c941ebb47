"""The times of the stages of a compilation."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

LOWER_KERNELS = "lower kernels"
"""The stage in which worker processes lower the kernels of a program, if it has many."""


@dataclass
class CompileTimes:
    """The compile time of a graph, in seconds.

    Compilers run from the first kernel that is lowered; the stage `build` is what is left to wait
    for them at the end.

    Attributes:
        cached: whether the program came from the cache.
        stages: seconds by stage; `passes` is one of them unless cached.
        passes: name and seconds of each pass in this process, in order.
        kernel_steps: name and seconds of each step of the stage `lower kernels`, summed over the
            worker processes, which run in parallel.
        workers: the number of these processes.
    """

    cached: bool = False
    stages: dict[str, float] = field(default_factory=dict[str, float])
    passes: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    kernel_steps: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    workers: int = 0

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Add the time of a `with` block to a stage."""
        start = perf_counter()
        try:
            yield
        finally:
            self.stages[name] = self.stages.get(name, 0.0) + perf_counter() - start

    def add_kernel(self, steps: Sequence[tuple[str, float]]) -> None:
        """Add the times of the steps by which a worker lowered one kernel."""
        known = self.kernel_steps or [(name, 0.0) for name, _ in steps]
        self.kernel_steps = [
            (name, seconds + more) for (name, seconds), (_, more) in zip(known, steps, strict=True)
        ]

    @property
    def total(self) -> float:
        """The seconds of all stages."""
        return sum(self.stages.values())

    def table(self) -> str:
        """Format the stages and, indented, their steps as a table, in milliseconds."""
        steps = {"passes": self.passes, LOWER_KERNELS: self.kernel_steps}
        rows: list[tuple[str, float]] = []
        for name, seconds in self.stages.items():
            is_parallel = name == LOWER_KERNELS
            rows.append((f"{name} ({self.workers} workers)" if is_parallel else name, seconds))
            rows.extend((f"  {step}", time) for step, time in steps.get(name, ()))
        rows.append(("total (cached)" if self.cached else "total", self.total))
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {seconds * 1e3:9.2f} ms" for name, seconds in rows)
