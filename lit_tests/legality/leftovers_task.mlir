// RUN: hidet-opt %s -p 'verify-level{level=task after=inline-compute}' --verify-diagnostics --split-input-file | filecheck %s
// RUN: hidet-opt %s -p 'verify-level{level=task}' --verify-diagnostics --split-input-file | filecheck %s --check-prefix SCHEDULED

// The map of a tile may be unknown in front of inline-compute.

// CHECK: a tile with the map '?' is left
// CHECK-NEXT: at: memref.alloca in @unknown
// CHECK-NEXT: hint: schedule should have lowered it
// SCHEDULED: cuda.kernel @unknown
cuda.kernel @unknown() grid(1) block(32) {
  %c = memref.alloca() : memref<16x8xf32, #task.map<?>, #cuda.space<register>>
}

// -----

// Views are gone after inline-compute.

// CHECK: compute.grid is left in a kernel
// SCHEDULED: cuda.kernel @view
cuda.kernel @view() grid(1) block(32) {
  %g = compute.grid () {
    %one = arith.constant 1.0 : f32
    compute.yield %one : f32
  } : tensor<f32>
}
