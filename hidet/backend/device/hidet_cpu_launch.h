// CPU: running a grid.
//
// HIDET_KERNEL(name, x, y, z, mode) defines
//
//     extern "C" int name_launch(void** args, unsigned grid_x, unsigned grid_y, unsigned grid_z,
//                                unsigned shared_bytes)
//
// args[i] points at the value of the i-th argument, as for cuLaunchKernel. The function returns when
// the grid is done: 0, or a hidet::cpu::Error, with a message in hidet_last_error(). After an error
// the outputs hold anything. Several threads may launch at the same time.
//
// An extent of 0 among x, y and z is one that launches give: then, after the arguments, one more
// element of args points at the three extents of the block, unsigned.
//
// Blocks run on all cores (OpenMP; OMP_NUM_THREADS says on how many).
#pragma once

#include <omp.h>

#include <utility>

#include "hidet_fiber.h"

#if defined(HIDET_STRICT)
// A thread that does something wrong ends, which takes a fiber.
#define HIDET_INDEPENDENT hidet::cpu::Mode::collective
#define HIDET_SERIAL hidet::cpu::Mode::collective
#else
#define HIDET_INDEPENDENT hidet::cpu::Mode::independent
#define HIDET_SERIAL hidet::cpu::Mode::serial
#endif
#define HIDET_COLLECTIVE hidet::cpu::Mode::collective

#define HIDET_KERNEL(name, x, y, z, mode) HIDET_LAUNCH_OF(name, x, y, z, mode, 1, 1, 1)
#define HIDET_CLUSTER_KERNEL(name, x, y, z, cluster_x, cluster_y, cluster_z) \
  HIDET_LAUNCH_OF(name, x, y, z, HIDET_COLLECTIVE, cluster_x, cluster_y, cluster_z)

#define HIDET_LAUNCH_OF(name, x, y, z, mode, cluster_x, cluster_y, cluster_z)                   \
  extern "C" __attribute__((visibility("default"))) int name##_launch(                          \
      void** args, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned shared_bytes) {  \
    constexpr int cluster = (cluster_x) * (cluster_y) * (cluster_z);                            \
    static_assert((x) * (y) * (z) >= 0 && (x) * (y) * (z) <= hidet::cpu::kMaxThreads,           \
                  "a block has 1 to 1024 threads");                                             \
    static_assert(cluster == 1 || ((x) * (y) * (z) > 0 && (x) * (y) * (z) % 32 == 0 &&          \
                                   (x) * (y) * (z) * cluster <= hidet::cpu::kMaxFibers),        \
                  "the blocks of a cluster have whole warps, and together up to 8192 threads"); \
    using Kernel = hidet::cpu::Kernel< ::name, mode, x, y, z>;                                  \
    hidet::cpu::Launch launch = {#name, &hidet::cpu::check_ahead< ::name>,                       \
                                 &Kernel::run_block,                                            \
                                 mode,  args,                                                   \
                                 Kernel::block_of(args),                                        \
                                 {int(grid_x), int(grid_y), int(grid_z)},                       \
                                 shared_bytes, {cluster_x, cluster_y, cluster_z}, cluster};     \
    return hidet::cpu::run(launch);                                                             \
  }

// What a launch checks before it runs the kernel; the statements read `args`.
#define HIDET_CHECKS_AHEAD(name, ...)                     \
  template <>                                             \
  void hidet::cpu::check_ahead< ::name>(void** args) {    \
    __VA_ARGS__                                           \
  }

