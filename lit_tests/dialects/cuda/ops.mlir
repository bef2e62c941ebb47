// RUN: HIDET_ROUNDTRIP

// A kernel: arguments with attributes, one to three extents of grid and block, attributes of its own.

// CHECK-LABEL: cuda.kernel @copy(%x : memref<64xf32> {cuda.readonly}, %n : index, %out : memref<64xf32>) grid(4, 2) block(16) attributes {cuda.formed} {
cuda.kernel @copy(%x : memref<64xf32> {cuda.readonly}, %n : index, %out : memref<64xf32>) grid(4, 2) block(16) attributes {cuda.formed} {
  // CHECK-NEXT: %tid = cuda.thread_id x
  %tid = cuda.thread_id x
  // CHECK-NEXT: %by = cuda.block_id y
  %by = cuda.block_id y
  // CHECK-NEXT: cuda.copy_vector %x[%tid] to %out[%tid] width 4 : memref<64xf32> to memref<64xf32>
  cuda.copy_vector %x[%tid] to %out[%tid] width 4 : memref<64xf32> to memref<64xf32>
}

// CHECK-LABEL: cuda.kernel @empty() grid(1, 1, 1) block(8, 8, 4) {
// CHECK-NEXT:  }
cuda.kernel @empty() grid(1, 1, 1) block(8, 8, 4) {
}

// Meetings of threads.

// CHECK-LABEL: cuda.kernel @meet(%x : memref<32xf32>) grid(1) block(32) {
cuda.kernel @meet(%x : memref<32xf32>) grid(1) block(32) {
  %lane = arith.constant 16 : i32
  %tid = cuda.thread_id x
  %v = memref.load %x[%tid] : memref<32xf32>
  // CHECK: cuda.sync_threads
  cuda.sync_threads
  // CHECK-NEXT: cuda.sync_warp
  cuda.sync_warp
  // CHECK-NEXT: %0 = cuda.shfl idx %v, %lane : f32
  %0 = cuda.shfl idx %v, %lane : f32
  // CHECK-NEXT: %1 = cuda.shfl xor %0, %lane : f32
  %1 = cuda.shfl xor %0, %lane : f32
  // CHECK-NEXT: %2 = cuda.shfl up %1, %lane : f32
  %2 = cuda.shfl up %1, %lane : f32
  // CHECK-NEXT: %3 = cuda.shfl down %2, %lane : f32
  %3 = cuda.shfl down %2, %lane : f32
  // CHECK-NEXT: cuda.shfl down %2, %lane width 8 : f32
  cuda.shfl down %2, %lane width 8 : f32
  // CHECK-NEXT: %{{.*}} = cuda.shfl xor %lane, %lane : i32
  %4 = cuda.shfl xor %lane, %lane : i32
  memref.store %3, %x[%tid] : memref<32xf32>
}

// A vector copy between spaces, with an index for each dimension.

// CHECK-LABEL: cuda.kernel @tile(%x : memref<8x16xf16>) grid(1) block(32) {
cuda.kernel @tile(%x : memref<8x16xf16>) grid(1) block(32) {
  %i = cuda.thread_id y
  %j = cuda.thread_id z
  // CHECK: %buf = memref.alloca() : memref<8xf16, #cuda.space<local>>
  %buf = memref.alloca() : memref<8xf16, #cuda.space<local>>
  // CHECK-NEXT: cuda.copy_vector %x[%i, %j] to %buf[%i] width 8 : memref<8x16xf16> to memref<8xf16, #cuda.space<local>>
  cuda.copy_vector %x[%i, %j] to %buf[%i] width 8 : memref<8x16xf16> to memref<8xf16, #cuda.space<local>>
}

// The host side: launches on tensors and on memory.

// CHECK-LABEL: func.func @forward
func.func @forward(%x : tensor<64xf32>) -> tensor<64xf32> {
  // CHECK-NEXT: %y = cuda.launch @double(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %y = cuda.launch @double(%x) : (tensor<64xf32>) -> tensor<64xf32>
  // CHECK-NEXT: %z = cuda.launch @double(%x, %y) {inits = array<i64: 0>} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %z = cuda.launch @double(%x, %y) {inits = array<i64: 0>} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  func.return %y : tensor<64xf32>
}

// CHECK-LABEL: func.func @planned
func.func @planned(%x : memref<64xf32>) {
  // CHECK-NEXT: %a = cuda.buffer arena offset 4096 : memref<64xf32>
  %a = cuda.buffer arena offset 4096 : memref<64xf32>
  // CHECK-NEXT: %p = cuda.buffer prepared offset 0 : memref<64xf32>
  %p = cuda.buffer prepared offset 0 : memref<64xf32>
  // CHECK-NEXT: %w = cuda.buffer constant "p0" : memref<64xf32>
  %w = cuda.buffer constant "p0" : memref<64xf32>
  // CHECK-NEXT: cuda.launch @fused(%x, %a, %p, %w) : (memref<64xf32>, memref<64xf32>, memref<64xf32>, memref<64xf32>) -> ()
  cuda.launch @fused(%x, %a, %p, %w) : (memref<64xf32>, memref<64xf32>, memref<64xf32>, memref<64xf32>) -> ()
  func.return
}

// Extents that launches give.

// CHECK-LABEL: cuda.kernel @open(%x : memref<?xf32>) grid(?, 4) block(?) limits(8388607, 1024) {
cuda.kernel @open(%x : memref<?xf32>) grid(?, 4) block(?) limits(8388607, 1024) {
  // CHECK-NEXT: %g = cuda.grid_dim x
  %g = cuda.grid_dim x
  // CHECK-NEXT: %b = cuda.block_dim x
  %b = cuda.block_dim x
}

// CHECK-LABEL: func.func @launch
func.func @launch(%x : memref<4x8xf32>, %n : index) {
  // CHECK-NEXT: %y = cuda.view %x[%n, %n] : memref<4x8xf32> to memref<?xf32>
  %y = cuda.view %x[%n, %n] : memref<4x8xf32> to memref<?xf32>
  // CHECK-NEXT: cuda.launch @open(%y) extents(%n, %n) : (memref<?xf32>) -> ()
  cuda.launch @open(%y) extents(%n, %n) : (memref<?xf32>) -> ()
  func.return
}
