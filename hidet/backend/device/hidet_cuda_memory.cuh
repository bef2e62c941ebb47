// CUDA: vector copies.
#pragma once

#include <cstdint>
#include <type_traits>

#include "hidet_memory.h"

namespace hidet {

namespace cuda {

// The type whose load and store is one access of so many bytes.
template <int bytes>
struct Vector;
template <>
struct Vector<1> { using type = unsigned char; };
template <>
struct Vector<2> { using type = unsigned short; };
template <>
struct Vector<4> { using type = unsigned int; };
template <>
struct Vector<8> { using type = uint2; };
template <>
struct Vector<16> { using type = uint4; };

}  // namespace cuda

// Copy N elements as one access of 1, 2, 4, 8 or 16 bytes. Both addresses are multiples of the size.
// Of integers one side may have a sign where the other has none.
template <typename T, int N, typename D, typename S>
HIDET_DEVICE void copy_vector(D* dst, const S* src) {
  static_assert(sizeof(D) == sizeof(T) && sizeof(S) == sizeof(T), "both sides are of one size");
  using V = typename cuda::Vector<sizeof(T) * N>::type;
  *reinterpret_cast<V*>(dst) = *reinterpret_cast<const V*>(src);
}

// ---- addresses ------------------------------------------------------------------------------------

// The memory behind p as elements of type T; const where p is.
template <typename T, typename S>
HIDET_DEVICE auto view(S* p) {
  return reinterpret_cast<std::conditional_t<std::is_const_v<S>, const T, T>*>(p);
}

}  // namespace hidet
