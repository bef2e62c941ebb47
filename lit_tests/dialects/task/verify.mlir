// RUN: HIDET_VERIFY

// task.foreach: one map, and one index and bound for each of its dimensions.

// CHECK: task.foreach takes either a map or a tile
func.func @foreach_no_map(%w : index) {
  "task.foreach"(%w) ({
  ^bb0(%i : index):
  }) : (index) -> ()
  func.return
}

// -----

// CHECK: task.foreach takes either a map or a tile
func.func @foreach_two_maps(%w : index, %c : memref<4xf32, #task.map<spatial(4)>, #cuda.space<register>>) {
  "task.foreach"(%w, %c) <{map = #task.map<spatial(4)>}> ({
  ^bb0(%i : index):
  }) : (index, memref<4xf32, #task.map<spatial(4)>, #cuda.space<register>>) -> ()
  func.return
}

// -----

// CHECK: the task map is still '?': the tile needs one
func.func @foreach_unknown_map(%w : index) {
  "task.foreach"(%w) <{map = #task.map<?>}> ({
  ^bb0(%i : index):
  }) : (index) -> ()
  func.return
}

// -----

// CHECK: task.foreach has 1 indices but its map has 2 dimensions
func.func @foreach_map_rank(%w : index) {
  task.foreach (%i) in #task.map<spatial(4, 8)> on %w {
  }
  func.return
}

// -----

// CHECK: task.foreach has 1 indices but its map has 2 dimensions
func.func @foreach_tile_rank(%w : index, %c : memref<4x8xf32, #task.map<?>, #cuda.space<register>>) {
  task.foreach (%i) of %c on %w : memref<4x8xf32, #task.map<?>, #cuda.space<register>> {
  }
  func.return
}

// -----

// CHECK: 1 bounds for a map of 2 dimensions
func.func @foreach_bound(%w : index) {
  task.foreach (%i, %j) in #task.map<spatial(4, 8)> on %w bound [3] {
  }
  func.return
}

// -----

// CHECK: 1 hints for a map of 2 dimensions
func.func @foreach_bound(%w : index) {
  task.foreach (%i, %j) in #task.map<spatial(4, 8)> on %w unroll [-1] {
  }
  func.return
}

// -----

// task.copy: one side is a tile, without offsets; the other side has one for each dimension.

// CHECK: one of memref<8xf32> and memref<4xf32> must be a shared or register tile
func.func @copy_without_tile(%x : memref<8xf32>, %y : memref<4xf32>, %w : index) {
  task.copy %x[%w] to %y[] in #task.map<spatial(4)> on %w : memref<8xf32> to memref<4xf32>
  func.return
}

// -----

// CHECK: one of memref<4xf32, #cuda.space<shared>> and memref<4xf32, #cuda.space<shared>> must be
func.func @copy_between_tiles(%x : memref<4xf32, #cuda.space<shared>>, %w : index) {
  task.copy %x[%w] to %x[] in #task.map<spatial(4)> on %w : memref<4xf32, #cuda.space<shared>> to memref<4xf32, #cuda.space<shared>>
  func.return
}

// -----

// CHECK: memref<8xf32, 3 : i32> has no memory space of #cuda.space<...>
func.func @copy_from_nowhere(%x : memref<8xf32, 3 : i32>, %y : memref<4xf32, #cuda.space<shared>>, %w : index) {
  task.copy %x[%w] to %y[] in #task.map<spatial(4)> on %w : memref<8xf32, 3 : i32> to memref<4xf32, #cuda.space<shared>>
  func.return
}

// -----

// CHECK: memref<8x8xf32> takes 2 offsets and the tile takes none, or that of its stage; found 1 and 0
func.func @copy_few_offsets(%x : memref<8x8xf32>, %y : memref<4xf32, #cuda.space<shared>>, %w : index) {
  task.copy %x[%w] to %y[] in #task.map<spatial(4)> on %w : memref<8x8xf32> to memref<4xf32, #cuda.space<shared>>
  func.return
}

// -----

// CHECK: memref<8xf32> takes 1 offsets and the tile takes none, or that of its stage; found 1 and 1
func.func @copy_offset_of_a_tile(%x : memref<8xf32>, %y : memref<4xf32, #cuda.space<shared>>, %w : index) {
  task.copy %y[%w] to %x[%w] in #task.map<spatial(4)> on %w : memref<4xf32, #cuda.space<shared>> to memref<8xf32>
  func.return
}

