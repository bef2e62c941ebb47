// CUDA: assertions, and values that are checked before they are used.
#pragma once

namespace hidet {

// Print a message and stop (PTX ISA, trap), which makes the launch fail, unless the condition holds.
HIDET_DEVICE void check(bool condition, const char* what) {
  if (!condition) {
    ::printf("block (%d, %d, %d), thread (%d, %d, %d): the assertion does not hold: %s\n", blockIdx.x,
             blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, what);
    asm volatile("trap;");
  }
}

// What a program is given makes no sense: print it and stop. Not inlined, so that what calls it keeps
// its registers.
[[noreturn]] static __noinline__ __device__ void bad_index(long long index, long long size,
                                                           const char* where) {
  ::printf("block (%d, %d, %d), thread (%d, %d, %d): index %lld is out of bounds for a dimension of "
           "size %lld\n  at: %s\n",
           blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, index, size,
           where);
  asm volatile("trap;");
  __builtin_unreachable();
}

[[noreturn]] static __noinline__ __device__ void zero_divisor(const char* where) {
  ::printf("block (%d, %d, %d), thread (%d, %d, %d): ZeroDivisionError: an integer is divided by "
           "zero\n  at: %s\n",
           blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, where);
  asm volatile("trap;");
  __builtin_unreachable();
}

}  // namespace hidet

#include "hidet_check.h"
