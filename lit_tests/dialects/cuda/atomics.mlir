// RUN: HIDET_ROUNDTRIP

// CHECK: a = #cuda<atomic_kind min>
"test.op"() {a = #cuda<atomic_kind min>} : () -> ()
// CHECK: a = #cuda<vote_kind all>
"test.op"() {a = #cuda<vote_kind all>} : () -> ()

// CHECK: a = #cuda<leave_kind break>
"test.op"() {a = #cuda<leave_kind break>} : () -> ()

// CHECK-LABEL: cuda.kernel @leave
cuda.kernel @leave(%p : i1) grid(1) block(32) {
  scf.while () : () -> () {
    scf.condition(%p)
  } do {
    scf.if %p {
      // CHECK: cuda.leave break
      cuda.leave break
    }
    scf.if %p {
      // CHECK: cuda.leave continue
      cuda.leave continue
    }
    // CHECK: cuda.leave return
    cuda.leave return
    scf.yield
  }
}

// CHECK-LABEL: cuda.kernel @update
cuda.kernel @update(%x : memref<8x32xf32>, %n : memref<8xi32>, %z : memref<8xf16>, %h : f16) grid(1) block(32) {
  %i = cuda.thread_id x
  %v = arith.constant 1.000000e+00 : f32
  %w = arith.constant 1 : i32
  // CHECK: %old = cuda.atomic add %v, %x[%i, %i] : memref<8x32xf32>
  %old = cuda.atomic add %v, %x[%i, %i] : memref<8x32xf32>
  // CHECK-NEXT: %0 = cuda.atomic max %old, %x[%i, %i] : memref<8x32xf32>
  %0 = cuda.atomic max %old, %x[%i, %i] : memref<8x32xf32>
  // CHECK-NEXT: %{{.*}} = cuda.atomic cas %old if %v, %x[%i, %i] : memref<8x32xf32>
  %swapped = cuda.atomic cas %old if %v, %x[%i, %i] : memref<8x32xf32>
  // CHECK-NEXT: %bits = cuda.atomic xor %w, %n[%i] scope cta : memref<8xi32>
  %bits = cuda.atomic xor %w, %n[%i] scope cta : memref<8xi32>
  // CHECK-NEXT: %most = cuda.atomic umax %w, %n[%i] scope sys : memref<8xi32>
  %most = cuda.atomic umax %w, %n[%i] scope sys : memref<8xi32>
  // CHECK-NEXT: cuda.atomic_pair %h, %h, %z[%i] : memref<8xf16>
  cuda.atomic_pair %h, %h, %z[%i] : memref<8xf16>
  // CHECK-NEXT: cuda.atomic_pair %h, %h, %z[%i] scope cta : memref<8xf16>
  cuda.atomic_pair %h, %h, %z[%i] scope cta : memref<8xf16>
  // CHECK-NEXT: %1 = cuda.atomic min %w, %n[%i] : memref<8xi32>
  %1 = cuda.atomic min %w, %n[%i] : memref<8xi32>
  %p = arith.cmpi eq, %1, %w : i32
  // CHECK: %2 = cuda.vote any %p : i1
  %2 = cuda.vote any %p : i1
  // CHECK-NEXT: %3 = cuda.vote all %p : i1
  %3 = cuda.vote all %p : i1
  // CHECK-NEXT: %4 = cuda.vote ballot %p : i32
  %4 = cuda.vote ballot %p : i32
  // CHECK-NEXT: %active = cuda.active_mask
  %active = cuda.active_mask
  // CHECK-NEXT: %some = cuda.vote any %p mask %4 : i1
  %some = cuda.vote any %p mask %4 : i1
  // CHECK-NEXT: cuda.sync_warp mask %4
  cuda.sync_warp mask %4
  // CHECK-NEXT: %moved = cuda.shfl xor %v, %w width 8 mask %4 : f32
  %moved = cuda.shfl xor %v, %w width 8 mask %4 : f32
  // CHECK-NEXT: %other = cuda.shfl idx %v, %w mask %4 : f32
  %other = cuda.shfl idx %v, %w mask %4 : f32
  // CHECK-NEXT: %5 = cuda.sync_vote and %p : i1
  %5 = cuda.sync_vote and %p : i1
  // CHECK-NEXT: %6 = cuda.sync_vote or %p : i1
  %6 = cuda.sync_vote or %p : i1
  // CHECK-NEXT: %7 = cuda.sync_vote count %p : i32
  %7 = cuda.sync_vote count %p : i32
  // CHECK-NEXT: cuda.fence_gpu
  cuda.fence_gpu
  // CHECK-NEXT: cuda.fence_cta
  cuda.fence_cta
  // CHECK-NEXT: cuda.fence_sys
  cuda.fence_sys
  // CHECK-NEXT: cuda.fence_proxy_async_global
  cuda.fence_proxy_async_global
  // CHECK-NEXT: cuda.nanosleep %7
  cuda.nanosleep %7
  // CHECK-NEXT: cuda.printf "nothing\0A"
  cuda.printf "nothing\n"
  // CHECK-NEXT: cuda.printf "%d %f"(%4, %v : i32, f32)
  cuda.printf "%d %f" (%4, %v : i32, f32)
  // CHECK-NEXT: cuda.assert %p, "kernel.py:3: it holds"
  cuda.assert %p, "kernel.py:3: it holds"
}
