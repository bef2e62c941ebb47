// CUDA: copies from global to shared memory that go on while the thread does something else.
//
// PTX ISA, "Non-bulk copy": cp.async, cp.async.commit_group, cp.async.wait_group; since sm_80.
#pragma once

namespace hidet {

#if __CUDA_ARCH__ >= 800

// Begin to copy N elements; both addresses are multiples of their size. `ca` caches at all levels,
// `cg` in L2 only. The elements from `valid` on are not read, and become zero.
#define HIDET_CP_ASYNC(cache, least)                                                                 \
  template <int N, typename T>                                                                       \
  HIDET_DEVICE void cp_async_##cache(T* dst, const T* src) {                                         \
    constexpr int bytes = N * sizeof(T);                                                             \
    static_assert(bytes >= least && bytes <= 16 && (bytes & (bytes - 1)) == 0, "cp.async." #cache);  \
    asm volatile("cp.async." #cache ".shared.global [%0], [%1], %2;"                                 \
                 ::"r"(cuda::shared_address(dst)), "l"(::__cvta_generic_to_global(src)), "n"(bytes)  \
                 : "memory");                                                                        \
  }                                                                                                  \
  template <int N, typename T>                                                                       \
  HIDET_DEVICE void cp_async_##cache(T* dst, const T* src, int valid) {                              \
    constexpr int bytes = N * sizeof(T);                                                             \
    static_assert(bytes >= least && bytes <= 16 && (bytes & (bytes - 1)) == 0, "cp.async." #cache);  \
    asm volatile("cp.async." #cache ".shared.global [%0], [%1], %2, %3;"                             \
                 ::"r"(cuda::shared_address(dst)), "l"(::__cvta_generic_to_global(src)), "n"(bytes), \
                   "r"(valid * int(sizeof(T)))                                                       \
                 : "memory");                                                                        \
  }

HIDET_CP_ASYNC(ca, 4)
HIDET_CP_ASYNC(cg, 16)

// Make a group of all copies of this thread since its last group.
HIDET_DEVICE void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Wait until no more than the `pending` latest groups of this thread are under way.
template <int pending>
HIDET_DEVICE void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

#endif  // sm_80

}  // namespace hidet
