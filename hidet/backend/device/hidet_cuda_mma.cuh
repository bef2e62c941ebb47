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

// With c in float: four registers; a and b in R and S registers.
#define HIDET_MMA_A4_B2(name, T, types)                                                        \
  HIDET_DEVICE void name(float* c, const T* a, const T* b) {                                   \
    constexpr int per = 4 / sizeof(T);                                                         \
    asm volatile("mma.sync.aligned." types                                                     \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"            \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                              \
                 : "r"(cuda::get_register(a)), "r"(cuda::get_register(a + per)),               \
                   "r"(cuda::get_register(a + 2 * per)), "r"(cuda::get_register(a + 3 * per)), \
                   "r"(cuda::get_register(b)), "r"(cuda::get_register(b + per)));              \
  }

#define HIDET_MMA_A2_B1(name, T, types)                                                  \
  HIDET_DEVICE void name(float* c, const T* a, const T* b) {                             \
    constexpr int per = 4 / sizeof(T);                                                   \
    asm volatile("mma.sync.aligned." types                                               \
                 " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"                  \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                        \
                 : "r"(cuda::get_register(a)), "r"(cuda::get_register(a + per)),         \
                   "r"(cuda::get_register(b)));                                          \
  }

HIDET_MMA_A4_B2(mma_m16n8k16, half, "m16n8k16.row.col.f32.f16.f16.f32")
HIDET_MMA_A4_B2(mma_m16n8k16, bfloat16, "m16n8k16.row.col.f32.bf16.bf16.f32")
HIDET_MMA_A2_B1(mma_m16n8k8, half, "m16n8k8.row.col.f32.f16.f16.f32")
HIDET_MMA_A2_B1(mma_m16n8k8, bfloat16, "m16n8k8.row.col.f32.bf16.bf16.f32")
// Of float operands tf32 takes the upper 19 bits.
HIDET_MMA_A4_B2(mma_m16n8k8, float, "m16n8k8.row.col.f32.tf32.tf32.f32")
HIDET_MMA_A2_B1(mma_m16n8k4, float, "m16n8k4.row.col.f32.tf32.tf32.f32")

// With c in half: two registers.
HIDET_DEVICE void mma_m16n8k16(half* c, const half* a, const half* b) {
  unsigned c0 = cuda::get_register(c), c1 = cuda::get_register(c + 2);
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, "
      "{%0, %1};"
      : "+r"(c0), "+r"(c1)
      : "r"(cuda::get_register(a)), "r"(cuda::get_register(a + 2)),
        "r"(cuda::get_register(a + 4)), "r"(cuda::get_register(a + 6)),
        "r"(cuda::get_register(b)), "r"(cuda::get_register(b + 2)));
  cuda::set_register(c, c0);
  cuda::set_register(c + 2, c1);
}

HIDET_DEVICE void mma_m16n8k8(half* c, const half* a, const half* b) {
  unsigned c0 = cuda::get_register(c), c1 = cuda::get_register(c + 2);
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
      : "+r"(c0), "+r"(c1)
      : "r"(cuda::get_register(a)), "r"(cuda::get_register(a + 2)), "r"(cuda::get_register(b)));
  cuda::set_register(c, c0);
  cuda::set_register(c + 2, c1);
}

#endif  // sm_80

// ---- ldmatrix -------------------------------------------------------------------------------------
// PTX ISA, "ldmatrix": lane i gives the address of row i % 8 of matrix i / 8, 16 bytes in shared
// memory, and receives the bytes i % 4 * 4 to i % 4 * 4 + 3 of row i / 4 of each matrix; with
// `trans`, of each transposed matrix of 16-bit elements.

#define HIDET_LDMATRIX_X1(name, form)                                              \
  template <typename T>                                                            \
  HIDET_DEVICE void name(T* r, const T* row) {                                     \
    unsigned r0;                                                                   \
    asm volatile("ldmatrix.sync.aligned.m8n8.x1" form ".shared.b16 {%0}, [%1];"    \
                 : "=r"(r0)                                                        \
                 : "r"(cuda::shared_address(row))                                  \
                 : "memory");                                                      \
    cuda::set_register(r, r0);                                                     \
  }

#define HIDET_LDMATRIX_X2(name, form)                                               \
  template <typename T>                                                             \
  HIDET_DEVICE void name(T* r, const T* row) {                                      \
    constexpr int per = 4 / sizeof(T);                                              \
    unsigned r0, r1;                                                                \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2" form ".shared.b16 {%0, %1}, [%2];" \
                 : "=r"(r0), "=r"(r1)                                               \
                 : "r"(cuda::shared_address(row))                                   \
                 : "memory");                                                       \
    cuda::set_register(r, r0);                                                      \
    cuda::set_register(r + per, r1);                                                \
  }

#define HIDET_LDMATRIX_X4(name, form)                                                       \
  template <typename T>                                                                     \
  HIDET_DEVICE void name(T* r, const T* row) {                                              \
    constexpr int per = 4 / sizeof(T);                                                      \
    unsigned r0, r1, r2, r3;                                                                \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" form ".shared.b16 {%0, %1, %2, %3}, [%4];" \
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)                                   \
                 : "r"(cuda::shared_address(row))                                           \
                 : "memory");                                                               \
    cuda::set_register(r, r0);                                                              \
    cuda::set_register(r + per, r1);                                                        \
    cuda::set_register(r + 2 * per, r2);                                                    \
    cuda::set_register(r + 3 * per, r3);                                                    \
  }

HIDET_LDMATRIX_X1(ldmatrix_x1, "")
HIDET_LDMATRIX_X2(ldmatrix_x2, "")
HIDET_LDMATRIX_X4(ldmatrix_x4, "")
HIDET_LDMATRIX_X1(ldmatrix_x1_trans, ".trans")
HIDET_LDMATRIX_X2(ldmatrix_x2_trans, ".trans")
HIDET_LDMATRIX_X4(ldmatrix_x4_trans, ".trans")

}  // namespace hidet
