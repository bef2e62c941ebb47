// CPU: the words that CUDA adds to C++, the coordinates of the running thread, and errors.
#pragma once

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdio>

// The strict mode includes all checks (hidet_cpu_strict.h).
#if defined(HIDET_STRICT)
#define HIDET_CHECK
#define HIDET_LATE_COPIES
#endif

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
  // What only the strict mode finds:
  kOutOfBounds = 8,    // an access outside of its tensor
  kUninitialized = 9,  // a read of what was never written
  kRace = 10,           // two accesses of which nothing says which comes first
  kUnderWay = 11,      // an access to what an asynchronous copy or product still works on
  kWrongOwner = 12,    // an access to an element of a register tile that another thread holds
  // What a program is given, whose message is in the words of the program's author:
  kBadIndex = 13,     // an index of a look-up that is out of bounds
  kZeroDivisor = 14,  // an integer is divided by zero
};

// Whether the threads of a block meet; serial: they do not, and all blocks run on one core.
enum class Mode { independent, serial, collective };

#if defined(HIDET_STRICT)
constexpr int kMessageBytes = 2048;  // names two lines of a script
#else
constexpr int kMessageBytes = 512;
#endif

#if defined(HIDET_STRICT)
// What a pointer that a launch passes points at.
struct Memory {
  const void* start;
  unsigned long long bytes;
};

// What the next launch of this thread of the operating system is told; see hidet_set_strict.
static thread_local unsigned long long next_seed = 0;
static thread_local const Memory* next_memory = nullptr;
static thread_local unsigned next_memory_count = 0;
#endif

// One launch of a kernel; all blocks, on all threads of the operating system, refer to it.
struct Launch {
  const char* kernel;
  void (*check_ahead)(void** args);
  void (*run_block)(void** args);  // runs all threads of the block `blockIdx`
  Mode mode;
  void** args;
  dim3 block, grid;
  unsigned shared_bytes;
  dim3 cluster_shape = {};
  unsigned cluster = 1;  // so many neighbouring blocks run together, those of its shape
  int error = 0;
  char message[kMessageBytes] = {};
  std::jmp_buf* escape = nullptr;  // where a function that is no kernel goes on after an error
#if defined(HIDET_STRICT)
  unsigned long long seed = next_seed;  // of the order of threads
  const Memory* memory = next_memory;
  unsigned memory_count = next_memory_count;
#endif
};

// The launch that this thread of the operating system works for.
static thread_local Launch* launch = nullptr;

// The dynamic shared memory of the block that runs, or of the first one of its cluster.
static thread_local char* dynamic_shared = nullptr;

// The message of the last launch that failed, for the thread that launched it.
static thread_local char last_message[kMessageBytes] = {};

// ---- places in the source -------------------------------------------------------------------------

// A line of the kernel's source, as a text for messages.
struct PlaceText {
  char text[kMessageBytes / 4];
};

#if defined(HIDET_STRICT)

// From a line of the kernel's source on, statements come from this line of the user's program.
struct SourceLine {
  unsigned line;
  const char* origin;  // "file:line", or empty where it is not known
};

static const SourceLine* source_lines = nullptr;
static unsigned source_line_count = 0;

// "script.py:12" where that is known, else "line 12" of the kernel's source.
static inline PlaceText at(unsigned line) {
  const char* origin = "";
  for (unsigned i = 0; i < source_line_count && source_lines[i].line <= line; ++i) {
    origin = source_lines[i].origin;
  }
  PlaceText place;
  if (*origin != 0) {
    // Of a long path the end counts.
    const std::size_t length = __builtin_strlen(origin), room = sizeof(place.text) - 1;
    std::snprintf(place.text, sizeof(place.text), "%s", length > room ? origin + length - room : origin);
  } else {
    std::snprintf(place.text, sizeof(place.text), "line %u", line);
  }
  return place;
}

#else

static inline PlaceText at(unsigned line) {
  PlaceText place;
  std::snprintf(place.text, sizeof(place.text), "line %u", line);
  return place;
}

#endif

// ---- errors ---------------------------------------------------------------------------------------

// An index out of bounds, or a zero divisor (size 0). `where` is null if there is no fault.
struct Fault {
  long long index, size;
  const char* where;
};

// The last fault of the block that runs on this thread of the operating system.
static thread_local Fault fault = {};

static void report_fault();

// Record an error. The first one of a launch is kept; blocks that have not begun by then are skipped.
__attribute__((noinline, cold, format(printf, 2, 3))) static void report(Error error,
                                                                         const char* format, ...) {
  const bool of_program = error == kBadIndex || error == kZeroDivisor;
  if (!of_program) report_fault();  // an earlier fault of the block has precedence
  int none = 0;
  if (!__atomic_compare_exchange_n(&launch->error, &none, error, false, __ATOMIC_RELAXED,
                                   __ATOMIC_RELAXED)) {
    return;
  }
  char where[64] = "";
  if (error > kOutOfMemory) {
    std::snprintf(where, sizeof(where), ", block (%d, %d, %d)", blockIdx.x, blockIdx.y, blockIdx.z);
  }
  char what[kMessageBytes - 192];
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(of_program ? launch->message : what,
                 of_program ? kMessageBytes : sizeof(what), format, values);
  va_end(values);
  if (of_program) return;
#if defined(HIDET_STRICT)
  std::snprintf(launch->message, kMessageBytes, "kernel %.100s%s: %s (seed %llu)", launch->kernel,
                where, what, launch->seed);
#else
  std::snprintf(launch->message, kMessageBytes, "kernel %.100s%s: %s", launch->kernel, where, what);
#endif
}

// Report the fault of the current block, if any. The first line of the message is what is wrong, the
// second one where.
[[maybe_unused]] static void report_fault() {
  if (__builtin_expect(fault.where == nullptr, true)) return;
  if (fault.size > 0) {
    report(kBadIndex, "index %lld is out of bounds for a dimension of size %lld\n%s", fault.index,
           fault.size, fault.where);
  } else {
    report(kZeroDivisor, "ZeroDivisionError: an integer is divided by zero\n%s", fault.where);
  }
  fault = {};
}

}  // namespace hidet::cpu

// The message of the last launch of this library by the calling thread that failed.
extern "C" __attribute__((used, visibility("default"))) inline const char* hidet_last_error() {
  return hidet::cpu::last_message;
}

#if defined(HIDET_STRICT)
// Which statements come from where: HIDET_SOURCE_LINES({12, "script.py:3"}, ...).
#define HIDET_SOURCE_LINES(...)                                                          \
  namespace hidet::cpu {                                                                 \
  static const SourceLine kSourceLines[] = {__VA_ARGS__};                                \
  [[maybe_unused]] static const bool kHasSourceLines =                                   \
      (source_lines = kSourceLines,                                                      \
       source_line_count = sizeof(kSourceLines) / sizeof(SourceLine), true);             \
  }

// For the next launch by the calling thread: the seed of the order in which threads run, and what is
// behind the pointers that it passes. The table has to stay until the launch is over.
extern "C" __attribute__((used, visibility("default"))) inline void hidet_set_strict(
    unsigned long long seed, const void* memory, unsigned memory_count) {
  hidet::cpu::next_seed = seed;
  hidet::cpu::next_memory = static_cast<const hidet::cpu::Memory*>(memory);
  hidet::cpu::next_memory_count = memory_count;
}
#else
#define HIDET_SOURCE_LINES(...)
#endif
