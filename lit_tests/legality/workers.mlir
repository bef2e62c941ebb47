// RUN: hidet-opt %s -p 'verify-level{level=task}' --verify-diagnostics --split-input-file | filecheck %s

// `thread_id x` alone stands for the threads of a block.

// CHECK: the map spatial(64) is for 64 workers, not 128
// CHECK-NEXT: at: task.foreach in @few
cuda.kernel @few() grid(4) block(128) {
  %t = cuda.thread_id x
  task.foreach (%i) in #task.map<spatial(64)> on %t {
  }
}

// -----

// CHECK: the map spatial(256) is for 256 workers, not 128
// CHECK-NEXT: at: task.copy in @many
cuda.kernel @many(%x : memref<256xf32>) grid(4) block(128) {
  %t = cuda.thread_id x
  %zero = arith.constant 0 : index
  %tile = memref.alloca() : memref<256xf32, #cuda.space<shared>>
  task.copy %x[%zero] to %tile[] in #task.map<spatial(256)> on %t : memref<256xf32> to memref<256xf32, #cuda.space<shared>>
}

// -----

// In a script a branch leaves 32 of 128 threads, each of which has its tasks of a map for 64.

// CHECK: cuda.kernel @branch
cuda.kernel @branch() grid(4) block(128) attributes {cuda.explicit} {
  %t = cuda.thread_id x
  %few = arith.constant 32 : index
  %is_inside = arith.cmpi slt, %t, %few : index
  scf.if %is_inside {
    task.foreach (%i) in #task.map<spatial(64)> on %t {
    }
  }
}

// -----

// CHECK: the map spatial(64) is for 64 workers, not 96
// CHECK-NEXT: at: task.foreach in @wide_branch
cuda.kernel @wide_branch() grid(4) block(128) {
  %t = cuda.thread_id x
  %few = arith.constant 96 : index
  %is_inside = arith.cmpi slt, %t, %few : index
  scf.if %is_inside {
    task.foreach (%i) in #task.map<spatial(64)> on %t {
    }
  }
}

// -----

// `block_id x * threads + thread_id x` stands for all threads of the grid.

// CHECK: the map spatial(128) * repeat(4) is for 128 workers, not 512
cuda.kernel @grid() grid(4) block(128) {
  %t = cuda.thread_id x
  %b = cuda.block_id x
  %threads = arith.constant 128 : index
  %first = arith.muli %b, %threads : index
  %worker = arith.addi %first, %t : index
  task.foreach (%i) in #task.map<spatial(128) * repeat(4)> on %worker {
  }
}

// -----

// CHECK: the range of its worker is not known
// CHECK-NEXT: at: task.foreach in @unknown
// CHECK-NEXT: hint: a worker is computed from cuda.thread_id and cuda.block_id
cuda.kernel @unknown(%worker : index) grid(4) block(128) {
  task.foreach (%i) in #task.map<spatial(128)> on %worker {
  }
}

// -----

// CHECK: the map spatial(8, 4) is for 32 workers, not 64
// CHECK-NEXT: at: task.matmul in @matmul
cuda.kernel @matmul() grid(1) block(64) {
  %t = cuda.thread_id x
  %a = memref.alloca() : memref<8x2xf32, #cuda.space<shared>>
  %b = memref.alloca() : memref<2x4xf32, #cuda.space<shared>>
  %c = memref.alloca() : memref<8x4xf32, #task.map<spatial(8, 4)>, #cuda.space<register>>
  task.matmul %a, %b to %c on %t : memref<8x2xf32, #cuda.space<shared>>, memref<2x4xf32, #cuda.space<shared>> to memref<8x4xf32, #task.map<spatial(8, 4)>, #cuda.space<register>>
}

// -----

// Parts of a block, the whole grid, a map that is still unknown.

