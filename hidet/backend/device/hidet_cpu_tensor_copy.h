// CPU: barriers in shared memory, and TMA that arrives at them.
//
// As a rule a copy lands when it begins. With HIDET_LATE_COPIES a load lands when a thread waits for
// its barrier, and until then its target holds all bits set, NaN.
#pragma once

#include "hidet_cpu_wgmma.h"

namespace hidet {

// A tensor in global memory and the box that one copy takes out of it. A GPU has an encoding of its
// own (cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col); of the same size, this is what the host gives
// to kernels for the CPU.
struct TensorMap {
  char* base;
  long long strides[4];       // in bytes, from the second dimension on
  int rank;
  short element_bytes, tf32;  // whether loads round f32 to TF32
  int swizzle;                // in bytes, as in matrix_descriptor
  int extents[5], box[5];            // in elements, the fastest dimension first
  // Of a map of pixels, whose box is one of channels and pixels: the first pixel, the last one and the
  // distance of neighbours along each dimension of an image; all 0 in other maps.
  int first[3], last[3], step[3];
};
static_assert(sizeof(TensorMap) == 128, "as large as that of a GPU");

namespace cpu {

// A barrier in its 8 bytes: what a phase waits for, and how often phases have ended.
struct Mbarrier {
  std::uint16_t count, pending;  // arrivals of a phase, and those that are missing
  std::int32_t state;            // bytes that are missing times two, plus the parity of the phase
};

static inline Mbarrier load_barrier(const long long* bar) {
  return __builtin_bit_cast(Mbarrier, *bar);
}

// Let arrivals and bytes come to a barrier; at the end of its phase, wake those that wait.
static inline void come(long long* bar, int arrivals, int bytes) {
  Mbarrier b = load_barrier(bar);
  b.pending = std::uint16_t(b.pending - arrivals);
  b.state -= 2 * bytes;
#if defined(HIDET_STRICT)
  if (arrivals != 0) order.arrive(bar, block->thread());
#endif
  const bool is_over = b.pending == 0 && b.state >> 1 == 0;
  if (is_over) {
    b.pending = b.count;
    b.state ^= 1;
  }
  *bar = __builtin_bit_cast(long long, b);
#if defined(HIDET_STRICT)
  if (is_over) order.end_phase(bar);
#endif
  if (is_over && block != nullptr) block->wake(bar);
}

}  // namespace cpu

// ---- mbarrier -------------------------------------------------------------------------------------

static inline void mbarrier_init(BarrierPointer bar, int count, unsigned line = __builtin_LINE()) {
  cpu::saw_write(bar, sizeof(*bar), line);
  const cpu::Mbarrier b = {std::uint16_t(count), std::uint16_t(count), 0};
  *bar = __builtin_bit_cast(long long, b);
}

static inline void mbarrier_arrive(BarrierPointer bar, unsigned line = __builtin_LINE()) {
  cpu::saw_read(bar, sizeof(*bar), line);
  cpu::come(bar, 1, 0);
}

static inline void mbarrier_arrive_expect_tx(BarrierPointer bar, int bytes,
                                             unsigned line = __builtin_LINE()) {
  cpu::saw_read(bar, sizeof(*bar), line);
  cpu::come(bar, 1, -bytes);
}

// Of a barrier that is none any more all bits are set, so that who waits for it hangs, and is told.
static inline void mbarrier_invalidate(BarrierPointer bar, unsigned line = __builtin_LINE()) {
  cpu::saw_write(bar, sizeof(*bar), line);
  *bar = -1;
}

static inline void fence_mbarrier_init() {}
static inline void fence_proxy_async() {}
static inline void fence_proxy_async_global() {}

// ---- TMA ----------------------------------------------------------------------------------------

namespace cpu {

// Where a copy begins, and how far from each pixel of a map of pixels the copied ones are.
struct Place {
  int first[5], offset[3];
};

// Find the index of an element of the box along each dimension of the tensor.
static inline void find_element(const TensorMap& map, const Place& place, int number,
                                int (&index)[5]) {
  int rest = number;
  if (map.step[0] == 0) {
    for (int dim = 0; dim < map.rank; rest /= map.box[dim], ++dim) {
      index[dim] = place.first[dim] + rest % map.box[dim];
    }
    return;
  }
  index[0] = place.first[0] + rest % map.box[0];
  rest /= map.box[0];  // so many pixels along: in the row, the rest in further rows and images
  for (int dim = 0; dim < map.rank - 2; ++dim) {
    const int count = (map.last[dim] - map.first[dim]) / map.step[dim] + 1;
    rest += (place.first[dim + 1] - map.first[dim]) / map.step[dim];
    index[dim + 1] = map.first[dim] + rest % count * map.step[dim] + place.offset[dim];
    rest /= count;
  }
  index[map.rank - 1] = place.first[map.rank - 1] + rest;
}

// Go through a box that starts at a place: copy(where in shared memory, where in global memory or
// null outside of the tensor) for each element. Returns the bytes of the box.
template <typename Copy>
static int for_each_element(const TensorMap& map, const Place& place_of_box, std::uintptr_t shared,
                            Copy copy) {
  int count = 1;
  for (int dim = 0; dim < map.rank; ++dim) count *= map.box[dim];
  for (int number = 0; number < count; ++number) {
    int indices[5];
    find_element(map, place_of_box, number, indices);
    char* address = map.base;
    bool inside = true;
    for (int dim = 0; dim < map.rank; ++dim) {
      const int index = indices[dim];
      inside = inside && index >= 0 && index < map.extents[dim];
      address += index * (dim == 0 ? (long long)map.element_bytes : map.strides[dim - 1]);
    }
    const std::uintptr_t place = shared + std::uintptr_t(number) * std::uintptr_t(map.element_bytes);
    copy(reinterpret_cast<char*>(swizzled(place, map.swizzle)), inside ? address : nullptr);
  }
  return count * map.element_bytes;
}

}  // namespace cpu

namespace cpu {

// A load of a box.
struct BoxLoad {
  void* dst;
  long long* bar;
  TensorMap map;
  Place from;
  unsigned line;  // where it began

