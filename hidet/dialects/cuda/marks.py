"""Attributes by which passes pass decisions to the printer, which makes none itself.

The most frequent decision needs no attribute. In a kernel marked `FORMED`, a value with a name hint
is declared under that name, and a value without one is printed where it is used. Names survive the
text form of every op; attributes do not (that of `arith.cmpi` drops them).
"""

FORMED = "cuda.formed"
"""Unit, of a kernel: `form-expressions` has named all declared values; the others fold."""

LABEL = "cuda.label"
"""String, of a kernel or a function: its name in the user's code; a comment in the source."""

MIN_BLOCKS = "cuda.min_blocks"
"""Integer, of a kernel: the minimum resident blocks per multiprocessor."""

ON_CPU = "cuda.on_cpu"
"""Unit, of a kernel of one thread: it is a CPU function and never runs on a GPU."""

PARALLEL = "cuda.parallel"
"""Of `scf.for` in a CPU function: unit to parallelize over all cores, or the number of threads."""

SERIAL = "cuda.serial"
"""Unit, of a kernel: it is so short that the CPU runs it on the calling thread; waking others would
take longer."""

MAY_ALIAS = "cuda.may_alias"
"""Unit, of a kernel: its arguments may alias; none is `__restrict__`."""

AWAITED = "cuda.awaited"
"""Unit, of a kernel argument: preceding kernels may write it until the kernel's wait. It is not
`__restrict__`: nvcc assumes read-only restrict memory constant, so loads might not wait."""

CHECKED = "cuda.checked"
"""Array of `#cuda.bounds`, of a kernel argument: a launch on the CPU checks its elements first."""

CONSTANT = "cuda.constant"
"""Unit, of a kernel argument: no launch of @forward writes it, where @forward launches the kernel;
usually a weight or an input."""

OVERLAPS = "cuda.overlaps"
"""Unit, of a kernel: its launches may overlap others of @forward. `insert-waits` leaves it on
kernels that wait for preceding launches themselves, which are launched programmatically."""

LAUNCH_ARGUMENTS = "cuda.launch_arguments"
"""Array, of a kernel: for each argument, the number of the argument of launches that it is, or is a
tensor map of, between `hoist-tensor-maps` and `pass-tensor-maps`."""

MAP = "cuda.map"
"""Dictionary, of a kernel argument that is a tensor map: `offset` and `strides` of the
`cuda.tensor_map` that launches pass, if it has any."""

BINARY = "cuda.binary"
"""String, of a kernel that has been printed: the key of its binary in the cache. It has no body."""

SHARED_BYTES = "shared_bytes"
"""Integer, of a kernel: the bytes of its dynamic shared memory."""

WORK = "work"
"""Dictionary, of the kernel of a fusion: its operations and minimum memory traffic."""

CLUSTER = "cuda.cluster"
"""Array of three, of a kernel: the blocks of a cluster along x, y and z."""

EXPLICIT = "cuda.explicit"
"""Unit, of a kernel: its barriers and casts are explicit; passes drop no casts, and insert barriers
only for task.copy, task.matmul and task.combine."""

GUARD = "cuda.guard"
"""Unit, of `scf.if`: tests flags of early exits, and every exit that clears one is followed by a
`cuda.leave` past the branch. `restore-exits` replaces it by its `then`."""

UNROLL = "cuda.unroll"
"""Of `scf.for`: unit for `#pragma unroll`, an integer for `#pragma unroll 4`."""

BELOW = "cuda.below"
"""Integer, of `arith.index_cast`: the index is in [0, n), as look-ups have checked positions."""

LONG = "cuda.long"
"""Unit, of an op with an `index` result, or of `scf.for` for its induction variable: the value may
not fit in 32 bits and prints as `long long`."""

SAFE = "cuda.safe"
"""Unit, of a division or a shift: the divisor is valid, or the count less than the width, so the
C++ operator is defined. Without it a function is called, which is defined for all operands."""

UNSIGNED = "cuda.unsigned"
"""Unit, of a kernel argument or an allocation: its integers are unsigned in C++. Integers of the IR
are signless; the mark only makes the source more readable."""

UPDATE = "cuda.update"
"""Of `memref.store`, printed as `x[i] += v`: the operand of the stored computation that is the old
value of the element."""

DEFERRED = "cuda.deferred"
"""Unit, of `memref.alloca`: the variable is declared by the store marked `DECLARES`."""

DECLARES = "cuda.declares"
"""Unit, of `memref.store`: declares its variable, `float acc = 0.0f;`."""

INSTRUMENTED = "cuda.instrumented"
"""Unit, of a kernel: `instrument-memory` has inserted checks, for the strict mode of the CPU."""
