// CPU: what blocks of a cluster do together.
//
// They run at the same time, as fibers of one thread of the operating system, and their shared memory
// lies side by side: the same place in another block is some blocks further on.
#pragma once

#include "hidet_cpu_tensor_copy.h"

namespace hidet {

namespace cpu {

// The barrier of a cluster, and how often it had opened when a thread came.
static thread_local NamedBarrier cluster_barrier;
static thread_local unsigned opened_before[kMaxFibers];

static inline void start_cluster() { cluster_barrier.arrived = 0; }

// The same place in the shared memory of another block.
template <typename T>
static inline T* in_block(T* p, int number) {
  const std::ptrdiff_t distance = std::ptrdiff_t(number) - std::ptrdiff_t(block->rank());
  return reinterpret_cast<T*>(reinterpret_cast<char*>(p) + distance * std::ptrdiff_t(shared_stride));
}

}  // namespace cpu

static inline void cluster_arrive() {
  cpu::NamedBarrier& barrier = cpu::cluster_barrier;
  cpu::opened_before[cpu::block->thread_of_cluster()] = barrier.opened;
#if defined(HIDET_STRICT)
  // What a thread does from here to its wait is not ordered.
  cpu::order.arrive(&barrier, cpu::block->thread());
#endif
  if (++barrier.arrived < int(cpu::block->threads_of_cluster())) return;
  barrier.arrived = 0;
  ++barrier.opened;
#if defined(HIDET_STRICT)
  cpu::order.end_phase(&barrier);
#endif
  cpu::block->wake(&barrier);
}

static inline void cluster_wait(unsigned line = __builtin_LINE()) {
  const cpu::NamedBarrier& barrier = cpu::cluster_barrier;
  const unsigned opened = cpu::opened_before[cpu::block->thread_of_cluster()];
  while (barrier.opened == opened) cpu::block->wait(&barrier, "cluster_wait", line);
#if defined(HIDET_STRICT)
  cpu::order.wait(&barrier, cpu::block->thread());
#endif
}

static inline void mbarrier_arrive_cluster(BarrierPointer bar, int number,
                                           unsigned line = __builtin_LINE()) {
  mbarrier_arrive(cpu::in_block(bar.address, number), line);
}

template <typename T, typename... Coordinates>
static inline void tma_load_multicast(T* dst, BarrierPointer bar, MapArgument map, int blocks,
                                      Coordinates... first) {
  for (int number = 0; blocks >> number != 0; ++number) {
    if ((blocks >> number & 1) == 0) continue;
    tma_load(cpu::in_block(dst, number), cpu::in_block(bar.address, number), map, first...);
  }
}

}  // namespace hidet
