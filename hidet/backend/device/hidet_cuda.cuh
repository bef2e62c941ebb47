// The body for nvcc: kernels run on a GPU. Inline PTX stands in these headers and nowhere else.
//
// "PTX ISA" in comments is NVIDIA's "Parallel Thread Execution ISA".
#pragma once

#define HIDET_DEVICE __device__ __forceinline__
#define HIDET_LIBM(name) libm::name
#define HIDET_DECLARE_LIBM(result, name, ...)                        \
  namespace libm {                                                   \
  extern "C" __device__ __device_builtin__ result name(__VA_ARGS__); \
  }

#include "hidet_cuda_types.cuh"
#include "hidet_scalar.h"
#include "hidet_cuda_math.cuh"
#include "hidet_cuda_arithmetic.cuh"
#include "hidet_cuda_packed.cuh"
#include "hidet_cuda_memory.cuh"
#include "hidet_cuda_atomics.cuh"
#include "hidet_cuda_accesses.cuh"
#include "hidet_cuda_warp.cuh"
#include "hidet_cuda_mma.cuh"
#include "hidet_cuda_async.cuh"
#include "hidet_cuda_roles.cuh"
#include "hidet_cuda_wgmma.cuh"
#include "hidet_cuda_tensor_copy.cuh"
#include "hidet_cuda_cluster.cuh"
#include "hidet_cuda_check.cuh"
#include "hidet_cuda_launch.cuh"
