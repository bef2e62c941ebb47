// RUN: HIDET_VERIFY

// compute.grid: one index argument a dimension, and a body that yields one element.

// CHECK: compute.grid has 1 indices but defines tensor<4x8xf32>
func.func @grid_rank(%v : f32) {
  %g = compute.grid (%i) {
    compute.yield %v : f32
  } : tensor<4x8xf32>
  func.return
}

// -----

// CHECK: the arguments of compute.grid must be of type index
func.func @grid_arguments(%v : f32) {
  %g = compute.grid (%i : i32) {
    compute.yield %v : f32
  } : tensor<4xf32>
  func.return
}

// -----

// CHECK: the body must yield f16, not f32
func.func @grid_element(%v : f32) {
  %g = compute.grid (%i) {
    compute.yield %v : f32
  } : tensor<4xf16>
  func.return
}

// -----

// CHECK: the body must yield f32, not nothing
func.func @grid_yields_nothing() {
  %g = compute.grid (%i) {
    compute.yield
  } : tensor<4xf32>
  func.return
}

// -----

// CHECK: the region must end in compute.yield
func.func @grid_terminator(%v : f32) {
  %g = compute.grid (%i) {
    "test.termop"() : () -> ()
  } : tensor<4xf32>
  func.return
}

// -----

// CHECK: memref<4xf32> should be of base attribute tensor
func.func @grid_of_a_buffer(%v : f32) {
  %g = compute.grid (%i) {
    compute.yield %v : f32
  } : memref<4xf32>
  func.return
}

// -----

// compute.reduce: one index argument an extent.

// CHECK: compute.reduce has 1 indices for 2 extents
func.func @reduce_rank(%v : f32) {
  %r = compute.reduce add [3, 3] (%i) {
    compute.yield %v : f32
  } : f32
  func.return
}

// -----

// CHECK: the arguments of compute.reduce must be of type index
func.func @reduce_arguments(%v : f32) {
  %r = compute.reduce add [3] (%i : i32) {
    compute.yield %v : f32
  } : f32
  func.return
}

// -----

// CHECK: compute.reduce has the negative extents [-3]
func.func @reduce_extents(%v : f32) {
  %r = compute.reduce add [-3] (%i) {
    compute.yield %v : f32
  } : f32
  func.return
}

// -----

// CHECK: the body must yield f32, not f32, f32
func.func @reduce_result(%v : f32) {
  %r = compute.reduce add [3] (%i) {
    compute.yield %v, %v : f32, f32
  } : f32
  func.return
}

// -----

// compute.load and compute.store: one index a dimension, the element's type.

// CHECK: compute.load has 1 indices for tensor<4x8xf32> of rank 2
func.func @load_rank(%x : tensor<4x8xf32>, %i : index) {
  %v = compute.load %x[%i] : tensor<4x8xf32>
  func.return
}

// -----

// CHECK: result 'result'
// CHECK: an element has the type that the tensor or memref says
// CHECK-NEXT: attribute f32 expected from variable 'T', but got f16
func.func @load_element(%x : tensor<4xf32>, %i : index) {
  %v = "compute.load"(%x, %i) : (tensor<4xf32>, index) -> f16
  func.return
}

// -----

// CHECK: what is accessed is a tensor or a memref of such elements
// CHECK-NEXT: Unexpected attribute f32
func.func @load_from_a_scalar(%x : f32) {
  %v = compute.load %x[] : f32
  func.return
}

// -----

// CHECK: what is accessed is a tensor or a memref of such elements
// CHECK-NEXT: Unexpected attribute f32
func.func @store_to_a_scalar(%x : f32) {
  compute.store %x, %x[] : f32
  func.return
}

// -----

// CHECK: operand 'indices'
// CHECK: i32 should be of base attribute index
func.func @load_index(%x : tensor<4xf32>, %i : i32) {
  %v = "compute.load"(%x, %i) : (tensor<4xf32>, i32) -> f32
  func.return
}

// -----

// CHECK: compute.store has 2 indices for memref<4xf32> of rank 1
func.func @store_rank(%x : memref<4xf32>, %v : f32, %i : index) {
  compute.store %v, %x[%i, %i] : memref<4xf32>
  func.return
}

// -----

// CHECK: operand 'target'
// CHECK: what is accessed is a tensor or a memref of such elements
// CHECK: attribute f16 expected from variable 'T', but got f32
func.func @store_element(%x : memref<4xf32>, %v : f16, %i : index) {
  "compute.store"(%v, %x, %i) : (f16, memref<4xf32>, index) -> ()
  func.return
}

// -----

// compute.sink: an index argument a dimension, then the stored scalar.

// CHECK: a sink of type tensor<4x8xf32> has the arguments (index, index, f32)
func.func @sink_value() {
  %y = compute.sink (%i, %j) {
  } : tensor<4x8xf32>
  func.return
}

// -----

// CHECK: a sink of type tensor<4xf32> has the arguments (index, f32)
func.func @sink_element() {
  %y = compute.sink (%i, %v : f16) {
  } : tensor<4xf32>
  func.return
}

// -----

// compute.fusion: isolated, with a block like its arguments and a yield like its results.

// CHECK: the arguments of compute.fusion differ in type from its block's
func.func @fusion_arguments(%x : tensor<4xf32>) {
  "compute.fusion"(%x) ({
  ^bb0(%x_ : tensor<8xf32>):
    compute.yield
  }) : (tensor<4xf32>) -> ()
  func.return
}

// -----

// CHECK: the body must yield tensor<4xf32>, not tensor<8xf32>
func.func @fusion_results(%x : tensor<8xf32>) {
  %y = compute.fusion (%x_ = %x : tensor<8xf32>) -> (tensor<4xf32>) {
    compute.yield %x_ : tensor<8xf32>
  }
  func.return
}

// -----

// CHECK: Operation using value defined out of its IsolatedFromAbove parent
func.func @fusion_isolation(%x : tensor<4xf32>) {
  %y = "compute.fusion"() ({
    compute.yield %x : tensor<4xf32>
  }) : () -> (tensor<4xf32>)
  func.return
}

// -----

// CHECK: compute.fusion has segments of [1, 2] results, but 2
func.func @fusion_segments(%x : tensor<4xf32>) {
  %y, %z = compute.fusion (%x_ = %x : tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) segments [1, 2] {
    compute.yield %x_, %x_ : tensor<4xf32>, tensor<4xf32>
  }
  func.return
}

// -----

// CHECK: compute.fusion has segments of [0, 1] results, but 1
func.func @fusion_empty_segment(%x : tensor<4xf32>) {
  %y = compute.fusion (%x_ = %x : tensor<4xf32>) -> (tensor<4xf32>) segments [0, 1] {
    compute.yield %x_ : tensor<4xf32>
  }
  func.return
}

// -----

// CHECK: compute.fusion: result 0 is tensor<4xf32>, but holds tensor<8xf32> at first
func.func @fusion_inits(%x : tensor<4xf32>, %y : tensor<8xf32>) {
  %z = compute.fusion (%x_ = %x : tensor<4xf32>, %y_ = %y : tensor<8xf32>) -> (tensor<4xf32>) inits [0] {
    compute.yield %x_ : tensor<4xf32>
  }
  func.return
}
