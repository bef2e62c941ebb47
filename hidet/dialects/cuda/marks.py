"""Marks: attributes by which passes tell the printer what they decided, so that it decides nothing.

The most frequent decision needs no attribute. In a kernel marked `FORMED` a value with a name (a
name hint) is declared under that name, and a value without one is written where it is used. Names
survive the text form of every operation; attributes do not (that of `arith.cmpi` drops them).
"""

FORMED = "cuda.formed"
"""Unit, of a kernel: `form-expressions` has named what is declared; all else folds."""

LABEL = "cuda.label"
"""String, of a kernel or a function: what its author calls it; a comment in the source."""

MIN_BLOCKS = "cuda.min_blocks"
"""Integer, of a kernel: so many of its blocks are to fit on a multiprocessor."""

ON_CPU = "cuda.on_cpu"
"""Unit, of a kernel of one thread: it is a function of the CPU, and never runs on a GPU."""

PARALLEL = "cuda.parallel"
"""Of `scf.for` in a function of the CPU: unit where the iterations are shared by all cores, an
integer where by so many threads."""

MAY_ALIAS = "cuda.may_alias"
"""Unit, of a kernel: its arguments may overlap, also what it writes; none is `__restrict__`."""

AWAITED = "cuda.awaited"
"""Unit, of an argument of a kernel: others may write it until the kernel has waited for them; it is
not `__restrict__`, since what is and is only read is taken for constant: loads might not wait."""

SHARED_BYTES = "shared_bytes"
"""Integer, of a kernel: the bytes of shared memory that each of its launches states."""

WORK = "work"
"""Dictionary, of a kernel that a fusion has become: what it computes and moves at least."""

CLUSTER = "cuda.cluster"
"""Array of three, of a kernel: so many neighbouring blocks along x, y and z are a cluster."""

EXPLICIT = "cuda.explicit"
"""Unit, of a kernel: it says itself where threads wait and where numbers are rounded; passes drop
no casts, and add barriers only where it uses task.copy, task.matmul or task.combine."""

UNROLL = "cuda.unroll"
"""Of `scf.for`: unit for `#pragma unroll`, an integer for `#pragma unroll 4`."""

LONG = "cuda.long"
"""Unit, of an operation with a result of type `index`, or of `scf.for` for its variable: the value
may not fit in 32 bits and prints as `long long`."""

SAFE = "cuda.safe"
"""Unit, of a division or a shift: the divisor is known to divide, the count to be less than the
width, so that C++'s own operator does. Without it a function prints, which no number traps in."""

UNSIGNED = "cuda.unsigned"
"""Unit, of an argument of a kernel, or of what allocates memory: integers there have no sign. The
IR's integers have none at all, its operations do; the mark is for who reads the source."""

UPDATE = "cuda.update"
"""Of `memref.store`, prints as `x[i] += v`: which operand of the operation that computes the stored
value is the old value of the element."""

DEFERRED = "cuda.deferred"
"""Unit, of `memref.alloca`: the variable is declared by the store that is marked `DECLARES`."""

DECLARES = "cuda.declares"
"""Unit, of `memref.store`: declares the variable that it stores to, `float acc = 0.0f;`."""

INSTRUMENTED = "cuda.instrumented"
"""Unit, of a kernel: `instrument-memory` has put checks into it, for the strict mode of the CPU."""
