// RUN: hidet-opt %s -p 'verify-level{level=cuda after=overlap-launches}' --verify-diagnostics --split-input-file | filecheck %s

// Programs that the runtime reads.

// CHECK: cuda.tensor_map is left in a kernel
// CHECK-NEXT: at: cuda.tensor_map in @map
// CHECK-NEXT: hint: hoist-tensor-maps should have lowered it
cuda.kernel @map(%x : memref<256xf16>) grid(1) block(32) {
  %m = cuda.tensor_map %x : memref<256xf16> -> !cuda.tensor_map<tensor<8x32xf16>, box [8, 32]>
}

// -----

// CHECK: graph.constant is left in a host function
// CHECK-NEXT: at: graph.constant in @forward
// CHECK-NEXT: hint: plan-memory should have lowered it
func.func @forward() {
  %p = graph.constant "p0" : tensor<64xf32>
  func.return
}

// -----

// CHECK: func.func @forward
func.func @forward(%x : memref<256xf16>) {
  %n = arith.constant 3 : i32
  %m = cuda.tensor_map %x : memref<256xf16> -> !cuda.tensor_map<tensor<8x32xf16>, box [8, 32]>
  cuda.launch @f(%m, %n) : (!cuda.tensor_map<tensor<8x32xf16>, box [8, 32]>, i32) -> ()
  func.return
}
cuda.kernel @f(%x : !cuda.tensor_map<tensor<8x32xf16>, box [8, 32]>, %n : i32) grid(1) block(32) {
}
