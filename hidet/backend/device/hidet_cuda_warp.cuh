// CUDA: barriers, shuffles and votes.
#pragma once

namespace hidet {

namespace cuda {

constexpr unsigned kAllLanes = 0xffffffffu;

// A value as the functions of CUDA shuffle it, which know no 2-byte floats, and the value of that.
template <typename T>
HIDET_DEVICE auto shuffled(T v) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 2, 4 or 8 bytes");
  if constexpr (is_2_byte_float<T>) {
    return bit_cast<unsigned short>(v);
  } else {
    return v;
  }
}
template <typename T, typename S>
HIDET_DEVICE T unshuffled(S v) {
  if constexpr (is_2_byte_float<T>) {
    return bit_cast<T>(static_cast<unsigned short>(v));
  } else {
    return static_cast<T>(v);
  }
}

}  // namespace cuda

// ---- barriers -------------------------------------------------------------------------------------

// Wait for all threads of the block.
HIDET_DEVICE void sync_threads() { ::__syncthreads(); }

// Wait for all threads of the block; whether p holds for all, for one, or for how many of them.
HIDET_DEVICE bool sync_threads_and(bool p) { return ::__syncthreads_and(p) != 0; }
HIDET_DEVICE bool sync_threads_or(bool p) { return ::__syncthreads_or(p) != 0; }
HIDET_DEVICE int sync_threads_count(bool p) { return ::__syncthreads_count(p); }

// Keep the accesses before ahead of those after: for the block, the GPU, all of the machine.
HIDET_DEVICE void fence_cta() { ::__threadfence_block(); }
HIDET_DEVICE void fence_gpu() { ::__threadfence(); }
HIDET_DEVICE void fence_sys() { ::__threadfence_system(); }

// Wait for about so many nanoseconds, up to a millisecond.
HIDET_DEVICE void nanosleep(unsigned count) { ::__nanosleep(count); }

// A bit for each lane of the warp that is here now.
HIDET_DEVICE unsigned active_mask() { return ::__activemask(); }

// Wait for all lanes of the warp, or those of the mask.
HIDET_DEVICE void sync_warp(unsigned mask = cuda::kAllLanes) { ::__syncwarp(mask); }

// ---- shuffles -------------------------------------------------------------------------------------
// All lanes take part, or those of the mask. The warp is divided into segments of `width` lanes, a power of two.

// The value of the lane `lane` of the own segment.
template <typename T>
HIDET_DEVICE T shfl(T v, int lane, int width = 32, unsigned mask = cuda::kAllLanes) {
  return cuda::unshuffled<T>(::__shfl_sync(mask, cuda::shuffled(v), lane, width));
}

// The value of the lane `delta` below; the own one where that is in another segment.
template <typename T>
HIDET_DEVICE T shfl_up(T v, unsigned delta, int width = 32, unsigned mask = cuda::kAllLanes) {
  return cuda::unshuffled<T>(::__shfl_up_sync(mask, cuda::shuffled(v), delta, width));
}

// The value of the lane `delta` above; the own one where that is in another segment.
template <typename T>
HIDET_DEVICE T shfl_down(T v, unsigned delta, int width = 32, unsigned mask = cuda::kAllLanes) {
  return cuda::unshuffled<T>(::__shfl_down_sync(mask, cuda::shuffled(v), delta, width));
}

// The value of the lane with the number `own ^ offset`; the own one where that is in a later segment.
template <typename T>
HIDET_DEVICE T shfl_xor(T v, int offset, int width = 32, unsigned mask = cuda::kAllLanes) {
  return cuda::unshuffled<T>(::__shfl_xor_sync(mask, cuda::shuffled(v), offset, width));
}

// ---- votes ----------------------------------------------------------------------------------------

// A bit for each lane that passes true.
HIDET_DEVICE unsigned ballot(bool predicate, unsigned mask = cuda::kAllLanes) {
  return ::__ballot_sync(mask, predicate);
}

// Whether a lane passes true.
HIDET_DEVICE bool any(bool predicate, unsigned mask = cuda::kAllLanes) {
  return ::__any_sync(mask, predicate) != 0;
}

// Whether all lanes pass true.
HIDET_DEVICE bool all(bool predicate, unsigned mask = cuda::kAllLanes) {
  return ::__all_sync(mask, predicate) != 0;
}

}  // namespace hidet