// -----

// CHECK: the tile memref<2x4xf32, #cuda.space<shared>> has more dimensions than memref<8xf32>
func.func @copy_rank(%x : memref<8xf32>, %y : memref<2x4xf32, #cuda.space<shared>>, %w : index) {
  task.copy %x[%w] to %y[] in #task.map<spatial(2, 4)> on %w : memref<8xf32> to memref<2x4xf32, #cuda.space<shared>>
  func.return
}

// -----

// CHECK: cannot copy elements of memref<8xf16> to memref<4xf32, #cuda.space<shared>>
func.func @copy_element(%x : memref<8xf16>, %y : memref<4xf32, #cuda.space<shared>>, %w : index) {
  task.copy %x[%w] to %y[] in #task.map<spatial(4)> on %w : memref<8xf16> to memref<4xf32, #cuda.space<shared>>
  func.return
}

// -----

// There is one map, that of a register tile or one of the copy, and it has the tile's shape.

// CHECK: the map's shape is (8,), the tile is memref<4xf32, #cuda.space<shared>>
func.func @copy_map_shape(%x : memref<8xf32>, %y : memref<4xf32, #cuda.space<shared>>, %w : index) {
  task.copy %x[%w] to %y[] in #task.map<spatial(8)> on %w : memref<8xf32> to memref<4xf32, #cuda.space<shared>>
  func.return
}

// -----

// CHECK: the tile memref<4xf32, #cuda.space<shared>> has no map of its own: 'in #task.map' is missing
func.func @copy_without_map(%x : memref<8xf32>, %y : memref<4xf32, #cuda.space<shared>>, %w : index) {
  task.copy %x[%w] to %y[] on %w : memref<8xf32> to memref<4xf32, #cuda.space<shared>>
  func.return
}

// -----

// CHECK: the tile memref<4xf32, #task.map<spatial(4)>, #cuda.space<register>> has a map of its own, 'in' gives another
func.func @copy_second_map(%x : memref<8xf32>, %y : memref<4xf32, #task.map<spatial(4)>, #cuda.space<register>>, %w : index) {
  task.copy %x[%w] to %y[] in #task.map<spatial(4)> on %w : memref<8xf32> to memref<4xf32, #task.map<spatial(4)>, #cuda.space<register>>
  func.return
}

// -----

// task.matmul: two shared tiles M x K and K x N, and a register tile M x N.

// CHECK: task.matmul wants memref<8x2xf32> in space shared
func.func @matmul_space(%a : memref<8x2xf32>, %b : memref<2x4xf32, #cuda.space<shared>>,
    %c : memref<8x4xf32, #task.map<spatial(8, 4)>, #cuda.space<register>>, %w : index) {
  task.matmul %a, %b to %c on %w : memref<8x2xf32>, memref<2x4xf32, #cuda.space<shared>> to memref<8x4xf32, #task.map<spatial(8, 4)>, #cuda.space<register>>
  func.return
}

// -----

// CHECK: task.matmul wants memref<8x4xf32> in space register
func.func @matmul_accumulator(%a : memref<8x2xf32, #cuda.space<shared>>, %b : memref<2x4xf32, #cuda.space<shared>>,
    %c : memref<8x4xf32>, %w : index) {
  task.matmul %a, %b to %c on %w : memref<8x2xf32, #cuda.space<shared>>, memref<2x4xf32, #cuda.space<shared>> to memref<8x4xf32>
  func.return
}

// -----

// CHECK: task.matmul takes tiles of two dimensions and their stages, not memref<2xf32, #cuda.space<shared>>
func.func @matmul_rank(%a : memref<8x2xf32, #cuda.space<shared>>, %b : memref<2xf32, #cuda.space<shared>>,
    %c : memref<8x4xf32, #task.map<spatial(8, 4)>, #cuda.space<register>>, %w : index) {
  task.matmul %a, %b to %c on %w : memref<8x2xf32, #cuda.space<shared>>, memref<2xf32, #cuda.space<shared>> to memref<8x4xf32, #task.map<spatial(8, 4)>, #cuda.space<register>>
  func.return
}

// -----

