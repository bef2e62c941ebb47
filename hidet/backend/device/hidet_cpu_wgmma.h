// CPU: products of matrices by a warp group.
//
// The threads of the group meet; the last one to come computes the product for all, at once, so that
// fences, groups and waits have nothing to do. In the strict mode a product counts as under way until
// the wait for its group.
#pragma once

#include "hidet_cpu_mma.h"

namespace hidet {

static inline void wgmma_fence() {}
static inline void wgmma_commit() { cpu::commit_products(); }
template <int pending>
static inline void wgmma_wait() {
  cpu::wait_for_products(pending);
}
template <int count>
static inline void wgmma_fence_operand(float*) {}

namespace cpu {

// How a matrix lies in shared memory, in bytes; see matrix_descriptor in hidet_cuda_wgmma.cuh.
struct MatrixLayout {
  int leading, stride, swizzle;
};

// The layouts that the kernels of this library use. A descriptor has the number of one in its upper
// bits, and below it the address divided by 16, which may be added to as on a GPU.
constexpr int kAddressBits = 44;
constexpr int kMaxLayouts = 256;
static MatrixLayout matrix_layouts[kMaxLayouts];
static int matrix_layout_count = 0;

template <int leading, int stride, int swizzle>
struct LayoutNumber {
  static inline const int value = [] {
    matrix_layouts[matrix_layout_count] = {leading, stride, swizzle};
    return matrix_layout_count++;
  }();
};

// Where a byte lies in swizzled memory: of the address, the number of the 16-byte piece within a span
// and the number of the row are combined (PTX ISA, "Swizzling Modes").
HIDET_DEVICE std::uintptr_t swizzled(std::uintptr_t address, int swizzle) {
  const std::uintptr_t pieces = std::uintptr_t(swizzle) / 16;  // 8, 4, 2 or 0
  return pieces == 0 ? address : address ^ ((address >> 7 & (pieces - 1)) << 4);
}

// Where element (i, l) of a matrix is, l along k. Elements along k are neighbours, or those along i
// where it is transposed (PTX ISA, "Strides" and "Canonical Layouts" of wgmma).
template <typename T>
static inline const void* element_address(long long descriptor, bool transposed, int i, int l) {
  const auto bits = static_cast<std::uint64_t>(descriptor);
  const MatrixLayout& layout = matrix_layouts[bits >> kAddressBits];
  const std::uintptr_t start = (bits & ((1ull << kAddressBits) - 1)) << 4;
  const int span = layout.swizzle == 0 ? 16 : layout.swizzle;  // bytes of a row
  const int per = span / int(sizeof(T));
  int offset;
  if (layout.swizzle == 0) {
    const int row = transposed ? l % 8 : i % 8, column = transposed ? i % 8 : l % 8;
    offset = i / 8 * layout.stride + l / 8 * layout.leading + row * span + column * int(sizeof(T));
  } else if (transposed) {
    offset = i / per * layout.leading + l / 8 * layout.stride + l % 8 * span + i % per * int(sizeof(T));
  } else {
    offset = i / 8 * layout.stride + i % 8 * span + l * int(sizeof(T));
  }
  return reinterpret_cast<const void*>(swizzled(start + std::uintptr_t(offset), layout.swizzle));
}

template <typename T>
static inline T matrix_element(long long descriptor, bool transposed, int i, int l) {
  T element;
  __builtin_memcpy(&element, element_address<T>(descriptor, transposed, i, l), sizeof(T));
  return element;
}

// How many elements along k a product takes: 32 bytes.
template <typename T>
constexpr int kProductDepth = 32 / int(sizeof(T));

// `fragment` is A where it is in registers: those of a thread.
struct WgmmaOperands {
  float* d;
  long long a, b;
  bool accumulate;
  unsigned line;
  const void* fragment = nullptr;
};

#if defined(HIDET_STRICT)
// Each warp of the group begins to read its rows of A, and all of B, 16 bytes at a time, which lie
// together; each thread has its part of the result.
template <int n, typename T, bool transposed_a, bool transposed_b>
static void begin_product(const WgmmaOperands* const (&all)[kGroupSize]) {
  constexpr int per = 16 / int(sizeof(T));
  const WgmmaOperands& first = *all[0];
  const unsigned first_thread = block->thread() - block->thread_of_group();
  const std::uint32_t number = shared_shadow.begin_product(first_thread, first.line);
  for (int warp = 0; warp < 4; ++warp) {
    const unsigned thread = first_thread + unsigned(warp) * kWarpSize;
    const auto read = [=](long long descriptor, bool transposed, int begin, int end) {
      for (int i = begin; i < end; i += transposed ? per : 1) {
        for (int l = 0; l < kProductDepth<T>; l += transposed ? 1 : per) {
          const void* const piece = element_address<T>(descriptor, transposed, i, l);
          shared_shadow.read_by_product(piece, 16, thread, number);
        }
      }
    };
    if (first.fragment == nullptr) read(first.a, transposed_a, 16 * warp, 16 * warp + 16);
    read(first.b, transposed_b, 0, n);
  }
  for (unsigned i = 0; i < kGroupSize; ++i) {
    work_queues[first_thread + i].products.begin_product(
        number, all[i]->d, n / 2 * sizeof(float), first_thread + i, first.line, first.accumulate);
  }
}
#endif

// Element (i, l) of A in registers, of which neighbours of two bytes along l share one: those of rows
// i and i + 8 are two registers, and those of the other half of k the two after them (PTX ISA,
// "Matrix Fragments for wgmma.mma_async.m64nNk16" and ".m64nNk8").
template <typename T>
static inline T fragment_element(const WgmmaOperands* const (&all)[kGroupSize], int i, int l) {
  constexpr int per = 4 / int(sizeof(T));
  const int lane = i % 8 * 4 + l / per % 4;
  const int number = i / 8 % 2 + l / per / 4 * 2;
  return static_cast<const T*>(all[i / 16 * 32 + lane]->fragment)[number * per + l % per];
}

// The product of a warp group; a fragment of d is that of PTX ISA, "Matrix Fragments for
// wgmma.mma_async.m64nNk16", wgmma_accumulator in hidet/arch/fragments.py.
template <int n, typename T, bool transposed_a, bool transposed_b>
static void multiply_group(const WgmmaOperands* const (&all)[kGroupSize]) {
  const WgmmaOperands& first = *all[0];
#if defined(HIDET_STRICT)
  begin_product<n, T, transposed_a, transposed_b>(all);
#endif
  constexpr int depth = kProductDepth<T>;
  float a[64][depth], b[depth][n];
  for (int l = 0; l < depth; ++l) {
    for (int i = 0; i < 64; ++i) {
      a[i][l] = to_operand(first.fragment == nullptr
                               ? matrix_element<T>(first.a, transposed_a, i, l)
                               : fragment_element<T>(all, i, l));
    }
    for (int j = 0; j < n; ++j) b[l][j] = to_operand(matrix_element<T>(first.b, transposed_b, j, l));
  }
  for (int thread = 0; thread < int(kGroupSize); ++thread) {
    float* const d = all[thread]->d;
    for (int v = 0; v < n / 2; ++v) {
      const int row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (v >> 1 & 1);
      const int column = 8 * (v >> 2) + 2 * (thread % 4) + (v & 1);
      float sum = first.accumulate ? d[v] : 0.0f;
      for (int l = 0; l < depth; ++l) sum += a[row][l] * b[l][column];
      d[v] = sum;
    }
  }
}

}  // namespace cpu

template <int leading, int stride, int swizzle>
static inline long long matrix_descriptor(const void* p) {
  const auto address = reinterpret_cast<std::uint64_t>(p) >> 4;
  const auto number = std::uint64_t(cpu::LayoutNumber<leading, stride, swizzle>::value);
  return static_cast<long long>(address | number << cpu::kAddressBits);
}

#define HIDET_WGMMA_OF(name, n, T)                                                             \
  template <bool transposed_a, bool transposed_b>                                              \
  static inline void name(float* d, long long a, long long b, bool accumulate,                 \
                          unsigned line = __builtin_LINE()) {                                  \
    cpu::work_together<cpu::kGroupSize>(                                                       \
        cpu::WgmmaOperands{d, a, b, accumulate, line},                                         \
        cpu::multiply_group<n, T, transposed_a, transposed_b>, #name, line);                   \
  }
#define HIDET_WGMMA_RS_OF(name, n, T)                                                          \
  template <bool transposed_b>                                                                 \
  static inline void name(float* d, const T* a, long long b, bool accumulate,                  \
                          unsigned line = __builtin_LINE()) {                                  \
    cpu::work_together<cpu::kGroupSize>(cpu::WgmmaOperands{d, 0, b, accumulate, line, a},      \
                                        cpu::multiply_group<n, T, false, transposed_b>, #name, \
                                        line);                                                 \
  }
// The products of one n, of each type of operands, and F of each n: see hidet_wgmma_f16.h.
#define HIDET_WGMMA_F16(n)                            \
  HIDET_WGMMA_OF(wgmma_m64n##n##k16_f16_f32, n, half) \
  HIDET_WGMMA_RS_OF(wgmma_rs_m64n##n##k16_f16_f32, n, half)
#define HIDET_WGMMA_BF16(n)                                \
  HIDET_WGMMA_OF(wgmma_m64n##n##k16_bf16_f32, n, bfloat16) \
  HIDET_WGMMA_RS_OF(wgmma_rs_m64n##n##k16_bf16_f32, n, bfloat16)
#define HIDET_WGMMA_TF32(n)                            \
  HIDET_WGMMA_OF(wgmma_m64n##n##k8_tf32_f32, n, float) \
  HIDET_WGMMA_RS_OF(wgmma_rs_m64n##n##k8_tf32_f32, n, float)
#define HIDET_WGMMA_SHAPES(F)                             \
  F(8) F(16) F(24) F(32) F(40) F(48) F(56) F(64)          \
  F(72) F(80) F(88) F(96) F(104) F(112) F(120) F(128)     \
  F(136) F(144) F(152) F(160) F(168) F(176) F(184) F(192) \
  F(200) F(208) F(216) F(224) F(232) F(240) F(248) F(256)

}  // namespace hidet
