// RUN: hidet-opt %s -p 'verify-level{level=task}' --verify-diagnostics --split-input-file | filecheck %s

// CHECK: a tile of shape (99, 8) has a map of shape (16, 8)
// CHECK-NEXT: at: memref.alloca in @shape
cuda.kernel @shape() grid(1) block(32) {
  %c = memref.alloca() : memref<99x8xf32, #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
}

// -----

// CHECK: memref<32xf32, #task.map<spatial(32)>, #cuda.space<shared>> is in space shared and has a task map
cuda.kernel @shared_map() grid(1) block(32) {
  %c = memref.alloca() : memref<32xf32, #task.map<spatial(32)>, #cuda.space<shared>>
}

// -----

// CHECK: memref<32xf32, #cuda.space<register>> is in space register and has no task map
// CHECK-NEXT: at: memref.alloca in @no_map
// CHECK-NEXT: hint: register tiles have a task map, other tiles have none
cuda.kernel @no_map() grid(1) block(32) {
  %c = memref.alloca() : memref<32xf32, #cuda.space<register>>
}

// -----

// CHECK: memref<32xf32> is allocated in global memory
cuda.kernel @global() grid(1) block(32) {
  %c = memref.alloca() : memref<32xf32>
}

// -----

// CHECK: the argument memref<32xf32, #cuda.space<shared>> is not in global memory
// CHECK-NEXT: at: cuda.kernel in @argument
cuda.kernel @argument(%x : memref<32xf32, #cuda.space<shared>>) grid(1) block(32) {
}

// -----

// CHECK: cuda.kernel @legal
cuda.kernel @legal(%x : memref<32xf32>, %n : i32) grid(1) block(32) {
  %c = memref.alloca() : memref<16x8xf32, #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %rows = memref.alloca() : memref<16xf32, #task.map<repeat(2) * spatial(8) * replicate(4)>, #cuda.space<register>>
  %one = memref.alloca() : memref<f32, #task.map<replicate(32)>, #cuda.space<register>>
  %later = memref.alloca() : memref<16x8xf32, #task.map<?>, #cuda.space<register>>
  %s = memref.alloca() : memref<16x8xf32, #cuda.space<shared>>
  %v = memref.alloca() : memref<f32, #cuda.space<local>>
}

// -----

// No machine has more than 227 KiB of shared memory; a boolean takes a byte.

// CHECK: 232452 bytes of shared memory; a block has 232448
// CHECK-NEXT: at: cuda.kernel in @large
// CHECK-NEXT: hint: smaller tiles
cuda.kernel @large() grid(1) block(32) {
  %a = memref.alloca() : memref<128x454xf32, #cuda.space<shared>>
  %b = memref.alloca() : memref<4xi1, #cuda.space<shared>>
}

// -----

// CHECK: cuda.kernel @largest
cuda.kernel @largest() grid(1) block(32) attributes {shared_bytes = 512 : i64} {
  %a = memref.alloca() : memref<128x452xf32, #cuda.space<shared>>
  %b = memref.alloca() : memref<512xi1, #cuda.space<shared>>
}
