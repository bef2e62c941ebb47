// CPU: in the strict mode, what is known of each element of shared memory.
//
// An element has a cell: who wrote it last, who has read it since, and whether a copy or product still
// works on it. Only arrays that kernels declare (track_shared) are known. An access that is wrong ends
// the block.
#pragma once

#include "hidet_fiber.h"

#if defined(HIDET_STRICT)

#include <initializer_list>

namespace hidet::cpu {

constexpr int kMaxRank = 6;

// An array of a kernel that is known by name.
struct TrackedArray {
  const char* name;
  const char* start;
  std::size_t bytes, element_bytes;
  int rank;
  int extents[kMaxRank];

  bool holds(const void* p) const {
    const auto* byte = static_cast<const char*>(p);
    return byte >= start && byte < start + bytes;
  }

  // An element as "sa[3, 5]".
  PlaceText name_of(const void* p) const {
    std::size_t rest = std::size_t(static_cast<const char*>(p) - start) / element_bytes;
    std::size_t indices[kMaxRank];
    for (int dim = rank - 1; dim >= 0; --dim) {
      indices[dim] = rest % std::size_t(extents[dim]);
      rest /= std::size_t(extents[dim]);
    }
    PlaceText text;
    int length = std::snprintf(text.text, sizeof(text.text), "%.60s", name);
    for (int dim = 0; dim < rank; ++dim) {
      length += std::snprintf(text.text + length, sizeof(text.text) - std::size_t(length), "%s%zu",
                              dim == 0 ? "[" : ", ", indices[dim]);
    }
    if (rank > 0) std::snprintf(text.text + length, sizeof(text.text) - std::size_t(length), "]");
    return text;
  }
};

static inline TrackedArray tracked(const void* start, std::size_t element_bytes, const char* name,
                                   std::initializer_list<int> extents) {
  TrackedArray array = {name, static_cast<const char*>(start), element_bytes, element_bytes, 0, {}};
  for (const int extent : extents) {
    array.extents[array.rank++] = extent;
    array.bytes *= std::size_t(extent);
  }
  return array;
}

// Lanes of a warp that have read an element at a time of their clock.
struct Readers {
  std::uint32_t clock, lanes, line;
  std::uint16_t warp;
  std::int32_t next;
};

// A product of a warp group, which reads shared memory until the waits for it. That one thread of the
// group has waited is enough: it was all of the group that multiplied.
struct Product {
  unsigned first, line;       // the first thread of the group, and where the product began
  std::vector<Stamp> waited;  // of each thread; its epoch is 0 before
};

// That a product reads an element.
struct ProductRead {
  std::uint32_t product;
  std::int32_t next;
};

// What is known of an element of shared memory.
struct Cell {
  Stamp write;                // the last one
  bool is_atomic;             // it was an atomic operation
  bool is_coming;             // a copy to it is under way
  std::uint16_t leaving;      // copies that still read it
  std::uint32_t leaving_line; // where the last of them began
  std::int32_t products;      // those that have read it since, by 1 more; 0: none
  std::uint32_t read_epoch;   // that of `readers`; those of earlier ones are of no concern
  Readers readers;
};

struct SharedArray : TrackedArray {
  std::vector<Cell> cells;
  std::size_t cell_bytes;  // of the smallest elements that it is seen as

  // Elements of so many bytes of it are accessed.
  void see_as(std::size_t bytes) {
    if (bytes >= cell_bytes) return;
    std::vector<Cell> smaller;
    for (const Cell& cell : cells) smaller.insert(smaller.end(), cell_bytes / bytes, cell);
    cells.swap(smaller);
    cell_bytes = bytes;
  }
};

enum class How { plain, atomic, copy };

// A store to what another thread has stored to, in no order. It is no race if it changes nothing, which
// is known when it is done: at the next access of any thread.
struct Rewrite {
  const SharedArray* array;
  const char* element;
  std::size_t bytes;
  unsigned thread, line;
  Stamp other;
  char before[16];
};

// The shared memory of a block.
class SharedShadow {
 public:
  void start() {
    arrays_in_use_ = 0;
    placed_ = SharedArray();
    parts_.clear();
    readers_.clear();
    readers_epoch_ = 0;
    products_.clear();
    product_reads_.clear();
    rewrites_.clear();
  }

  // Whether the stores so far that were to be no races are none; else that has been reported.
  bool settle() {
    for (const Rewrite& each : rewrites_) {
      if (__builtin_memcmp(each.element, each.before, each.bytes) == 0) continue;
      report_race(*each.array, each.element, each.thread, "writes", each.line, each.other.who, "wrote",
                  each.other.line);
      return false;
    }
    rewrites_.clear();
    return true;
  }

