// CUDA: products of small matrices by a warp, and the loads that feed them.
//
// A fragment is a run of elements of an array of the thread; hidet/arch/fragments.py says which ones
// of the matrix a lane holds. Two neighbours of 16 bits share a register, the first one in its lower
// half. All indices being constant after unrolling, the arrays are registers.
#pragma once

namespace hidet {

namespace cuda {

// The register that holds the elements of a fragment from x[i] on.
template <typename T>
HIDET_DEVICE unsigned get_register(const T* x) {
  unsigned bits;
  __builtin_memcpy(&bits, x, sizeof(bits));
  return bits;
}

template <typename T>
HIDET_DEVICE void set_register(T* x, unsigned bits) {
  __builtin_memcpy(x, &bits, sizeof(bits));
}

HIDET_DEVICE unsigned shared_address(const void* p) {
  return static_cast<unsigned>(::__cvta_generic_to_shared(p));
}

}  // namespace cuda

// ---- mma ------------------------------------------------------------------------------------------
// c += a * b: PTX ISA, "Multiply-and-Accumulate Instruction: mma".

#if __CUDA_ARCH__ >= 800

// Registers of a fragment: neighbours of 16 bits share one.
#define HIDET_X1(x) "r"(cuda::get_register(x))
#define HIDET_X2(x) HIDET_X1(x), "r"(cuda::get_register(x + per))
#define HIDET_X4(x) HIDET_X2(x), "r"(cuda::get_register(x + 2 * per)), "r"(cuda::get_register(x + 3 * per))

// With c in float, which is four registers; `lists` are those of a and b.
#define HIDET_MMA(...) HIDET_MMA_OF(__VA_ARGS__)
#define HIDET_MMA_OF(name, T, types, lists, ...)                                             \
  HIDET_DEVICE void name(float* c, const T* a, const T* b) {                                 \
    [[maybe_unused]] constexpr int per = 4 / sizeof(T);                                      \
    asm volatile("mma.sync.aligned." types " {%0, %1, %2, %3}, " lists ", {%0, %1, %2, %3};" \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                            \
                 : __VA_ARGS__);                                                             \
  }

// With c in half, which is two registers.
#define HIDET_MMA_HALF(name, types, lists, ...)                              \
  HIDET_DEVICE void name(half* c, const half* a, const half* b) {            \
    constexpr int per = 2;                                                   \
    unsigned c0 = cuda::get_register(c), c1 = cuda::get_register(c + 2);     \
    asm volatile("mma.sync.aligned." types " {%0, %1}, " lists ", {%0, %1};" \
                 : "+r"(c0), "+r"(c1)                                        \
                 : __VA_ARGS__);                                             \
    cuda::set_register(c, c0);                                               \
    cuda::set_register(c + 2, c1);                                           \
  }

#define HIDET_A4_B2 "{%4, %5, %6, %7}, {%8, %9}", HIDET_X4(a), HIDET_X2(b)
#define HIDET_A2_B1 "{%4, %5}, {%6}", HIDET_X2(a), HIDET_X1(b)

HIDET_MMA(mma_m16n8k16, half, "m16n8k16.row.col.f32.f16.f16.f32", HIDET_A4_B2)
HIDET_MMA(mma_m16n8k16, bfloat16, "m16n8k16.row.col.f32.bf16.bf16.f32", HIDET_A4_B2)
HIDET_MMA(mma_m16n8k8, half, "m16n8k8.row.col.f32.f16.f16.f32", HIDET_A2_B1)
HIDET_MMA(mma_m16n8k8, bfloat16, "m16n8k8.row.col.f32.bf16.bf16.f32", HIDET_A2_B1)
// Of float operands tf32 takes the upper 19 bits.
HIDET_MMA(mma_m16n8k8, float, "m16n8k8.row.col.f32.tf32.tf32.f32", HIDET_A4_B2)
HIDET_MMA(mma_m16n8k4, float, "m16n8k4.row.col.f32.tf32.tf32.f32", HIDET_A2_B1)
HIDET_MMA_HALF(mma_m16n8k16, "m16n8k16.row.col.f16.f16.f16.f16", "{%2, %3, %4, %5}, {%6, %7}",
               HIDET_X4(a), HIDET_X2(b))
HIDET_MMA_HALF(mma_m16n8k8, "m16n8k8.row.col.f16.f16.f16.f16", "{%2, %3}, {%4}", HIDET_X2(a),
               HIDET_X1(b))

#endif  // sm_80

// ---- ldmatrix -------------------------------------------------------------------------------------
// PTX ISA, "ldmatrix": lane i gives the address of row i % 8 of matrix i / 8, 16 bytes in shared
// memory, and receives the bytes i % 4 * 4 to i % 4 * 4 + 3 of row i / 4 of each matrix; with
// `trans`, of each transposed matrix of 16-bit elements.

#define HIDET_LDMATRIX(name, count, form, list, ...)                                         \
  template <typename T>                                                                      \
  HIDET_DEVICE void name(T* r, const T* row) {                                               \
    unsigned bits[count];                                                                    \
    asm volatile("ldmatrix.sync.aligned.m8n8." form ".shared.b16 {" list "}, [%" #count "];" \
                 : __VA_ARGS__                                                               \
                 : "r"(cuda::shared_address(row))                                            \
                 : "memory");                                                                \
    _Pragma("unroll") for (int i = 0; i < count; ++i) {                                      \
      cuda::set_register(r + i * int(4 / sizeof(T)), bits[i]);                               \
    }                                                                                        \
  }

#define HIDET_R1 "=r"(bits[0])
#define HIDET_R2 HIDET_R1, "=r"(bits[1])
#define HIDET_R4 HIDET_R2, "=r"(bits[2]), "=r"(bits[3])

HIDET_LDMATRIX(ldmatrix_x1, 1, "x1", "%0", HIDET_R1)
HIDET_LDMATRIX(ldmatrix_x2, 2, "x2", "%0, %1", HIDET_R2)
HIDET_LDMATRIX(ldmatrix_x4, 4, "x4", "%0, %1, %2, %3", HIDET_R4)
HIDET_LDMATRIX(ldmatrix_x1_trans, 1, "x1.trans", "%0", HIDET_R1)
HIDET_LDMATRIX(ldmatrix_x2_trans, 2, "x2.trans", "%0, %1", HIDET_R2)
HIDET_LDMATRIX(ldmatrix_x4_trans, 4, "x4.trans", "%0, %1, %2, %3", HIDET_R4)

}  // namespace hidet
