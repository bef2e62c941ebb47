// CPU: copies from global to shared memory that go on while the thread does something else.
//
// As a rule a copy lands when it begins. With HIDET_LATE_COPIES it lands as late as CUDA allows, in
// the wait for its group, and until then its target holds all bits set, NaN: a wait that is missing
// or comes too late shows, and so does a target that others still read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hidet_cpu_strict.h"

#if defined(HIDET_LATE_COPIES)
#include <algorithm>
#include <vector>
#endif

namespace hidet {

namespace cpu {

struct AsyncCopy {
  void* dst;
  const void* src;
  std::size_t bytes, valid;  // bytes from `valid` on become zero and are not read
  unsigned line;             // where it began

  void land() const {
    if (valid != 0) __builtin_memcpy(dst, src, valid);
    __builtin_memset(static_cast<char*>(dst) + valid, 0, bytes - valid);
  }
};

#if defined(HIDET_LATE_COPIES)

// The copies of one thread of a block that have not landed, oldest first.
class CopyQueue {
 public:
  void begin(const AsyncCopy& copy) {
    check_copy_begins(copy.dst, copy.bytes, copy.line);
    __builtin_memset(copy.dst, 0xff, copy.bytes);
    copies_.push_back(copy);
  }

  void commit() { groups_.push_back(copies_.size()); }

  // Land all groups but the `pending` latest ones.
  void wait(std::size_t pending) {
    if (groups_.size() <= pending) return;
    const std::size_t done = groups_.size() - pending, count = groups_[done - 1];
    for (std::size_t i = 0; i < count; ++i) {
      copies_[i].land();
      check_copy_lands(copies_[i].dst, copies_[i].bytes, copies_[i].line);
    }
    groups_.erase(groups_.begin(), groups_.begin() + std::ptrdiff_t(done));
    forget(count);
  }

  // Let a barrier wait for all copies until now; false where it does already, or there are none.
  bool expect_at(const void* barrier) {
    if (copies_.empty()) return false;
    const auto known = find(barrier);
    if (known == expected_.end()) {
      expected_.push_back({barrier, copies_.size()});
      return true;
    }
    known->count = copies_.size();
    return false;
  }

  // Land what a barrier waits for, land(copy) for each of them; false where it does not wait.
  template <typename Land>
  bool land_for(const void* barrier, Land land) {
    const auto found = find(barrier);
    if (found == expected_.end()) return false;
    const std::size_t count = found->count;
    expected_.erase(found);
    for (std::size_t i = 0; i < count; ++i) land(copies_[i]);
    forget(count);
    return true;
  }

  void clear() {
    copies_.clear();
    groups_.clear();
    expected_.clear();
  }

 private:
  struct Expected {
    const void* barrier;
    std::size_t count;  // of the copies until then
  };

  std::vector<Expected>::iterator find(const void* barrier) {
    return std::find_if(expected_.begin(), expected_.end(),
                        [=](const Expected& each) { return each.barrier == barrier; });
  }

  // The oldest copies have landed.
  void forget(std::size_t count) {
    copies_.erase(copies_.begin(), copies_.begin() + std::ptrdiff_t(count));
    for (std::size_t& end : groups_) end -= std::min(end, count);
    for (Expected& each : expected_) each.count -= std::min(each.count, count);
  }

  std::vector<AsyncCopy> copies_;
  std::vector<std::size_t> groups_;  // for each group, the number of copies up to its end
  std::vector<Expected> expected_;
};

static thread_local std::vector<CopyQueue> copy_queues;

// A block begins: what its predecessor did not wait for is of no concern.
static void start_copies() {
  copy_queues.resize(std::size_t(blockDim.x * blockDim.y * blockDim.z) * launch->cluster);
  for (CopyQueue& queue : copy_queues) queue.clear();
}

static inline CopyQueue& copy_queue() {
  const int rank = block == nullptr ? 0 : int(block->rank());
  const int number =
      ((rank * blockDim.z + threadIdx.z) * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  return copy_queues[std::size_t(number)];
}

static inline void begin_copy(const AsyncCopy& copy) { copy_queue().begin(copy); }
static inline void commit_copies() { copy_queue().commit(); }
static inline void wait_for_copies(std::size_t pending) { copy_queue().wait(pending); }

#else

HIDET_DEVICE void start_copies() {}
HIDET_DEVICE void begin_copy(const AsyncCopy& copy) { copy.land(); }
HIDET_DEVICE void commit_copies() {}
HIDET_DEVICE void wait_for_copies(std::size_t) {}

#endif

// Begin a copy of `bytes`, of which the first `valid` are read.
template <std::size_t bytes>
HIDET_DEVICE void cp_async(void* dst, const void* src, std::size_t valid, unsigned line) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async copies 4, 8 or 16 bytes");
#if defined(HIDET_CHECK)
  const auto to = reinterpret_cast<std::uintptr_t>(dst);
  const auto from = reinterpret_cast<std::uintptr_t>(src);
  if (to % bytes != 0 || from % bytes != 0) {
    report(kMisaligned, "cp.async of %zu bytes from %p to %p is not aligned", bytes, src, dst);
    return;
  }
  if (valid > bytes) {
    report(kMisaligned, "cp.async of %zu bytes cannot read %td", bytes, std::ptrdiff_t(valid));
    return;
  }
#endif
  begin_copy({dst, src, bytes, valid, line});
}

}  // namespace cpu

// Begin to copy N elements; both addresses are multiples of their size.
template <int N, typename T>
HIDET_DEVICE void cp_async_ca(T* dst, const T* src, CallSite site = CallSite(__builtin_LINE())) {
  cpu::cp_async<N * sizeof(T)>(dst, src, N * sizeof(T), site.line);
}

// As above; the elements from `valid` on are not read, and become zero.
template <int N, typename T>
HIDET_DEVICE void cp_async_ca(T* dst, const T* src, int valid,
                              CallSite site = CallSite(__builtin_LINE())) {
  cpu::cp_async<N * sizeof(T)>(dst, src, std::size_t(valid) * sizeof(T), site.line);
}

// For 16 bytes; where they are cached is a matter of GPUs.
template <int N, typename T>
HIDET_DEVICE void cp_async_cg(T* dst, const T* src, CallSite site = CallSite(__builtin_LINE())) {
  static_assert(N * sizeof(T) == 16, "cp.async.cg copies 16 bytes");
  cp_async_ca<N>(dst, src, site);
}

template <int N, typename T>
HIDET_DEVICE void cp_async_cg(T* dst, const T* src, int valid,
                              CallSite site = CallSite(__builtin_LINE())) {
  static_assert(N * sizeof(T) == 16, "cp.async.cg copies 16 bytes");
  cp_async_ca<N>(dst, src, valid, site);
}

// Make a group of all copies of this thread since its last group.
HIDET_DEVICE void cp_async_commit() { cpu::commit_copies(); }

// Wait until no more than the `pending` latest groups of this thread are under way.
template <int pending>
HIDET_DEVICE void cp_async_wait() {
  cpu::wait_for_copies(std::size_t(pending));
}

}  // namespace hidet