  // Each thread comes by; the first one makes all elements unwritten.
  void track(const TrackedArray& array) {
    if (!rewrites_.empty() && !settle()) block->abandon();
    if (array.start >= dynamic_shared && array.start < dynamic_shared + placed_bytes()) {
      track_part(array);
      return;
    }
    for (std::size_t i = 0; i < arrays_in_use_; ++i) {
      if (arrays_[i].start == array.start) return;
    }
    if (arrays_.size() == arrays_in_use_) arrays_.emplace_back();
    SharedArray& added = arrays_[arrays_in_use_++];
    static_cast<TrackedArray&>(added) = array;
    added.cells.assign(array.bytes / array.element_bytes, Cell());
    added.cell_bytes = array.element_bytes;
  }

  // Whether a kernel has declared this memory, or declares none at all.
  bool is_tracked_if_any(const void* p) {
    return (arrays_in_use_ == 0 && parts_.empty()) || find(p) != nullptr;
  }

  // Memory is seen as elements of so many bytes.
  void see_as(const void* p, std::size_t bytes) {
    if (!rewrites_.empty() && !settle()) block->abandon();
    if (SharedArray* const array = find(p)) array->see_as(bytes);
  }

  // The bytes from an address to the end of its array; 0 where it is in none.
  std::size_t bytes_from(const void* p) {
    const SharedArray* const array = find(p);
    return array == nullptr ? 0 : std::size_t(array->start + array->bytes - static_cast<const char*>(p));
  }

  // Visit the cells of so many bytes: visit(array, cell, the address of the element).
  template <typename Visit>
  void for_each(const void* p, std::size_t bytes, const char* what, unsigned line, Visit visit) {
    if (!rewrites_.empty() && !settle()) block->abandon();
    SharedArray* const array = find(p);
    if (array == nullptr) return;
    const auto* start = static_cast<const char*>(p);
    if (start + bytes > array->start + array->bytes) {
      report(kOutOfBounds, "thread (%d, %d, %d) %s %zu bytes from %s on in %s, beyond its end",
             threadIdx.x, threadIdx.y, threadIdx.z, what, bytes, name_of(*array, p).text,
             at(line).text);
      block->abandon();
    }
    const std::size_t first = std::size_t(start - array->start) / array->cell_bytes;
    const std::size_t last = std::size_t(start + bytes - 1 - array->start) / array->cell_bytes;
    for (std::size_t i = first; i <= last; ++i) {
      visit(*array, array->cells[i], array->start + i * array->cell_bytes);
    }
  }

  // `thread` reads: the running one, or another of its group.
  void read(const void* p, std::size_t bytes, unsigned thread, unsigned line, How how) {
    for_each(p, bytes, "reads", line, [&](const SharedArray& array, Cell& cell, const void* e) {
      check_written(array, cell, e, thread, line, how);
      add_reader(cell, thread, line);
    });
  }

  void write(const void* p, std::size_t bytes, unsigned thread, unsigned line, How how) {
    for_each(p, bytes, "writes", line, [&](const SharedArray& array, Cell& cell, const void* e) {
      check_coming(array, cell, e, thread, "writes", line);
      if (cell.leaving != 0) {
        wrong(kUnderWay, array, e, thread, "writes", line, "which the copy that began in ",
              at(cell.leaving_line).text, " may still be reading: a wait is missing");
      }
      check_products(array, cell, e, thread, line);
      const bool is_apart = how != How::atomic || !cell.is_atomic;
      if (is_apart && cell.write.epoch != 0 && !order.comes_before(cell.write, thread)) {
        rewrite(array, cell, e, thread, line, how);
      }
      check_readers(array, cell, e, thread, line);
      cell.write = order.stamp(thread, line);
      cell.is_atomic = how == How::atomic;
      cell.read_epoch = 0;
      cell.products = 0;
    });
  }

  // A copy to it begins, and lands with a stamp.
  void begin_copy(const void* p, std::size_t bytes, unsigned thread, unsigned line) {
    write(p, bytes, thread, line, How::copy);
    for_each(p, bytes, "copies", line,
             [](const SharedArray&, Cell& cell, const void*) { cell.is_coming = true; });
  }

  void land_copy(const void* p, std::size_t bytes, const Stamp& stamp) {
    for_each(p, bytes, "copies", stamp.line, [&](const SharedArray&, Cell& cell, const void*) {
      cell.is_coming = false;
      cell.write = stamp;
    });
  }