// CHECK: cuda.kernel @legal
cuda.kernel @legal() grid(4, 2) block(64, 2) {
  %t = cuda.thread_id x
  %row = cuda.thread_id y
  %b = cuda.block_id x
  %n = arith.constant 64 : index
  %warp = arith.constant 32 : index
  %first = arith.muli %b, %n : index
  %worker = arith.addi %first, %t : index
  %lane = arith.remsi %t, %warp : index
  %above = arith.muli %row, %n : index
  %linear = arith.addi %above, %t : index
  %c = memref.alloca() : memref<16x8xf32, #task.map<?>, #cuda.space<register>>
  task.foreach (%i) in #task.map<spatial(64)> on %t {
  }
  task.foreach (%i) in #task.map<repeat(3) * spatial(32)> on %lane {
  }
  task.foreach (%i) in #task.map<spatial(256) * repeat(4)> on %worker {
  }
  task.foreach (%i, %j) in #task.map<replicate(2) * spatial(8, 8)> on %linear {
  }
  task.foreach (%i, %j) of %c on %lane : memref<16x8xf32, #task.map<?>, #cuda.space<register>> {
  }
}

// -----

// Owners of an element that is combined meet in one block, at the places that the map says.

// CHECK: the owners of an element of spatial(2) * replicate(128) are in several blocks
// CHECK-NEXT: at: task.combine in @blocks
cuda.kernel @blocks() grid(4) block(64) {
  %t = cuda.thread_id x
  %b = cuda.block_id x
  %threads = arith.constant 64 : index
  %first = arith.muli %b, %threads : index
  %worker = arith.addi %first, %t : index
  %c = memref.alloca() : memref<2xf32, #task.map<spatial(2) * replicate(128)>, #cuda.space<register>>
  task.combine add %c on %worker : memref<2xf32, #task.map<spatial(2) * replicate(128)>, #cuda.space<register>>
}

// -----

// CHECK: owners of an element of spatial(6) * replicate(32) are not adjacent in the block
// CHECK-NEXT: at: task.combine in @lanes
// CHECK-NEXT: hint: worker and thread must be equal modulo 32
cuda.kernel @lanes() grid(4) block(48) {
  %t = cuda.thread_id x
  %b = cuda.block_id x
  %threads = arith.constant 48 : index
  %first = arith.muli %b, %threads : index
  %worker = arith.addi %first, %t : index
  %c = memref.alloca() : memref<6xf32, #task.map<spatial(6) * replicate(32)>, #cuda.space<register>>
  task.combine add %c on %worker : memref<6xf32, #task.map<spatial(6) * replicate(32)>, #cuda.space<register>>
}

// -----

// CHECK: cuda.kernel @meet
cuda.kernel @meet() grid(4) block(64, 2) {
  %t = cuda.thread_id x
  %row = cuda.thread_id y
  %b = cuda.block_id x
  %n = arith.constant 64 : index
  %threads = arith.constant 128 : index
  %above = arith.muli %row, %n : index
  %linear = arith.addi %above, %t : index
  %first = arith.muli %b, %threads : index
  %worker = arith.addi %first, %linear : index
  %c = memref.alloca() : memref<4xf32, #task.map<spatial(4) * replicate(128)>, #cuda.space<register>>
  task.combine add %c on %worker : memref<4xf32, #task.map<spatial(4) * replicate(128)>, #cuda.space<register>>
}

// -----

// A worker touches registers of its own: the loop's map, reduced to the tile's dimensions, must give
// the same elements to the same workers.

// CHECK: a worker of spatial(8, 4) does not own the elements of memref<8xf32, #task.map<replicate(4) * spatial(8)>
// CHECK-NEXT: at: compute.store in @rows
// CHECK-NEXT: hint: the loop over the tile's own elements is task.foreach of the tile
cuda.kernel @rows() grid(1) block(32) {
  %t = cuda.thread_id x
  %zero = arith.constant 0.0 : f32
  %c = memref.alloca() : memref<8xf32, #task.map<spatial(8) * replicate(4)>, #cuda.space<register>>
  %d = memref.alloca() : memref<8xf32, #task.map<replicate(4) * spatial(8)>, #cuda.space<register>>
  task.foreach (%i, %j) in #task.map<spatial(8, 4)> on %t {
    compute.store %zero, %c[%i] : memref<8xf32, #task.map<spatial(8) * replicate(4)>, #cuda.space<register>>
    compute.store %zero, %d[%i] : memref<8xf32, #task.map<replicate(4) * spatial(8)>, #cuda.space<register>>
  }
}
