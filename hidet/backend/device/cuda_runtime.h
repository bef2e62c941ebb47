// What nvcc reads before each source, in place of the toolkit's file of this name: that one also has the
// interface of the host, and the headers of the C and C++ libraries, which take nvcc longer to read than
// a typical kernel takes to compile.
#pragma once

#define HIDET_CUDA_VERSION (__CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__)

#if HIDET_CUDA_VERSION < 1204 || HIDET_CUDA_VERSION > 1305

#include_next <cuda_runtime.h>  // the files below are internal, and tried with CUDA 12.4 to 13.5 alone

#else

#define __CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__

#include <crt/host_config.h>
#include <vector_functions.h>

// What the next one calls.
#include <string.h>
template <typename T>
__device__ __forceinline__ T min(T a, T b) {
  return a < b ? a : b;
}
template <typename T>
__device__ __forceinline__ T max(T a, T b) {
  return a > b ? a : b;
}

#include <crt/device_functions.h>
#include <device_launch_parameters.h>

extern "C" __device__ __device_builtin__ int printf(const char*, ...);

#endif
