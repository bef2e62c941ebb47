// CPU: vector copies and atomic operations.
#pragma once

#include <cstddef>
#include <type_traits>

namespace hidet {

// Copy N elements as one access of 1, 2, 4, 8 or 16 bytes. Both addresses are multiples of the size;
// g++ does not depend on it, and checks it where HIDET_CHECK is defined.
// Of integers one side may have a sign where the other has none.
template <typename T, int N, typename D, typename S>
HIDET_DEVICE void copy_vector(D* dst, const S* src) {
  static_assert(sizeof(D) == sizeof(T) && sizeof(S) == sizeof(T), "both sides are of one size");
  constexpr std::size_t bytes = sizeof(T) * N;
  static_assert(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16,
                "one access moves 1, 2, 4, 8 or 16 bytes");
#if defined(HIDET_CHECK)
  const auto to = reinterpret_cast<std::uintptr_t>(dst);
  const auto from = reinterpret_cast<std::uintptr_t>(src);
  if (to % bytes != 0 || from % bytes != 0) {
    cpu::report(cpu::kMisaligned, "copy_vector of %zu bytes from %p to %p is not aligned", bytes,
                static_cast<const void*>(src), static_cast<void*>(dst));
  }
#endif
  __builtin_memcpy(dst, src, bytes);
}

// ---- atomics --------------------------------------------------------------------------------------
// On global or shared memory, relaxed. They return the value from before.

namespace cpu {

// Replace *p by update(*p) as one step.
template <typename T, typename Update>
HIDET_DEVICE T atomic_update(T* p, Update update) {
  T old;
  __atomic_load(p, &old, __ATOMIC_RELAXED);
  T wanted = update(old);
  while (!__atomic_compare_exchange(p, &old, &wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    wanted = update(old);
  }
  return old;
}

}  // namespace cpu

template <typename T>
HIDET_DEVICE T atomic_add(T* p, T v) {
  if constexpr (std::is_integral_v<T>) {
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
  } else {
    return cpu::atomic_update(p, [=](T old) { return old + v; });
  }
}

// Floats: NaN wins, as in maximum.
template <typename T>
HIDET_DEVICE T atomic_max(T* p, T v) {
  return cpu::atomic_update(p, [=](T old) { return maximum(old, v); });
}

template <typename T>
HIDET_DEVICE T atomic_min(T* p, T v) {
  return cpu::atomic_update(p, [=](T old) { return minimum(old, v); });
}

template <typename T>
HIDET_DEVICE T atomic_exchange(T* p, T v) {
  T old;
  __atomic_exchange(p, &v, &old, __ATOMIC_RELAXED);
  return old;
}

// Integers: store v where *p is `expected`.
template <typename T>
HIDET_DEVICE T atomic_cas(T* p, T expected, T v) {
  __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;  // what was there
}

}  // namespace hidet
