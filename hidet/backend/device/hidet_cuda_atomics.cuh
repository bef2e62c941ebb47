// CUDA: atomic operations on global or shared memory, relaxed. They return the value from before.
#pragma once

#include <type_traits>

namespace hidet {

namespace cuda {

// The integers for which CUDA has its functions, of as many bytes.
template <typename T>
using Signed = std::conditional_t<sizeof(T) == 8, long long, int>;
template <typename T>
using Unsigned = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned int>;

// Call the function of CUDA for a scope (CUDA C++ Programming Guide, "Atomic Functions").
#define HIDET_SCOPED(function, ...)                         \
  (scope == Scope::cta   ? ::function##_block(__VA_ARGS__)  \
   : scope == Scope::sys ? ::function##_system(__VA_ARGS__) \
                         : ::function(__VA_ARGS__))

// Call a function of integers of type U on the memory of a T.
#define HIDET_INTEGER_ATOMIC(function, U) \
  static_cast<T>(HIDET_SCOPED(function, reinterpret_cast<U*>(p), static_cast<U>(v)))

// Store `wanted` in *p where that is `expected`; 16 bits take PTX (PTX ISA, "atom", .cas.b16), for a
// block as for a GPU.
#define HIDET_CAS(scope)                                            \
  asm volatile("atom.relaxed." scope ".cas.b16 %0, [%1], %2, %3;"   \
               : "=h"(old)                                          \
               : "l"(p), "h"(expected), "h"(wanted)                 \
               : "memory")
template <Scope scope, typename Bits>
HIDET_DEVICE Bits swap_if(Bits* p, Bits expected, Bits wanted) {
  if constexpr (sizeof(Bits) == 2) {
    Bits old;
    if constexpr (scope == Scope::sys) HIDET_CAS("sys"); else HIDET_CAS("gpu");
    return old;
  } else {
    return HIDET_SCOPED(atomicCAS, p, expected, wanted);
  }
}

// Replace *p by update(*p) as one step.
template <Scope scope, typename T, typename Update>
HIDET_DEVICE T atomic_update(T* p, Update update) {
  using Bits = std::conditional_t<sizeof(T) == 2, unsigned short, Unsigned<T>>;
  Bits* const address = reinterpret_cast<Bits*>(p);
  Bits old = *reinterpret_cast<volatile Bits*>(p);
  Bits expected;
  do {
    expected = old;
    old = swap_if<scope>(address, expected, bit_cast<Bits>(update(bit_cast<T>(expected))));
  } while (old != expected);
  return bit_cast<T>(old);
}

// Add 16-bit floats, one or two, for a GPU (PTX ISA, "atom", .add.noftz).
#define HIDET_ADD_HALF(T, Bits, constraint, instruction)            \
  HIDET_DEVICE T add_half(T* p, T v) {                              \
    Bits old;                                                       \
    asm volatile("{atom.add.noftz." instruction " %0, [%1], %2;}\n" \
                 : "=" constraint(old)                              \
                 : "l"(p), constraint(bit_cast<Bits>(v))            \
                 : "memory");                                       \
    return bit_cast<T>(old);                                        \
  }

HIDET_ADD_HALF(half, unsigned short, "h", "f16")
HIDET_ADD_HALF(half2, unsigned, "r", "f16x2")
#if __CUDA_ARCH__ >= 900
HIDET_ADD_HALF(bfloat16, unsigned short, "h", "bf16")
HIDET_ADD_HALF(bfloat162, unsigned, "r", "bf16x2")
#else
HIDET_DEVICE bfloat16 sum_of(bfloat16 a, bfloat16 b) { return to_bfloat16(to_float(a) + to_float(b)); }
HIDET_DEVICE bfloat16 add_half(bfloat16* p, bfloat16 v) {
  return atomic_update<Scope::gpu>(p, [v](bfloat16 old) { return sum_of(old, v); });
}
HIDET_DEVICE bfloat162 add_half(bfloat162* p, bfloat162 v) {
  return atomic_update<Scope::gpu>(
      p, [v](bfloat162 old) { return bfloat162{sum_of(old.x, v.x), sum_of(old.y, v.y)}; });
}
#endif

}  // namespace cuda

template <Scope scope = Scope::gpu, typename T>
HIDET_DEVICE T atomic_add(T* p, same<T> v) {
  if constexpr (std::is_integral_v<T>) {
    return HIDET_INTEGER_ATOMIC(atomicAdd, cuda::Unsigned<T>);  // does not depend on the sign
  } else if constexpr (!is_2_byte_float<T>) {
    return HIDET_SCOPED(atomicAdd, p, v);
  } else if constexpr (scope == Scope::sys) {
    return cuda::atomic_update<scope>(
        p, [v](T old) { return cast<T>(to_float(old) + to_float(v)); });
  } else {
    return cuda::add_half(p, v);  // that of the GPU, which is one of the block as well
  }
}

// Two neighbours, each as one step; p is a multiple of 4 bytes.
template <Scope scope = Scope::gpu, typename T>
HIDET_DEVICE void atomic_add_pair(T* p, T first, T second) {
  static_assert(is_2_byte_float<T>, "pairs are of half or bfloat16");
  if constexpr (scope == Scope::sys) {
    atomic_add<scope>(p, first);
    atomic_add<scope>(p + 1, second);
  } else {
    using Pair = std::conditional_t<std::is_same_v<T, half>, half2, bfloat162>;
    cuda::add_half(reinterpret_cast<Pair*>(p), Pair{first, second});
  }
}

// Floats: NaN wins, as in maximum.
#define HIDET_ATOMIC(name, function, choose)                                       \
  template <Scope scope = Scope::gpu, typename T>                                  \
  HIDET_DEVICE T atomic_##name(T* p, same<T> v) {                                  \
    if constexpr (std::is_floating_point_v<T>) {                                   \
      return cuda::atomic_update<scope>(p, [v](T old) { return choose(old, v); }); \
    } else {                                                                       \
      return HIDET_INTEGER_ATOMIC(function, cuda::Signed<T>);                      \
    }                                                                              \
  }

HIDET_ATOMIC(max, atomicMax, maximum)
HIDET_ATOMIC(min, atomicMin, minimum)

// Integers, those of `umax` and `umin` without a sign.
#define HIDET_INTEGER(name, function)                         \
  template <Scope scope = Scope::gpu, typename T>             \
  HIDET_DEVICE T atomic_##name(T* p, same<T> v) {             \
    return HIDET_INTEGER_ATOMIC(function, cuda::Unsigned<T>); \
  }

HIDET_INTEGER(umax, atomicMax)
HIDET_INTEGER(umin, atomicMin)
HIDET_INTEGER(and, atomicAnd)
HIDET_INTEGER(or, atomicOr)
HIDET_INTEGER(xor, atomicXor)

template <Scope scope = Scope::gpu, typename T>
HIDET_DEVICE T atomic_exchange(T* p, same<T> v) {
  using U = cuda::Unsigned<T>;
  return bit_cast<T>(HIDET_SCOPED(atomicExch, reinterpret_cast<U*>(p), bit_cast<U>(v)));
}

// Integers: store v where *p is `expected`.
template <Scope scope = Scope::gpu, typename T>
HIDET_DEVICE T atomic_cas(T* p, same<T> expected, same<T> v) {
  using U = cuda::Unsigned<T>;
  return static_cast<T>(HIDET_SCOPED(atomicCAS, reinterpret_cast<U*>(p), static_cast<U>(expected),
                                     static_cast<U>(v)));
}

}  // namespace hidet
