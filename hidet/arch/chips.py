"""The machines that kernels are for: `Arch`, and the table of those that are known.

A schedule asks an `Arch` for everything that it has to know of the machine. Its text form is an
option of passes: `sm_90a`, or `sm_90a/processors=114` for a part that differs from the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType

from hidet.arch.limits import MAX_THREADS_PER_BLOCK
from hidet.errors import OptionError

KIB, MIB = 1 << 10, 1 << 20
GB, TERA = 10**9, 10**12

CPU = "cpu"
"""The name of the machine without a GPU."""


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


# The name; multiprocessors; KiB of shared memory of a block and of a multiprocessor; threads and
# blocks that one holds; MiB of L2 and GB a second from memory; 10^12 operations a second by type.
# What a CPU does is measured nowhere; it has the limits of the largest GPU. The others are Quadro
# RTX 8000, A100, RTX A6000, AGX Orin, RTX 6000 Ada, H200, B200, B300, RTX PRO 6000.
_RATES = ("f64", "f32", "tf32", "f16", "bf16", "f8", "i8", "f4")
_TABLE = """
cpu      16  227 228  1024  1   32  100    0.5     1     -     -     -     -     -     -
sm_75    72   64  64  1024 16    6  672      -  16.3     - 130.5     -     -   261     -
sm_80   108  163 164  2048 32   40 2039    9.7  19.5   156   312   312     -   624     -
sm_86    84   99 100  1536 16    6  768      -  38.7  77.4 154.8 154.8     - 309.7     -
sm_87    16  163 164  1536 16    4  204      -   5.3    21    42    42     -    85     -
sm_89   142   99 100  1536 24   96  960      -  91.1 182.1 364.2 364.2 728.5 728.5     -
sm_90a  132  227 228  2048 32   50 4800   33.5    67   494   989   989  1979  1979     -
sm_100a 148  227 228  2048 32  126 8000     37    75  1125  2250  2250  4500  4500  9000
sm_103a 148  227 228  2048 32  126 8000    1.2    75  1125  2250  2250  4500   150 13500
sm_120a 188   99 100  1536 24  128 1792      -   125   250   500   500  1000  1000  2000
"""


def _chip(row: str) -> Arch:
    """Return the machine of a row of the table."""
    name, *columns = row.split()
    numbers, rates = columns[:7], dict(zip(_RATES, columns[7:], strict=True))
    units = (1, KIB, KIB, 1, 1, MIB, GB)
    return Arch(
        name,
        *(int(number) * unit for number, unit in zip(numbers, units, strict=True)),
        rates=MappingProxyType({k: float(rate) * TERA for k, rate in rates.items() if rate != "-"}),
    )


ARCHS: Mapping[str, Arch] = MappingProxyType(
    {arch.name: arch for arch in map(_chip, _TABLE.strip().splitlines())}
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
