// CPU: in the strict mode, the order of threads is chance, and it is known which of their accesses
// come before which.
//
// Accesses of two threads are ordered if a chain of meetings leads from the one to the other: barriers
// of the block or of a warp, arrivals at an mbarrier and waits for it. All else is chance, so two
// accesses that are not ordered, one of which writes, are a race, whichever came first this time.
//
// A barrier of the block orders everything; how many there have been is the epoch. Within an epoch
// each warp has a clock, which ticks when one of its lanes lets others know what it has done, and each
// thread knows up to which time it knows of every other one (a vector clock).
#pragma once

#include <cstdint>

namespace hidet::cpu {

constexpr unsigned kMaxThreads = 1024;  // of a block, as on CUDA
constexpr unsigned kWarpSize = 32;
constexpr unsigned kGroupSize = 4 * kWarpSize;  // of a warp group
constexpr unsigned kMaxFibers = 8 * kMaxThreads;  // of the blocks of a cluster
constexpr unsigned kMaxCluster = 16;  // blocks (CUDA C++ Programming Guide, compute capabilities)

}  // namespace hidet::cpu

#if defined(HIDET_STRICT)

#include <algorithm>
#include <vector>

namespace hidet::cpu {

// Random numbers that depend on a seed and a block: splitmix64 (Steele, Lea and Flood, "Fast
// splittable pseudorandom number generators").
class Chance {
 public:
  void start(unsigned long long seed, uint3 index, dim3 grid) {
    const auto number =
        (std::uint64_t(index.z) * std::uint64_t(grid.y) + std::uint64_t(index.y)) *
            std::uint64_t(grid.x) + std::uint64_t(index.x);
    state_ = seed * 0xd1342543de82ef95ull + number;
    next();
  }

  // A number below `count`, which is not 0.
  unsigned below(unsigned count) { return unsigned(next() % count); }

  // One of the bits that are set in `bits`, of which there is one at least.
  unsigned bit_of(unsigned bits) {
    for (unsigned skipped = below(unsigned(__builtin_popcount(bits))); skipped > 0; --skipped) {
      bits &= bits - 1;
    }
    return unsigned(__builtin_ctz(bits));
  }

 private:
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
  }

  std::uint64_t state_;
};

constexpr unsigned kMaxBarriers = 256;  // mbarriers of a block whose order is known

// Who did something when. From kMaxFibers on, "who" is the copier that brings what an mbarrier waits
// for, one for each mbarrier.
struct Stamp {
  std::uint32_t epoch;  // 0: never
  std::uint32_t clock;
  std::uint32_t line;
  std::uint16_t who;
};

// What the threads of a block know of each other.
class Order {
 public:
  void start(unsigned threads) {
    threads_ = threads;
    epoch_ = 1;
    has_rows_ = false;
    barriers_.clear();
    for (WarpClock& warp : warps_) warp = {1, 1};
  }

  std::uint32_t epoch() const { return epoch_; }
  std::uint32_t clock(unsigned thread) const { return warps_[thread / kWarpSize].now; }

  Stamp stamp(unsigned thread, unsigned line) const {
    return {epoch_, clock(thread), line, std::uint16_t(thread)};
  }

  // Whether what a thread, or copier, did at a time of its clock comes before what `thread` does now.
  bool comes_before(unsigned who, std::uint32_t clock, unsigned thread) const {
    if (who == thread) return true;
    if (who < kMaxFibers && who / kWarpSize == thread / kWarpSize &&
        clock < warps_[thread / kWarpSize].met) {
      return true;
    }
    return has_rows_ && clock < row(thread)[column(who)];
  }

  bool comes_before(const Stamp& stamp, unsigned thread) const {
    return stamp.epoch < epoch_ || comes_before(stamp.who, stamp.clock, thread);
  }

