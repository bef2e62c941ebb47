"""The time that no kernel can beat: that of its products, or of its traffic with memory."""

from __future__ import annotations

from dataclasses import dataclass

from hidet.arch.chips import Arch


@dataclass(frozen=True)
class Work:
    """What a kernel has to do.

    Attributes:
        operations: the multiplications and additions of its product of matrices.
        moved: the bytes of all that it reads and writes, each once.
        kind: the type of the factors, by its name in `Arch.rates`.
        length: how many products are summed for an element, or 0.
    """

    operations: int
    moved: int
    kind: str
    length: int = 0

    def floor(self, arch: Arch) -> float | None:
        """Return the microseconds of the roofline; None where a machine's rates are not known."""
        if arch.is_cpu:
            return None
        rate = arch.rates.get(self.kind, arch.rates["f32"])
        return max(self.operations / rate, self.moved / arch.bandwidth) * 1e6

    def share(self, microseconds: float, arch: Arch) -> str:
        """Return a time as a share of the roofline, "87%", or "" where that is not known."""
        floor = self.floor(arch)
        return "" if floor is None else f"{floor / microseconds:.0%}"
