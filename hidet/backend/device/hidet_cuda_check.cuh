// CUDA: assertions, and values that are checked before they are used.
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

// What a program is given makes no sense: print it and stop. Not inlined, so that what calls it keeps
// its registers.
[[noreturn]] static __noinline__ __device__ void bad_index(long long index, long long size,
                                                           const char* where) {
  ::printf("block (%d, %d, %d), thread (%d, %d, %d): index %lld is out of bounds for a dimension of "
           "size %lld\n  at: %s\n",
           blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, index, size,
           where);
  ::__trap();
  __builtin_unreachable();
}

[[noreturn]] static __noinline__ __device__ void zero_divisor(const char* where) {
  ::printf("block (%d, %d, %d), thread (%d, %d, %d): ZeroDivisionError: an integer is divided by "
           "zero\n  at: %s\n",
           blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, where);
  ::__trap();
  __builtin_unreachable();
}

// The index if it is 0 to size - 1, else an error.
template <typename T>
HIDET_DEVICE T checked_index(T index, long long size, const char* where) {
  if (__builtin_expect(index >= 0 && index < size, true)) return index;
  bad_index(index, size, where);
}

// The same of an index that counts from the end where it is negative.
template <typename T>
HIDET_DEVICE T checked_index_from_end(T index, long long size, const char* where) {
  const T position = index < 0 ? static_cast<T>(index + size) : index;
  if (__builtin_expect(position >= 0 && position < size, true)) return position;
  bad_index(index, size, where);
}

// The divisor unless it is 0, else an error.
template <typename T>
HIDET_DEVICE T checked_divisor(T divisor, const char* where) {
  if (__builtin_expect(divisor != 0, true)) return divisor;
  zero_divisor(where);
}

}  // namespace hidet
