// CPU: products of small matrices by a warp, and the loads that feed them.
//
// The lanes of a warp meet, each with the addresses of its fragments. The last one to come does the
// work for all of them, before anyone goes on: nothing interrupts a fiber (hidet_fiber.h).
#pragma once

#include "hidet_cpu_strict.h"

namespace hidet {

namespace cpu {

// The warp of the running thread, or its warp group, by their sizes.
template <unsigned size>
static inline auto& team() {
  if constexpr (size == kWarpSize) {
    return block->warp();
  } else {
    return block->group();
  }
}

// Meet the `size` threads of a warp or warp group, each with its `operands`; the last one calls
// work(all), where all[i] are the operands of thread i.
template <unsigned size, typename Operands, typename Work>
static inline void work_together(const Operands& operands, Work work, const char* what,
                                 unsigned line) {
  if (block == nullptr) {
    report(kNotCollective, "%s in %s needs HIDET_COLLECTIVE", what, at(line).text);
    return;
  }
  auto& together = team<size>();
  MeetingPoint& point = together.point;
  if (point.count != size) {
    report(kInvalidLane, "%s in %s needs a whole %s, and this one has %u lanes", what, at(line).text,
           size == kWarpSize ? "warp" : "warp group", point.count);
    return;
  }
  std::uint64_t* slots = together.slots[point.generation % 2];
  const unsigned own = size == kWarpSize ? block->lane() : block->thread_of_group();
  slots[own] = reinterpret_cast<std::uint64_t>(&operands);
  const bool is_last = point.arrived + 1 == size;
  block->meet(point, what, line, Meeting::work);
  if (!is_last) return;
  const Operands* all[size];
  for (unsigned i = 0; i < size; ++i) all[i] = reinterpret_cast<const Operands*>(slots[i]);
  work(all);
  pass_on();
}

// An operand as the tensor core takes it: of tf32 the lower 13 bits are ignored.
HIDET_DEVICE float to_operand(half x) { return to_float(x); }
HIDET_DEVICE float to_operand(bfloat16 x) { return to_float(x); }
HIDET_DEVICE float to_operand(float x) {
  return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, x) & ~0x1fffu);
}

template <typename C, typename T>
struct MmaOperands {
  C* c;
  const T* a;
  const T* b;
};

// The matrix product of a warp, m = 16 and n = 8, with the fragments of PTX ISA, "Matrix Fragments
// for mma.m16n8k4", "... k8" and "... k16", which hidet/arch/fragments.py has as task mappings. They
// are one formula for the registers r of a lane, each with `per` elements.
template <int k, typename C, typename T>
static void multiply(const MmaOperands<C, T>* const (&all)[kWarpSize]) {
  constexpr int per = 4 / sizeof(T);
  float a[16][k], b[k][8], c[16][8];
  for (int lane = 0; lane < int(kWarpSize); ++lane) {
    const int group = lane / 4, thread = lane % 4;
    for (int i = 0; i < k / 2; ++i) {
      const int r = i / per;
      a[group + 8 * (r % 2)][thread * per + i % per + 4 * per * (r / 2)] = to_operand(all[lane]->a[i]);
    }
    for (int i = 0; i < k / 4; ++i) {
      b[thread * per + i % per + 4 * per * (i / per)][group] = to_operand(all[lane]->b[i]);
    }
    for (int i = 0; i < 4; ++i) {
      c[group + 8 * (i / 2)][thread * 2 + i % 2] = cast<float>(all[lane]->c[i]);
    }
  }
  for (int i = 0; i < 16; ++i) {
    for (int l = 0; l < k; ++l) {
      for (int j = 0; j < 8; ++j) c[i][j] += a[i][l] * b[l][j];
    }
  }
  for (int lane = 0; lane < int(kWarpSize); ++lane) {
    for (int i = 0; i < 4; ++i) {
      all[lane]->c[i] = cast<C>(c[lane / 4 + 8 * (i / 2)][lane % 4 * 2 + i % 2]);
    }
  }
}

