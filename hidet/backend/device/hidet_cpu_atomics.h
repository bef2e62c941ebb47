// CPU: atomic operations on global or shared memory, relaxed. They return the value from before.
#pragma once

#include <type_traits>

namespace hidet {

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
HIDET_DEVICE T atomic_add(T* p, same<T> v) {
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

// Floats: NaN wins, as in maximum. Integers have a sign, those of `umax` and `umin` none.
#define HIDET_ATOMIC(name, sign, choose)                                                 \
  template <Scope = Scope::gpu, typename T>                                              \
  HIDET_DEVICE T atomic_##name(T* p, same<T> v) {                                        \
    return cpu::atomic_extreme<sign>(p, v, [](auto a, auto b) { return choose(a, b); }); \
  }

HIDET_ATOMIC(max, std::make_signed, maximum)
HIDET_ATOMIC(min, std::make_signed, minimum)
HIDET_ATOMIC(umax, std::make_unsigned, maximum)
HIDET_ATOMIC(umin, std::make_unsigned, minimum)

#define HIDET_BIT_ATOMIC(name)                            \
  template <Scope = Scope::gpu, typename T>               \
  HIDET_DEVICE T atomic_##name(T* p, same<T> v) {         \
    return __atomic_fetch_##name(p, v, __ATOMIC_RELAXED); \
  }

HIDET_BIT_ATOMIC(and)
HIDET_BIT_ATOMIC(or)
HIDET_BIT_ATOMIC(xor)

template <Scope = Scope::gpu, typename T>
HIDET_DEVICE T atomic_exchange(T* p, same<T> v) {
  T old;
  __atomic_exchange(p, &v, &old, __ATOMIC_RELAXED);
  return old;
}

// Integers: store v where *p is `expected`.
template <Scope = Scope::gpu, typename T>
HIDET_DEVICE T atomic_cas(T* p, same<T> expected, same<T> v) {
  __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;  // what was there
}

}  // namespace hidet