// CHECK: 8x2 times 4x4 cannot be added to
func.func @matmul_shapes(%a : memref<8x2xf32, #cuda.space<shared>>, %b : memref<4x4xf32, #cuda.space<shared>>,
    %c : memref<8x4xf32, #task.map<spatial(8, 4)>, #cuda.space<register>>, %w : index) {
  task.matmul %a, %b to %c on %w : memref<8x2xf32, #cuda.space<shared>>, memref<4x4xf32, #cuda.space<shared>> to memref<8x4xf32, #task.map<spatial(8, 4)>, #cuda.space<register>>
  func.return
}

// -----

// CHECK: cannot multiply elements of memref<8x2xf16, #cuda.space<shared>> and memref<2x4xf32, #cuda.space<shared>>
func.func @matmul_elements(%a : memref<8x2xf16, #cuda.space<shared>>, %b : memref<2x4xf32, #cuda.space<shared>>,
    %c : memref<8x4xf32, #task.map<spatial(8, 4)>, #cuda.space<register>>, %w : index) {
  task.matmul %a, %b to %c on %w : memref<8x2xf16, #cuda.space<shared>>, memref<2x4xf32, #cuda.space<shared>> to memref<8x4xf32, #task.map<spatial(8, 4)>, #cuda.space<register>>
  func.return
}

// -----

// task.combine: a register tile.

// CHECK: memref<4xf32> is not a register tile: its layout is not a task map
func.func @combine_buffer(%c : memref<4xf32>, %w : index) {
  task.combine add %c on %w : memref<4xf32>
  func.return
}

// -----

// CHECK: 1 sizes for tensor<?x?xf32>, which has 2 '?'
func.func @copy_sizes(%x : tensor<?x?xf32>, %s : memref<4xf32, #cuda.space<shared>>, %w : index) {
  task.copy %x[%w, %w] to %s[] sizes [%w] in #task.map<spatial(4)> on %w : tensor<?x?xf32> to memref<4xf32, #cuda.space<shared>>
  func.return
}

// -----

// CHECK: products of elements of memref<8x8xf32, #cuda.space<shared>> do not fit memref<8x8xf16
func.func @matmul_short(%a : memref<8x8xf32, #cuda.space<shared>>, %c : memref<8x8xf16, #task.map<spatial(8, 8)>, #cuda.space<register>>, %w : index) {
  task.matmul %a, %a to %c on %w : memref<8x8xf32, #cuda.space<shared>>, memref<8x8xf32, #cuda.space<shared>> to memref<8x8xf16, #task.map<spatial(8, 8)>, #cuda.space<register>>
  func.return
}

// -----

// CHECK: a group has whole warps, not 100 threads from 0 on
cuda.kernel @group0() grid(1) block(128) {
  task.group first(0) count(100) (%w) {
  }
}

// -----

// CHECK: a group has whole warps, not 32 threads from 16 on
cuda.kernel @group1() grid(1) block(128) {
  task.group first(16) count(32) (%w) {
  }
}

// -----

// CHECK: a group with the threads 64 to 159 in a block of 128
cuda.kernel @group2() grid(1) block(128) {
  task.group first(64) count(96) (%w) {
  }
}

// -----

// CHECK: a group has one of the barriers 1 to 15
cuda.kernel @group3() grid(1) block(128) {
  task.group first(0) count(32) barrier(16) (%w) {
  }
}

// -----

// CHECK: a task.group cannot be nested in another one
cuda.kernel @group4() grid(1) block(128) {
  task.group first(0) count(64) (%w) {
    task.group first(0) count(32) (%v) {
    }
  }
}

// -----

// CHECK: cuda.sync_threads in a task.group: other threads do not reach it
cuda.kernel @group5() grid(1) block(128) {
  task.group first(0) count(64) (%w) {
    cuda.sync_threads
  }
}

// -----

// CHECK: the body of task.group has one argument, the worker
cuda.kernel @group6() grid(1) block(128) {
  task.group first(0) count(64) (%v, %w) {
  }
}

// -----

// CHECK: copies of 128 threads start at a multiple of that, not at 64
cuda.kernel @group7() grid(1) block(384) {
  task.group first(64) count(128) copies(2) (%w, %copy) {
  }
}

// -----

// CHECK: and that of several copies a second one, the copy
cuda.kernel @group8() grid(1) block(384) {
  task.group first(128) count(128) copies(2) (%w) {
  }
}

// -----

// CHECK: a group has one of the barriers 1 to 15
cuda.kernel @group9() grid(1) block(384) {
  task.group first(128) count(128) copies(2) barrier(15) (%w, %copy) {
  }
}
