// RUN: HIDET_ROUNDTRIP

// A type says what a kernel knows of a tensor: its elements and extents, the box that one copy
// moves, and the span in which the pieces of the box's rows are permuted.

// CHECK:      cuda.kernel @types(
// CHECK-SAME:   %a : !cuda.tensor_map<tensor<100xf32>, box [4]>,
// CHECK-SAME:   %b : !cuda.tensor_map<tensor<8x3x64xbf16>, box [2, 1, 32], swizzle 64>)
cuda.kernel @types(%a : !cuda.tensor_map<tensor<100xf32>, box [4]>, %b : !cuda.tensor_map<tensor<8x3x64xbf16>, box [2, 1, 32], swizzle 64>) grid(1) block(32) {
}

// Loads round f32 to TF32.

// CHECK:      cuda.kernel @rounded(
// CHECK-SAME:   %a : !cuda.tensor_map<tensor<100xf32>, box [4], tf32>,
// CHECK-SAME:   %b : !cuda.tensor_map<tensor<8x64xf32>, box [2, 16], swizzle 64, tf32>)
cuda.kernel @rounded(%a : !cuda.tensor_map<tensor<100xf32>, box [4], tf32>, %b : !cuda.tensor_map<tensor<8x64xf32>, box [2, 16], swizzle 64, tf32>) grid(1) block(32) {
}

// Of images whose channels come last a copy takes pixels: from the first one to the last, by steps.

// CHECK:      cuda.kernel @pixels(
// CHECK-SAME:   %a : !cuda.tensor_map<tensor<8x9x64xf16>, box [1024, 32], pixels [-3] to [8] step [1]>,
// CHECK-SAME:   %b : !cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 64], pixels [-1, 0] to [12, 13] step [2, 1], swizzle 128>)
cuda.kernel @pixels(%a : !cuda.tensor_map<tensor<8x9x64xf16>, box [1024, 32], pixels [-3] to [8] step [1]>, %b : !cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 64], pixels [-1, 0] to [12, 13] step [2, 1], swizzle 128>) grid(1) block(32) {
}

// A map is made of a buffer: all of it, or a part with strides of its own.

// CHECK-LABEL: func.func @maps
func.func @maps(%x : memref<4096xf16>) {
  // CHECK-NEXT: %0 = cuda.tensor_map %x : memref<4096xf16> -> !cuda.tensor_map<tensor<64x64xf16>, box [64, 64], swizzle 128>
  %0 = cuda.tensor_map %x : memref<4096xf16> -> !cuda.tensor_map<tensor<64x64xf16>, box [64, 64], swizzle 128>
  // CHECK-NEXT: %1 = cuda.tensor_map %x offset 64 strides [128, 1] : memref<4096xf16> -> !cuda.tensor_map<tensor<32x64xf16>, box [32, 64]>
  %1 = cuda.tensor_map %x offset 64 strides [128, 1] : memref<4096xf16> -> !cuda.tensor_map<tensor<32x64xf16>, box [32, 64]>
  // CHECK-NEXT: cuda.launch @f(%0, %1) programmatic : (!cuda.tensor_map
  cuda.launch @f(%0, %1) programmatic : (!cuda.tensor_map<tensor<64x64xf16>, box [64, 64], swizzle 128>, !cuda.tensor_map<tensor<32x64xf16>, box [32, 64]>) -> ()
  func.return
}
