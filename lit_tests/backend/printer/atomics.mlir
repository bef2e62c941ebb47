// RUN: hidet-opt %s -t cuda | filecheck %s

// CHECK: update(
cuda.kernel @update(%x : memref<32xf32>, %p : i1, %z : memref<32xf16>, %h : f16) grid(1) block(32) attributes {cuda.formed} {
  // CHECK: const int tid = threadIdx.x;
  %tid = cuda.thread_id x
  %v = arith.constant 1.000000e+00 : f32
  // CHECK-NEXT: const float old = hidet::atomic_add(&x[tid], 1.0f);
  %old = cuda.atomic add %v, %x[%tid] : memref<32xf32>
  // One whose old value nobody wants.
  // CHECK-NEXT: hidet::atomic_max(&x[tid], old);
  %0 = cuda.atomic max %old, %x[%tid] : memref<32xf32>
  // CHECK-NEXT: hidet::atomic_exchange(&x[tid], old);
  %9 = cuda.atomic exchange %old, %x[%tid] : memref<32xf32>
  // CHECK-NEXT: hidet::atomic_min<hidet::Scope::cta>(&x[tid], old);
  %8 = cuda.atomic min %old, %x[%tid] scope cta : memref<32xf32>
  // CHECK-NEXT: hidet::atomic_add_pair(&z[tid], h, h);
  cuda.atomic_pair %h, %h, %z[%tid] : memref<32xf16>
  // CHECK-NEXT: hidet::atomic_add_pair<hidet::Scope::sys>(&z[tid], h, h);
  cuda.atomic_pair %h, %h, %z[%tid] scope sys : memref<32xf16>
  // CHECK-NEXT: const bool some = hidet::any(p);
  %some = cuda.vote any %p : i1
  // CHECK-NEXT: const unsigned lanes = hidet::ballot(p);
  %lanes = cuda.vote ballot %p : i32
  // CHECK-NEXT: const unsigned here = hidet::active_mask();
  %here = cuda.active_mask
  // CHECK-NEXT: const bool every = hidet::sync_threads_and(p);
  %every = cuda.sync_vote and %p : i1
  // CHECK-NEXT: hidet::sync_threads_or(every);
  %1 = cuda.sync_vote or %every : i1
  // CHECK-NEXT: const int count = hidet::sync_threads_count(p);
  %count = cuda.sync_vote count %p : i32
  // CHECK-NEXT: hidet::fence_cta();
  cuda.fence_cta
  // CHECK-NEXT: hidet::fence_gpu();
  cuda.fence_gpu
  // CHECK-NEXT: hidet::fence_sys();
  cuda.fence_sys
  // CHECK-NEXT: hidet::nanosleep(count);
  cuda.nanosleep %count
  // CHECK-NEXT: const bool each = hidet::all(p, lanes);
  %each = cuda.vote all %p mask %lanes : i1
  // CHECK-NEXT: hidet::sync_warp(lanes);
  cuda.sync_warp mask %lanes
  // CHECK-NEXT: const float moved = hidet::shfl_down(old, count, 32, lanes);
  %moved = cuda.shfl down %old, %count mask %lanes : f32
  // CHECK-NEXT: const float near = hidet::shfl_up(old, count, 8, lanes);
  %near = cuda.shfl up %old, %count width 8 mask %lanes : f32
  // CHECK-NEXT: printf("%d \"%f\"\n", lanes, old);
  cuda.printf "%d \"%f\"\n" (%lanes, %old : i32, f32)
  // CHECK-NEXT: printf("done");
  cuda.printf "done"
}
// A vote is a meeting of threads.
// CHECK: HIDET_KERNEL(update, 32, 1, 1, HIDET_COLLECTIVE)

// A thread that fails a check stops all of its block.

// CHECK:      checked(
cuda.kernel @checked(%n : i32) grid(1) block(32) attributes {cuda.formed} {
  %zero = arith.constant 0 : i32
  %ok = arith.cmpi sgt, %n, %zero : i32
  // CHECK-NEXT: const bool ok = n > 0;
  // CHECK-NEXT: hidet::check(ok, "kernel.py:3: \"n\" is positive");
  cuda.assert %ok, "kernel.py:3: \"n\" is positive"
}
// CHECK: HIDET_KERNEL(checked, 32, 1, 1, HIDET_COLLECTIVE)
