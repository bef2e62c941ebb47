"""Which configs a machine can run, and why it cannot run the others."""

from dataclasses import dataclass

from hidet.arch.chips import Arch
from hidet.lowering.templates.config import Config


@dataclass(frozen=True)
class Rejected:
    """A config that is out of the question.

    Attributes:
        config: the config.
        reason: why.
    """

    config: Config
    reason: str


@dataclass(frozen=True)
class Footprint:
    """What a block takes of a multiprocessor.

    Attributes:
        threads: its threads.
        shared_bytes: its shared memory.
        registers: registers of 32 bits that each thread cannot do without.
    """

    threads: int
    shared_bytes: int
    registers: int

    def residents(self, arch: Arch) -> int:
        """Return how many such blocks a multiprocessor has room for."""
        return min(
            arch.threads_per_processor // self.threads,
            arch.registers_per_processor // (self.threads * self.registers),
            arch.shared_bytes_per_processor // max(self.shared_bytes, 1),
            arch.blocks_per_processor,
        )

    def refusal(self, arch: Arch) -> str | None:
        """Return why a machine cannot run such a block, or None where it can."""
        most = arch.registers_per_processor // self.threads
        if self.threads > arch.threads_per_block:
            return f"{self.threads} threads, of {arch.threads_per_block}"
        if self.shared_bytes > arch.shared_bytes_per_block:
            return f"{self.shared_bytes} bytes of shared memory, of {arch.shared_bytes_per_block}"
        if self.registers > min(most, MAX_REGISTERS):
            return f"{self.registers} registers a thread, of {min(most, MAX_REGISTERS)}"
        return None


MAX_REGISTERS = 255
"""Registers that a thread has at most (CUDA C++ Programming Guide, compute capabilities)."""
