// CUDA: assertions.
#pragma once

#include <cstdio>

namespace hidet {

// Print a message and stop (PTX ISA, trap), which makes the launch fail, unless the condition holds.
HIDET_DEVICE void check(bool condition, const char* what) {
  if (!condition) {
    ::printf("block (%d, %d, %d), thread (%d, %d, %d): the assertion does not hold: %s\n", blockIdx.x,
             blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, what);
    ::__trap();
  }
}

}  // namespace hidet
