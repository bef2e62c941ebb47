// RUN: hidet-opt %s -p 'verify-level{level=cuda after=overlap-launches}' --verify-diagnostics --split-input-file | filecheck %s

// CHECK: there is no kernel @f
// CHECK-NEXT: at: cuda.launch in @forward
func.func @forward() {
  cuda.launch @f() : () -> ()
  func.return
}

// -----

// CHECK: 1 arguments for @f, which takes 2
func.func @forward(%x : memref<4xf32>) {
  cuda.launch @f(%x) : (memref<4xf32>) -> ()
  func.return
}
cuda.kernel @f(%x : memref<4xf32>, %y : memref<4xf32>) grid(1) block(32) {
}

// -----

// CHECK: 1 extents for @f, which leaves 2 open
func.func @forward(%n : index) {
  cuda.launch @f() extents(%n) : () -> ()
  func.return
}
cuda.kernel @f() grid(?) block(?) {
}

// -----

// CHECK: argument 1 is 4 x f32, @f takes 4 x f16
func.func @forward(%x : tensor<4xf32>) {
  %y = cuda.launch @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
cuda.kernel @f(%x : memref<4xf32>, %y : memref<4xf16>) grid(1) block(32) {
}

// -----

// CHECK: argument 0 is 4 x f32, @f takes 5 x f32
func.func @forward(%x : memref<4xf32>) {
  cuda.launch @f(%x) : (memref<4xf32>) -> ()
  func.return
}
cuda.kernel @f(%x : memref<5xf32>) grid(1) block(32) {
}

// -----

// CHECK: argument 0 is 256 x f16, @f takes 512 x f16
func.func @forward(%x : memref<256xf16>) {
  cuda.launch @f(%x) : (memref<256xf16>) -> ()
  func.return
}
cuda.kernel @f(%x : !cuda.tensor_map<tensor<8x64xf16>, box [8, 64]>) grid(1) block(32) {
}

// -----

// CHECK: argument 0 is !cuda.tensor_map<tensor<8x32xf16>, box [8, 32]>, @f takes !cuda.tensor_map<tensor<8x32xf16>, box [8, 32], swizzle 64>
func.func @forward(%x : memref<256xf16>) {
  %m = cuda.tensor_map %x : memref<256xf16> -> !cuda.tensor_map<tensor<8x32xf16>, box [8, 32]>
  cuda.launch @f(%m) : (!cuda.tensor_map<tensor<8x32xf16>, box [8, 32]>) -> ()
  func.return
}
cuda.kernel @f(%x : !cuda.tensor_map<tensor<8x32xf16>, box [8, 32], swizzle 64>) grid(1) block(32) {
}

// -----

// CHECK: a programmatic launch of @f, which waits for no other one
func.func @forward(%x : memref<256xf16>) {
  cuda.launch @f(%x) programmatic : (memref<256xf16>) -> ()
  func.return
}
cuda.kernel @f(%x : memref<256xf16>) grid(1) block(32) {
  cuda.launch_dependents
}

// -----

// Tensors and buffers, flat or not, as long as they hold the same.

// CHECK: func.func @forward
func.func @forward(%x : tensor<2x4xf32>, %b : memref<2x4xf32>, %n : i32) {
  %y = cuda.launch @f(%x, %n) : (tensor<2x4xf32>, i32) -> tensor<8xf16>
  cuda.launch @g(%b) : (memref<2x4xf32>) -> ()
  func.return
}
cuda.kernel @f(%x : memref<8xf32>, %n : i32, %y : memref<8xf16>) grid(1) block(32) {
}
cuda.kernel @g(%x : memref<8xf32>) grid(1) block(32) {
}

// -----

// CHECK-NOT: Error
// A pointer takes any number of elements; what a result holds at first is no argument.
func.func @forward(%x : tensor<4xf32>, %y : tensor<8xf32>) -> tensor<8xf32> {
  %z = cuda.launch @f(%x, %y) {inits = array<i64: 0>} : (tensor<4xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %z : tensor<8xf32>
}
cuda.kernel @f(%x : memref<?xf32>, %y : memref<8xf32>) grid(1) block(32) {
}

// -----

// A tensor for a map of it, a map of the very type, an early start of a kernel that waits.

// CHECK-NOT: illegal
// CHECK: func.func @forward
func.func @forward(%x : memref<256xf16>) {
  cuda.launch @f(%x) : (memref<256xf16>) -> ()
  %m = cuda.tensor_map %x : memref<256xf16> -> !cuda.tensor_map<tensor<8x32xf16>, box [8, 32]>
  cuda.launch @f(%m) programmatic : (!cuda.tensor_map<tensor<8x32xf16>, box [8, 32]>) -> ()
  func.return
}
cuda.kernel @f(%x : !cuda.tensor_map<tensor<8x32xf16>, box [8, 32]>) grid(1) block(32) attributes {cuda.overlaps} {
  cuda.grid_dependency_wait
}

// -----

// Maps that `hoist-tensor-maps` made arguments: the launch still passes the buffers.

// CHECK-NOT: illegal
// CHECK: func.func @forward
func.func @forward(%n : i32, %x : memref<256xf16>) {
  cuda.launch @f(%x, %n) : (memref<256xf16>, i32) -> ()
  func.return
}
cuda.kernel @f(%n : i32, %x : !cuda.tensor_map<tensor<4x32xf16>, box [4, 32]>) grid(1) block(32) attributes {cuda.launch_arguments = array<i64: 1, 0>} {
}
