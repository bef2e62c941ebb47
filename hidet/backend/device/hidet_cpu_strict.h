// CPU: what kernels that `instrument-memory` has instrumented say about their accesses.
//
// With HIDET_STRICT each access of a kernel is checked: that it is within its tensor, that what it
// reads was written, that an asynchronous copy or product has been waited for, and that accesses of
// different threads are ordered (hidet_cpu_order.h). The bodies of instructions say what they access
// by the functions of cpu:: below, which do nothing otherwise.
#pragma once

#include "hidet_cpu_work.h"

namespace hidet {

// The line of the kernel's source that calls a function; no number converts to it.
struct CallSite {
  unsigned line;
  explicit constexpr CallSite(unsigned line) : line(line) {}
};

}  // namespace hidet

#if defined(HIDET_STRICT)

namespace hidet {

namespace cpu {

static inline void saw_read(const void* p, std::size_t bytes, unsigned line) {
  note_read(p, bytes, block->thread(), line);
}
static inline void saw_write(const void* p, std::size_t bytes, unsigned line) {
  note_write(p, bytes, block->thread(), line);
}
static inline void saw_view(const void* p, std::size_t bytes) { shared_shadow.see_as(p, bytes); }
static inline void saw_shared_read(const void* p, std::size_t bytes, const char* what,
                                     unsigned line) {
  if (!shared_shadow.is_tracked_if_any(p)) {
    report(kOutOfBounds, "thread (%d, %d, %d): %s in %s reads outside of all shared tensors",
           threadIdx.x, threadIdx.y, threadIdx.z, what, at(line).text);
    block->abandon();
  }
  shared_shadow.read(p, bytes, block->thread(), line, How::plain);
}
static inline void saw_atomic(const void* p, std::size_t bytes, unsigned line) {
  note_read(p, bytes, block->thread(), line, How::atomic);
  note_write(p, bytes, block->thread(), line, How::atomic);
}

// A copy of the running thread to shared memory begins, and lands.
static inline void check_copy_begins(const void* p, std::size_t bytes, unsigned line) {
  shared_shadow.begin_copy(p, bytes, block->thread(), line);
}
static inline void check_copy_lands(const void* p, std::size_t bytes, unsigned line) {
  shared_shadow.land_copy(p, bytes, order.stamp(block->thread(), line));
}


// A copy of the running thread from shared memory begins.
static inline void check_copy_leaves(const void* p, std::size_t bytes, unsigned line) {
  work_queues[block->thread()].stores.begin_copy(p, bytes, block->thread(), line);
}
static inline void commit_stores() { work_queues[block->thread()].stores.commit(); }
static inline void wait_for_stores(int pending) {
  work_queues[block->thread()].stores.wait(std::size_t(pending), block->thread());
}
static inline void commit_products() { work_queues[block->thread()].products.commit(); }
static inline void wait_for_products(int pending) {
  work_queues[block->thread()].products.wait(std::size_t(pending), block->thread());
}

}  // namespace cpu

// An index, and how many values it may have.
struct IndexOf {
  long long index, extent;
};

// ---- what is there --------------------------------------------------------------------------------

// An array in shared memory, or of a thread: from now on, nothing of it has been written.
template <typename T>
static inline void track_shared(T* start, const char* name, std::initializer_list<int> extents) {
  cpu::shared_shadow.track(cpu::tracked(start, sizeof(T), name, extents));
}

template <typename T>
static inline void track_local(T* start, const char* name, std::initializer_list<int> extents) {
  cpu::local_shadow.track(cpu::tracked(start, sizeof(T), name, extents), cpu::block->thread());
}

// The number of elements from a pointer to the end of the tensor that it points into; very many if that
// is not known.
template <typename T>
static inline long long extent_of(const T* p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  for (unsigned i = 0; i < cpu::launch->memory_count; ++i) {
    const cpu::Memory& memory = cpu::launch->memory[i];
    const auto start = reinterpret_cast<std::uintptr_t>(memory.start);
    if (address < start || address >= start + memory.bytes) continue;
    return static_cast<long long>((start + memory.bytes - address) / sizeof(T));
  }
  const std::size_t bytes = cpu::shared_shadow.bytes_from(p);
  return bytes == 0 ? 1ll << 62 : static_cast<long long>(bytes / sizeof(T));
}

// ---- accesses -------------------------------------------------------------------------------------

// An access to `count` elements of `name`, neighbours along the last dimension.
static inline void check_bounds(const char* name, std::initializer_list<IndexOf> indices,
                                long long count = 1, unsigned line = __builtin_LINE()) {
  if (count <= 0) return;
  int dim = 0;
  for (const IndexOf& i : indices) {
    const bool is_last = ++dim == int(indices.size());
    const long long last = is_last ? i.index + count - 1 : i.index;
    if (i.index >= 0 && last < i.extent) [[likely]] continue;
    char place[200];
    int length = std::snprintf(place, sizeof(place), "%.60s[", name);
    for (const IndexOf& each : indices) {
      if (length < int(sizeof(place)) - 24) {
        length += std::snprintf(place + length, sizeof(place) - std::size_t(length), "%s%lld",
                                &each == indices.begin() ? "" : ", ", each.index);
      }
    }
    cpu::report(cpu::kOutOfBounds,
                "thread (%d, %d, %d) accesses %s] in %s: index %lld of dimension %d is outside of "
                "its extent %lld",
                threadIdx.x, threadIdx.y, threadIdx.z, place, cpu::at(line).text,
                i.index < 0 ? i.index : last, dim - 1, i.extent);
    cpu::block->abandon();
  }
}

template <typename T>
static inline void check_read(const T* p, int count = 1, unsigned line = __builtin_LINE()) {
  cpu::saw_read(p, sizeof(T) * std::size_t(count), line);
}

template <typename T>
static inline void check_write(const T* p, int count = 1, unsigned line = __builtin_LINE()) {
  cpu::saw_write(p, sizeof(T) * std::size_t(count), line);
}

template <typename T>
static inline void check_atomic(const T* p, int count = 1, unsigned line = __builtin_LINE()) {
  cpu::saw_atomic(p, sizeof(T) * std::size_t(count), line);
}

// An element of a register tile is accessed by a thread that holds it.
static inline void check_owner(const char* name, bool is_owner, unsigned line = __builtin_LINE()) {
  if (is_owner) [[likely]] return;
  cpu::report(cpu::kWrongOwner,
              "thread (%d, %d, %d) accesses in %s an element of %s that the layout gives to another "
              "thread",
              threadIdx.x, threadIdx.y, threadIdx.z, cpu::at(line).text, name);
  cpu::block->abandon();
}

}  // namespace hidet

#else

namespace hidet::cpu {

HIDET_DEVICE void start_shadows() {}
HIDET_DEVICE void end_shadows() {}
HIDET_DEVICE void saw_read(const void*, std::size_t, unsigned) {}
HIDET_DEVICE void saw_write(const void*, std::size_t, unsigned) {}
HIDET_DEVICE void saw_view(const void*, std::size_t) {}
HIDET_DEVICE void saw_shared_read(const void*, std::size_t, const char*, unsigned) {}
HIDET_DEVICE void check_copy_begins(const void*, std::size_t, unsigned) {}
HIDET_DEVICE void check_copy_lands(const void*, std::size_t, unsigned) {}
HIDET_DEVICE void check_copy_leaves(const void*, std::size_t, unsigned) {}
HIDET_DEVICE void commit_stores() {}
HIDET_DEVICE void wait_for_stores(int) {}
HIDET_DEVICE void commit_products() {}
HIDET_DEVICE void wait_for_products(int) {}

}  // namespace hidet::cpu

#endif
