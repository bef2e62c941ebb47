// Instructions of tensor cores and asynchronous copies, one at a time. What a lane holds or reads
// comes from arrays of indices, so that the tests decide about it.
#include "hidet.h"

// Three times c += a * b for each warp. Lane l holds the elements a[of_a[l * n + i]] and so on.
#define MMA(name, function, k, C, T)                                                            \
  extern "C" __global__ void __launch_bounds__(64)                                              \
  name(const T* __restrict__ a, const T* __restrict__ b, const C* __restrict__ c,               \
       const int* __restrict__ of_a, const int* __restrict__ of_b, const int* __restrict__ of_c, \
       C* __restrict__ out) {                                                                   \
    const int lane = threadIdx.x % 32;                                                          \
    const int problem = blockIdx.x * 2 + threadIdx.x / 32;                                      \
    T x[k / 2];                                                                                 \
    T y[k / 4];                                                                                 \
    C z[4];                                                                                     \
    for (int i = 0; i < k / 2; ++i) x[i] = a[problem * 16 * k + of_a[lane * (k / 2) + i]];      \
    for (int i = 0; i < k / 4; ++i) y[i] = b[problem * k * 8 + of_b[lane * (k / 4) + i]];       \
    for (int i = 0; i < 4; ++i) z[i] = c[problem * 128 + of_c[lane * 4 + i]];                   \
    for (int round = 0; round < 3; ++round) hidet::function(z, x, y);                           \
    for (int i = 0; i < 4; ++i) out[problem * 128 + of_c[lane * 4 + i]] = z[i];                 \
  }                                                                                             \
  HIDET_KERNEL(name, 64, 1, 1, HIDET_COLLECTIVE)

MMA(m16n8k16_f16_f32, mma_m16n8k16, 16, float, hidet::half)
MMA(m16n8k16_f16_f16, mma_m16n8k16, 16, hidet::half, hidet::half)
MMA(m16n8k16_bf16_f32, mma_m16n8k16, 16, float, hidet::bfloat16)
MMA(m16n8k8_f16_f32, mma_m16n8k8, 8, float, hidet::half)
MMA(m16n8k8_f16_f16, mma_m16n8k8, 8, hidet::half, hidet::half)
MMA(m16n8k8_bf16_f32, mma_m16n8k8, 8, float, hidet::bfloat16)
MMA(m16n8k8_tf32_f32, mma_m16n8k8, 8, float, float)
MMA(m16n8k4_tf32_f32, mma_m16n8k4, 4, float, float)

// Lane l gives the address of row of[l] of 64 rows of 16 bytes, and stores what it receives.
#define LDMATRIX(name, function, count, T)                                                     \
  extern "C" __global__ void __launch_bounds__(64)                                             \
  name(const T* __restrict__ x, const int* __restrict__ of, T* __restrict__ out) {             \
    constexpr int row = 16 / sizeof(T);                                                        \
    __shared__ __align__(16) T tile[64][row];                                                  \
    for (int i = 0; i < row; ++i) tile[threadIdx.x][i] = x[threadIdx.x * row + i];             \
    hidet::sync_threads();                                                                     \
    T fragment[count * 4 / sizeof(T)];                                                         \
    hidet::function(fragment, &tile[of[threadIdx.x]][0]);                                      \
    for (int i = 0; i < int(count * 4 / sizeof(T)); ++i) {                                     \
      out[threadIdx.x * (count * 4 / sizeof(T)) + i] = fragment[i];                            \
    }                                                                                          \
  }                                                                                            \
  HIDET_KERNEL(name, 64, 1, 1, HIDET_COLLECTIVE)

