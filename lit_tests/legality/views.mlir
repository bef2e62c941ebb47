// RUN: hidet-opt %s -p 'verify-level{level=task}' --verify-diagnostics --split-input-file | filecheck %s

// A view is evaluated where it is loaded: no buffer that it reads is written by the kernel, neither
// after it nor before it.

// CHECK: %x is written, but the view %twice reads it where the view is loaded
// CHECK-NEXT: at: compute.store in @after
// CHECK-NEXT: hint: keep what the view reads in a buffer of its own
cuda.kernel @after(%x : memref<32xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %twice = compute.grid (%i) {
    %v = compute.load %x[%i] : memref<32xf32>
    %w = arith.addf %v, %v : f32
    compute.yield %w : f32
  } : tensor<32xf32>
  %v = compute.load %twice[%t] : tensor<32xf32>
  compute.store %v, %x[%t] : memref<32xf32>
}

// -----

// CHECK: %x is written, but the view %view reads it where the view is loaded
// CHECK-NEXT: at: memref.store in @before
cuda.kernel @before(%x : memref<32xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %x[%t] : memref<32xf32>
  %view = compute.grid (%i) {
    %v = compute.load %x[%i] : memref<32xf32>
    compute.yield %v : f32
  } : tensor<32xf32>
}

// -----

// The body of a sink writes, too; a view of a view reads what that reads.

// CHECK: %x is written, but the view %first reads it where the view is loaded
// CHECK-NEXT: at: compute.store in @sink
cuda.kernel @sink(%x : memref<32xf32>) grid(1) block(32) {
  %first = compute.grid (%i) {
    %v = compute.load %x[%i] : memref<32xf32>
    compute.yield %v : f32
  } : tensor<32xf32>
  %second = compute.grid (%i) {
    %v = compute.load %first[%i] : tensor<32xf32>
    compute.yield %v : f32
  } : tensor<32xf32>
  %out = compute.sink (%i, %v : f32) {
    compute.store %v, %x[%i] : memref<32xf32>
  } : tensor<32xf32>
}

// -----

// A copy out of a tile writes its target.

// CHECK: %x is written, but the view %view reads it where the view is loaded
// CHECK-NEXT: at: task.copy in @copy
cuda.kernel @copy(%x : memref<32xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %zero = arith.constant 0 : index
  %view = compute.grid (%i) {
    %v = compute.load %x[%i] : memref<32xf32>
    compute.yield %v : f32
  } : tensor<32xf32>
  %tile = memref.alloca() : memref<32xf32, #cuda.space<shared>>
  task.copy %tile[] to %x[%zero] in #task.map<spatial(32)> on %t : memref<32xf32, #cuda.space<shared>> to memref<32xf32>
}

// -----

// A tile of the block may be filled before a view of it, but not after it.

// CHECK: %tile is written, but the view %view reads it where the view is loaded
// CHECK-NEXT: at: compute.store in @tile_after
cuda.kernel @tile_after() grid(1) block(32) {
  %t = cuda.thread_id x
  %zero = arith.constant 0.0 : f32
  %tile = memref.alloca() : memref<32xf32, #task.map<spatial(32)>, #cuda.space<register>>
  %view = compute.grid (%i) {
    %v = compute.load %tile[%i] : memref<32xf32, #task.map<spatial(32)>, #cuda.space<register>>
    compute.yield %v : f32
  } : tensor<32xf32>
  task.foreach (%i) of %tile on %t : memref<32xf32, #task.map<spatial(32)>, #cuda.space<register>> {
    compute.store %zero, %tile[%i] : memref<32xf32, #task.map<spatial(32)>, #cuda.space<register>>
  }
}

// -----

// CHECK: cuda.kernel @legal
cuda.kernel @legal(%x : memref<32xf32>, %y : memref<32xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %tile = memref.alloca() : memref<32xf32, #task.map<spatial(32)>, #cuda.space<register>>
  task.foreach (%i) of %tile on %t : memref<32xf32, #task.map<spatial(32)>, #cuda.space<register>> {
    %v = compute.load %x[%i] : memref<32xf32>
    compute.store %v, %tile[%i] : memref<32xf32, #task.map<spatial(32)>, #cuda.space<register>>
  }
  %view = compute.grid (%i) {
    %v = compute.load %tile[%i] : memref<32xf32, #task.map<spatial(32)>, #cuda.space<register>>
    %w = compute.load %x[%i] : memref<32xf32>
    %s = arith.addf %v, %w : f32
    compute.yield %s : f32
  } : tensor<32xf32>
  %v = compute.load %view[%t] : tensor<32xf32>
  compute.store %v, %y[%t] : memref<32xf32>
}
