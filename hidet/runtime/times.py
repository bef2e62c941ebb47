"""The times of the stages of a compilation."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter


@dataclass
class CompileTimes:
    """The compile time of a graph, in seconds.

    Attributes:
        cached: whether the program came from the cache.
        stages: seconds by stage; `passes` is one of them unless cached.
        passes: name and seconds of each pass, in order.
    """

    cached: bool = False
    stages: dict[str, float] = field(default_factory=dict[str, float])
    passes: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Add the time of a `with` block to a stage."""
        start = perf_counter()
        try:
            yield
        finally:
            self.stages[name] = self.stages.get(name, 0.0) + perf_counter() - start

    @property
    def total(self) -> float:
        """The seconds of all stages."""
        return sum(self.stages.values())

    def table(self) -> str:
        """Format the stages and, indented, the passes as a table, in milliseconds."""
        rows: list[tuple[str, float]] = []
        for name, seconds in self.stages.items():
            rows.append((name, seconds))
            if name == "passes":
                rows.extend((f"  {pass_name}", time) for pass_name, time in self.passes)
        rows.append(("total (cached)" if self.cached else "total", self.total))
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {seconds * 1e3:9.2f} ms" for name, seconds in rows)
