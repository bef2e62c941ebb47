"""The time that no kernel can beat: that of its products, or of its traffic with memory."""

from dataclasses import dataclass

from hidet.arch.chips import Arch


@dataclass(frozen=True)
class Work:
    """What a kernel has to do.

    Attributes:
        operations: the multiplications and additions of its matmuls.
        moved: the bytes of all that it reads and writes, each once; None where what it reads
            depends on data.
        kind: the type of the factors, by its name in `Arch.rates`.
    """

    operations: int
    moved: int | None
    kind: str

    def floor(self, arch: Arch) -> float | None:
        """Return the microseconds of the roofline; None where it is not known."""
        rate = arch.rates.get(self.kind)
        if arch.is_cpu or rate is None or self.moved is None:
            return None
        return max(self.operations / rate, self.moved / arch.bandwidth) * 1e6

    def is_bound_by_products(self, arch: Arch) -> bool:
        """Return whether it is the products that the roofline is of, where it is known."""
        moved = self.moved or 0
        return self.operations / arch.rates[self.kind] > moved / arch.bandwidth

    def share(self, microseconds: float, arch: Arch) -> str:
        """Return a time as a share of the roofline, "87%", or "" where that is not known."""
        floor = self.floor(arch)
        return "" if floor is None else f"{floor / microseconds:.0%}"
