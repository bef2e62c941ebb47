"""What passes are told about the machine and the checks."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PassOptions:
    """What the passes of a pipeline are told: each of these that is a field of the pass.

    Attributes:
        arch: the machine that kernels are for: `cpu`, `sm_90a`, ...
        verify: whether `verify-level` runs between the stages.
        strict: whether `instrument-memory` puts checks into the kernels, which run on the CPU.
        checks: whether kernels check positions of look-ups and divisors.
        overlap_launches: whether kernels begin before those ahead of them are over.
    """

    arch: str = "sm_90a"
    verify: bool = False
    strict: bool = False
    checks: bool = True
    overlap_launches: bool = True
