// CPU: in the strict mode, what is known of the arrays of threads, and what works on memory while the
// threads go on: products of warp groups, and copies from shared memory.
//
// Arrays of a thread lie on its stack. Of each byte of the stacks another one says whether it was
// written; what kernels do not declare (track_local) counts as written.
#pragma once

#include "hidet_cpu_shadow.h"

#if defined(HIDET_STRICT)

#include <sys/mman.h>

namespace hidet::cpu {

// The arrays of the threads of a block, on their stacks.
class LocalShadow {
 public:
  enum State : unsigned char {
    kKnown,      // written, or no part of a tracked array
    kUnwritten,
    kComing,     // the result of a product that is under way
  };

  void start(unsigned threads) { bytes_ = threads * kStackBytes; }

  void track(const TrackedArray& array, unsigned thread) {
    State* const first = states_at(array.start);
    if (first == nullptr) return;
    __builtin_memset(first, kUnwritten, array.bytes);
    std::vector<TrackedArray>& arrays = arrays_[thread];
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (arrays[i].start != array.start) continue;
      std::swap(arrays[i], arrays.back());
      arrays.back() = array;
      return;
    }
    arrays.push_back(array);
  }

  // Whether it is memory of a thread; then check that it was written. A product may read the results
  // of those before it, which are still `allowed`.
  bool read(const void* p, std::size_t bytes, unsigned thread, unsigned line,
            State allowed = kKnown) {
    const State* const first = states_at(p);
    if (first == nullptr) return false;
    for (std::size_t i = 0; i < bytes; ++i) {
      if (first[i] == kKnown || first[i] == allowed) continue;
      const uint3 index = block->index_of(thread);
      report(first[i] == kComing ? kUnderWay : kUninitialized,
             "thread (%d, %d, %d) reads %s in %s, which %s", index.x, index.y, index.z,
             name_of(static_cast<const char*>(p) + i, thread).text, at(line).text,
             first[i] == kComing ? "a product that is under way writes: a wait is missing"
                                 : "nothing has written");
      block->abandon();
    }
    return true;
  }

  bool set(const void* p, std::size_t bytes, State state) {
    State* const first = states_at(p);
    if (first != nullptr) __builtin_memset(first, state, bytes);
    return first != nullptr;
  }

 private:
  static constexpr std::size_t kBytes = kMaxFibers * kStackBytes;

  State* states_at(const void* p) {
    const auto offset = std::uintptr_t(p) - std::uintptr_t(block->stacks());
    if (offset >= bytes_) return nullptr;
    if (states_ == nullptr) {
      // Pages of zeros, which take no memory until they are written.
      void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) {
        report(kOutOfMemory, "no memory for what is known of the arrays of threads");
        block->abandon();
      }
      states_ = static_cast<State*>(memory);
    }
    return states_ + offset;
  }

  PlaceText name_of(const void* p, unsigned thread) const {
    const std::vector<TrackedArray>& arrays = arrays_[thread];
    for (std::size_t i = arrays.size(); i > 0; --i) {
      if (arrays[i - 1].holds(p)) return arrays[i - 1].name_of(p);
    }
    return {"memory of its own"};
  }

  std::size_t bytes_ = 0;  // of the stacks of the threads that there are
  State* states_ = nullptr;
  std::vector<TrackedArray> arrays_[kMaxFibers];
};

static thread_local SharedShadow shared_shadow;
static thread_local LocalShadow local_shadow;

// `thread` accesses memory: its own, or that of the block.
static inline void note_read(const void* p, std::size_t bytes, unsigned thread, unsigned line,
                             How how = How::plain) {
  if (!local_shadow.read(p, bytes, thread, line)) shared_shadow.read(p, bytes, thread, line, how);
}

static inline void note_write(const void* p, std::size_t bytes, unsigned thread, unsigned line,
                              How how = How::plain) {
  if (local_shadow.set(p, bytes, LocalShadow::kKnown)) return;
  shared_shadow.write(p, bytes, thread, line, how);
}

// Products, or copies from shared memory, that one thread has begun and not waited for, oldest first.
class WorkQueue {
 public:
  void begin_copy(const void* p, std::size_t bytes, unsigned thread, unsigned line) {
    shared_shadow.begin_leaving(p, bytes, thread, line);
    pieces_.push_back({Kind::copy, p, bytes, line, 0});
  }

  // A product, by its number, with the result of this thread.
  void begin_product(std::uint32_t number, const void* result, std::size_t bytes, unsigned thread,
                     unsigned line, bool accumulate) {
    if (accumulate) local_shadow.read(result, bytes, thread, line, LocalShadow::kComing);
    local_shadow.set(result, bytes, LocalShadow::kComing);
    pieces_.push_back({Kind::product, result, bytes, line, number});
  }

  void commit() { groups_.push_back(pieces_.size()); }

  // All groups are done but the `pending` latest ones.
  void wait(std::size_t pending, unsigned thread) {
    if (groups_.size() <= pending) return;
    const std::size_t done = groups_.size() - pending, count = groups_[done - 1];
    for (std::size_t i = 0; i < count; ++i) {
      const Piece& piece = pieces_[i];
      if (piece.kind == Kind::product) {
        local_shadow.set(piece.p, piece.bytes, LocalShadow::kKnown);
        shared_shadow.end_product(piece.product, thread);
      } else {
        shared_shadow.end_leaving(piece.p, piece.bytes, thread, piece.line);
      }
    }
    pieces_.erase(pieces_.begin(), pieces_.begin() + std::ptrdiff_t(count));
    groups_.erase(groups_.begin(), groups_.begin() + std::ptrdiff_t(done));
    for (std::size_t& end : groups_) end -= count;
    // What later products still write is not known yet.
    for (const Piece& piece : pieces_) {
      if (piece.kind == Kind::product) {
        local_shadow.set(piece.p, piece.bytes, LocalShadow::kComing);
      }
    }
  }

  void clear() {
    pieces_.clear();
    groups_.clear();
  }

 private:
  enum class Kind { copy, product };

  struct Piece {
    Kind kind;
    const void* p;  // what a copy reads, or a product writes
    std::size_t bytes;
    unsigned line;
    std::uint32_t product;
  };

  std::vector<Piece> pieces_;
  std::vector<std::size_t> groups_;  // for each group, the number of pieces up to its end
};

struct WorkQueues {
  WorkQueue products, stores;
};

static thread_local std::vector<WorkQueues> work_queues;  // of each thread

static inline void start_shadows() {
  const dim3 shape = launch->block;
  const unsigned threads = unsigned(shape.x * shape.y * shape.z) * launch->cluster;
  order.start(threads);
  shared_shadow.start();
  local_shadow.start(threads);
  work_queues.resize(threads);
  for (WorkQueues& queues : work_queues) {
    queues.products.clear();
    queues.stores.clear();
  }
}

static inline void end_shadows() { shared_shadow.settle(); }

}  // namespace hidet::cpu

#endif
