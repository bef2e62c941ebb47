"""Target architectures: `Arch`, and the table of known ones.

An `Arch` has all properties of the target that schedules use. Its text form is an option of passes:
`sm_90a`, or `sm_90a/processors=114` for a GPU that differs from the table.
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


@dataclass(frozen=True)
class Arch:
    """A target architecture.

    Rates are the peak rates of the largest GPU of the compute capability, without sparsity; they
    are used to compare schedules.

    Attributes:
        name: `cpu`, or the compute capability as nvcc names it; with an `a` at the end, kernels may
            use architecture-specific features.
        processors: the number of multiprocessors (an equivalent on a CPU).
        threads_per_processor, blocks_per_processor: the maxima that are resident.
        bandwidth: memory bandwidth in bytes per second.
        rates: operations per second, two per multiply-add, by the element type of the operands;
            `tf32`, `f16` and narrower on tensor cores, others not.
        registers_per_processor: those of 32 bits.
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
        """Whether the target is the CPU, where the device header emulates every instruction."""
        return self.name == CPU

    @property
    def capability(self) -> int:
        """The compute capability, 90 for 9.0; 0 for the CPU."""
        return 0 if self.is_cpu else int(self.name.removeprefix("sm_").rstrip("a"))

    def has(self, since: int, *, only: bool = False) -> bool:
        """Return whether kernels may use a feature of a capability (90 is 9.0) or of it `only`."""
        if self.is_cpu:
            return True
        is_specific = self.name.endswith("a")
        return (is_specific and self.capability == since) if only else self.capability >= since

    def __str__(self) -> str:
        """Return the text form: the name, and the fields that differ from the table."""
        known = _known(self.name)
        own = [each for each in _NUMBERS if getattr(self, each) != getattr(known, each)]
        return "/".join([self.name, *(f"{each}={getattr(self, each)}" for each in own)])

    @staticmethod
    def parse(text: str) -> Arch:
        """Parse the text form.

        Raises:
            OptionError: the name is unknown, or a field is not an integer of an `Arch`.
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


# The name; multiprocessors; KiB of shared memory per block and per multiprocessor; threads and
# blocks per multiprocessor; MiB of L2, GB/s of memory, and 10^12 operations per second by type.
# The rates of CPUs are not measured; their limits are those of the largest GPU. The others are
# Quadro RTX 8000, A100, RTX A6000, AGX Orin, RTX 6000 Ada, H200, B200, B300, RTX PRO 6000.
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
"""The largest shared memory of a block on any architecture."""


def _known(name: str) -> Arch:
    """Return the architecture of a name, with or without an `a`.

    Raises:
        OptionError: it is unknown.
    """
    row = ARCHS.get(name) or ARCHS.get(f"{name}a")
    if row is None:
        raise OptionError(f"unknown architecture {name!r}", hint=f"one of {', '.join(ARCHS)}")
    return replace(row, name=name)
