// CPU: accesses to global memory that the GPU has hints and an order for.
#pragma once

namespace hidet {

// ---- cache hints: the CPU has none -----------------------------------------------------------------

#define HIDET_ACCESS(name)                       \
  template <int N, typename T>                   \
  HIDET_DEVICE void name(T* dst, const T* src) { \
    copy_vector<T, N>(dst, src);                 \
  }

HIDET_ACCESS(load_ca)
HIDET_ACCESS(load_cg)
HIDET_ACCESS(load_cs)
HIDET_ACCESS(load_lu)
HIDET_ACCESS(load_cv)
HIDET_ACCESS(load_nc)
HIDET_ACCESS(store_wb)
HIDET_ACCESS(store_cg)
HIDET_ACCESS(store_cs)
HIDET_ACCESS(store_wt)

// ---- order -----------------------------------------------------------------------------------------
// One element of 4 or 8 bytes.

#define HIDET_ORDERED(scope)                               \
  template <typename T>                                    \
  HIDET_DEVICE T load_acquire_##scope(const T* p) {        \
    T value;                                               \
    __atomic_load(p, &value, __ATOMIC_ACQUIRE);            \
    return value;                                          \
  }                                                        \
  template <typename T>                                    \
  HIDET_DEVICE T load_relaxed_##scope(const T* p) {        \
    T value;                                               \
    __atomic_load(p, &value, __ATOMIC_RELAXED);            \
    return value;                                          \
  }                                                        \
  template <typename T>                                    \
  HIDET_DEVICE void store_release_##scope(T* p, T value) { \
    __atomic_store(p, &value, __ATOMIC_RELEASE);           \
  }                                                        \
  template <typename T>                                    \
  HIDET_DEVICE void store_relaxed_##scope(T* p, T value) { \
    __atomic_store(p, &value, __ATOMIC_RELAXED);           \
  }

HIDET_ORDERED(cta)
HIDET_ORDERED(gpu)
HIDET_ORDERED(sys)

}  // namespace hidet
