// CUDA: what warps of a block do that work on different things.
#pragma once

namespace hidet {

// Wait until `count` threads, whole warps, have come to one of the block's barriers 0 to 15 (PTX ISA,
// "barrier"). Number 0 is that of sync_threads.
template <int count>
HIDET_DEVICE void barrier_sync(int barrier) {
  asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(barrier), "n"(count) : "memory");
}

// Come to a barrier, and go on at once.
template <int count>
HIDET_DEVICE void barrier_arrive(int barrier) {
  asm volatile("barrier.cta.arrive.aligned %0, %1;" ::"r"(barrier), "n"(count) : "memory");
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// From here on each thread of the warp group has `count` registers (PTX ISA, "setmaxnreg").
template <int count>
HIDET_DEVICE void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
HIDET_DEVICE void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

#endif  // sm_90a

}  // namespace hidet
