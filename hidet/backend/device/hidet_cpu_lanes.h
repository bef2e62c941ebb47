// CPU: some lanes of a warp that meet, while the others are elsewhere.
#pragma once

#include "hidet_fiber.h"

namespace hidet::cpu {

constexpr unsigned kAllLanes = ~0u;

// What the lanes of a mask have passed, by their numbers.
struct LaneValues {
  unsigned mask;  // those of them that the warp has; 0 in a kernel without meetings
  std::uint64_t of[kWarpSize];
};

// A lane cannot meet others: say so, and give the block up.
__attribute__((noinline, cold)) static void refuse_lanes(const LaneWait* lanes, unsigned mask,
                                                         unsigned other, const char* what,
                                                         unsigned line) {
  if ((mask >> block->lane() & 1) == 0) {
    report(kDivergence, "lane %u comes to %s in %s, whose mask 0x%08x it is not in", block->lane(),
           what, at(line).text, mask);
  } else {
    report(kDivergence,
           "the lanes diverge: lane %u waits at %s with the mask 0x%08x, lane %u comes to %s in %s "
           "with 0x%08x",
           other, lanes[other].what, lanes[other].mask, block->lane(), what, at(line).text, mask);
  }
  block->abandon();
}

// Meet the lanes of `mask`, each with a value; return those of all. They come with the same mask to
// the same function, from any line.
static inline LaneValues meet_lanes(unsigned mask, std::uint64_t value, const char* what,
                                    unsigned line, [[maybe_unused]] Meeting meeting) {
  LaneValues values;
  values.mask = 0;
  if (block == nullptr) {
    report(kNotCollective, "%s in %s needs HIDET_COLLECTIVE", what, at(line).text);
    return values;
  }
  LaneWait* const lanes = block->lanes();
  const unsigned own = block->lane(), count = block->warp().point.count;
  if (count < kWarpSize) mask &= (1u << count) - 1;
  if ((mask >> own & 1) == 0) refuse_lanes(lanes, mask, own, what, line);
  values.mask = mask;
  lanes[own] = {mask, what, value, values.of};
  bool all = true;
  for (unsigned rest = mask; rest != 0; rest &= rest - 1) {
    const unsigned lane = unsigned(__builtin_ctz(rest));
    if (lanes[lane].mask == 0) {
      all = false;
    } else if (lanes[lane].mask != mask || lanes[lane].what != what) {
      refuse_lanes(lanes, mask, lane, what, line);
    }
  }
#if defined(HIDET_STRICT)
  const void* const point = &lanes[__builtin_ctz(mask)];
  if (meeting == Meeting::barrier) order.arrive(point, block->thread());
  if (meeting == Meeting::barrier && all) order.end_phase(point);
#endif
  if (all) {
    // The lanes that wait may come again before others have gone on: each gets a copy of all values.
    for (unsigned to = mask; to != 0; to &= to - 1) {
      std::uint64_t* const row = lanes[__builtin_ctz(to)].values;
      for (unsigned from = mask; from != 0; from &= from - 1) {
        row[__builtin_ctz(from)] = lanes[__builtin_ctz(from)].value;
      }
    }
    for (unsigned rest = mask; rest != 0; rest &= rest - 1) lanes[__builtin_ctz(rest)].mask = 0;
    block->wake_lanes(mask);
    pass_on();
  } else {
    while (lanes[own].mask != 0) block->wait(&lanes[own], what, line);
  }
#if defined(HIDET_STRICT)
  if (meeting == Meeting::barrier) order.wait(point, block->thread());
#endif
  return values;
}

}  // namespace hidet::cpu
