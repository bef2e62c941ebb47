// CPU: the threads of a block as fibers.
//
// Where the threads of a block meet (barriers, shuffles, votes), each of them is a fiber: a stack of
// its own, and a place where it goes on. One thread of the operating system runs all fibers of a
// block. A fiber runs until it has to wait at a meeting point; then the next one that can run does,
// round robin, or, in the strict mode, whichever chance picks. Nothing else interrupts a fiber, so the
// code between two meeting points needs no locks. The last one to arrive at a meeting point makes all
// the others able to run again, and goes on.
//
// When no fiber can run and not all have finished, the block hangs. A GPU would hang too; here the
// launch returns an error that says who waits where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "hidet_fiber_switch.h"
#include "hidet_fiber_memory.h"
#include "hidet_cpu_order.h"

namespace hidet::cpu {

constexpr std::size_t kSharedAlignment = 1024;  // what the strictest instruction of CUDA asks for

// From the shared memory of one block of a cluster to that of the next one.
static thread_local std::size_t shared_stride = 0;

// What threads that meet are about.
enum class Meeting {
  exchange,  // values: memory is not ordered
  barrier,   // what each has done to memory comes before what the others do afterwards
  work,      // the last one to come has something to do before the others go on
};

// Where the threads first, first + 1 ... first + count - 1 of a block wait for each other.
struct MeetingPoint {
  unsigned first, count;
  unsigned arrived;     // threads that wait, or 0
  unsigned line;        // of the kernel's source, where they wait
  const char* what;     // the function in which they wait
  unsigned generation;  // meetings that are over
};

// A warp exchanges values in two rows of slots by turns: a lane that writes for the next meeting
// leaves those alone that slower lanes still read. Before it writes the first row again, all lanes
// have come to the meeting in between.
struct Warp {
  MeetingPoint point;
  std::uint64_t slots[2][kWarpSize];
};

// A warp group, as a warp.
struct WarpGroup {
  MeetingPoint point;
  std::uint64_t slots[2][kGroupSize];
};

// A lane that waits for some others of its warp (hidet_cpu_lanes.h).
struct LaneWait {
  unsigned mask;  // those that it waits for, and itself; 0 where it does not wait
  const char* what;
  std::uint64_t value;    // what it has brought
  std::uint64_t* values;  // where it finds what all of them have
};

struct Fiber {
  Context context;
  uint3 index;  // its threadIdx
};

[[noreturn]] static void run_fiber();
static void leave_cluster();  // a thread has finished (hidet_cpu_cluster.h)

// The block that a thread of the operating system runs. Threads are numbered as on CUDA, x fastest.
class Block {
 public:
  explicit Block(char* stacks) : stacks_(stacks) {}

  // Run all threads of the block `blockIdx` of the launch.
  void run(void (*thread)(void** args), void** args) {
    thread_ = thread;
    args_ = args;
    start();
    switch_context(&outside_, &fibers_[current_].context);
    if (running_ != 0 && !abandoned_) report_deadlock();
  }

  // What a fiber does: a thread, from its beginning to its end.
  [[noreturn]] void run_thread() {
    if (cluster_ > 1) blockIdx = block_of_rank();  // kernels ask at once, or never
    thread_(args_);
    --running_;
    if (cluster_ > 1) leave_cluster();
    const Switch change = stop();
    switch_context(change.from, change.to);
    __builtin_unreachable();
  }

  // The running thread waits for all others of `point`. They all have to come from the same line.
  __attribute__((always_inline)) void meet(MeetingPoint& point, const char* what, unsigned line,
                                           [[maybe_unused]] Meeting meeting) {
    const Switch change = arrive(point, what, line);
    if (change.to != nullptr) switch_context(change.from, change.to);
#if defined(HIDET_STRICT)
    if (change.to != nullptr) return;
    if (meeting == Meeting::barrier) order.meet(point.first, point.count);
    if (meeting != Meeting::work) pass_on();
#endif
  }

  // The running thread waits until somebody wakes those that wait for `reason`.
  void wait(const void* reason, const char* what, unsigned line) {
    reasons_[current_] = reason;
    waits_for_ = what;
    waits_in_line_ = line;
    const Switch change = stop();
    switch_context(change.from, change.to);
  }

