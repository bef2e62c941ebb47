// What generated kernels call, for both compilers: one set of names, two bodies.
//
// A generated file holds one or several kernels. It reads as CUDA C++ and is valid for nvcc as well
// as for g++, because everything beyond plain C++ is a name of this header:
//
//     #include "hidet.h"
//
//     extern "C" __global__ void __launch_bounds__(256) add_one(const float* __restrict__ x,
//                                                               float* __restrict__ out) {
//       const int i = blockIdx.x * 256 + threadIdx.x;
//       out[i] = x[i] + 1.0f;
//     }
//     HIDET_KERNEL(add_one, 256, 1, 1, HIDET_INDEPENDENT)
//
// HIDET_KERNEL(name, threads x, y, z, mode) says how the threads of a block depend on each other:
//
//     HIDET_INDEPENDENT   they never meet: no barrier, no shuffle, no vote, no check
//     HIDET_SERIAL        the same, and the CPU runs all blocks on the calling thread
//     HIDET_COLLECTIVE    they meet
//
//     HIDET_CLUSTER_KERNEL(name, threads x, y, z, blocks x, y, z)   they do, and so many blocks too
//
//     HIDET_CHECKS_AHEAD(name, statements)   what a launch on the CPU checks first, in `args`
//
// nvcc does not need to know and ignores the lines. g++ makes a function out of them that runs the
// grid on the CPU; see hidet_cpu_launch.h for its interface.
//
// The families, one header for each compiler (hidet_cuda_*.cuh, hidet_cpu_*.h):
//
//     types    half, bfloat16, half2, bfloat162, cast<T>(x), bit_cast<T>(x), join<T>(a, b),
//              part<T, n>(x)
//     math     exp, erf, maximum, floordiv ... for float, double and integers
//     arithmetic  lop3, prmt, popc, clz, fast_exp2, fast_rcp ...
//     packed   packed_add, packed_fma ... of half2 and bfloat162
//     memory   copy_vector<T, N>, view<T>(p), address_of(p)
//     atomics  atomic_add, atomic_max, atomic_cas<Scope::sys> ...
//     accesses load_cs ..., store_wt ..., load_acquire_gpu, store_release_gpu ...
//     warp     sync_threads, sync_threads_and/or/count, fence_*, sync_warp, shfl*, ballot, any, all
//     mma      mma_m16n8k16 ..., ldmatrix_x4 ...
//     async    cp_async_ca, cp_async_cg, cp_async_commit, cp_async_wait
//     check    check
//     launch   HIDET_KERNEL, HIDET_DYNAMIC_SHARED, dynamic_shared<T[N]>,
//              grid_dependency_wait, launch_dependents
//     roles    barrier_sync<count>, barrier_arrive<count>, setmaxnreg_inc<count>, ..._dec<count>
//     wgmma    matrix_descriptor, wgmma_fence, wgmma_commit, wgmma_wait
//     cluster  cluster_arrive, cluster_wait, mbarrier_arrive_cluster, tma_load_multicast
//     strict   track_*, check_*: what instrumented kernels say (CPU only)
//     tensor   TensorMap, tma_load, tma_load_pixels, tma_store, mbarrier_*, fence_proxy_async
//
// and for a type of operands each, hidet_wgmma_*.h: wgmma_m64n128k16_f16_f32 ...
//
// What is the same on both sides is written once, in hidet_types.h, hidet_scalar.h, hidet_memory.h,
// hidet_check.h.
// A new family of instructions is a new pair of headers, included by hidet_cuda.cuh and hidet_cpu.h.
// Macros in HIDET_ and capitals are the header's own; no name of a kernel is like that.
//
// Alignment of a shared or local array is written `__align__(16)`, after `__shared__`: g++ takes
// alignas only in front of it.
#pragma once

#if defined(__CUDACC__)
#include "hidet_cuda.cuh"
#else
#include "hidet_cpu.h"
#endif