  // Threads have met at a barrier: all of the block, a warp, or whole warps.
  void meet(unsigned first, unsigned count) {
    if (count == threads_) {
      ++epoch_;
      return;
    }
    const bool is_warp = first / kWarpSize == (first + count - 1) / kWarpSize;
    if (!is_warp) need_rows();
    for (unsigned warp = first / kWarpSize; warp <= (first + count - 1) / kWarpSize; ++warp) {
      warps_[warp].met = ++warps_[warp].now;
    }
    if (!has_rows_) return;
    std::vector<std::uint32_t> all(columns());
    for (unsigned thread = first; thread < first + count; ++thread) join(all.data(), row(thread));
    for (unsigned thread = first; thread < first + count; ++thread) all[thread] = clock(thread);
    for (unsigned thread = first; thread < first + count; ++thread) join(row(thread), all.data());
  }

  // A thread lets those that wait for an mbarrier know what it has done.
  void arrive(const void* barrier, unsigned thread) {
    need_rows();
    std::vector<std::uint32_t>& coming = barriers_[number_of(barrier)].coming;
    row(thread)[thread] = ++warps_[thread / kWarpSize].now;
    join(coming.data(), row(thread));
  }

  // A copy has brought what the mbarrier waits for; its writes have this stamp.
  Stamp land(const void* barrier, unsigned line) {
    need_rows();
    const unsigned number = number_of(barrier);
    Barrier& found = barriers_[number];
    const std::uint32_t time = found.landed++;
    found.coming[threads_ + number] = found.landed;
    return {epoch_, time, line, std::uint16_t(kMaxFibers + number)};
  }

  // The phase of an mbarrier is over: who waits for it knows of all who have come.
  void end_phase(const void* barrier) {
    need_rows();
    Barrier& found = barriers_[number_of(barrier)];
    join(found.over.data(), found.coming.data());
  }

  // A thread has waited for an mbarrier.
  void wait(const void* barrier, unsigned thread) {
    need_rows();
    join(row(thread), barriers_[number_of(barrier)].over.data());
  }

 private:
  struct WarpClock {
    std::uint32_t now;
    std::uint32_t met;  // when the lanes met last
  };

  struct Barrier {
    const void* address;
    std::uint32_t landed;
    std::vector<std::uint32_t> coming, over;
  };

  unsigned columns() const { return threads_ + kMaxBarriers; }
  unsigned column(unsigned who) const {
    return who < kMaxFibers ? who : threads_ + who - kMaxFibers;
  }
  std::uint32_t* row(unsigned thread) { return rows_.data() + std::size_t(thread) * columns(); }
  const std::uint32_t* row(unsigned thread) const {
    return rows_.data() + std::size_t(thread) * columns();
  }

  void join(std::uint32_t* into, const std::uint32_t* from) const {
    for (unsigned i = 0; i < columns(); ++i) into[i] = std::max(into[i], from[i]);
  }

  // Only kernels with more than barriers of blocks and warps pay for vector clocks.
  void need_rows() {
    if (has_rows_) return;
    has_rows_ = true;
    rows_.assign(std::size_t(threads_) * columns(), 0);
    for (unsigned thread = 0; thread < threads_; ++thread) {
      const unsigned first = thread / kWarpSize * kWarpSize;
      for (unsigned lane = first; lane < std::min(first + kWarpSize, threads_); ++lane) {
        row(thread)[lane] = warps_[thread / kWarpSize].met;
      }
    }
  }

  unsigned number_of(const void* address) {
    for (unsigned i = 0; i < barriers_.size(); ++i) {
      if (barriers_[i].address == address) return i;
    }
    if (barriers_.size() == kMaxBarriers) return kMaxBarriers - 1;
    const std::vector<std::uint32_t> none(columns());
    barriers_.push_back({address, 0, none, none});
    return unsigned(barriers_.size() - 1);
  }

  unsigned threads_ = 0;
  std::uint32_t epoch_ = 1;
  WarpClock warps_[kMaxFibers / kWarpSize] = {};
  bool has_rows_ = false;
  std::vector<std::uint32_t> rows_;
  std::vector<Barrier> barriers_;
};

// That of the block which this thread of the operating system runs.
static thread_local Order order;

}  // namespace hidet::cpu

#endif
