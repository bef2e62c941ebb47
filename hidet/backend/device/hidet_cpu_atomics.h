// CPU: atomic operations on global or shared memory, relaxed. They return the value from before.
#pragma once

#include <type_traits>

namespace hidet {

// For whom an operation is one step; on the CPU all threads are equal.
enum class Scope { cta, gpu, sys };

namespace cpu {

// The type of another argument, to which the value is converted: a sign may differ.
template <typename T>
struct Same {
  using type = T;
};
template <typename T>
using same = typename Same<T>::type;

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

// The larger or smaller one of two integers with or without a sign, or of floats.
template <template <typename> class Sign, typename T, typename Choose>
HIDET_DEVICE T atomic_extreme(T* p, T v, Choose choose) {
  return atomic_update(p, [=](T old) {
    if constexpr (std::is_integral_v<T>) {
      using S = typename Sign<T>::type;
      return static_cast<T>(choose(static_cast<S>(old), static_cast<S>(v)));
    } else {
      return choose(old, v);
    }
  });
}

}  // namespace cpu

template <Scope = Scope::gpu, typename T>
HIDET_DEVICE T atomic_add(T* p, cpu::same<T> v) {
  if constexpr (std::is_integral_v<T>) {
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
  } else if constexpr (is_2_byte_float<T>) {
    return cpu::atomic_update(p, [=](T old) { return cast<T>(to_float(old) + to_float(v)); });
  } else {
    return cpu::atomic_update(p, [=](T old) { return old + v; });
  }
}

// Two neighbours, each as one step.
template <Scope = Scope::gpu, typename T>
HIDET_DEVICE void atomic_add_pair(T* p, T first, T second) {
  static_assert(is_2_byte_float<T>, "pairs are of half or bfloat16");
  atomic_add(p, first);
  atomic_add(p + 1, second);
}

// Floats: NaN wins, as in maximum.
template <Scope = Scope::gpu, typename T>
HIDET_DEVICE T atomic_max(T* p, cpu::same<T> v) {
  return cpu::atomic_extreme<std::make_signed>(p, v, [](auto a, auto b) { return maximum(a, b); });
}

template <Scope = Scope::gpu, typename T>
HIDET_DEVICE T atomic_min(T* p, cpu::same<T> v) {
  return cpu::atomic_extreme<std::make_signed>(p, v, [](auto a, auto b) { return minimum(a, b); });
}

// Integers without a sign.
template <Scope = Scope::gpu, typename T>
HIDET_DEVICE T atomic_umax(T* p, cpu::same<T> v) {
  return cpu::atomic_extreme<std::make_unsigned>(p, v,
                                                 [](auto a, auto b) { return maximum(a, b); });
}

template <Scope = Scope::gpu, typename T>
HIDET_DEVICE T atomic_umin(T* p, cpu::same<T> v) {
  return cpu::atomic_extreme<std::make_unsigned>(p, v,
                                                 [](auto a, auto b) { return minimum(a, b); });
}

template <Scope = Scope::gpu, typename T>
HIDET_DEVICE T atomic_and(T* p, cpu::same<T> v) {
  return __atomic_fetch_and(p, v, __ATOMIC_RELAXED);
}

template <Scope = Scope::gpu, typename T>
HIDET_DEVICE T atomic_or(T* p, cpu::same<T> v) {
  return __atomic_fetch_or(p, v, __ATOMIC_RELAXED);
}

template <Scope = Scope::gpu, typename T>
HIDET_DEVICE T atomic_xor(T* p, cpu::same<T> v) {
  return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED);
}

template <Scope = Scope::gpu, typename T>
HIDET_DEVICE T atomic_exchange(T* p, cpu::same<T> v) {
  T old;
  __atomic_exchange(p, &v, &old, __ATOMIC_RELAXED);
  return old;
}

// Integers: store v where *p is `expected`.
template <Scope = Scope::gpu, typename T>
HIDET_DEVICE T atomic_cas(T* p, cpu::same<T> expected, cpu::same<T> v) {
  __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;  // what was there
}

}  // namespace hidet
