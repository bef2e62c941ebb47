// CUDA: products of matrices by a warp group. Since sm_90a, and on no later one.
//
// PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions". A warp group is four warps. The
// accumulators are registers: an array of the thread whose indices are all constant after unrolling.
#pragma once

namespace hidet {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Before the first product, and after other code has written accumulators.
HIDET_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// Make a group of all products since the last group.
HIDET_DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Wait until no more than the `pending` latest groups are under way.
template <int pending>
HIDET_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

// What is done with these registers is done after this point.
template <int count>
HIDET_DEVICE void wgmma_fence_operand(float* d) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// The descriptor of a matrix in shared memory that starts at p (PTX ISA, "Matrix Descriptor"): bytes
// between blocks along the leading dimension, between groups of eight rows, and of the swizzle.
template <int leading, int stride, int swizzle>
HIDET_DEVICE long long matrix_descriptor(const void* p) {
  constexpr unsigned long long mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  constexpr unsigned long long fixed = static_cast<unsigned long long>(leading >> 4) << 16 |
                                       static_cast<unsigned long long>(stride >> 4) << 32 |
                                       mode << 62;
  return static_cast<long long>(fixed | (cuda::shared_address(p) & 0x3ffffu) >> 4);
}

// ---- wgmma ----------------------------------------------------------------------------------------
// d = a * b, or d += a * b where `accumulate` is true: 64 x k by k x n elements, given by their
// descriptors; k has 32 bytes. Elements along k are neighbours in memory, or with `transposed_*`,
// which there is for elements of two bytes, those along m or n. Of tf32 the lower 13 bits are ignored.
// The products `_rs` have a in registers: a fragment of the warp group.

// The names of the registers of the accumulators: the first four, the first eight, and so on.
#define HIDET_LIST1 "%0, %1, %2, %3"
#define HIDET_LIST2 HIDET_LIST1 ", %4, %5, %6, %7"
#define HIDET_LIST3 HIDET_LIST2 ", %8, %9, %10, %11"
#define HIDET_LIST4 HIDET_LIST3 ", %12, %13, %14, %15"
#define HIDET_LIST5 HIDET_LIST4 ", %16, %17, %18, %19"
#define HIDET_LIST6 HIDET_LIST5 ", %20, %21, %22, %23"
#define HIDET_LIST7 HIDET_LIST6 ", %24, %25, %26, %27"
#define HIDET_LIST8 HIDET_LIST7 ", %28, %29, %30, %31"
#define HIDET_LIST9 HIDET_LIST8 ", %32, %33, %34, %35"
#define HIDET_LIST10 HIDET_LIST9 ", %36, %37, %38, %39"
#define HIDET_LIST11 HIDET_LIST10 ", %40, %41, %42, %43"
#define HIDET_LIST12 HIDET_LIST11 ", %44, %45, %46, %47"
#define HIDET_LIST13 HIDET_LIST12 ", %48, %49, %50, %51"
#define HIDET_LIST14 HIDET_LIST13 ", %52, %53, %54, %55"
#define HIDET_LIST15 HIDET_LIST14 ", %56, %57, %58, %59"
#define HIDET_LIST16 HIDET_LIST15 ", %60, %61, %62, %63"
#define HIDET_LIST17 HIDET_LIST16 ", %64, %65, %66, %67"
#define HIDET_LIST18 HIDET_LIST17 ", %68, %69, %70, %71"
#define HIDET_LIST19 HIDET_LIST18 ", %72, %73, %74, %75"
#define HIDET_LIST20 HIDET_LIST19 ", %76, %77, %78, %79"
#define HIDET_LIST21 HIDET_LIST20 ", %80, %81, %82, %83"
#define HIDET_LIST22 HIDET_LIST21 ", %84, %85, %86, %87"
#define HIDET_LIST23 HIDET_LIST22 ", %88, %89, %90, %91"
#define HIDET_LIST24 HIDET_LIST23 ", %92, %93, %94, %95"
#define HIDET_LIST25 HIDET_LIST24 ", %96, %97, %98, %99"
#define HIDET_LIST26 HIDET_LIST25 ", %100, %101, %102, %103"
#define HIDET_LIST27 HIDET_LIST26 ", %104, %105, %106, %107"
#define HIDET_LIST28 HIDET_LIST27 ", %108, %109, %110, %111"
#define HIDET_LIST29 HIDET_LIST28 ", %112, %113, %114, %115"
#define HIDET_LIST30 HIDET_LIST29 ", %116, %117, %118, %119"
#define HIDET_LIST31 HIDET_LIST30 ", %120, %121, %122, %123"
#define HIDET_LIST32 HIDET_LIST31 ", %124, %125, %126, %127"

#define HIDET_F4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define HIDET_F8(i) HIDET_F4(i), HIDET_F4(i + 4)
#define HIDET_F16(i) HIDET_F8(i), HIDET_F8(i + 8)
#define HIDET_F32(i) HIDET_F16(i), HIDET_F16(i + 16)
#define HIDET_F64(i) HIDET_F32(i), HIDET_F32(i + 32)

// The operands after the accumulators have the numbers o0, o1, ...
#define HIDET_WGMMA_OF(name, shape, kind, list, a, b, p, ta, tb, o5, o6, ...)                   \
  template <bool transposed_a, bool transposed_b>                                               \
  HIDET_DEVICE void name(float* d, long long desc_a, long long desc_b, bool accumulate) {       \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %" #p ", 0; wgmma.mma_async.sync.aligned." shape \
                 ".f32." kind "." kind " {" list "}, %" #a ", %" #b ", p, 1, 1, %" #ta ", %" #tb \
                 ";}"                                                                           \
                 : __VA_ARGS__                                                                  \
                 : "l"(desc_a), "l"(desc_b), "r"(int(accumulate)), "n"(int(transposed_a)),      \
                   "n"(int(transposed_b))                                                       \
                 : "memory");                                                                   \
  }
#define HIDET_WGMMA_TF32_OF(name, shape, list, a, b, p, o3, o4, o5, o6, ...)                     \
  template <bool transposed_a, bool transposed_b>                                                \
  HIDET_DEVICE void name(float* d, long long desc_a, long long desc_b, bool accumulate) {        \
    static_assert(!transposed_a && !transposed_b, "tf32 lies along k");                          \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %" #p ", 0; wgmma.mma_async.sync.aligned." shape \
                 ".f32.tf32.tf32 {" list "}, %" #a ", %" #b ", p, 1, 1;}"                        \
                 : __VA_ARGS__                                                                   \
                 : "l"(desc_a), "l"(desc_b), "r"(int(accumulate))                                \
                 : "memory");                                                                    \
  }

// The same with a in four registers.
#define HIDET_WGMMA_RS_OF(name, T, shape, kind, list, a0, a1, a2, a3, b, p, tb, ...)             \
  template <bool transposed_b>                                                                   \
  HIDET_DEVICE void name(float* d, const T* a, long long desc_b, bool accumulate) {              \
    constexpr int per = 2;                                                                       \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %" #p ", 0; wgmma.mma_async.sync.aligned." shape \
                 ".f32." kind "." kind " {" list "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3       \
                 "}, %" #b ", p, 1, 1, %" #tb ";}"                                               \
                 : __VA_ARGS__                                                                   \
                 : HIDET_X4(a), "l"(desc_b), "r"(int(accumulate)), "n"(int(transposed_b))        \
                 : "memory");                                                                    \
  }
#define HIDET_WGMMA_RS_TF32_OF(name, shape, list, a0, a1, a2, a3, b, p, o6, ...)                 \
  template <bool transposed_b>                                                                   \
  HIDET_DEVICE void name(float* d, const float* a, long long desc_b, bool accumulate) {          \
    static_assert(!transposed_b, "tf32 lies along k");                                           \
    constexpr int per = 1;                                                                       \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %" #p ", 0; wgmma.mma_async.sync.aligned." shape \
                 ".f32.tf32.tf32 {" list "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3               \
                 "}, %" #b ", p, 1, 1;}"                                                         \
                 : __VA_ARGS__                                                                   \
                 : HIDET_X4(a), "l"(desc_b), "r"(int(accumulate))                                \
                 : "memory");                                                                    \
  }

// The products of one n, of each type of operands, and F of each n with the registers of d, the numbers
// of the operands after them, and the registers again: see hidet_wgmma_f16.h.
#define HIDET_WGMMA_16_BITS(kind, T, n, ...)                                           \
  HIDET_WGMMA_OF(wgmma_m64n##n##k16_##kind##_f32, "m64n" #n "k16", #kind, __VA_ARGS__) \
  HIDET_WGMMA_RS_OF(wgmma_rs_m64n##n##k16_##kind##_f32, T, "m64n" #n "k16", #kind, __VA_ARGS__)
#define HIDET_WGMMA_F16(...) HIDET_WGMMA_16_BITS(f16, half, __VA_ARGS__)
#define HIDET_WGMMA_BF16(...) HIDET_WGMMA_16_BITS(bf16, bfloat16, __VA_ARGS__)
#define HIDET_WGMMA_TF32(n, ...)                                               \
  HIDET_WGMMA_TF32_OF(wgmma_m64n##n##k8_tf32_f32, "m64n" #n "k8", __VA_ARGS__) \
  HIDET_WGMMA_RS_TF32_OF(wgmma_rs_m64n##n##k8_tf32_f32, "m64n" #n "k8", __VA_ARGS__)
#define HIDET_WGMMA_SHAPES(F)                                                                                                       \
  F(8, HIDET_LIST1, 4, 5, 6, 7, 8, 9, 10, HIDET_F4(0))                                                                              \
  F(16, HIDET_LIST2, 8, 9, 10, 11, 12, 13, 14, HIDET_F8(0))                                                                         \
  F(24, HIDET_LIST3, 12, 13, 14, 15, 16, 17, 18, HIDET_F8(0), HIDET_F4(8))                                                          \
  F(32, HIDET_LIST4, 16, 17, 18, 19, 20, 21, 22, HIDET_F16(0))                                                                      \
  F(40, HIDET_LIST5, 20, 21, 22, 23, 24, 25, 26, HIDET_F16(0), HIDET_F4(16))                                                        \
  F(48, HIDET_LIST6, 24, 25, 26, 27, 28, 29, 30, HIDET_F16(0), HIDET_F8(16))                                                        \
  F(56, HIDET_LIST7, 28, 29, 30, 31, 32, 33, 34, HIDET_F16(0), HIDET_F8(16), HIDET_F4(24))                                          \
  F(64, HIDET_LIST8, 32, 33, 34, 35, 36, 37, 38, HIDET_F32(0))                                                                      \
  F(72, HIDET_LIST9, 36, 37, 38, 39, 40, 41, 42, HIDET_F32(0), HIDET_F4(32))                                                        \
  F(80, HIDET_LIST10, 40, 41, 42, 43, 44, 45, 46, HIDET_F32(0), HIDET_F8(32))                                                       \
  F(88, HIDET_LIST11, 44, 45, 46, 47, 48, 49, 50, HIDET_F32(0), HIDET_F8(32), HIDET_F4(40))                                         \
  F(96, HIDET_LIST12, 48, 49, 50, 51, 52, 53, 54, HIDET_F32(0), HIDET_F16(32))                                                      \
  F(104, HIDET_LIST13, 52, 53, 54, 55, 56, 57, 58, HIDET_F32(0), HIDET_F16(32), HIDET_F4(48))                                       \
  F(112, HIDET_LIST14, 56, 57, 58, 59, 60, 61, 62, HIDET_F32(0), HIDET_F16(32), HIDET_F8(48))                                       \
  F(120, HIDET_LIST15, 60, 61, 62, 63, 64, 65, 66, HIDET_F32(0), HIDET_F16(32), HIDET_F8(48), HIDET_F4(56))                         \
  F(128, HIDET_LIST16, 64, 65, 66, 67, 68, 69, 70, HIDET_F64(0))                                                                    \
  F(136, HIDET_LIST17, 68, 69, 70, 71, 72, 73, 74, HIDET_F64(0), HIDET_F4(64))                                                      \
  F(144, HIDET_LIST18, 72, 73, 74, 75, 76, 77, 78, HIDET_F64(0), HIDET_F8(64))                                                      \
  F(152, HIDET_LIST19, 76, 77, 78, 79, 80, 81, 82, HIDET_F64(0), HIDET_F8(64), HIDET_F4(72))                                        \
  F(160, HIDET_LIST20, 80, 81, 82, 83, 84, 85, 86, HIDET_F64(0), HIDET_F16(64))                                                     \
  F(168, HIDET_LIST21, 84, 85, 86, 87, 88, 89, 90, HIDET_F64(0), HIDET_F16(64), HIDET_F4(80))                                       \
  F(176, HIDET_LIST22, 88, 89, 90, 91, 92, 93, 94, HIDET_F64(0), HIDET_F16(64), HIDET_F8(80))                                       \
  F(184, HIDET_LIST23, 92, 93, 94, 95, 96, 97, 98, HIDET_F64(0), HIDET_F16(64), HIDET_F8(80), HIDET_F4(88))                         \
  F(192, HIDET_LIST24, 96, 97, 98, 99, 100, 101, 102, HIDET_F64(0), HIDET_F32(64))                                                  \
  F(200, HIDET_LIST25, 100, 101, 102, 103, 104, 105, 106, HIDET_F64(0), HIDET_F32(64), HIDET_F4(96))                                \
  F(208, HIDET_LIST26, 104, 105, 106, 107, 108, 109, 110, HIDET_F64(0), HIDET_F32(64), HIDET_F8(96))                                \
  F(216, HIDET_LIST27, 108, 109, 110, 111, 112, 113, 114, HIDET_F64(0), HIDET_F32(64), HIDET_F8(96), HIDET_F4(104))                 \
  F(224, HIDET_LIST28, 112, 113, 114, 115, 116, 117, 118, HIDET_F64(0), HIDET_F32(64), HIDET_F16(96))                               \
  F(232, HIDET_LIST29, 116, 117, 118, 119, 120, 121, 122, HIDET_F64(0), HIDET_F32(64), HIDET_F16(96), HIDET_F4(112))                \
  F(240, HIDET_LIST30, 120, 121, 122, 123, 124, 125, 126, HIDET_F64(0), HIDET_F32(64), HIDET_F16(96), HIDET_F8(112))                \
  F(248, HIDET_LIST31, 124, 125, 126, 127, 128, 129, 130, HIDET_F64(0), HIDET_F32(64), HIDET_F16(96), HIDET_F8(112), HIDET_F4(120)) \
  F(256, HIDET_LIST32, 128, 129, 130, 131, 132, 133, 134, HIDET_F64(0), HIDET_F64(64))

#endif  // sm_90a

}  // namespace hidet