  // Set all bits of the target.
  void spoil() const {
    const auto bytes = std::size_t(map.element_bytes);
    for_each_element(map, from, reinterpret_cast<std::uintptr_t>(dst),
                     [=, this](char* shared, const char*) {
                       check_copy_begins(shared, bytes, line);
                       __builtin_memset(shared, 0xff, bytes);
                     });
  }

  void land() const {
    const auto bytes = std::size_t(map.element_bytes);
#if defined(HIDET_STRICT)
    const Stamp stamp = order.land(bar, line);
    for_each_element(map, from, reinterpret_cast<std::uintptr_t>(dst),
                     [=](char* shared, const char*) {
                       shared_shadow.land_copy(shared, bytes, stamp);
                     });
#endif
    const bool rounds = map.tf32 != 0;
    const int size = for_each_element(map, from, reinterpret_cast<std::uintptr_t>(dst),
                                      [=](char* shared, const char* global) {
                                        if (global != nullptr && rounds) {
                                          float value;
                                          __builtin_memcpy(&value, global, bytes);
                                          value = round_tf32(value);
                                          __builtin_memcpy(shared, &value, bytes);
                                        } else if (global != nullptr) {
                                          __builtin_memcpy(shared, global, bytes);
                                        } else {
                                          __builtin_memset(shared, 0, bytes);
                                        }
                                      });
    come(bar, 0, size);
  }
};

#if defined(HIDET_LATE_COPIES)

// The loads of the block that have not landed.
static thread_local std::vector<BoxLoad> box_loads;

static inline void begin_load(const BoxLoad& load) {
  load.spoil();
  box_loads.push_back(load);
  if (block != nullptr) block->wake(load.bar);  // who waits already lets it land
}

// Land the copies that a phase of a barrier waits for.
static inline void land_copies(long long* bar) {
  for (CopyQueue& queue : copy_queues) {
    const bool has_landed = queue.land_for(bar, [=](const AsyncCopy& copy) {
      copy.land();
#if defined(HIDET_STRICT)
      shared_shadow.land_copy(copy.dst, copy.bytes, order.land(bar, copy.line));
#endif
    });
    if (has_landed) come(bar, 0, 1);
  }
}

// Land the loads that arrive at a barrier.
static inline void land_loads(long long* bar) {
  land_copies(bar);
  for (std::size_t i = 0; i < box_loads.size();) {
    if (box_loads[i].bar != bar) {
      ++i;
      continue;
    }
    const BoxLoad load = box_loads[i];
    box_loads.erase(box_loads.begin() + std::ptrdiff_t(i));
    load.land();
  }
}

static inline void start_loads() { box_loads.clear(); }

#else

static inline void begin_load(const BoxLoad& load) { load.land(); }
static inline void land_loads(long long*) {}
static inline void start_loads() {}

#endif

}  // namespace cpu

// A tensor, and the line of the caller: a function that takes any number of coordinates has no other
// place for it.
struct MapArgument {
  const TensorMap& map;
  unsigned line;
  MapArgument(const TensorMap& map, unsigned line = __builtin_LINE()) : map(map), line(line) {}
};

template <typename T, typename... Coordinates>
static inline void tma_load(T* dst, BarrierPointer bar, MapArgument map, Coordinates... first) {
  cpu::saw_read(bar, sizeof(*bar), map.line);
  cpu::begin_load({dst, bar, map.map, {{int(first)...}, {}}, map.line});
}

template <typename T, typename... Coordinates>
static inline void tma_load_pixels(T* dst, BarrierPointer bar, MapArgument map,
                                   Coordinates... place) {
  cpu::saw_read(bar, sizeof(*bar), map.line);
  constexpr int count = int(sizeof...(place)), rank = count / 2 + 1;
  const int at[] = {int(place)...};
  cpu::Place from = {};
  for (int dim = 0; dim < rank; ++dim) from.first[dim] = at[dim];
  for (int dim = rank; dim < count; ++dim) from.offset[dim - rank] = at[dim];
  cpu::begin_load({dst, bar, map.map, from, map.line});
}

static inline void mbarrier_wait(BarrierPointer bar, int parity, unsigned line = __builtin_LINE()) {
  if (cpu::block == nullptr) {
    cpu::report(cpu::kNotCollective, "mbarrier_wait in %s needs HIDET_COLLECTIVE",
                cpu::at(line).text);
    return;
  }
  cpu::saw_read(bar, sizeof(*bar), line);
  cpu::land_loads(bar);
  while ((cpu::load_barrier(bar).state & 1) == parity) {
    cpu::block->wait(bar, "mbarrier_wait", line);
    cpu::land_loads(bar);  // those that have begun in the meantime
  }
#if defined(HIDET_STRICT)
  cpu::order.wait(bar, cpu::block->thread());
#endif
}

// Copies that the phase waits for are a byte that it misses: no arrival, of which it has its number.
static inline void cp_async_barrier_arrive(BarrierPointer bar, unsigned line = __builtin_LINE()) {
  cpu::saw_read(bar, sizeof(*bar), line);
#if defined(HIDET_LATE_COPIES)
  if (!cpu::copy_queue().expect_at(bar)) return;
  cpu::come(bar, 0, -1);
  if (cpu::block != nullptr) cpu::block->wake(bar);  // who waits already lets them land
#endif
}

template <typename T, typename... Coordinates>
static inline void tma_store(const T* src, MapArgument map, Coordinates... first) {
  const auto copy = [&](const char* shared, char* global) {
    if (global == nullptr) return;  // outside of the tensor: what is there goes nowhere
    cpu::check_copy_leaves(shared, sizeof(T), map.line);
    __builtin_memcpy(global, shared, sizeof(T));
  };
  const cpu::Place start = {{int(first)...}, {}};
  cpu::for_each_element(map.map, start, reinterpret_cast<std::uintptr_t>(src), copy);
}

static inline void tma_commit() { cpu::commit_stores(); }
template <int pending>
static inline void tma_wait() {
  cpu::wait_for_stores(pending);
}

}  // namespace hidet
