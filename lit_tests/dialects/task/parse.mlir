// RUN: hidet-opt %s --parsing-diagnostics --split-input-file | filecheck %s

// CHECK: a task map (#task.map<...>) expected
func.func @foreach_map(%w : index) {
  task.foreach (%i) in affine_map<(i) -> (i)> on %w {
  }
  func.return
}

// -----

// CHECK: Expected 'in'
func.func @foreach_without_map(%w : index) {
  task.foreach (%i) on %w {
  }
  func.return
}

// -----

// CHECK: Expected 'on'
func.func @foreach_without_worker() {
  task.foreach (%i) in #task.map<spatial(4)> {
  }
  func.return
}

// -----

// CHECK: task.foreach of a register tile, not of f32
func.func @foreach_of_a_scalar(%w : index, %v : f32) {
  task.foreach () of %v on %w : f32 {
  }
  func.return
}

// -----

// CHECK: the map of a foreach must be known; only tiles can have '?'
func.func @foreach_unknown(%w : index) {
  task.foreach (%i) in #task.map<?> on %w {
  }
  func.return
}

// -----

// CHECK: Expected `add`, `mul`, `max`, or `min`
func.func @combine(%w : index, %c : memref<4xf32, #task.map<replicate(32) * repeat(4)>, #cuda.space<register>>) {
  task.combine sum %c on %w : memref<4xf32, #task.map<replicate(32) * repeat(4)>, #cuda.space<register>>
  func.return
}

// -----

// CHECK: column_major or row_major expected
func.func @order(%x : memref<8x8xf16, #task.tile<diagonal>>) {
  func.return
}

// -----

// CHECK: a swizzle has 0, 32, 64, 128 bytes
func.func @swizzle(%x : memref<8x8xf16, #task.tile<row_major, swizzle 48>>) {
  func.return
}