  // A copy begins to read it, and has done so.
  void begin_leaving(const void* p, std::size_t bytes, unsigned thread, unsigned line) {
    read(p, bytes, thread, line, How::plain);
    for_each(p, bytes, "reads", line, [=](const SharedArray&, Cell& cell, const void*) {
      ++cell.leaving;
      cell.leaving_line = line;
    });
  }

  void end_leaving(const void* p, std::size_t bytes, unsigned thread, unsigned line) {
    for_each(p, bytes, "reads", line, [=, this](const SharedArray&, Cell& cell, const void*) {
      --cell.leaving;
      add_reader(cell, thread, line);
    });
  }

  // A product begins; the result is its number.
  std::uint32_t begin_product(unsigned first, unsigned line) {
    products_.push_back({first, line, std::vector<Stamp>(kGroupSize)});
    return std::uint32_t(products_.size() - 1);
  }

  // The part of a thread's warp in a product reads.
  void read_by_product(const void* p, std::size_t bytes, unsigned thread, std::uint32_t product) {
    const unsigned line = products_[product].line;
    for_each(p, bytes, "reads", line, [&](const SharedArray& array, Cell& cell, const void* e) {
      check_written(array, cell, e, thread, line, How::plain);
      if (cell.products != 0 && product_reads_[std::size_t(cell.products - 1)].product == product) {
        return;
      }
      product_reads_.push_back({product, cell.products});
      cell.products = std::int32_t(product_reads_.size());
    });
  }

  // A thread has waited for a product.
  void end_product(std::uint32_t product, unsigned thread) {
    Product& ended = products_[product];
    ended.waited[thread - ended.first] = order.stamp(thread, ended.line);
  }

 private:
  // The memory whose size the launch states, of all blocks that run together.
  static std::size_t placed_bytes() { return shared_stride * launch->cluster; }

  // A part of the memory whose size the launch states. Parts may overlap, so all of them have their
  // cells in one array, one for each of the smallest elements that there are.
  void track_part(const TrackedArray& part) {
    for (const TrackedArray& known : parts_) {
      if (known.start == part.start && known.bytes == part.bytes) return;
    }
    parts_.push_back(part);
    if (placed_.bytes == 0) {
      static_cast<TrackedArray&>(placed_) = {
          "shared memory", dynamic_shared, placed_bytes(), part.element_bytes, 0, {}};
      placed_.cells.assign(placed_.bytes / part.element_bytes + 1, Cell());
      placed_.cell_bytes = part.element_bytes;
    }
    placed_.see_as(part.element_bytes);
  }

  PlaceText name_of(const SharedArray& array, const void* p) const {
    for (const TrackedArray& part : parts_) {
      if (part.holds(p)) return part.name_of(p);
    }
    return array.name_of(p);
  }

  SharedArray* find(const void* p) {
    if (placed_.holds(p)) return &placed_;
    if (last_ < arrays_in_use_ && arrays_[last_].holds(p)) return &arrays_[last_];
    for (last_ = 0; last_ < arrays_in_use_; ++last_) {
      if (arrays_[last_].holds(p)) return &arrays_[last_];
    }
    return nullptr;
  }

  void add_reader(Cell& cell, unsigned thread, unsigned line) {
    const auto warp = std::uint16_t(thread / kWarpSize);
    const Readers added = {order.clock(thread), 1u << thread % kWarpSize, line, warp, -1};
    if (cell.read_epoch != order.epoch()) {
      cell.read_epoch = order.epoch();
      cell.readers = added;
      return;
    }
    if (readers_epoch_ != order.epoch()) {
      readers_epoch_ = order.epoch();
      readers_.clear();
    }
    for (Readers* known = &cell.readers;; known = &readers_[std::size_t(known->next)]) {
      if (known->warp == warp) {
        // Of a warp those are kept who have read since its clock ticked last.
        const std::int32_t next = known->next;
        const std::uint32_t before = known->clock == added.clock ? known->lanes : 0;
        *known = added;
        known->lanes |= before;
        known->next = next;
        return;
      }
      if (known->next < 0) {
        known->next = std::int32_t(readers_.size());
        readers_.push_back(added);
        return;
      }
    }
  }

  void check_written(const SharedArray& array, const Cell& cell, const void* e, unsigned thread,
                     unsigned line, How how) {
    check_coming(array, cell, e, thread, "reads", line);
    if (cell.write.epoch == 0) {
      wrong(kUninitialized, array, e, thread, "reads", line,
            "which nothing has written so far: a store or a barrier is missing", "", "");
    }
    const bool is_apart = how != How::atomic || !cell.is_atomic;
    if (is_apart && !order.comes_before(cell.write, thread)) {
      race(array, e, thread, "reads", line, cell.write.who, "wrote", cell.write.line);
    }
  }

