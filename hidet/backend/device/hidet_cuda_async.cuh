// CUDA: copies from global to shared memory that go on while the thread does something else.
//
// PTX ISA, "Non-bulk copy": cp.async, cp.async.commit_group, cp.async.wait_group; since sm_80.
#pragma once

namespace hidet {

#if __CUDA_ARCH__ >= 800

namespace cuda {

template <int bytes>
HIDET_DEVICE constexpr void check_cp_async() {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async copies 4, 8 or 16 bytes");
}

}  // namespace cuda

// Begin to copy N elements; both addresses are multiples of their size. `ca` caches at all levels.
template <int N, typename T>
HIDET_DEVICE void cp_async_ca(T* dst, const T* src) {
  cuda::check_cp_async<N * sizeof(T)>();
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(cuda::shared_address(dst)),
               "l"(::__cvta_generic_to_global(src)), "n"(int(N * sizeof(T)))
               : "memory");
}

// As above; the elements from `valid` on are not read, and become zero.
template <int N, typename T>
HIDET_DEVICE void cp_async_ca(T* dst, const T* src, int valid) {
  cuda::check_cp_async<N * sizeof(T)>();
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(cuda::shared_address(dst)),
               "l"(::__cvta_generic_to_global(src)), "n"(int(N * sizeof(T))),
               "r"(valid * int(sizeof(T)))
               : "memory");
}

// `cg` caches in L2 only, for 16 bytes.
template <int N, typename T>
HIDET_DEVICE void cp_async_cg(T* dst, const T* src) {
  static_assert(N * sizeof(T) == 16, "cp.async.cg copies 16 bytes");
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(cuda::shared_address(dst)),
               "l"(::__cvta_generic_to_global(src))
               : "memory");
}

template <int N, typename T>
HIDET_DEVICE void cp_async_cg(T* dst, const T* src, int valid) {
  static_assert(N * sizeof(T) == 16, "cp.async.cg copies 16 bytes");
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(cuda::shared_address(dst)),
               "l"(::__cvta_generic_to_global(src)), "r"(valid * int(sizeof(T)))
               : "memory");
}

// Make a group of all copies of this thread since its last group.
HIDET_DEVICE void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Wait until no more than the `pending` latest groups of this thread are under way.
template <int pending>
HIDET_DEVICE void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

#endif  // sm_80

}  // namespace hidet
