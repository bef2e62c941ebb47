// RUN: hidet-opt %s -p 'map-copies' --split-input-file | filecheck %s

// Lanes follow what is contiguous in global memory, and take 16 bytes where the tile has them, too.

// CHECK-LABEL: cuda.kernel @vectors
// CHECK:         task.copy %x[%z, %z] to %a[] in #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 8)> on %t
// CHECK-NEXT:    task.copy %xt[%z, %z] to %b[] in #task.map<repeat(1, 2) * spatial(1, 8) * spatial(4, 1) * repeat(8, 1)> on %t
// Not contiguous in the tile: the lanes follow memory, one element each.
// CHECK-NEXT:    task.copy %xt[%z, %z] to %c[] in #task.map<repeat(1, 16) * spatial(32, 1)> on %t
cuda.kernel @vectors(%x : memref<64x64xf16>) grid(1) block(32) {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %xt = compute.grid (%i, %j) {
    %v = compute.load %x[%j, %i] : memref<64x64xf16>
    compute.yield %v : f16
  } : tensor<64x64xf16>
  %a = memref.alloca() : memref<16x32xf16, #cuda.space<shared>>
  %b = memref.alloca() : memref<32x16xf16, #task.tile<column_major, swizzle 64>, #cuda.space<shared>>
  %c = memref.alloca() : memref<32x16xf16, #cuda.space<shared>>
  task.copy %x[%z, %z] to %a[] in #task.map<?> on %t : memref<64x64xf16> to memref<16x32xf16, #cuda.space<shared>>
  task.copy %xt[%z, %z] to %b[] in #task.map<?> on %t : tensor<64x64xf16> to memref<32x16xf16, #task.tile<column_major, swizzle 64>, #cuda.space<shared>>
  task.copy %xt[%z, %z] to %c[] in #task.map<?> on %t : tensor<64x64xf16> to memref<32x16xf16, #cuda.space<shared>>
}

// -----

// A copy to a sink follows the buffer that the sink stores to: here the columns of its tensor.

// CHECK-LABEL: cuda.kernel @stores
// CHECK:         task.copy %a[] to %y[%z, %z] in #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 8)> on %t
// CHECK-NEXT:    task.copy %a[] to %turned[%z, %z] in #task.map<repeat(1, 16) * spatial(1, 2) * spatial(16, 1)> on %t
cuda.kernel @stores(%out : memref<64x64xf16>) grid(1) block(32) {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %y = compute.sink (%i, %j, %v : f16) {
    %w = arith.negf %v : f16
    compute.store %w, %out[%i, %j] : memref<64x64xf16>
  } : tensor<64x64xf16>
  %turned = compute.sink (%i, %j, %v : f16) {
    compute.store %v, %out[%j, %i] : memref<64x64xf16>
  } : tensor<64x64xf16>
  %a = memref.alloca() : memref<16x32xf16, #cuda.space<shared>>
  task.copy %a[] to %y[%z, %z] in #task.map<?> on %t : memref<16x32xf16, #cuda.space<shared>> to tensor<64x64xf16>
  task.copy %a[] to %turned[%z, %z] in #task.map<?> on %t : memref<16x32xf16, #cuda.space<shared>> to tensor<64x64xf16>
}

// -----

// Rows of 63 elements begin anywhere: one element a lane. With fewer elements than threads some
// have the same. A map that is there stays.

// CHECK-LABEL: cuda.kernel @elements
// CHECK:         task.copy %x[%z, %z] to %a[] in #task.map<repeat(16, 1) * spatial(1, 32)> on %t
// CHECK-NEXT:    task.copy %x[%z, %z] to %b[] in #task.map<replicate(2) * spatial(4, 4)> on %t
// CHECK-NEXT:    task.copy %x[%z, %z] to %a[] in #task.map<spatial(16, 2) * repeat(1, 16)> on %t
cuda.kernel @elements(%x : memref<63x63xf16>) grid(1) block(32) {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %a = memref.alloca() : memref<16x32xf16, #cuda.space<shared>>
  %b = memref.alloca() : memref<4x4xf16, #cuda.space<shared>>
  task.copy %x[%z, %z] to %a[] in #task.map<?> on %t : memref<63x63xf16> to memref<16x32xf16, #cuda.space<shared>>
  task.copy %x[%z, %z] to %b[] in #task.map<?> on %t : memref<63x63xf16> to memref<4x4xf16, #cuda.space<shared>>
  task.copy %x[%z, %z] to %a[] in #task.map<spatial(16, 2) * repeat(1, 16)> on %t : memref<63x63xf16> to memref<16x32xf16, #cuda.space<shared>>
}
