// CPU: vector copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hidet_memory.h"

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

// ---- addresses ------------------------------------------------------------------------------------

// The memory behind p as elements of type T; const where p is.
template <typename T, typename S>
HIDET_DEVICE auto view(S* p) {
  cpu::saw_view(p, sizeof(T));
  return reinterpret_cast<std::conditional_t<std::is_const_v<S>, const T, T>*>(p);
}

}  // namespace hidet
