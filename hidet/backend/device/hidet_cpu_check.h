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

// What a program is given makes no sense: the launch returns an error, and goes on with what does no
// harm. The first line of the message is what is wrong, the second one where.
__attribute__((noinline, cold)) static void report_index(long long index, long long size,
                                                         const char* where) {
  report(kBadIndex, "index %lld is out of bounds for a dimension of size %lld\n%s", index, size,
         where);
}

__attribute__((noinline, cold)) static void report_divisor(const char* where) {
  report(kZeroDivisor, "ZeroDivisionError: an integer is divided by zero\n%s", where);
}

}  // namespace cpu

// Stop, with a message, unless the condition holds.
HIDET_DEVICE void check(bool condition, const char* what, unsigned line = __builtin_LINE()) {
  if (__builtin_expect(!condition, false)) cpu::fail(what, line);
}

// The index if it is 0 to size - 1, else an error and 0.
template <typename T>
HIDET_DEVICE T checked_index(T index, long long size, const char* where) {
  if (__builtin_expect(index >= 0 && index < size, true)) return index;
  cpu::report_index(index, size, where);
  return 0;
}

// The same of an index that counts from the end where it is negative.
template <typename T>
HIDET_DEVICE T checked_index_from_end(T index, long long size, const char* where) {
  const T position = index < 0 ? static_cast<T>(index + size) : index;
  if (__builtin_expect(position >= 0 && position < size, true)) return position;
  cpu::report_index(index, size, where);
  return 0;
}

// The divisor unless it is 0, else an error and 1.
template <typename T>
HIDET_DEVICE T checked_divisor(T divisor, const char* where) {
  if (__builtin_expect(divisor != 0, true)) return divisor;
  cpu::report_divisor(where);
  return 1;
}

}  // namespace hidet
