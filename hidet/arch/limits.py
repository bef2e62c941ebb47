"""What holds on every GPU that is compiled for (CUDA C++ Programming Guide, compute capabilities).

What differs from chip to chip is a field of `hidet.arch.chips.Arch`.
"""

WARP = 32
"""Threads of a warp (PTX ISA, Programming Model, Cooperative Thread Arrays)."""

WARP_GROUP = 4 * WARP
"""Threads of a warp group: four warps, the first of which has a number divisible by four (PTX ISA,
Asynchronous Warpgroup Level Matrix Instructions, Warpgroup)."""

REGISTER_BYTES = 4
"""The bytes of a register."""

ACCESS_BYTES = 16
"""The most that a thread loads or stores at once, at an address that is a multiple of it."""

MAX_THREADS_PER_BLOCK = 1024
"""Threads that a block has at most."""

MAX_GRID = ((1 << 31) - 1, 65535, 65535)
"""The largest extents of a grid."""

MAX_BLOCK = (1024, 1024, 64)
"""The largest extents of a block."""

MAX_CLUSTER = 16
"""Blocks that a cluster has at most."""

PORTABLE_CLUSTER = 8
"""Blocks of a cluster that every GPU with clusters can have; of more a kernel that says so."""

STATIC_SHARED_BYTES = 48 * 1024
"""Shared memory that a kernel may declare with a fixed size; for more the launch has to ask."""

ROLE_REGISTERS = {2: (40, 232), 3: (32, 160)}
"""Registers of a thread of a producer and of the consumers, by the number of warp groups of
consumers, where those that the compiler hands out alike do not suffice: 65,536 are shared by all
(PTX ISA, setmaxnreg)."""
