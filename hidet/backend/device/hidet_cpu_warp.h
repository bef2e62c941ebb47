// CPU: barriers, shuffles and votes, which are meetings of fibers.
//
// The default argument `line` is the line of the caller: all threads that meet have to come from the
// same one, so a barrier that only some of them reach is an error and no hang.
#pragma once

#include "hidet_cpu_lanes.h"

namespace hidet {

namespace cpu {

// Meet the lanes of the warp, each with a value; return the values of all. Null without fibers.
static inline const std::uint64_t* exchange(std::uint64_t value, const char* what, unsigned line,
                                             Meeting meeting = Meeting::exchange) {
  if (block == nullptr) {
    report(kNotCollective, "%s in %s needs HIDET_COLLECTIVE", what, at(line).text);
    return nullptr;
  }
  Warp& warp = block->warp();
  std::uint64_t* slots = warp.slots[warp.point.generation % 2];
  slots[block->lane()] = value;
  block->meet(warp.point, what, line, meeting);
  return slots;
}

// Which lanes of the mask pass true, as bits; `all` receives a bit for each lane of it that there is.
static inline unsigned vote(bool predicate, unsigned mask, unsigned& all, const char* what,
                            unsigned line) {
  unsigned votes = 0;
  if (mask != kAllLanes) {
    const LaneValues values = meet_lanes(mask, predicate, what, line, Meeting::exchange);
    all = values.mask;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      if (all >> lane & 1) votes |= unsigned(values.of[lane] != 0) << lane;
    }
    return votes;
  }
  const std::uint64_t* slots = exchange(predicate, what, line);
  const unsigned lanes = slots == nullptr ? 0 : block->warp().point.count;
  all = lanes == kWarpSize ? ~0u : (1u << lanes) - 1;
  for (unsigned lane = 0; lane < lanes; ++lane) votes |= unsigned(slots[lane] != 0) << lane;
  return votes;
}

// What the lane source(lane) of the mask has; on CUDA that of a lane which is not in it is anything.
template <typename Source>
static inline std::uint64_t shuffle_lanes(std::uint64_t bits, Source source, unsigned mask,
                                          const char* what, unsigned line) {
  const LaneValues values = meet_lanes(mask, bits, what, line, Meeting::exchange);
  if (values.mask == 0) return bits;
  const unsigned lane = source(block->lane());
  if (lane < kWarpSize && (values.mask >> lane & 1)) return values.of[lane];
#if defined(HIDET_STRICT)
  report(kInvalidLane, "%s in %s reads lane %u, which is not in its mask 0x%08x", what,
         at(line).text, lane, mask);
  block->abandon();
#endif
  return bits;
}

// Exchange v and take the value of the lane source(lane). A lane outside of the warp's segment of
// `width` lanes is replaced by the own one, as on CUDA.
template <typename T, typename Source>
static inline T shuffle(T v, Source source, unsigned mask, const char* what, unsigned line) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 2, 4 or 8 bytes");
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &v, sizeof(T));
  if (mask != kAllLanes) {
    bits = shuffle_lanes(bits, source, mask, what, line);
    __builtin_memcpy(&v, &bits, sizeof(T));
    return v;
  }
  const std::uint64_t* slots = exchange(bits, what, line);
  if (slots == nullptr) return v;
  const unsigned lane = source(block->lane());
  const unsigned lanes = block->warp().point.count;
  if (lane >= lanes) {
    report(kInvalidLane, "%s in %s reads lane %u of a warp of %u", what, at(line).text, lane, lanes);
    return v;
  }
  __builtin_memcpy(&v, &slots[lane], sizeof(T));
  return v;
}

}  // namespace cpu

// ---- barriers -------------------------------------------------------------------------------------

// Wait for all threads of the block.
static inline void sync_threads(unsigned line = __builtin_LINE()) {
  if (cpu::block == nullptr) {
    cpu::report(cpu::kNotCollective, "__syncthreads in %s needs HIDET_COLLECTIVE",
                cpu::at(line).text);
    return;
  }
  cpu::block->meet(cpu::block->barrier(), "__syncthreads", line, cpu::Meeting::barrier);
}

namespace cpu {

// How many threads of a block have said yes, at the meetings with even and with odd numbers.
static thread_local int block_votes[kMaxCluster][2];

// Wait for all threads of the block; return for how many p holds.
static inline int block_vote(bool p, const char* what, unsigned line) {
  if (block == nullptr) {
    report(kNotCollective, "%s in %s needs HIDET_COLLECTIVE", what, at(line).text);
    return p;
  }
  MeetingPoint& point = block->barrier();
  int& votes = block_votes[block->rank()][point.generation % 2];
  if (point.arrived == 0) votes = 0;  // the votes of the last but one meeting have been read
  votes += p;
  block->meet(point, what, line, Meeting::barrier);
  return votes;
}

}  // namespace cpu