  // The running thread cannot go on: give the block up.
  [[noreturn]] __attribute__((noinline, cold)) void abandon() {
    abandoned_ = true;
    switch_context(&fibers_[current_].context, &outside_);
    __builtin_unreachable();
  }

  void wake(const void* reason) {
    for (unsigned i = 0; i < barrier_.count; ++i) {
      if (reasons_[i] != reason) continue;
      reasons_[i] = nullptr;
      ready_[i / kWarpSize] |= 1u << i % kWarpSize;
    }
  }

  // Lanes of the running warp can go on.
  void wake_lanes(unsigned mask) {
    const unsigned first = current_ / kWarpSize * kWarpSize;
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
      reasons_[first + unsigned(__builtin_ctz(rest))] = nullptr;
    }
    ready_[current_ / kWarpSize] |= mask;
  }

  // The lanes of the running warp that come to this line as well, as bits. Each goes on until it
  // waits, or asks too; then those of the first line are told, so that branches come together again.
  unsigned active_lanes(unsigned line) {
    const unsigned warp = current_ / kWarpSize, first = warp * kWarpSize, own = current_;
    asks_in_line_[own] = line;
    while (asks_in_line_[own] != 0) {
      unsigned here = 0, others = 0, least = ~0u;
      for (unsigned rest = ready_[warp]; rest != 0; rest &= rest - 1) {
        const unsigned lane = unsigned(__builtin_ctz(rest)), asks = asks_in_line_[first + lane];
        if (asks == 0) others |= 1u << lane;
        if (asks == 0 || asks > least) continue;
        here = (asks == least ? here : 0) | 1u << lane;
        least = asks;
      }
      if (others == 0) {
        for (unsigned rest = here; rest != 0; rest &= rest - 1) {
          const unsigned thread = first + unsigned(__builtin_ctz(rest));
          asks_in_line_[thread] = 0;
          active_[thread] = here;
        }
        continue;
      }
      current_ = first + unsigned(__builtin_ctz(others));
      *index_ = fibers_[current_].index;
      switch_context(&fibers_[own].context, &fibers_[current_].context);
    }
    return active_[own];
  }

  MeetingPoint& barrier() { return cluster_ == 1 ? barrier_ : blocks_[rank()]; }
  unsigned rank() const { return cluster_ == 1 ? 0 : current_ / threads_; }  // in the cluster
  unsigned thread_of_cluster() const { return current_; }
  unsigned running() const { return running_; }  // threads of the cluster that have not finished
  Warp& warp() { return warps_[current_ / kWarpSize]; }
  LaneWait* lanes() { return &lanes_[current_ / kWarpSize * kWarpSize]; }  // of the running warp
  WarpGroup& group() { return groups_[current_ / kGroupSize]; }
  unsigned thread() const { return current_; }
  unsigned lane() const { return current_ % kWarpSize; }
  unsigned thread_of_group() const { return current_ % kGroupSize; }

#if defined(HIDET_STRICT)
  // The running thread lets another one run, whichever chance picks.
  void pass_on() {
    const Switch change = pick();
    if (change.to != nullptr) switch_context(change.from, change.to);
  }

  uint3 index_of(unsigned thread) const { return fibers_[thread].index; }
  const char* stacks() const { return stacks_; }
#endif

 private:
  // A fiber leaves and another one goes on.
  struct Switch {
    Context* from;
    const Context* to;  // null where the running fiber goes on itself
  };

  // The running thread's block, whose number in the cluster counts along x first.
  uint3 block_of_rank() const {
    const dim3 shape = launch->cluster_shape;
    const int number = int(rank());
    return {first_block_.x + number % shape.x, first_block_.y + number / shape.x % shape.y,
            first_block_.z + number / shape.x / shape.y};
  }

