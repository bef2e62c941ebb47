// CUDA: products of matrices by a warp group, from shared memory. Since sm_90a, and on no later one.
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
// d = a * b, or d += a * b where `accumulate` is true: 64 x 16 by 16 x n elements, given by their
// descriptors. Elements along k are neighbours in memory, or with `transposed_*` those along m or n.

// The names of the registers of the accumulators, eight at a time.
#define HIDET_D0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define HIDET_D1 "%8, %9, %10, %11, %12, %13, %14, %15"
#define HIDET_D2 "%16, %17, %18, %19, %20, %21, %22, %23"
#define HIDET_D3 "%24, %25, %26, %27, %28, %29, %30, %31"
#define HIDET_D4 "%32, %33, %34, %35, %36, %37, %38, %39"
#define HIDET_D5 "%40, %41, %42, %43, %44, %45, %46, %47"
#define HIDET_D6 "%48, %49, %50, %51, %52, %53, %54, %55"
#define HIDET_D7 "%56, %57, %58, %59, %60, %61, %62, %63"
#define HIDET_D8 "%64, %65, %66, %67, %68, %69, %70, %71"
#define HIDET_D9 "%72, %73, %74, %75, %76, %77, %78, %79"
#define HIDET_D10 "%80, %81, %82, %83, %84, %85, %86, %87"
#define HIDET_D11 "%88, %89, %90, %91, %92, %93, %94, %95"
#define HIDET_D12 "%96, %97, %98, %99, %100, %101, %102, %103"
#define HIDET_D13 "%104, %105, %106, %107, %108, %109, %110, %111"
#define HIDET_D14 "%112, %113, %114, %115, %116, %117, %118, %119"
#define HIDET_D15 "%120, %121, %122, %123, %124, %125, %126, %127"

// The first eight, the first sixteen, and so on.
#define HIDET_LIST1 HIDET_D0
#define HIDET_LIST2 HIDET_LIST1 ", " HIDET_D1
#define HIDET_LIST3 HIDET_LIST2 ", " HIDET_D2
#define HIDET_LIST4 HIDET_LIST3 ", " HIDET_D3
#define HIDET_LIST5 HIDET_LIST4 ", " HIDET_D4
#define HIDET_LIST6 HIDET_LIST5 ", " HIDET_D5
#define HIDET_LIST7 HIDET_LIST6 ", " HIDET_D6
#define HIDET_LIST8 HIDET_LIST7 ", " HIDET_D7
#define HIDET_LIST9 HIDET_LIST8 ", " HIDET_D8
#define HIDET_LIST10 HIDET_LIST9 ", " HIDET_D9
#define HIDET_LIST11 HIDET_LIST10 ", " HIDET_D10
#define HIDET_LIST12 HIDET_LIST11 ", " HIDET_D11
#define HIDET_LIST13 HIDET_LIST12 ", " HIDET_D12
#define HIDET_LIST14 HIDET_LIST13 ", " HIDET_D13
#define HIDET_LIST15 HIDET_LIST14 ", " HIDET_D14
#define HIDET_LIST16 HIDET_LIST15 ", " HIDET_D15

#define HIDET_F4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define HIDET_F8(i) HIDET_F4(i), HIDET_F4(i + 4)
#define HIDET_F16(i) HIDET_F8(i), HIDET_F8(i + 8)
#define HIDET_F32(i) HIDET_F16(i), HIDET_F16(i + 16)
#define HIDET_F64(i) HIDET_F32(i), HIDET_F32(i + 32)

// The operands after the accumulators have the numbers a, b, p, ta, tb.
#define HIDET_WGMMA_OF(name, shape, kind, list, a, b, p, ta, tb, ...)                           \
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
#define HIDET_WGMMA(n, ...)                                                               \
  HIDET_WGMMA_OF(wgmma_m64n##n##k16_f16_f32, "m64n" #n "k16", "f16", __VA_ARGS__)         \
  HIDET_WGMMA_OF(wgmma_m64n##n##k16_bf16_f32, "m64n" #n "k16", "bf16", __VA_ARGS__)

HIDET_WGMMA(8, "%0, %1, %2, %3", 4, 5, 6, 7, 8, HIDET_F4(0))
HIDET_WGMMA(16, HIDET_LIST1, 8, 9, 10, 11, 12, HIDET_F8(0))
HIDET_WGMMA(32, HIDET_LIST2, 16, 17, 18, 19, 20, HIDET_F16(0))
HIDET_WGMMA(64, HIDET_LIST4, 32, 33, 34, 35, 36, HIDET_F32(0))
HIDET_WGMMA(96, HIDET_LIST6, 48, 49, 50, 51, 52, HIDET_F32(0), HIDET_F16(32))
HIDET_WGMMA(128, HIDET_LIST8, 64, 65, 66, 67, 68, HIDET_F64(0))
HIDET_WGMMA(160, HIDET_LIST10, 80, 81, 82, 83, 84, HIDET_F64(0), HIDET_F16(64))
HIDET_WGMMA(192, HIDET_LIST12, 96, 97, 98, 99, 100, HIDET_F64(0), HIDET_F32(64))
HIDET_WGMMA(224, HIDET_LIST14, 112, 113, 114, 115, 116, HIDET_F64(0), HIDET_F32(64), HIDET_F16(96))
HIDET_WGMMA(256, HIDET_LIST16, 128, 129, 130, 131, 132, HIDET_F64(0), HIDET_F64(64))

#undef HIDET_D0
#undef HIDET_D1
#undef HIDET_D2
#undef HIDET_D3
#undef HIDET_D4
#undef HIDET_D5
#undef HIDET_D6
#undef HIDET_D7
#undef HIDET_D8
#undef HIDET_D9
#undef HIDET_D10
#undef HIDET_D11
#undef HIDET_D12
#undef HIDET_D13
#undef HIDET_D14
#undef HIDET_D15
#undef HIDET_LIST1
#undef HIDET_LIST2
#undef HIDET_LIST3
#undef HIDET_LIST4
#undef HIDET_LIST5
#undef HIDET_LIST6
#undef HIDET_LIST7
#undef HIDET_LIST8
#undef HIDET_LIST9
#undef HIDET_LIST10
#undef HIDET_LIST11
#undef HIDET_LIST12
#undef HIDET_LIST13
#undef HIDET_LIST14
#undef HIDET_LIST15
#undef HIDET_LIST16
#undef HIDET_F4
#undef HIDET_F8
#undef HIDET_F16
#undef HIDET_F32
#undef HIDET_F64
#undef HIDET_WGMMA_OF
#undef HIDET_WGMMA

#endif  // sm_90a

}  // namespace hidet
