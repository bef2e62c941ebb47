"""Resource limits of configs."""

from dataclasses import dataclass
from typing import NamedTuple

from hidet.arch.chips import Arch
from hidet.lowering.templates.config import Config


@dataclass(frozen=True)
class Rejected:
    """A config that an architecture cannot run."""

    config: Config
    reason: str


class Footprint(NamedTuple):
    """The resources of a block; `registers` is what each thread needs at least."""

    threads: int
    shared_bytes: int
    registers: int

    def residents(self, arch: Arch) -> int:
        """Return the number of such blocks that fit on a multiprocessor."""
        return min(
            arch.threads_per_processor // self.threads,
            arch.registers_per_processor // (self.threads * self.registers),
            arch.shared_bytes_per_processor // max(self.shared_bytes, 1),
            arch.blocks_per_processor,
        )

    def refusal(self, arch: Arch) -> str | None:
        """Return why an architecture cannot run such a block, None if it can."""
        most = arch.registers_per_processor // self.threads
        if self.threads > arch.threads_per_block:
            return f"{self.threads} threads, of {arch.threads_per_block}"
        if self.shared_bytes > arch.shared_bytes_per_block:
            return f"{self.shared_bytes} bytes of shared memory, of {arch.shared_bytes_per_block}"
        if self.registers > min(most, MAX_REGISTERS):
            return f"{self.registers} registers a thread, of {min(most, MAX_REGISTERS)}"
        return None


MAX_REGISTERS = 255
"""The most registers of a thread (CUDA C++ Programming Guide, compute capabilities)."""
