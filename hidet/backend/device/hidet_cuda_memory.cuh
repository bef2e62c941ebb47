// CUDA: vector copies and atomic operations.
#pragma once

#include <type_traits>

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

// ---- atomics --------------------------------------------------------------------------------------
// On global or shared memory, relaxed. They return the value from before.

namespace cuda {

// The same 8-byte integer as the type that CUDA overloads its functions for; others stay.
template <typename T>
using AtomicType = std::conditional_t<
    std::is_integral_v<T> && sizeof(T) == 8,
    std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>, T>;

// Replace *p by update(*p) as one step, for float and double.
template <typename T, typename Update>
HIDET_DEVICE T atomic_update(T* p, Update update) {
  using Bits = std::conditional_t<sizeof(T) == 4, unsigned int, unsigned long long>;
  Bits* const address = reinterpret_cast<Bits*>(p);
  Bits old = *reinterpret_cast<volatile Bits*>(p);
  Bits expected;
  do {
    expected = old;
    old = ::atomicCAS(address, expected, bit_cast<Bits>(update(bit_cast<T>(expected))));
  } while (old != expected);
  return bit_cast<T>(old);
}

}  // namespace cuda

template <typename T>
HIDET_DEVICE T atomic_add(T* p, T v) {
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    // Addition does not depend on the sign; the toolkit has it for unsigned numbers.
    using U = unsigned long long;
    return static_cast<T>(::atomicAdd(reinterpret_cast<U*>(p), static_cast<U>(v)));
  } else {
    return ::atomicAdd(p, v);
  }
}

// Floats: NaN wins, as in maximum.
template <typename T>
HIDET_DEVICE T atomic_max(T* p, T v) {
  if constexpr (std::is_floating_point_v<T>) {
    return cuda::atomic_update(p, [v](T old) { return maximum(old, v); });
  } else {
    using U = cuda::AtomicType<T>;
    return static_cast<T>(::atomicMax(reinterpret_cast<U*>(p), static_cast<U>(v)));
  }
}

template <typename T>
HIDET_DEVICE T atomic_min(T* p, T v) {
  if constexpr (std::is_floating_point_v<T>) {
    return cuda::atomic_update(p, [v](T old) { return minimum(old, v); });
  } else {
    using U = cuda::AtomicType<T>;
    return static_cast<T>(::atomicMin(reinterpret_cast<U*>(p), static_cast<U>(v)));
  }
}

template <typename T>
HIDET_DEVICE T atomic_exchange(T* p, T v) {
  if constexpr (sizeof(T) == 8) {
    using U = unsigned long long;
    return bit_cast<T>(::atomicExch(reinterpret_cast<U*>(p), bit_cast<U>(v)));
  } else {
    return ::atomicExch(p, v);
  }
}

// Integers: store v where *p is `expected`.
template <typename T>
HIDET_DEVICE T atomic_cas(T* p, T expected, T v) {
  using U = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned int>;
  return static_cast<T>(
      ::atomicCAS(reinterpret_cast<U*>(p), static_cast<U>(expected), static_cast<U>(v)));
}

}  // namespace hidet
