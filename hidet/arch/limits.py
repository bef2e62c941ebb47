"""Limits of all supported GPUs (CUDA C++ Programming Guide, compute capabilities).

Limits that differ between architectures are fields of `hidet.arch.chips.Arch`.
"""

WARP = 32
"""The threads of a warp (PTX ISA, Programming Model, Cooperative Thread Arrays)."""

WARP_GROUP = 4 * WARP
"""The threads of a warp group: four warps, the first with a rank divisible by four (PTX ISA,
Asynchronous Warpgroup Level Matrix Instructions, Warpgroup)."""

SCHEDULERS = 4
"""The warps of which a multiprocessor issues an instruction in a cycle."""

REGISTER_BYTES = 4

ACCESS_BYTES = 16
"""The largest vector access of a thread in bytes, which is also its alignment."""

MAX_THREADS_PER_BLOCK = 1024
MAX_GRID = ((1 << 31) - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
MAX_CLUSTER = 16

PORTABLE_CLUSTER = 8
"""The portable maximal number of blocks of a cluster; kernels have to opt in for more."""

STATIC_SHARED_BYTES = 48 * 1024
"""The limit of static shared memory in bytes; more has to be dynamic."""

ROLE_REGISTERS = {2: (40, 232), 3: (32, 160)}
"""The register counts of producer and consumer threads after setmaxnreg, by the number of consumer
warp groups; a multiprocessor has 65,536 registers (PTX ISA, setmaxnreg)."""

BUFFER_ALIGNMENT = 256
"""The alignment of buffers in memory that holds several, in bytes: that of CUDA's allocations."""


def align(size: int) -> int:
    """Return the next multiple of `BUFFER_ALIGNMENT`."""
    return -(-size // BUFFER_ALIGNMENT) * BUFFER_ALIGNMENT
