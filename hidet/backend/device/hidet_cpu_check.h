// CPU: assertions, and values that are checked before they are used.
#pragma once

#include "hidet_fiber.h"

namespace hidet {

namespace cpu {

// The kernel asserts what does not hold: the launch returns an error.
__attribute__((noinline, cold)) static void fail(const char* what, unsigned line) {
  if (block == nullptr && launch->escape != nullptr) {
    report(kFailedCheck, "the assertion does not hold: %s", what);
    std::longjmp(*launch->escape, 1);
  }
  if (block == nullptr) {
    report(kNotCollective, "a check in %s needs HIDET_COLLECTIVE", at(line).text);
    return;
  }
  report(kFailedCheck, "thread (%d, %d, %d): the assertion does not hold: %s", threadIdx.x,
         threadIdx.y, threadIdx.z, what);
  block->abandon();
}

}  // namespace cpu

// Stop, with a message, unless the condition holds.
HIDET_DEVICE void check(bool condition, const char* what, unsigned line = __builtin_LINE()) {
  if (__builtin_expect(!condition, false)) cpu::fail(what, line);
}

// Record an invalid index or divisor; the block continues with a safe value, and the launch fails at
// its end. A call instead of a store would make g++ reload all coordinates in each iteration.
HIDET_DEVICE void bad_index(long long index, long long size, const char* where) {
  cpu::fault = {index, size, where};
}

HIDET_DEVICE void zero_divisor(const char* where) { cpu::fault = {0, 0, where}; }

namespace cpu {

// What a launch checks before it runs the kernel: HIDET_CHECKS_AHEAD(kernel, statements) says it.
template <auto kernel>
void check_ahead(void**) {}

// The indices are 0 to size - 1, or an error is reported. Either x or size - 1 - x is negative if x
// is out of range; sign bits take a vector instruction or two, extremes of long long more.
template <typename T>
void check_indices(const T* indices, long long count, long long size, const char* where) {
  using Bits = std::make_unsigned_t<T>;
  constexpr long long largest = Bits(-1) / 2;  // of T
  const Bits last = size - 1 < largest ? size - 1 : largest;
  Bits signs = 0;
#pragma omp parallel for reduction(| : signs) if (count > 1 << 12)
  for (long long i = 0; i < count; ++i) signs |= Bits(indices[i]) | (last - Bits(indices[i]));
  if (T(signs) >= 0) return;
  while (*indices >= 0 && *indices < size) ++indices;
  bad_index(*indices, size, where);
  report_fault();
}

}  // namespace cpu

}  // namespace hidet

#include "hidet_check.h"
