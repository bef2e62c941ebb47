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

// Open the barrier if all threads have come that are still there: nobody waits for others.
static inline void try_to_open_cluster_barrier() {
  NamedBarrier& barrier = cluster_barrier;
  if (barrier.arrived == 0 || barrier.arrived < int(block->running())) return;
  barrier.arrived = 0;
  ++barrier.opened;
#if defined(HIDET_STRICT)
  order.end_phase(&barrier);
#endif
  block->wake(&barrier);
}

static void leave_cluster() { try_to_open_cluster_barrier(); }

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
  ++barrier.arrived;
  cpu::try_to_open_cluster_barrier();
}

static inline void cluster_wait(unsigned line = __builtin_LINE()) {
  const cpu::NamedBarrier& barrier = cpu::cluster_barrier;
  const unsigned opened = cpu::opened_before[cpu::block->thread_of_cluster()];
  while (barrier.opened == opened) cpu::block->wait(&barrier, "cluster_wait", line);
#if defined(HIDET_STRICT)
  cpu::order.wait(&barrier, cpu::block->thread());
#endif
}

template <typename T>
static inline T& map_shared_rank(T& array, int number) {
  return *cpu::in_block(&array, number);
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