// Wait for all threads of the block; whether p holds for all, for one, or for how many of them.
static inline bool sync_threads_and(bool p, unsigned line = __builtin_LINE()) {
  return cpu::block_vote(!p, "__syncthreads_and", line) == 0;
}
static inline bool sync_threads_or(bool p, unsigned line = __builtin_LINE()) {
  return cpu::block_vote(p, "__syncthreads_or", line) != 0;
}
static inline int sync_threads_count(bool p, unsigned line = __builtin_LINE()) {
  return cpu::block_vote(p, "__syncthreads_count", line);
}

// Keep the accesses before ahead of those after.
HIDET_DEVICE void fence_cta() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
HIDET_DEVICE void fence_gpu() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
HIDET_DEVICE void fence_sys() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// How long something takes is a matter of GPUs.
HIDET_DEVICE void nanosleep(unsigned) {}

// A bit for each lane of the warp that is here now.
static inline unsigned active_mask(unsigned line = __builtin_LINE()) {
  if (cpu::block == nullptr) {
    cpu::report(cpu::kNotCollective, "active_mask in %s needs HIDET_COLLECTIVE",
                cpu::at(line).text);
    return 0;
  }
  return cpu::block->active_lanes(line);
}

// Wait for all lanes of the warp, or those of the mask.
static inline void sync_warp(unsigned mask = ~0u, unsigned line = __builtin_LINE()) {
  if (mask != cpu::kAllLanes) {
    cpu::meet_lanes(mask, 0, "__syncwarp", line, cpu::Meeting::barrier);
    return;
  }
  cpu::exchange(0, "__syncwarp", line, cpu::Meeting::barrier);
}

// ---- shuffles -------------------------------------------------------------------------------------
// All lanes take part, or those of the mask. The warp is divided into segments of `width` lanes, a power of two.

// The value of the lane `lane` of the own segment.
template <typename T>
static inline T shfl(T v, int lane, int width = 32, unsigned mask = ~0u,
                      unsigned line = __builtin_LINE()) {
  const auto source = [=](unsigned own) {
    return (own & ~unsigned(width - 1)) | (unsigned(lane) & unsigned(width - 1));
  };
  return cpu::shuffle(v, source, mask, "shfl", line);
}

// The value of the lane `delta` below; the own one where that is in another segment.
template <typename T>
static inline T shfl_up(T v, unsigned delta, int width = 32, unsigned mask = ~0u,
                      unsigned line = __builtin_LINE()) {
  const auto source = [=](unsigned own) {
    return (own & unsigned(width - 1)) >= delta ? own - delta : own;
  };
  return cpu::shuffle(v, source, mask, "shfl_up", line);
}

// The value of the lane `delta` above; the own one where that is in another segment.
template <typename T>
static inline T shfl_down(T v, unsigned delta, int width = 32, unsigned mask = ~0u,
                      unsigned line = __builtin_LINE()) {
  const auto source = [=](unsigned own) {
    return (own & unsigned(width - 1)) + delta < unsigned(width) ? own + delta : own;
  };
  return cpu::shuffle(v, source, mask, "shfl_down", line);
}

// The value of the lane with the number `own ^ offset`; the own one where that is in a later segment.
template <typename T>
static inline T shfl_xor(T v, int offset, int width = 32, unsigned mask = ~0u,
                      unsigned line = __builtin_LINE()) {
  const auto source = [=](unsigned own) {
    const unsigned other = own ^ unsigned(offset);
    return other <= (own | unsigned(width - 1)) ? other : own;
  };
  return cpu::shuffle(v, source, mask, "shfl_xor", line);
}

// ---- votes ----------------------------------------------------------------------------------------

// A bit for each lane that passes true.
static inline unsigned ballot(bool predicate, unsigned mask = ~0u, unsigned line = __builtin_LINE()) {
  unsigned all;
  return cpu::vote(predicate, mask, all, "ballot", line);
}

// Whether a lane passes true.
static inline bool any(bool predicate, unsigned mask = ~0u, unsigned line = __builtin_LINE()) {
  unsigned all;
  return cpu::vote(predicate, mask, all, "any", line) != 0;
}

// Whether all lanes pass true.
static inline bool all(bool predicate, unsigned mask = ~0u, unsigned line = __builtin_LINE()) {
  unsigned all;
  return cpu::vote(predicate, mask, all, "all", line) == all;
}

}  // namespace hidet

static inline void __syncthreads(unsigned line = __builtin_LINE()) { hidet::sync_threads(line); }
static inline void __syncwarp(unsigned mask = ~0u, unsigned line = __builtin_LINE()) {
  hidet::sync_warp(mask, line);
}
