// CPU: what warps of a block do that work on different things.
#pragma once

#include "hidet_fiber.h"

namespace hidet {

namespace cpu {

// One of the 16 barriers of a block: how many threads have come, and how often it has opened.
struct NamedBarrier {
  int arrived;
  unsigned opened;
};

constexpr int kNamedBarriers = 16;
static thread_local NamedBarrier named_barriers[kMaxCluster][kNamedBarriers];

// A block begins.
static inline void start_barriers() {
  for (unsigned number = 0; number < launch->cluster; ++number) {
    for (NamedBarrier& barrier : named_barriers[number]) barrier.arrived = 0;
  }
}

// Come to a barrier; the last of `count` threads opens it. Null where there is none.
static inline NamedBarrier* come_to(int number, int count, const char* what, unsigned line) {
  if (block == nullptr || number < 0 || number >= kNamedBarriers) {
    report(kNotCollective, "%s in %s needs HIDET_COLLECTIVE and a number from 0 to 15, not %d", what,
           at(line).text, number);
    return nullptr;
  }
  NamedBarrier& barrier = named_barriers[block->rank()][number];
#if defined(HIDET_STRICT)
  order.arrive(&barrier, block->thread());
  if (barrier.arrived + 1 == count) order.end_phase(&barrier);
#endif
  if (++barrier.arrived == count) {
    barrier.arrived = 0;
    ++barrier.opened;
    block->wake(&barrier);
    return nullptr;
  }
  return &barrier;
}

}  // namespace cpu

template <int count>
static inline void barrier_sync(int number, unsigned line = __builtin_LINE()) {
  const cpu::NamedBarrier* barrier = cpu::come_to(number, count, "barrier_sync", line);
  if (barrier != nullptr) {
    const unsigned opened = barrier->opened;
    while (barrier->opened == opened) cpu::block->wait(barrier, "barrier_sync", line);
  }
#if defined(HIDET_STRICT)
  cpu::order.wait(&cpu::named_barriers[cpu::block->rank()][number], cpu::block->thread());
#endif
}

template <int count>
static inline void barrier_arrive(int number, unsigned line = __builtin_LINE()) {
  cpu::come_to(number, count, "barrier_arrive", line);
}

// Registers are a matter of GPUs.
template <int count>
static inline void setmaxnreg_inc() {}
template <int count>
static inline void setmaxnreg_dec() {}

}  // namespace hidet