// A plain function of the CPU, which is called as if it were a kernel of one block.
#define HIDET_CPU_FUNCTION(name)                                                                \
  extern "C" __attribute__((visibility("default"))) int name##_launch(                          \
      void** args, unsigned, unsigned, unsigned, unsigned) {                                    \
    return hidet::cpu::run_function(#name, &hidet::cpu::Function< ::name>::call, args);         \
  }

// Memory of the block, of the size that the launch states, as the pointer `name`.
#define HIDET_DYNAMIC_SHARED(type, name) \
  type* const name = reinterpret_cast<type*>(hidet::cpu::dynamic_shared)

namespace hidet {

// How launches overlap is a matter of GPUs.
HIDET_DEVICE void grid_dependency_wait() {}
HIDET_DEVICE void launch_dependents() {}

namespace cpu {

// ---- one kernel -----------------------------------------------------------------------------------

// What g++ knows of a kernel: the shape of its blocks, and whether their threads meet.
template <auto kernel, Mode mode, int size_x, int size_y, int size_z>
struct Kernel;

template <typename... P, void (*kernel)(P...), Mode mode, int size_x, int size_y, int size_z>
struct Kernel<kernel, mode, size_x, size_y, size_z> {
  // The extents of the blocks of a launch with these arguments.
  static dim3 block_of(void** args) {
    if constexpr (size_x && size_y && size_z) {
      return {size_x, size_y, size_z};
    } else {
      const unsigned* given = static_cast<const unsigned*>(args[sizeof...(P)]);
      return {size_x ? size_x : int(given[0]), size_y ? size_y : int(given[1]),
              size_z ? size_z : int(given[2])};
    }
  }

  // Run all threads of the block `blockIdx`, with the arguments that `args` points at.
  static void run_block(void** args) {
    if constexpr (mode == Mode::collective) {
      block->run(&run_thread, args);
    } else {
      apply(args, run_all, std::index_sequence_for<P...>());
    }
  }

 private:
  // One thread of a block, as a fiber.
  static void run_thread(void** args) { apply(args, call, std::index_sequence_for<P...>()); }

  // All threads of a block, one after the other. They do not depend on each other (ivdep).
  HIDET_DEVICE static void run_all(P... values) {
    const int end_x = size_x ? size_x : blockDim.x;
    const int end_y = size_y ? size_y : blockDim.y;
    const int end_z = size_z ? size_z : blockDim.z;
    for (int z = 0; z < end_z; ++z) {
      for (int y = 0; y < end_y; ++y) {
#pragma GCC ivdep
        for (int x = 0; x < end_x; ++x) {
          threadIdx = {x, y, z};
          call(values...);
        }
      }
    }
  }

  // The kernel. Knowing the ranges of its coordinates, g++ divides them like unsigned numbers.
  HIDET_DEVICE static void call(P... values) {
    const auto within = [](int number, int size) {
      return number >= 0 && number < (size ? size : kMaxThreads);
    };
    if (!within(threadIdx.x, size_x) || !within(threadIdx.y, size_y) ||
        !within(threadIdx.z, size_z) || blockIdx.x < 0 || blockIdx.y < 0 || blockIdx.z < 0) {
      __builtin_unreachable();
    }
    kernel(values...);
  }

  template <typename Function, std::size_t... i>
  HIDET_DEVICE static void apply([[maybe_unused]] void** args, Function function,
                                 std::index_sequence<i...>) {
    function(*static_cast<std::remove_const_t<P>*>(args[i])...);
  }
};

// A function that is no kernel, with the arguments that `args` points at.
template <auto function>
struct Function;

template <typename... P, void (*function)(P...)>
struct Function<function> {
  static void call(void** args) { call(args, std::index_sequence_for<P...>()); }

 private:
  template <std::size_t... i>
  static void call([[maybe_unused]] void** args, std::index_sequence<i...>) {
    function(*static_cast<std::remove_const_t<P>*>(args[i])...);
  }
};

// Run a function that is no kernel; return 0 or an Error. A check that fails comes back here.
[[maybe_unused]] static int run_function(
    const char* name, void (*call)(void** args), void** args) {
  Launch current = {};
  current.kernel = name;
  Block* const callers = block;  // its register belongs to whoever calls this library
  Launch* const outer = launch;
  std::jmp_buf here;
  block = nullptr;
  launch = &current;
  current.escape = &here;
  if (setjmp(here) == 0) call(args);
  report_fault();
  launch = outer;
  block = callers;
  if (current.error != 0) __builtin_memcpy(last_message, current.message, kMessageBytes);
  return current.error;
}

// ---- a grid ---------------------------------------------------------------------------------------


// Make the calling thread of the operating system ready to run blocks; false if there is no memory.
static bool join(Launch& current) {
  launch = &current;
  blockDim = current.block;
  gridDim = current.grid;
  // The parts of the arena: stacks, block, dynamic shared memory. The first two are for fibers.
  const bool fibers = current.mode == Mode::collective;
  const std::size_t threads =
      std::size_t(blockDim.x * blockDim.y * blockDim.z) * current.cluster;
  const std::size_t stack_bytes = fibers ? threads * kStackBytes : 0;
  const std::size_t private_bytes = stack_bytes + (fibers ? sizeof(Block) : 0);
  const std::size_t shared_start =
      (private_bytes + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
  shared_stride =
      (current.shared_bytes + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
  const std::size_t bytes = shared_start + shared_stride * current.cluster;
  Arena& arena = this_arena();
  if (!arena.reserve(bytes)) {
    report(kOutOfMemory, "no memory for %zu bytes of stacks and shared memory", bytes);
    return false;
  }
  if (fibers) block = new (arena.memory() + stack_bytes) Block(arena.memory());
  dynamic_shared = arena.memory() + shared_start;
  return true;
}

// Run the block, or the cluster, with the number `index` of the grid, x fastest.
static void run_block(const Launch& current, std::size_t index) {
  const dim3 cluster = current.cluster_shape;
  const auto x = std::size_t(current.grid.x / cluster.x);
  const auto y = std::size_t(current.grid.y / cluster.y);
  blockIdx = {int(index % x) * cluster.x, int(index / x % y) * cluster.y,
              int(index / x / y) * cluster.z};
#if defined(HIDET_CHECK)
  // All bits set is NaN, or an index far outside: what was never written shows.
  __builtin_memset(dynamic_shared, 0xff, shared_stride * current.cluster);
#endif
  start_shadows();
  start_barriers();
  start_cluster();
  start_copies();
  start_loads();
  current.run_block(current.args);
  report_fault();
  end_shadows();
}

// Run all blocks of a launch.
static void run_blocks(Launch& current) {
  const dim3 cluster = current.cluster_shape;
  const std::size_t blocks = std::size_t(current.grid.x / cluster.x) *
                             std::size_t(current.grid.y / cluster.y) *
                             std::size_t(current.grid.z / cluster.z);
  const std::size_t cores =
      current.mode == Mode::serial ? 1 : std::size_t(omp_get_max_threads());
  const std::size_t workers = blocks < cores ? blocks : cores;
  // A worker takes a few blocks at a time, so that many small ones do not queue up.
  const std::size_t chunk = blocks / (workers * 16) + 1;
#pragma omp parallel num_threads(int(workers)) if (workers > 1)
  {
    Block* const callers = block;  // its register belongs to whoever calls this library
    block = nullptr;
    const bool ready = join(current);
#pragma omp for schedule(dynamic, chunk)
    for (std::size_t index = 0; index < blocks; ++index) {
      if (ready && __atomic_load_n(&current.error, __ATOMIC_RELAXED) == 0) run_block(current, index);
    }
    block = callers;
  }
}

// Check and run a launch; return 0 or an Error.
static int run(Launch& current) {
  const dim3 grid = current.grid;
  launch = &current;
  if (grid.x > 0 && grid.y > 0 && grid.y < 65536 && grid.z > 0 && grid.z < 65536) {
    current.check_ahead(current.args);
    if (current.error == 0) run_blocks(current);
  } else {
    report(kInvalidLaunch, "the grid (%u, %u, %u) is empty or larger than CUDA allows",
           unsigned(grid.x), unsigned(grid.y), unsigned(grid.z));
  }
  if (current.error != 0) __builtin_memcpy(last_message, current.message, kMessageBytes);
  return current.error;
}

}  // namespace cpu

// A part of the dynamic shared memory, from a byte on, as an array.
template <typename Array>
HIDET_DEVICE Array& dynamic_shared(int offset) {
  const std::size_t rank = cpu::block == nullptr ? 0 : cpu::block->rank();
  return *reinterpret_cast<Array*>(cpu::dynamic_shared + rank * cpu::shared_stride + offset);
}

}  // namespace hidet
