// CPU: assertions.
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

}  // namespace hidet