LDMATRIX(ldmatrix_x1_half, ldmatrix_x1, 1, hidet::half)
LDMATRIX(ldmatrix_x2_half, ldmatrix_x2, 2, hidet::half)
LDMATRIX(ldmatrix_x4_half, ldmatrix_x4, 4, hidet::half)
LDMATRIX(ldmatrix_x1_trans_half, ldmatrix_x1_trans, 1, hidet::half)
LDMATRIX(ldmatrix_x2_trans_half, ldmatrix_x2_trans, 2, hidet::half)
LDMATRIX(ldmatrix_x4_trans_half, ldmatrix_x4_trans, 4, hidet::half)
LDMATRIX(ldmatrix_x4_float, ldmatrix_x4, 4, float)
LDMATRIX(ldmatrix_x2_char, ldmatrix_x2, 2, signed char)

// Copies N elements a thread, the first `valid` of them; whole with a negative number.
#define CP_ASYNC(name, function, N, T)                                                        \
  extern "C" __global__ void __launch_bounds__(64)                                            \
  name(const T* __restrict__ x, const int* __restrict__ valid, T* __restrict__ out) {         \
    __shared__ __align__(16) T tile[64][N];                                                   \
    const int i = blockIdx.x * 64 + threadIdx.x;                                              \
    if (valid[i] < 0) {                                                                       \
      hidet::function<N>(&tile[threadIdx.x][0], &x[i * N]);                                   \
    } else {                                                                                  \
      hidet::function<N>(&tile[threadIdx.x][0], &x[i * N], valid[i]);                         \
    }                                                                                         \
    hidet::cp_async_commit();                                                                 \
    hidet::cp_async_wait<0>();                                                                \
    hidet::sync_threads();                                                                    \
    const int other = 63 - threadIdx.x;                                                       \
    for (int j = 0; j < N; ++j) out[(blockIdx.x * 64 + other) * N + j] = tile[other][j];      \
  }                                                                                           \
  HIDET_KERNEL(name, 64, 1, 1, HIDET_COLLECTIVE)

CP_ASYNC(cp_async_ca_float1, cp_async_ca, 1, float)
CP_ASYNC(cp_async_ca_half2, cp_async_ca, 2, hidet::half)
CP_ASYNC(cp_async_ca_half4, cp_async_ca, 4, hidet::half)
CP_ASYNC(cp_async_ca_float4, cp_async_ca, 4, float)
CP_ASYNC(cp_async_cg_half8, cp_async_cg, 8, hidet::half)
CP_ASYNC(cp_async_cg_char16, cp_async_cg, 16, signed char)

// The sums of the columns of x, of `rows` rows of 64, through a ring of three stages. With more than
// one group `pending`, or a ring that is a stage too short, rows are read that have not arrived, or
// overwritten before they are read.
#define RING(name, pending, ahead)                                                            \
  extern "C" __global__ void __launch_bounds__(64)                                            \
  name(const float* __restrict__ x, float* __restrict__ out, int rows) {                      \
    __shared__ __align__(16) float ring[3][64];                                               \
    const int tid = threadIdx.x;                                                              \
    for (int row = 0; row < ahead; ++row) {                                                   \
      hidet::cp_async_ca<1>(&ring[row % 3][tid], &x[row * 64 + tid]);                         \
      hidet::cp_async_commit();                                                               \
    }                                                                                         \
    float sum = 0.0f;                                                                         \
    for (int row = 0; row < rows; ++row) {                                                    \
      const int next = row + ahead;                                                           \
      hidet::cp_async_wait<pending>();                                                        \
      hidet::sync_threads();                                                                  \
      if (next < rows) hidet::cp_async_ca<1>(&ring[next % 3][tid], &x[next * 64 + tid]);      \
      hidet::cp_async_commit();                                                               \
      sum += ring[row % 3][63 - tid];                                                         \
    }                                                                                         \
    out[63 - tid] = sum;                                                                      \
  }                                                                                           \
  HIDET_KERNEL(name, 64, 1, 1, HIDET_COLLECTIVE)

RING(ring, 1, 2)
RING(ring_waits_too_little, 2, 2)
RING(ring_overwrites, 2, 3)
