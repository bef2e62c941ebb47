"""The machines that kernels are for: `Arch`, and the table of those that are known.

A schedule asks an `Arch` for everything that it has to know of the machine. Its text form is an
option of passes: `sm_90a`, or `sm_90a/processors=114` for a part that differs from the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from types import MappingProxyType

from hidet.arch.limits import MAX_THREADS_PER_BLOCK
from hidet.errors import OptionError

KIB, MIB = 1 << 10, 1 << 20
GB, TERA = 10**9, 10**12

CPU = "cpu"
"""The name of the machine without a GPU."""


class Family(StrEnum):
    """Instructions that come together."""

    LDMATRIX = "ldmatrix"
    CP_ASYNC = "cp_async"
    MMA = "mma"
    MBARRIER = "mbarrier"
    TMA = "tma"
    CLUSTER = "cluster"
    WGMMA = "wgmma"
    TCGEN05 = "tcgen05"


SINCE = {
    Family.LDMATRIX: 75,
    Family.CP_ASYNC: 80,
    Family.MMA: 80,
    Family.MBARRIER: 90,
    Family.TMA: 90,
    Family.CLUSTER: 90,
}
"""The first compute capability of families that all later ones have; of `mma` those of 16x8
results, of `mbarrier` those with counts of bytes (PTX ISA, Target ISA Notes)."""

ONLY = {Family.WGMMA: (90,), Family.TCGEN05: (100, 103)}
"""The compute capabilities of families that are not carried on, for names with an `a`."""


@dataclass(frozen=True)
class Arch:
    """A machine that kernels are for.

    Rates are those of the largest part of the compute capability, without sparsity; they are for
    comparisons of schedules, not for promises.

    Attributes:
        name: `cpu`, or the compute capability as nvcc names it; with an `a` at the end, kernels may
            use what no later one has.
        processors: multiprocessors that run blocks side by side, or what stands for them on a CPU.
        shared_bytes_per_block: shared memory that a block can ask for.
        shared_bytes_per_processor: shared memory that the blocks of a multiprocessor share.
        threads_per_processor: threads that a multiprocessor holds.
        blocks_per_processor: blocks that it holds.
        l2_bytes: the L2 cache.
        bandwidth: bytes a second from memory.
        rates: operations a second, two for a multiply-add, by the type of the factors as the IR
            names it; `tf32`, `f16` and narrower on tensor cores, others not.
        registers_per_processor: registers of 32 bits that a multiprocessor has.
        threads_per_block: threads that a block can have.
    """

    name: str
    processors: int
    shared_bytes_per_block: int
    shared_bytes_per_processor: int
    threads_per_processor: int
    blocks_per_processor: int
    l2_bytes: int
    bandwidth: int
    rates: Mapping[str, float] = field(hash=False)
    registers_per_processor: int = 64 * KIB
    threads_per_block: int = MAX_THREADS_PER_BLOCK

    @property
    def is_cpu(self) -> bool:
        """Whether kernels are compiled by g++, which has a body for every instruction."""
        return self.name == CPU

    @property
    def capability(self) -> int:
        """The compute capability, 90 for 9.0; 0 for the CPU."""
        return 0 if self.is_cpu else int(self.name.removeprefix("sm_").rstrip("a"))

    @property
    def is_specific(self) -> bool:
        """Whether kernels may use what no later compute capability has."""
        return self.name.endswith("a")

    @property
    def families(self) -> frozenset[Family]:
        """The families of instructions that kernels may use."""
        if self.is_cpu:
            return frozenset(Family)
        carried_on = {family for family, first in SINCE.items() if self.capability >= first}
        own = {family for family, ones in ONLY.items() if self.capability in ones}
        return frozenset(carried_on | own if self.is_specific else carried_on)

    def has(self, since: int, *, only: bool = False) -> bool:
        """Return whether kernels may use what a compute capability brought.

        Args:
            since: the capability, 90 for 9.0.
            only: whether no later one has it.
        """
        if self.is_cpu:
            return True
        return (self.is_specific and self.capability == since) if only else self.capability >= since

    def __str__(self) -> str:
        """Return the text form: the name, and the numbers that differ from the table."""
        known = _known(self.name)
        own = [each for each in _NUMBERS if getattr(self, each) != getattr(known, each)]
        return "/".join([self.name, *(f"{each}={getattr(self, each)}" for each in own)])

    @staticmethod
    def parse(text: str) -> Arch:
        """Read the text form.

        Raises:
            OptionError: the name is not known, or a field is no number of an `Arch`.
        """
        name, *settings = text.split("/")
        numbers: dict[str, int] = {}
        for setting in settings:
            key, _, value = setting.partition("=")
            if key not in _NUMBERS or not value.isdecimal():
                raise OptionError(
                    f"{setting!r} says nothing about an architecture",
                    where=f"architecture {text!r}",
                    hint=f"a number for one of {', '.join(_NUMBERS)}, as in sm_90a/processors=114",
                )
            numbers[key] = int(value)
        return replace(_known(name), **numbers)


_NUMBERS = tuple(each.name for each in fields(Arch) if each.type == "int")


def _chip(
    name: str,
    processors: int,
    shared: tuple[int, int],
    held: tuple[int, int],
    memory: tuple[int, int],
    **rates: float,
) -> Arch:
    """Return a row of the table.

    Args:
        name: the name.
        processors: as in `Arch`.
        shared: KiB of shared memory of a block, and of a multiprocessor.
        held: threads and blocks that a multiprocessor holds.
        memory: MiB of L2, and GB a second from memory.
        rates: 10^12 operations a second, by type.
    """
    block_kib, processor_kib = shared
    l2_mib, gigabytes = memory
    return Arch(
        name,
        processors,
        block_kib * KIB,
        processor_kib * KIB,
        *held,
        l2_mib * MIB,
        gigabytes * GB,
        MappingProxyType({kind: rate * TERA for kind, rate in rates.items()}),
    )


ARCHS: Mapping[str, Arch] = MappingProxyType(
    {
        arch.name: arch
        for arch in (
            # What a CPU does is measured nowhere; it has the limits of the largest GPU.
            _chip(CPU, 16, (227, 228), (1024, 1), (32, 100), f32=1, f64=0.5),
            # Quadro RTX 8000, A100, RTX A6000, AGX Orin, RTX 6000 Ada
            _chip("sm_75", 72, (64, 64), (1024, 16), (6, 672), f32=16.3, f16=130.5, i8=261),
            _chip(
                "sm_80",
                108,
                (163, 164),
                (2048, 32),
                (40, 2039),
                f64=9.7,
                f32=19.5,
                tf32=156,
                f16=312,
                bf16=312,
                i8=624,
            ),
            _chip(
                "sm_86",
                84,
                (99, 100),
                (1536, 16),
                (6, 768),
                f32=38.7,
                tf32=77.4,
                f16=154.8,
                bf16=154.8,
                i8=309.7,
            ),
            _chip(
                "sm_87",
                16,
                (163, 164),
                (1536, 16),
                (4, 204),
                f32=5.3,
                tf32=21,
                f16=42,
                bf16=42,
                i8=85,
            ),
            _chip(
                "sm_89",
                142,
                (99, 100),
                (1536, 24),
                (96, 960),
                f32=91.1,
                tf32=182.1,
                f16=364.2,
                bf16=364.2,
                f8=728.5,
                i8=728.5,
            ),
            # H200, B200, B300, RTX PRO 6000
            _chip(
                "sm_90a",
                132,
                (227, 228),
                (2048, 32),
                (50, 4800),
                f64=33.5,
                f32=67,
                tf32=494,
                f16=989,
                bf16=989,
                f8=1979,
                i8=1979,
            ),
            _chip(
                "sm_100a",
                148,
                (227, 228),
                (2048, 32),
                (126, 8000),
                f64=37,
                f32=75,
                tf32=1125,
                f16=2250,
                bf16=2250,
                f8=4500,
                i8=4500,
                f4=9000,
            ),
            _chip(
                "sm_103a",
                148,
                (227, 228),
                (2048, 32),
                (126, 8000),
                f64=1.2,
                f32=75,
                tf32=1125,
                f16=2250,
                bf16=2250,
                f8=4500,
                i8=150,
                f4=13500,
            ),
            _chip(
                "sm_120a",
                188,
                (99, 100),
                (1536, 24),
                (128, 1792),
                f32=125,
                tf32=250,
                f16=500,
                bf16=500,
                f8=1000,
                i8=1000,
                f4=2000,
            ),
        )
    }
)
"""By name; limits from the CUDA C++ Programming Guide, the rest from NVIDIA's data sheets."""

MAX_SHARED_BYTES = max(arch.shared_bytes_per_block for arch in ARCHS.values())
"""Shared memory that a block can have on the machine that gives it most."""


def _known(name: str) -> Arch:
    """Return the row of a name; one without its `a` has the same numbers.

    Raises:
        OptionError: where there is none.
    """
    row = ARCHS.get(name) or ARCHS.get(f"{name}a")
    if row is None:
        raise OptionError(f"unknown architecture {name!r}", hint=f"one of {', '.join(ARCHS)}")
    return replace(row, name=name)
