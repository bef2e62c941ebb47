// CUDA: barriers in shared memory, and TMA that arrives at them; since sm_90.
//
// PTX ISA, "mbarrier", "cp.async.bulk.tensor" and "Tensor Copy".
#pragma once

namespace hidet {

// A tensor in global memory and the box that one copy takes out of it, as cuTensorMapEncodeTiled or
// cuTensorMapEncodeIm2col writes it; an argument of a kernel that is declared `const __grid_constant__`.
struct alignas(128) TensorMap {
  unsigned long long opaque[16];
};

#if __CUDA_ARCH__ >= 900

// ---- mbarrier -------------------------------------------------------------------------------------
// PTX ISA, "mbarrier": a phase ends when `count` arrivals and all expected bytes have come.

HIDET_DEVICE void mbarrier_init(BarrierPointer bar, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(cuda::shared_address(bar)), "r"(count)
               : "memory");
}

HIDET_DEVICE void mbarrier_arrive(BarrierPointer bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(cuda::shared_address(bar))
               : "memory");
}

// Arrive, and let the phase wait for so many bytes more.
HIDET_DEVICE void mbarrier_arrive_expect_tx(BarrierPointer bar, int bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(cuda::shared_address(bar)),
      "r"(bytes)
      : "memory");
}

// Wait for the end of the phase with this parity. The default semantics, acquire.cta, is much
// cheaper than acquire.cluster, which makes every wait invalidate the first cache.
HIDET_DEVICE void mbarrier_wait(BarrierPointer bar, int parity) {
  asm volatile(
      "{.reg .pred p;\n"
      "WAIT_%=:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@!p bra WAIT_%=;}" ::"r"(cuda::shared_address(bar)),
      "r"(parity)
      : "memory");
}

// The barrier is none any more: its memory is free for other use.
HIDET_DEVICE void mbarrier_invalidate(BarrierPointer bar) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(cuda::shared_address(bar)) : "memory");
}

// Let the phase wait for the asynchronous copies of this thread until now, besides its arrivals.
HIDET_DEVICE void cp_async_barrier_arrive(BarrierPointer bar) {
  asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(cuda::shared_address(bar))
               : "memory");
}

// What the thread has made of barriers can be seen by copies and by other blocks.
HIDET_DEVICE void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// What the thread has stored to shared memory can be seen by wgmma and TMA.
HIDET_DEVICE void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// What the thread sees in global memory can be seen by its copies by TMA.
HIDET_DEVICE void fence_proxy_async_global() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

// ---- TMA ----------------------------------------------------------------------------------------
// The coordinates are those of the first element of the box, the fastest dimension first.

#define HIDET_AT1 "r"(at[0])
#define HIDET_AT2 HIDET_AT1, "r"(at[1])
#define HIDET_AT3 HIDET_AT2, "r"(at[2])
#define HIDET_AT4 HIDET_AT3, "r"(at[3])
#define HIDET_AT5 HIDET_AT4, "r"(at[4])

#define HIDET_TMA_LOAD(rank, list, ...)                                                           \
  asm volatile(                                                                                   \
      "cp.async.bulk.tensor." #rank                                                               \
      "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" list "}], [%2];" \
      ::"r"(cuda::shared_address(dst)), "l"(&map), "r"(cuda::shared_address(bar)), __VA_ARGS__   \
      : "memory")
#define HIDET_TMA_LOAD_PIXELS(rank, list, offset, ...)                                              \
  asm volatile(                                                                                     \
      "cp.async.bulk.tensor." #rank                                                                 \
      "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {" list "}], [%2], " \
      "{" offset "};" ::"r"(cuda::shared_address(dst)),                                             \
      "l"(&map), "r"(cuda::shared_address(bar)), __VA_ARGS__                                        \
      : "memory")
#define HIDET_TMA_STORE(rank, list, ...)                                                 \
  asm volatile("cp.async.bulk.tensor." #rank                                             \
               "d.global.shared::cta.tile.bulk_group [%0, {" list "}], [%1];" ::"l"(&map), \
               "r"(cuda::shared_address(src)), __VA_ARGS__                               \
               : "memory")

// Begin to copy a box to dst, which starts at a multiple of 128 bytes (1024 where it is swizzled).
// The barrier gets the bytes of the whole box, also of what is outside of the tensor, and zero.
template <typename T, typename... C>
HIDET_DEVICE void tma_load(T* dst, BarrierPointer bar, const TensorMap& map, C... first) {
  const int at[] = {static_cast<int>(first)...};
  if constexpr (sizeof...(C) == 1) HIDET_TMA_LOAD(1, "%3", HIDET_AT1);
  if constexpr (sizeof...(C) == 2) HIDET_TMA_LOAD(2, "%3, %4", HIDET_AT2);
  if constexpr (sizeof...(C) == 3) HIDET_TMA_LOAD(3, "%3, %4, %5", HIDET_AT3);
  if constexpr (sizeof...(C) == 4) HIDET_TMA_LOAD(4, "%3, %4, %5, %6", HIDET_AT4);
  if constexpr (sizeof...(C) == 5) HIDET_TMA_LOAD(5, "%3, %4, %5, %6, %7", HIDET_AT5);
}

// Begin to copy pixels of images to dst, as above. The place is that of the first channel and pixel,
// then the offset of the copied pixels from those of the map: 0 to 255 in images of two dimensions.
template <typename T, typename... C>
HIDET_DEVICE void tma_load_pixels(T* dst, BarrierPointer bar, const TensorMap& map, C... place) {
  const int at[] = {static_cast<int>(place)...};
  const auto away = [&](int number) { return static_cast<unsigned short>(at[number]); };
  if constexpr (sizeof...(C) == 4) {
    HIDET_TMA_LOAD_PIXELS(3, "%3, %4, %5", "%6", HIDET_AT3, "h"(away(3)));
  }
  if constexpr (sizeof...(C) == 6) {
    HIDET_TMA_LOAD_PIXELS(4, "%3, %4, %5, %6", "%7, %8", HIDET_AT4, "h"(away(4)), "h"(away(5)));
  }
  if constexpr (sizeof...(C) == 8) {
    HIDET_TMA_LOAD_PIXELS(5, "%3, %4, %5, %6, %7", "%8, %9, %10", HIDET_AT5, "h"(away(5)),
                          "h"(away(6)), "h"(away(7)));
  }
}

// Begin to copy a box from src to the tensor; what is outside of the tensor is left out.
template <typename T, typename... C>
HIDET_DEVICE void tma_store(const T* src, const TensorMap& map, C... first) {
  const int at[] = {static_cast<int>(first)...};
  if constexpr (sizeof...(C) == 1) HIDET_TMA_STORE(1, "%2", HIDET_AT1);
  if constexpr (sizeof...(C) == 2) HIDET_TMA_STORE(2, "%2, %3", HIDET_AT2);
  if constexpr (sizeof...(C) == 3) HIDET_TMA_STORE(3, "%2, %3, %4", HIDET_AT3);
  if constexpr (sizeof...(C) == 4) HIDET_TMA_STORE(4, "%2, %3, %4, %5", HIDET_AT4);
  if constexpr (sizeof...(C) == 5) HIDET_TMA_STORE(5, "%2, %3, %4, %5, %6", HIDET_AT5);
}

// Make a group of all stores of this thread since its last group.
HIDET_DEVICE void tma_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Wait until no more than the `pending` latest groups of this thread still read shared memory.
template <int pending>
HIDET_DEVICE void tma_wait() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

#endif  // sm_90

}  // namespace hidet