  // Put all threads at the start of the kernel.
  void start() {
    const dim3 shape = launch->block;
    threads_ = unsigned(shape.x * shape.y * shape.z);
    cluster_ = launch->cluster;
    first_block_ = blockIdx;
    const unsigned count = threads_ * cluster_;
    for (unsigned number = 0; number < cluster_; ++number) {
      blocks_[number] = {number * threads_, threads_, 0, 0, nullptr, 0};
    }
    current_ = 0;
    running_ = count;
    abandoned_ = false;
    barrier_ = {0, count, 0, 0, nullptr, 0};
    for (unsigned first = 0; first < count; first += kWarpSize) {
      const unsigned lanes = count - first < kWarpSize ? count - first : kWarpSize;
      warps_[first / kWarpSize].point = {first, lanes, 0, 0, nullptr, 0};
    }
    for (unsigned first = 0; first < count; first += kGroupSize) {
      const unsigned threads = count - first < kGroupSize ? count - first : kGroupSize;
      groups_[first / kGroupSize].point = {first, threads, 0, 0, nullptr, 0};
    }
    uint3 index = {0, 0, 0};
    for (unsigned i = 0; i < count; ++i) {
      fibers_[i] = {new_context(&run_fiber, stacks_ + (i + 1) * kStackBytes), index};
      reasons_[i] = nullptr;
      lanes_[i].mask = 0;
      asks_in_line_[i] = 0;
      if (++index.x == shape.x) index.x = 0, ++index.y;
      if (index.y == shape.y) index.y = 0, ++index.z;
      if (index.z == shape.z) index.z = 0;  // the next block of the cluster
    }
    make_ready(barrier_);
    index_ = &threadIdx;
    *index_ = fibers_[0].index;
#if defined(HIDET_STRICT)
    chance_.start(launch->seed, blockIdx, launch->grid);
    pick();
#endif
  }

  // The running thread comes to a meeting point.
  __attribute__((noinline)) Switch arrive(MeetingPoint& point, const char* what, unsigned line) {
    if (point.arrived == 0) {
      point.what = what;
      point.line = line;
    } else if (__builtin_expect(point.line != line || point.what != what, false)) {
      return diverge(point, what, line);
    }
    if (++point.arrived < point.count) return stop();
    point.arrived = 0;
    ++point.generation;
    make_ready(point);
    return {nullptr, nullptr};
  }

  // The running thread comes from another place than those that wait: give up.
  __attribute__((noinline, cold)) Switch diverge(const MeetingPoint& point, const char* what,
                                                 unsigned line) {
    report(kDivergence,
           "the threads diverge: %u of %u wait at %s in %s, thread (%d, %d, %d) comes to %s in %s",
           point.arrived, point.count, point.what, at(point.line).text, threadIdx.x, threadIdx.y,
           threadIdx.z, what, at(line).text);
    abandoned_ = true;
    return {&fibers_[current_].context, &outside_};
  }

  // All threads of the point can run.
  void make_ready(const MeetingPoint& point) {
    for (unsigned first = point.first; first < point.first + point.count; first += kWarpSize) {
      const unsigned lanes = point.first + point.count - first;
      ready_[first / kWarpSize] = lanes < kWarpSize ? (1u << lanes) - 1 : ~0u;
    }
  }

