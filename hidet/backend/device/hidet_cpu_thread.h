// CPU: the words that CUDA adds to C++, the coordinates of the running thread, and errors.
#pragma once

#include <csetjmp>
#include <cstdarg>
#include <cstdio>

// ---- the words of CUDA ----------------------------------------------------------------------------

// A kernel is called in one place, from the loop over the threads of a block, and belongs into it.
// Hidden, its __shared__ variables are its own, even if another library has a kernel of that name.
#define __global__ inline __attribute__((always_inline, visibility("hidden")))
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
// A block runs on one thread of the operating system, from its start to its end.
#define __shared__ static thread_local

// Coordinates are signed, other than on CUDA: the overflow of a signed number is undefined, so g++
// may take x[blockIdx.x * 256 + threadIdx.x] for consecutive elements, and vectorise.
struct uint3 {
  int x, y, z;
};

struct dim3 {
  int x = 1, y = 1, z = 1;
};

[[maybe_unused]] static thread_local uint3 threadIdx;
[[maybe_unused]] static thread_local uint3 blockIdx;
[[maybe_unused]] static thread_local dim3 blockDim;
[[maybe_unused]] static thread_local dim3 gridDim;
[[maybe_unused]] static constexpr int warpSize = 32;

namespace hidet::cpu {

// ---- launches and their errors --------------------------------------------------------------------

// What a launch returns if not 0.
enum Error : int {
  // The launch as a whole:
  kInvalidLaunch = 1,  // an empty grid, or one that CUDA does not allow
  kOutOfMemory = 2,    // no memory for stacks or dynamic shared memory
  // One of its blocks:
  kDivergence = 3,     // threads wait at a meeting point for others that do not come
  kInvalidLane = 4,    // a shuffle reads from a lane that the warp does not have
  kMisaligned = 5,     // a vector access at an address that is no multiple of its size
  kNotCollective = 6,  // a barrier or shuffle in a kernel declared HIDET_INDEPENDENT
  kFailedCheck = 7,    // what the kernel asserts does not hold
};

// Whether the threads of a block meet.
enum class Mode { independent, collective };

constexpr int kMessageBytes = 512;

// One launch of a kernel; all blocks, on all threads of the operating system, refer to it.
struct Launch {
  const char* kernel;
  void (*run_block)(void** args);  // runs all threads of the block `blockIdx`
  Mode mode;
  void** args;
  dim3 block, grid;
  unsigned shared_bytes;
  unsigned cluster = 1;  // so many neighbouring blocks along x run together
  int error = 0;
  char message[kMessageBytes] = {};
  std::jmp_buf* escape = nullptr;  // where a function that is no kernel goes on after an error
};

// The launch that this thread of the operating system works for.
static thread_local Launch* launch = nullptr;

// The message of the last launch that failed, for the thread that launched it.
static thread_local char last_message[kMessageBytes] = {};

// Record an error. The first one of a launch is kept; blocks that have not begun by then are skipped.
__attribute__((noinline, cold, format(printf, 2, 3))) static void report(Error error,
                                                                         const char* format, ...) {
  int none = 0;
  if (!__atomic_compare_exchange_n(&launch->error, &none, error, false, __ATOMIC_RELAXED,
                                   __ATOMIC_RELAXED)) {
    return;
  }
  char where[64] = "";
  if (error > kOutOfMemory) {
    std::snprintf(where, sizeof(where), ", block (%d, %d, %d)", blockIdx.x, blockIdx.y, blockIdx.z);
  }
  char what[320];
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(what, sizeof(what), format, values);
  va_end(values);
  std::snprintf(launch->message, kMessageBytes, "kernel %.100s%s: %s", launch->kernel, where, what);
}

}  // namespace hidet::cpu

// The message of the last launch of this library by the calling thread that failed.
extern "C" __attribute__((used, visibility("default"))) inline const char* hidet_last_error() {
  return hidet::cpu::last_message;
}
