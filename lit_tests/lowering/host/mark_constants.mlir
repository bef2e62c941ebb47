// RUN: hidet-opt %s -p mark-constants --split-input-file | filecheck %s

// Constant is what all launches of @forward pass a weight or an input for: %w of @add, which also
// gets what @prepare computes, not %x. The first launch of @update overwrites the input %s.

// CHECK:      cuda.kernel @add(%x : memref<32xf32>, %w : memref<32xf32> {cuda.readonly, cuda.constant}, %n : i32, %y : memref<32xf32>) grid(1) block(32) attributes {cuda.overlaps} {
cuda.kernel @add(%x : memref<32xf32>, %w : memref<32xf32> {cuda.readonly}, %n : i32, %y : memref<32xf32>) grid(1) block(32) {
}
// CHECK:      cuda.kernel @update(%x : !cuda.tensor_map<tensor<4x8xf32>, box [4, 8]> {cuda.constant}, %s : memref<32xf32>) grid(1) block(32) attributes {cuda.overlaps} {
cuda.kernel @update(%x : !cuda.tensor_map<tensor<4x8xf32>, box [4, 8]>, %s : memref<32xf32>) grid(1) block(32) {
}
// CHECK:      cuda.kernel @read(%s : memref<32xf32>, %y : memref<32xf32>) grid(1) block(32) attributes {cuda.overlaps} {
cuda.kernel @read(%s : memref<32xf32>, %y : memref<32xf32>) grid(1) block(32) {
}
// Only @prepare launches it.
// CHECK:      cuda.kernel @pack(%x : memref<32xf32>, %y : memref<32xf32>) grid(1) block(32) {
cuda.kernel @pack(%x : memref<32xf32>, %y : memref<32xf32>) grid(1) block(32) {
}
func.func @prepare() -> tensor<32xf32> {
  %p = graph.constant "p0" : tensor<32xf32>
  %w = cuda.launch @pack(%p) : (tensor<32xf32>) -> tensor<32xf32>
  func.return %w : tensor<32xf32>
}
func.func @forward(%x : tensor<32xf32>, %s : tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) attributes {updates = array<i64: 1>} {
  %n = arith.constant 3 : i32
  %p = graph.constant "p0" : tensor<32xf32>
  %w = graph.constant "prepared0" : tensor<32xf32>
  %a = cuda.launch @add(%x, %p, %n) : (tensor<32xf32>, tensor<32xf32>, i32) -> tensor<32xf32>
  %b = cuda.launch @add(%a, %w, %n) : (tensor<32xf32>, tensor<32xf32>, i32) -> tensor<32xf32>
  %c = cuda.launch @add(%a, %x, %n) : (tensor<32xf32>, tensor<32xf32>, i32) -> tensor<32xf32>
  %d = cuda.launch @read(%s) : (tensor<32xf32>) -> tensor<32xf32>
  %t = cuda.launch @update(%x, %s) {inits = array<i64: 0>} : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  func.return %b, %d, %t : tensor<32xf32>, tensor<32xf32>, tensor<32xf32>
}

// -----

// The only launch has none to overlap with.

// CHECK:      cuda.kernel @alone(%x : memref<32xf32> {cuda.constant}, %y : memref<32xf32>) grid(1) block(32) {
cuda.kernel @alone(%x : memref<32xf32>, %y : memref<32xf32>) grid(1) block(32) {
}
func.func @forward(%x : tensor<32xf32>) -> tensor<32xf32> {
  %y = cuda.launch @alone(%x) : (tensor<32xf32>) -> tensor<32xf32>
  func.return %y : tensor<32xf32>
}
