"""What the schedule knows of the machines that kernels run on."""

from __future__ import annotations

from dataclasses import dataclass

from hidet.errors import OptionError


@dataclass(frozen=True)
class Arch:
    """What a template may count on.

    Attributes:
        name: `cpu`, or the compute capability as nvcc names it.
        processors: multiprocessors that run blocks side by side (of the largest part of that
            capability), or what stands for them on a CPU.
    """

    name: str
    processors: int


ARCHS = {
    arch.name: arch
    for arch in (
        Arch("cpu", 16),
        Arch("sm_75", 72),
        Arch("sm_80", 108),
        Arch("sm_86", 84),
        Arch("sm_87", 16),
        Arch("sm_89", 142),
        Arch("sm_90a", 132),
        Arch("sm_100a", 148),
        Arch("sm_120a", 188),
    )
}
"""By name; processors from the CUDA C++ Programming Guide and NVIDIA's architecture papers."""


def arch_named(name: str) -> Arch:
    """Return the machine of this name.

    Raises:
        OptionError: where it is not known.
    """
    if name not in ARCHS:
        raise OptionError(f"unknown architecture {name!r}", hint=f"one of {', '.join(ARCHS)}")
    return ARCHS[name]
