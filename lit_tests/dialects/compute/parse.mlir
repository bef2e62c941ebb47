// RUN: hidet-opt %s --parsing-diagnostics --split-input-file | filecheck %s

// CHECK: '(' expected
func.func @grid_without_indices() {
  %g = compute.grid { compute.yield } : tensor<f32>
  func.return
}

// -----

// CHECK: Expected `add`, `mul`, `max`, or `min`
func.func @unknown_kind(%v : f32) {
  %r = compute.reduce mean [4] (%i) { compute.yield %v : f32 } : f32
  func.return
}

// -----

// CHECK: Expected integer literal
func.func @extents_are_numbers(%v : f32) {
  %r = compute.reduce add [n] (%i) { compute.yield %v : f32 } : f32
  func.return
}

// -----

// CHECK: operand is used with type f32, but has been previously used or defined with type f16
func.func @store_of_another_type(%v : f16, %x : memref<4xf32>, %i : index) {
  compute.store %v, %x[%i] : memref<4xf32>
  func.return
}

// -----

// CHECK: config must be a dictionary
func.func @config() {
  compute.fusion () -> () config 4 {
    compute.yield
  }
  func.return
}

// -----

// CHECK: '=' expected
func.func @input(%x : tensor<4xf32>) {
  compute.fusion (%x : tensor<4xf32>) -> () {
    compute.yield
  }
  func.return
}
