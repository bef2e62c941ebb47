"""The roofline model: a lower bound of the time of a kernel."""

from dataclasses import dataclass

from hidet.arch.chips import Arch


@dataclass(frozen=True)
class Work:
    """The work of a kernel.

    Attributes:
        operations: the multiplications and additions of its matmuls.
        moved: the bytes that it reads and writes, each once; None if that depends on data.
        kind: the operand type of its matmuls, by its name in `Arch.rates`.
    """

    operations: int
    moved: int | None
    kind: str

    def floor(self, arch: Arch) -> float | None:
        """Return the roofline in microseconds; None if unknown."""
        rate = arch.rates.get(self.kind)
        if arch.is_cpu or rate is None or self.moved is None:
            return None
        return max(self.operations / rate, self.moved / arch.bandwidth) * 1e6

    def is_bound_by_products(self, arch: Arch) -> bool:
        """Return whether the known roofline is compute bound."""
        moved = self.moved or 0
        return self.operations / arch.rates[self.kind] > moved / arch.bandwidth

    def share(self, microseconds: float, arch: Arch) -> str:
        """Return the achieved share of the roofline, "87%", or "" if unknown."""
        floor = self.floor(arch)
        return "" if floor is None else f"{floor / microseconds:.0%}"