  // The running thread cannot go on. The next one that can does, or, if there is none, `run`.
  Switch stop() {
    Fiber* const here = &fibers_[current_];
    unsigned warp = current_ / kWarpSize;
    const unsigned bit = 1u << current_ % kWarpSize;
    const unsigned ready = ready_[warp] &= ~bit;
#if defined(HIDET_STRICT)
    return pick();
#endif
    // As a rule the next lane is ready. As a branch, which is predicted, this costs nothing; as the
    // general search below, it would make each fiber wait for the arithmetic of the one before.
    if (__builtin_expect((ready & bit << 1) != 0, true)) {
      ++current_;
    } else {
      const unsigned warps = (barrier_.count + kWarpSize - 1) / kWarpSize;
      unsigned candidates = ready & -bit;  // the lanes above, then all other warps
      for (unsigned visited = 0; candidates == 0; ++visited) {
        if (visited == warps) return {&here->context, &outside_};
        if (++warp == warps) warp = 0;
        candidates = ready_[warp];
      }
      current_ = warp * kWarpSize + static_cast<unsigned>(__builtin_ctz(candidates));
    }
    Fiber* const next = &fibers_[current_];
    *index_ = next->index;
    // The stacks in use do not fit into the first cache. The one after the next is asked for now.
    prefetch_stack(next[1].context);
    return {&here->context, &next->context};
  }

#if defined(HIDET_STRICT)
  // A thread that can run, by chance: first a warp, then a lane of it.
  Switch pick() {
    Fiber* const here = &fibers_[current_];
    unsigned able = 0;  // the warps with a thread that can run; a cluster has up to 256
    for (unsigned first = 0; first < barrier_.count; first += kWarpSize) {
      able += ready_[first / kWarpSize] != 0;
    }
    if (able == 0) return {&here->context, &outside_};
    unsigned warp = 0;
    for (unsigned skipped = chance_.below(able); ready_[warp] == 0 || skipped-- > 0;) ++warp;
    current_ = warp * kWarpSize + chance_.bit_of(ready_[warp]);
    Fiber* const next = &fibers_[current_];
    *index_ = next->index;
    if (next == here) return {nullptr, nullptr};
    return {&here->context, &next->context};
  }
#endif

  // No thread can run, and not all have finished: say where they are.
  __attribute__((cold)) void report_deadlock() const {
    const MeetingPoint* point = &barrier_;
    for (unsigned number = 0; number < cluster_ && point->arrived == 0; ++number) {
      point = &blocks_[number];
    }
    for (unsigned i = 0; i < barrier_.count && point->arrived == 0; ++i) {
      point = &warps_[i / kWarpSize].point;
      if (point->arrived == 0) point = &groups_[i / kGroupSize].point;
    }
    if (point->arrived == 0) {
      report(kDivergence,
             "the block hangs: %u of its %u threads have finished, and others wait at %s in %s",
             barrier_.count - running_, barrier_.count, waits_for_, at(waits_in_line_).text);
      return;
    }
    report(kDivergence,
           "the block hangs: %u of its %u threads have finished, and %u wait at %s in %s for others "
           "of %u that do not come",
           barrier_.count - running_, barrier_.count, point->arrived, point->what,
           at(point->line).text, point->count);
  }

  char* stacks_;
  void (*thread_)(void** args);
  void** args_;
  Context outside_;                          // where `run` goes on
  unsigned current_;                         // the thread that runs
  uint3* index_;                             // where it finds its threadIdx
  unsigned running_;                         // threads that have not finished
  bool abandoned_;                           // left after an error
  unsigned ready_[kMaxFibers / kWarpSize];  // a bit for each thread that can run
  unsigned threads_, cluster_;               // of a block, and the blocks that run together
  uint3 first_block_;
  MeetingPoint barrier_;               // of all threads
  MeetingPoint blocks_[kMaxCluster];   // of those of each block
  Warp warps_[kMaxFibers / kWarpSize];
  WarpGroup groups_[kMaxFibers / kGroupSize];
  LaneWait lanes_[kMaxFibers];
  unsigned asks_in_line_[kMaxFibers];  // for the active lanes; 0 where it does not
  unsigned active_[kMaxFibers];        // what those that asked last were told
  const void* reasons_[kMaxFibers];  // what a thread waits for, outside of meeting points
  const char* waits_for_;             // the last function and line in which one began to wait
  unsigned waits_in_line_;
#if defined(HIDET_STRICT)
  Chance chance_;
#endif
  Fiber fibers_[kMaxFibers + 1];  // the last one is there to be prefetched
};

// The block that this thread of the operating system runs; null in a kernel without meetings. To
// look it up as a thread_local variable of a shared library would take longer than all the rest of a
// barrier.
register Block* block asm(HIDET_BLOCK_REGISTER);

// The function at the bottom of each fiber's stack.
static void run_fiber() { block->run_thread(); }

// Where the order of threads is that of chance, the running one lets another one run.
#if defined(HIDET_STRICT)
static inline void pass_on() { block->pass_on(); }
#else
HIDET_DEVICE void pass_on() {}
#endif

}  // namespace hidet::cpu
