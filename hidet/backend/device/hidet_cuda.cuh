// The body for nvcc: kernels run on a GPU. Inline PTX stands in these headers and nowhere else.
//
// "PTX ISA" in comments is NVIDIA's "Parallel Thread Execution ISA".
#pragma once

#define HIDET_DEVICE __device__ __forceinline__

#include "hidet_cuda_types.cuh"
#include "hidet_cuda_math.cuh"
#include "hidet_scalar.h"
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
