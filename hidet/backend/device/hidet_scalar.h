// Scalar functions that read the same for both compilers: conversions, integers, elementary functions.
//
// Included last by hidet_cuda.cuh and hidet_cpu.h, which have defined by then
//
//     HIDET_DEVICE          the qualifiers of a function that a kernel may call
//     HIDET_LIBM(name)      the function `name` of the C library, as the compiler knows it, after
//     HIDET_DECLARE_LIBM(result, name, parameters...)
//     half, bfloat16        with to_float(half), to_float(bfloat16), to_half(float), to_bfloat16(float),
//                           and to_integer<T>(x) of float and double
#pragma once

#include <type_traits>

namespace hidet {

template <typename T>
using if_integer = std::enable_if_t<std::is_integral_v<T>, T>;
template <typename T>
using if_float = std::enable_if_t<std::is_floating_point_v<T>, T>;

// ---- conversions ----------------------------------------------------------------------------------

template <typename T>
inline constexpr bool is_2_byte_float = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

// Convert x to T: floats round to nearest even, integers keep their lower bits, and a number is true
// as bool unless it is zero (NaN is true). A float becomes the integer towards zero, the nearest one
// of T where T has none, and 0 if it is NaN. Arithmetic happens in float, so the 2-byte types are
// converted by way of it, also from double and 64-bit integers (which rounds twice, as torch does).
template <typename T, typename S>
HIDET_DEVICE T cast(S x) {
  if constexpr (std::is_same_v<T, S>) {
    return x;
  } else if constexpr (is_2_byte_float<S>) {
    return cast<T>(to_float(x));
  } else if constexpr (std::is_same_v<T, bool>) {
    return x != S(0);
  } else if constexpr (std::is_same_v<T, half>) {
    return to_half(static_cast<float>(x));
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return to_bfloat16(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<S> && std::is_integral_v<T>) {
    return to_integer<T>(x);
  } else {
    return static_cast<T>(x);
  }
}

// The value of type T with the same bits as x.
template <typename T, typename S>
HIDET_DEVICE T bit_cast(S x) {
  static_assert(sizeof(T) == sizeof(S), "bit_cast keeps the number of bits");
  T result;
  __builtin_memcpy(&result, &x, sizeof(T));
  return result;
}

// Values of one type as one value of as many bits; the first one has the lowest.
template <typename T, typename S, typename... Others>
HIDET_DEVICE T join(S first, Others... others) {
  static_assert(sizeof(T) == sizeof(S) * (1 + sizeof...(Others)), "join keeps the number of bits");
  const S parts[] = {first, others...};
  T result;
  __builtin_memcpy(static_cast<void*>(&result), parts, sizeof(T));
  return result;
}

// One of the values of type T that lie next to each other in x.
template <typename T, int number, typename S>
HIDET_DEVICE T part(S x) {
  static_assert((number + 1) * sizeof(T) <= sizeof(S), "there is no such part");
  T parts[sizeof(S) / sizeof(T)];
  __builtin_memcpy(static_cast<void*>(parts), &x, sizeof(S));
  return parts[number];
}

// The truth of a byte in memory: all but 0 is true, as for torch, while C++ knows 0 and 1 alone.
HIDET_DEVICE bool truth(const bool* x) { return *reinterpret_cast<const unsigned char*>(x) != 0; }

// ---- integers -------------------------------------------------------------------------------------

template <typename T>
HIDET_DEVICE if_integer<T> maximum(T a, T b) {
  return a > b ? a : b;
}

template <typename T>
HIDET_DEVICE if_integer<T> minimum(T a, T b) {
  return a < b ? a : b;
}

// The absolute value; the smallest integer, which has none, stays as it is.
template <typename T>
HIDET_DEVICE if_integer<T> abs(T x) {
  using U = std::make_unsigned_t<T>;
  return x < T(0) ? static_cast<T>(U(0) - static_cast<U>(x)) : x;
}

// Divisions of any numbers: nothing traps. The smallest integer divided by -1 wraps to itself, and
// leaves 0. Divided by 0, x gives the number whose bits are all set, and leaves x: so that
// x == q * b + rest holds always, as GPUs and some CPUs have it.

template <typename T>
HIDET_DEVICE if_integer<T> divide(T a, T b) {
  using U = std::make_unsigned_t<T>;
  if (b == T(0)) return static_cast<T>(-1);
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(U(0) - static_cast<U>(a));
  return static_cast<T>(a / b);
}

template <typename T>
HIDET_DEVICE if_integer<T> remainder(T a, T b) {
  if (b == T(0)) return a;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return T(0);
  return static_cast<T>(a % b);
}

// Division rounded down, as `//` of Python. C rounds towards zero.
template <typename T>
HIDET_DEVICE if_integer<T> floordiv(T a, T b) {
  if (b == T(0)) return static_cast<T>(-1);
  const T rest = remainder(a, b);
  return static_cast<T>(divide(a, b) - (rest != 0 && (rest < 0) != (b < 0)));
}

// The rest of floordiv, with the sign of b, as `%` of Python.
template <typename T>
HIDET_DEVICE if_integer<T> floormod(T a, T b) {
  const T rest = remainder(a, b);
  return static_cast<T>(b != 0 && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

// Shifts by any number: one that is negative, or not less than the width, moves all bits out.

template <typename T, typename S>
HIDET_DEVICE if_integer<T> shift_left(T a, S count) {
  using U = std::make_unsigned_t<T>;
  const bool is_inside = static_cast<std::make_unsigned_t<S>>(count) < sizeof(T) * 8;
  return static_cast<T>(is_inside ? static_cast<U>(static_cast<U>(a) << count) : U(0));
}

template <typename T, typename S>
HIDET_DEVICE if_integer<T> shift_right(T a, S count) {
  const bool is_inside = static_cast<std::make_unsigned_t<S>>(count) < sizeof(T) * 8;
  return static_cast<T>(is_inside ? a >> count : a < T(0) ? T(-1) : T(0));
}

// The power, which wraps around. Of negative exponents, those of 1 and -1 are whole and all else is 0,
// as for torch.pow.
template <typename T>
HIDET_DEVICE if_integer<T> ipow(T base, T exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    return base == T(-1) ? static_cast<T>(exponent % 2 != 0 ? -1 : 1) : T(0);
  }
  unsigned long long result = 1, factor = static_cast<unsigned long long>(base);
  for (auto rest = static_cast<unsigned long long>(exponent); rest != 0; rest >>= 1) {
    if (rest & 1) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

// The upper word of the product of two words without signs.
HIDET_DEVICE int umulhi(int a, int b) {
  const auto product = static_cast<unsigned long long>(static_cast<unsigned>(a)) * static_cast<unsigned>(b);
  return static_cast<int>(product >> 32);
}

// Word `number % 4` of Philox4x32-10 for a key of two words and a counter of four. (Salmon et al.,
// Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011.) The words of one counter share all of the
// work where the compiler sees that it is one: in an unrolled loop over four neighbours.
HIDET_DEVICE int philox(int key0, int key1, int c0, int c1, int c2, int c3, int number) {
  unsigned k0 = static_cast<unsigned>(key0), k1 = static_cast<unsigned>(key1);
  unsigned a = static_cast<unsigned>(c0), b = static_cast<unsigned>(c1);
  unsigned c = static_cast<unsigned>(c2), d = static_cast<unsigned>(c3);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned long long left = 0xD2511F53ull * a, right = 0xCD9E8D57ull * c;
    a = static_cast<unsigned>(right >> 32) ^ b ^ k0;
    b = static_cast<unsigned>(right);
    c = static_cast<unsigned>(left >> 32) ^ d ^ k1;
    d = static_cast<unsigned>(left);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  const unsigned even = number & 2 ? c : a, odd = number & 2 ? d : b;
  return static_cast<int>(number & 1 ? odd : even);
}

// ---- elementary functions -------------------------------------------------------------------------

// One function of the C library under the name `name`, for float and for double.
#define HIDET_UNARY(name, libm)                                           \
  HIDET_DECLARE_LIBM(float, libm##f, float)                               \
  HIDET_DECLARE_LIBM(double, libm, double)                                \
  HIDET_DEVICE float name(float x) { return HIDET_LIBM(libm##f)(x); }     \
  HIDET_DEVICE double name(double x) { return HIDET_LIBM(libm)(x); }
#define HIDET_BINARY(name, libm)                                                     \
  HIDET_DECLARE_LIBM(float, libm##f, float, float)                                   \
  HIDET_DECLARE_LIBM(double, libm, double, double)                                   \
  HIDET_DEVICE float name(float x, float y) { return HIDET_LIBM(libm##f)(x, y); }    \
  HIDET_DEVICE double name(double x, double y) { return HIDET_LIBM(libm)(x, y); }

HIDET_UNARY(exp, exp)
HIDET_UNARY(exp2, exp2)
HIDET_UNARY(expm1, expm1)
HIDET_UNARY(log, log)
HIDET_UNARY(log2, log2)
HIDET_UNARY(log10, log10)
HIDET_UNARY(log1p, log1p)
HIDET_UNARY(sqrt, sqrt)
HIDET_UNARY(sin, sin)
HIDET_UNARY(cos, cos)
HIDET_UNARY(tan, tan)
HIDET_UNARY(asin, asin)
HIDET_UNARY(acos, acos)
HIDET_UNARY(atan, atan)
HIDET_UNARY(sinh, sinh)
HIDET_UNARY(cosh, cosh)
HIDET_UNARY(tanh, tanh)
HIDET_UNARY(asinh, asinh)
HIDET_UNARY(acosh, acosh)
HIDET_UNARY(atanh, atanh)
HIDET_UNARY(erf, erf)
HIDET_UNARY(erfc, erfc)
HIDET_UNARY(gamma, tgamma)
HIDET_UNARY(lgamma, lgamma)
HIDET_UNARY(cbrt, cbrt)
HIDET_UNARY(floor, floor)
HIDET_UNARY(ceil, ceil)
HIDET_UNARY(trunc, trunc)
HIDET_UNARY(round, nearbyint)  // half to even, as torch.round; the C function `round` is not
HIDET_UNARY(abs, fabs)
HIDET_BINARY(atan2, atan2)
HIDET_BINARY(copysign, copysign)
HIDET_BINARY(hypot, hypot)
HIDET_BINARY(nextafter, nextafter)
HIDET_BINARY(ieee_remainder, remainder)  // the rest of the division rounded to the nearest
HIDET_BINARY(fmod, fmod)  // the rest of the division rounded towards zero, with the sign of x

// x times 2 to the power of n.
HIDET_DECLARE_LIBM(float, ldexpf, float, int)
HIDET_DECLARE_LIBM(double, ldexp, double, int)
HIDET_DEVICE float ldexp(float x, int n) { return HIDET_LIBM(ldexpf)(x, n); }
HIDET_DEVICE double ldexp(double x, int n) { return HIDET_LIBM(ldexp)(x, n); }

// x * y + z, rounded once.
HIDET_DECLARE_LIBM(float, fmaf, float, float, float)
HIDET_DECLARE_LIBM(double, fma, double, double, double)
HIDET_DEVICE float fma(float x, float y, float z) { return HIDET_LIBM(fmaf)(x, y, z); }
HIDET_DEVICE double fma(double x, double y, double z) { return HIDET_LIBM(fma)(x, y, z); }

// The rest of the division rounded down, with the sign of y, as `%` of Python and torch.remainder.
template <typename T>
HIDET_DEVICE if_float<T> remainder(T x, T y) {
  const T rest = fmod(x, y);
  return rest != T(0) && (rest < T(0)) != (y < T(0)) ? rest + y : rest;
}

template <typename T, typename = if_float<T>>
HIDET_DEVICE bool isnan(T x) {
  return x != x;  // true for nothing else
}

template <typename T, typename = if_float<T>>
HIDET_DEVICE bool isinf(T x) {
  return abs(x) == static_cast<T>(__builtin_huge_val());
}

template <typename T, typename = if_float<T>>
HIDET_DEVICE bool isfinite(T x) {
  return abs(x) < static_cast<T>(__builtin_huge_val());
}

}  // namespace hidet