template <int k, typename C, typename T>
static inline void mma(C* c, const T* a, const T* b, const char* what, unsigned line) {
  saw_read(a, k / 2 * sizeof(T), line);
  saw_read(b, k / 4 * sizeof(T), line);
  saw_read(c, 4 * sizeof(C), line);
  work_together<kWarpSize>(MmaOperands<C, T>{c, a, b}, multiply<k, C, T>, what, line);
}

}  // namespace cpu

// ---- mma ------------------------------------------------------------------------------------------
// c += a * b. Products are exact, sums are in float; c in half is rounded once, at the end.

#define HIDET_MMA(name, k, C, T)                                                             \
  static inline void name(C* c, const T* a, const T* b, unsigned line = __builtin_LINE()) {  \
    cpu::mma<k>(c, a, b, #name, line);                                                       \
  }

HIDET_MMA(mma_m16n8k16, 16, float, half)
HIDET_MMA(mma_m16n8k16, 16, half, half)
HIDET_MMA(mma_m16n8k16, 16, float, bfloat16)
HIDET_MMA(mma_m16n8k8, 8, float, half)
HIDET_MMA(mma_m16n8k8, 8, half, half)
HIDET_MMA(mma_m16n8k8, 8, float, bfloat16)
HIDET_MMA(mma_m16n8k8, 8, float, float)
HIDET_MMA(mma_m16n8k4, 4, float, float)

// ---- ldmatrix -------------------------------------------------------------------------------------

namespace cpu {

struct LdmatrixOperands {
  void* fragment;
  const void* row;
};

// Lane 8 * j + i has the address of row i of matrix j. Each lane receives 4 bytes of each matrix.
template <int count, bool transposed>
static void load_matrices(const LdmatrixOperands* const (&all)[kWarpSize]) {
  for (int lane = 0; lane < int(kWarpSize); ++lane) {
    for (int j = 0; j < count; ++j) {
      char* const to = static_cast<char*>(all[lane]->fragment) + 4 * j;
      const LdmatrixOperands* const* rows = all + 8 * j;
      if constexpr (transposed) {
        for (int h = 0; h < 2; ++h) {
          const void* const row = rows[lane % 4 * 2 + h]->row;
          __builtin_memcpy(to + 2 * h, static_cast<const char*>(row) + lane / 4 * 2, 2);
        }
      } else {
        const void* const row = rows[lane / 4]->row;
        __builtin_memcpy(to, static_cast<const char*>(row) + lane % 4 * 4, 4);
      }
    }
  }
}

template <int count, bool transposed>
static inline void ldmatrix(void* fragment, const void* row, const char* what, unsigned line) {
#if defined(HIDET_CHECK)
  if (block != nullptr && block->lane() < 8 * count &&
      reinterpret_cast<std::uintptr_t>(row) % 16 != 0) {
    report(kMisaligned, "%s in %s: the row at %p is not aligned to 16 bytes", what, at(line).text,
           row);
  }
#endif
  if (block != nullptr && block->lane() < 8 * count) saw_shared_read(row, 16, what, line);
  work_together<kWarpSize>(LdmatrixOperands{fragment, row}, load_matrices<count, transposed>, what,
                           line);
  saw_write(fragment, 4 * count, line);
}

}  // namespace cpu

#define HIDET_LDMATRIX(name, count, transposed)                                    \
  template <typename T>                                                            \
  static inline void name(T* r, const T* row, unsigned line = __builtin_LINE()) {  \
    static_assert(!(transposed) || sizeof(T) == 2, "16-bit elements are transposed"); \
    cpu::ldmatrix<count, transposed>(r, row, #name, line);                         \
  }

HIDET_LDMATRIX(ldmatrix_x1, 1, false)
HIDET_LDMATRIX(ldmatrix_x2, 2, false)
HIDET_LDMATRIX(ldmatrix_x4, 4, false)
HIDET_LDMATRIX(ldmatrix_x1_trans, 1, true)
HIDET_LDMATRIX(ldmatrix_x2_trans, 2, true)
HIDET_LDMATRIX(ldmatrix_x4_trans, 4, true)

}  // namespace hidet
