"""Marks: attributes by which passes tell the printer what they decided, so that it decides nothing.

The most frequent decision needs no attribute. In a kernel marked `FORMED` a value with a name (a
name hint) is declared under that name, and a value without one is written where it is used. Names
survive the text form of every operation; attributes do not (that of `arith.cmpi` drops them).
"""

FORMED = "cuda.formed"
"""Unit, of a kernel: `form-expressions` has named what is declared; all else folds."""

MIN_BLOCKS = "cuda.min_blocks"
"""Integer, of a kernel: so many of its blocks are to fit on a multiprocessor."""

UNROLL = "cuda.unroll"
"""Of `scf.for`: unit for `#pragma unroll`, an integer for `#pragma unroll 4`."""

LONG = "cuda.long"
"""Unit, of an operation with a result of type `index`, or of `scf.for` for its variable: the value
may not fit in 32 bits and prints as `long long`."""

UPDATE = "cuda.update"
"""Of `memref.store`, prints as `x[i] += v`: which operand of the operation that computes the stored
value is the old value of the element."""

DEFERRED = "cuda.deferred"
"""Unit, of `memref.alloca`: the variable is declared by the store that is marked `DECLARES`."""

DECLARES = "cuda.declares"
"""Unit, of `memref.store`: declares the variable that it stores to, `float acc = 0.0f;`."""
