// CUDA: accesses to global memory with cache hints, and in order with others.
#pragma once

namespace hidet {

// ---- cache hints -----------------------------------------------------------------------------------
// N elements as one access of 1, 2, 4, 8 or 16 bytes; CUDA C++ Programming Guide, "Load Functions
// Using Cache Hints" and "Store Functions Using Cache Hints".

#define HIDET_LOAD(name, function)                                               \
  template <int N, typename T>                                                   \
  HIDET_DEVICE void name(T* dst, const T* src) {                                 \
    using V = typename cuda::Vector<sizeof(T) * N>::type;                        \
    *reinterpret_cast<V*>(dst) = function(reinterpret_cast<const V*>(src));      \
  }

#define HIDET_STORE(name, function)                                              \
  template <int N, typename T>                                                   \
  HIDET_DEVICE void name(T* dst, const T* src) {                                 \
    using V = typename cuda::Vector<sizeof(T) * N>::type;                        \
    function(reinterpret_cast<V*>(dst), *reinterpret_cast<const V*>(src));       \
  }

HIDET_LOAD(load_ca, ::__ldca)
HIDET_LOAD(load_cg, ::__ldcg)
HIDET_LOAD(load_cs, ::__ldcs)
HIDET_LOAD(load_lu, ::__ldlu)
HIDET_LOAD(load_cv, ::__ldcv)
HIDET_LOAD(load_nc, ::__ldg)
HIDET_STORE(store_wb, ::__stwb)
HIDET_STORE(store_cg, ::__stcg)
HIDET_STORE(store_cs, ::__stcs)
HIDET_STORE(store_wt, ::__stwt)

// ---- order -----------------------------------------------------------------------------------------
// One element of 4 or 8 bytes; PTX ISA, "Memory Consistency Model".

#define HIDET_ORDERED_LOAD(order, scope)                                                        \
  template <typename T>                                                                         \
  HIDET_DEVICE T load_##order##_##scope(const T* p) {                                           \
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "an ordered access has 4 or 8 bytes");      \
    if constexpr (sizeof(T) == 4) {                                                             \
      unsigned bits;                                                                            \
      asm volatile("ld." #order "." #scope ".b32 %0, [%1];" : "=r"(bits) : "l"(p) : "memory");  \
      return bit_cast<T>(bits);                                                                 \
    } else {                                                                                    \
      unsigned long long bits;                                                                  \
      asm volatile("ld." #order "." #scope ".b64 %0, [%1];" : "=l"(bits) : "l"(p) : "memory");  \
      return bit_cast<T>(bits);                                                                 \
    }                                                                                           \
  }

#define HIDET_ORDERED_STORE(order, scope)                                                       \
  template <typename T>                                                                         \
  HIDET_DEVICE void store_##order##_##scope(T* p, T value) {                                    \
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "an ordered access has 4 or 8 bytes");      \
    if constexpr (sizeof(T) == 4) {                                                             \
      asm volatile("st." #order "." #scope ".b32 [%0], %1;"                                     \
                   :: "l"(p), "r"(bit_cast<unsigned>(value)) : "memory");                       \
    } else {                                                                                    \
      asm volatile("st." #order "." #scope ".b64 [%0], %1;"                                     \
                   :: "l"(p), "l"(bit_cast<unsigned long long>(value)) : "memory");             \
    }                                                                                           \
  }

#define HIDET_ORDERED(scope)          \
  HIDET_ORDERED_LOAD(acquire, scope)  \
  HIDET_ORDERED_LOAD(relaxed, scope)  \
  HIDET_ORDERED_STORE(release, scope) \
  HIDET_ORDERED_STORE(relaxed, scope)

HIDET_ORDERED(cta)
HIDET_ORDERED(gpu)
HIDET_ORDERED(sys)

}  // namespace hidet
