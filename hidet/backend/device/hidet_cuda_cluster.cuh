// CUDA: what blocks of a cluster do together; since sm_90.
//
// PTX ISA, "Cluster of Cooperative Thread Arrays". A block is known by its number in the cluster, along
// x first: that of blockIdx modulo the shape of the cluster.
#pragma once

namespace hidet {

#if __CUDA_ARCH__ >= 900

// Come to the barrier of all threads of the cluster, and go on at once. What the thread has stored can
// be seen by those that have waited.
HIDET_DEVICE void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
}

// Wait until all threads of the cluster have come.
HIDET_DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }

// Arrive at the barrier of another block of the cluster, in the same place as this one.
HIDET_DEVICE void mbarrier_arrive_cluster(BarrierPointer bar, int block) {
  asm volatile(
      "{.reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];}" ::"r"(cuda::shared_address(bar)),
      "r"(block)
      : "memory");
}

// An array of shared memory in the same place of another block of the cluster.
template <typename T>
HIDET_DEVICE T& map_shared_rank(T& array, int block) {
  T* mapped;
  asm("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(&array), "r"(block));
  return *mapped;
}

#define HIDET_TMA_MULTICAST(rank, list, ...)                                                     \
  asm volatile(                                                                                  \
      "cp.async.bulk.tensor." #rank                                                              \
      "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "     \
      "[%1, {" list "}], [%2], %3;" ::"r"(cuda::shared_address(dst)),                            \
      "l"(&map), "r"(cuda::shared_address(bar)), "h"(static_cast<unsigned short>(blocks)),       \
      __VA_ARGS__                                                                                \
      : "memory")

// Begin to copy a box to dst in each block of the cluster whose bit is set in `blocks`; the barrier in
// the same place of each of them gets the bytes.
template <typename T, typename... C>
HIDET_DEVICE void tma_load_multicast(T* dst, BarrierPointer bar, const TensorMap& map, int blocks,
                                     C... first) {
  const int at[] = {static_cast<int>(first)...};
  if constexpr (sizeof...(C) == 1) HIDET_TMA_MULTICAST(1, "%4", HIDET_AT1);
  if constexpr (sizeof...(C) == 2) HIDET_TMA_MULTICAST(2, "%4, %5", HIDET_AT2);
  if constexpr (sizeof...(C) == 3) HIDET_TMA_MULTICAST(3, "%4, %5, %6", HIDET_AT3);
  if constexpr (sizeof...(C) == 4) HIDET_TMA_MULTICAST(4, "%4, %5, %6, %7", HIDET_AT4);
  if constexpr (sizeof...(C) == 5) HIDET_TMA_MULTICAST(5, "%4, %5, %6, %7, %8", HIDET_AT5);
}

#endif  // sm_90

}  // namespace hidet
