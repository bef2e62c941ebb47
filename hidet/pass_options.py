"""The options of passes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PassOptions:
    """The options of a pipeline; each pass receives those that are its fields.

    Attributes:
        arch: the target architecture: `cpu`, `sm_90a`, ...
        verify: whether `verify-level` runs between the stages.
        strict: whether `instrument-memory` adds checks to the kernels, on the CPU.
        checks: whether kernels check indices of look-ups, and divisors.
        overlap_launches: whether kernels use programmatic dependent launch.
        parallel_k: into how many slices `split-products` splits K; "default": by the cost model.
    """

    arch: str = "sm_90a"
    verify: bool = False
    strict: bool = False
    checks: bool = True
    overlap_launches: bool = True
    parallel_k: str = "default"
