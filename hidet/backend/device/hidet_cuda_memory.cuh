// CUDA: vector copies.
#pragma once

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
template <typename T, int N>
HIDET_DEVICE void copy_vector(T* dst, const T* src) {
  using V = typename cuda::Vector<sizeof(T) * N>::type;
  *reinterpret_cast<V*>(dst) = *reinterpret_cast<const V*>(src);
}

}  // namespace hidet