  void check_readers(const SharedArray& array, const Cell& cell, const void* e, unsigned thread,
                     unsigned line) {
    if (cell.read_epoch != order.epoch()) return;
    for (const Readers* known = &cell.readers;; known = &readers_[std::size_t(known->next)]) {
      for (unsigned lanes = known->lanes; lanes != 0; lanes &= lanes - 1) {
        const unsigned reader = known->warp * kWarpSize + unsigned(__builtin_ctz(lanes));
        if (!order.comes_before(reader, known->clock, thread)) {
          race(array, e, thread, "writes", line, reader, "reads", known->line);
        }
      }
      if (known->next < 0) return;
    }
  }

  // Whoever writes knows of a thread that has waited for each product that reads.
  void check_products(const SharedArray& array, const Cell& cell, const void* e, unsigned thread,
                      unsigned line) {
    for (std::int32_t i = cell.products; i != 0; i = product_reads_[std::size_t(i - 1)].next) {
      const Product& product = products_[product_reads_[std::size_t(i - 1)].product];
      const bool has_ended =
          std::any_of(product.waited.begin(), product.waited.end(), [=](const Stamp& stamp) {
            return stamp.epoch != 0 && order.comes_before(stamp, thread);
          });
      if (!has_ended) {
        wrong(kUnderWay, array, e, thread, "writes", line, "which the product that began in ",
              at(product.line).text, " may still be reading: a wait or a barrier is missing");
      }
    }
  }

  void check_coming(const SharedArray& array, const Cell& cell, const void* e, unsigned thread,
                    const char* what, unsigned line) {
    if (!cell.is_coming) return;
    wrong(kUnderWay, array, e, thread, what, line, "to which the copy that began in ",
          at(cell.write.line).text, " is still under way: a wait is missing");
  }

  // A thread is to store to what another one has written, in no order.
  void rewrite(const SharedArray& array, const Cell& cell, const void* e, unsigned thread,
               unsigned line, How how) {
    const std::size_t bytes = array.cell_bytes;
    Rewrite found = {&array, static_cast<const char*>(e), bytes, thread, line, cell.write, {}};
    const bool is_plain = how == How::plain && !cell.is_atomic && cell.write.who < kMaxFibers;
    if (!is_plain || bytes > sizeof(found.before)) {
      race(array, e, thread, "writes", line, cell.write.who, "wrote", cell.write.line);
    }
    __builtin_memcpy(found.before, e, bytes);
    rewrites_.push_back(found);
  }

  [[noreturn]] void race(const SharedArray& array, const void* e, unsigned thread, const char* what,
                         unsigned line, unsigned other, const char* other_what,
                         unsigned other_line) {
    report_race(array, e, thread, what, line, other, other_what, other_line);
    block->abandon();
  }

  void report_race(const SharedArray& array, const void* e, unsigned thread, const char* what,
                   unsigned line, unsigned other, const char* other_what, unsigned other_line) {
    char whose[64] = "a copy";
    if (other < kMaxFibers) {
      const uint3 index = block->index_of(other);
      std::snprintf(whose, sizeof(whose), "thread (%d, %d, %d)", index.x, index.y, index.z);
    }
    const uint3 index = block->index_of(thread);
    report(kRace,
           "a race: thread (%d, %d, %d) %s %s in %s, and %s %s it in %s; nothing says which comes "
           "first: a barrier or a wait is missing",
           index.x, index.y, index.z, what, name_of(array, e).text, at(line).text, whose, other_what,
           at(other_line).text);
  }

  // An access is wrong, for a reason in three parts.
  [[noreturn]] void wrong(Error error, const SharedArray& array, const void* e, unsigned thread,
                          const char* what, unsigned line, const char* before, const char* place,
                          const char* after) {
    const uint3 index = block->index_of(thread);
    report(error, "thread (%d, %d, %d) %s %s in %s, %s%s%s", index.x, index.y, index.z, what,
           name_of(array, e).text, at(line).text, before, place, after);
    block->abandon();
  }

  std::vector<SharedArray> arrays_;
  SharedArray placed_ = {};
  std::vector<TrackedArray> parts_;  // of it
  std::size_t arrays_in_use_ = 0;
  std::size_t last_ = 0;          // the array that was found last
  std::vector<Readers> readers_;  // all but the first ones of cells, of one epoch
  std::uint32_t readers_epoch_ = 0;
  std::vector<Product> products_;
  std::vector<ProductRead> product_reads_;
  std::vector<Rewrite> rewrites_;
};

}  // namespace hidet::cpu

#endif
