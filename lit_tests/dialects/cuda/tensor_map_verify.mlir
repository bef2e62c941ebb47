// RUN: HIDET_VERIFY

// CHECK: a box with 1 extents of a tensor with 2 dimensions; as many extents as dimensions, of which there are 1 to 5
cuda.kernel @f(%a : !cuda.tensor_map<tensor<8x64xf16>, box [64]>) grid(1) block(32) {
}

// -----

// CHECK: a box of [8, 512] elements; the extents are 1 to 256; a larger tile takes several copies
cuda.kernel @f(%a : !cuda.tensor_map<tensor<8x512xf16>, box [8, 512]>) grid(1) block(32) {
}

// -----

// CHECK: a box cannot be swizzled in 16 bytes; there is 0, 32, 64, 128
cuda.kernel @f(%a : !cuda.tensor_map<tensor<8x64xf16>, box [8, 8], swizzle 16>) grid(1) block(32) {
}

// -----

// CHECK: a row of the box has 24 bytes; a multiple of 16
cuda.kernel @f(%a : !cuda.tensor_map<tensor<8x64xf16>, box [8, 12]>) grid(1) block(32) {
}

// -----

// CHECK: a row of the box has 128 bytes; a multiple of 16, and no more than the 64 of the swizzle
cuda.kernel @f(%a : !cuda.tensor_map<tensor<8x64xf16>, box [8, 64], swizzle 64>) grid(1) block(32) {
}

// -----

// CHECK: a tensor map that rounds tensor<8x64xf16> to TF32, not f32
cuda.kernel @f(%a : !cuda.tensor_map<tensor<8x64xf16>, box [8, 32], swizzle 64, tf32>) grid(1) block(32) {
}

// -----

// CHECK: a tensor map of tensor<?x64xf16>, whose extents must be known
cuda.kernel @f(%a : !cuda.tensor_map<tensor<?x64xf16>, box [8, 64]>) grid(1) block(32) {
}

// -----

// CHECK: a tensor map of elements of type index
cuda.kernel @f(%a : !cuda.tensor_map<tensor<8x64xindex>, box [8, 64]>) grid(1) block(32) {
}

// -----

cuda.kernel @f(%x : memref<0xf16>) grid(1) block(32) {
  // CHECK: a map of tensor<0x64xf16>, which has no elements to copy
  %0 = cuda.tensor_map %x : memref<0xf16> -> !cuda.tensor_map<tensor<0x64xf16>, box [8, 64]>
}

// -----

cuda.kernel @f(%x : memref<8x64xf32>) grid(1) block(32) {
  // CHECK: a map of tensor<8x64xf16> over memref<8x64xf32>
  %0 = cuda.tensor_map %x : memref<8x64xf32> -> !cuda.tensor_map<tensor<8x64xf16>, box [8, 64]>
}

// -----

cuda.kernel @f(%x : memref<8x63xf16>) grid(1) block(32) {
  // CHECK: a tensor map with strides [63, 1]; there is one for each dimension, the last is 1, and the others are multiples of 16 bytes
  %0 = cuda.tensor_map %x : memref<8x63xf16> -> !cuda.tensor_map<tensor<8x63xf16>, box [8, 8]>
}

// -----

cuda.kernel @f(%x : memref<8x64xf16>) grid(1) block(32) {
  // CHECK: a tensor map with strides [64, 8, 1]; there is one for each dimension
  %0 = cuda.tensor_map %x strides [64, 8, 1] : memref<8x64xf16> -> !cuda.tensor_map<tensor<8x64xf16>, box [8, 8]>
}

// -----

cuda.kernel @f(%x : memref<8x64xf16>) grid(1) block(32) {
  // CHECK: a tensor map with strides [64, 2]; there is one for each dimension, the last is 1
  %0 = cuda.tensor_map %x strides [64, 2] : memref<8x64xf16> -> !cuda.tensor_map<tensor<8x32xf16>, box [8, 8]>
}

// -----

cuda.kernel @f(%x : memref<8x64xf16>) grid(1) block(32) {
  // CHECK: a tensor map with offset 4, which is no multiple of 16 bytes
  %0 = cuda.tensor_map %x offset 4 : memref<8x64xf16> -> !cuda.tensor_map<tensor<4x64xf16>, box [4, 64]>
}

// -----

cuda.kernel @f(%x : memref<8x64xf16>) grid(1) block(32) {
  // CHECK: a tensor map of 520 elements from the start of memref<8x64xf16>
  %0 = cuda.tensor_map %x offset 8 : memref<8x64xf16> -> !cuda.tensor_map<tensor<8x64xf16>, box [8, 64]>
}

// -----

// CHECK: pixels [0] to [13] step [1], [128, 64] a copy, of images with 4 dimensions; a number for each dimension but those of images and of channels, of which there are 1 to 3
cuda.kernel @f(%a : !cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 64], pixels [0] to [13] step [1]>) grid(1) block(32) {
}

// -----

// CHECK: pixels [0, 0] to [13, 13] step [1, 1], [8, 8, 64] a copy, of images with 4 dimensions
cuda.kernel @f(%a : !cuda.tensor_map<tensor<8x14x14x64xf16>, box [8, 8, 64], pixels [0, 0] to [13, 13] step [1, 1]>) grid(1) block(32) {
}

// -----

// CHECK: a copy of 2048 pixels and 64 channels; up to 1024 pixels and 256 channels
cuda.kernel @f(%a : !cuda.tensor_map<tensor<8x14x14x64xf16>, box [2048, 64], pixels [0, 0] to [13, 13] step [1, 1]>) grid(1) block(32) {
}

// -----

// CHECK: pixels [-129, 0] to [13, 13] of images [14, 14]; corners are -128 to 127 pixels from those of the image
cuda.kernel @f(%a : !cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 64], pixels [-129, 0] to [13, 13] step [1, 1]>) grid(1) block(32) {
}

// -----

// CHECK: pixels [0, 0] to [13, 141] of images [14, 14]; corners are
cuda.kernel @f(%a : !cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 64], pixels [0, 0] to [13, 141] step [1, 1]>) grid(1) block(32) {
}

// -----

// CHECK: pixels [0, 0] to [13, 13] step [1, 9]; steps are 1 to 8, and the last pixel is not before the first
cuda.kernel @f(%a : !cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 64], pixels [0, 0] to [13, 13] step [1, 9]>) grid(1) block(32) {
}

// -----

// CHECK: pixels [0, 0] to [-1, 13] step [1, 1]; steps are
cuda.kernel @f(%a : !cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 64], pixels [0, 0] to [-1, 13] step [1, 1]>) grid(1) block(32) {
}

// -----

// CHECK: a row of the box has 24 bytes; a multiple of 16
cuda.kernel @f(%a : !cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 12], pixels [0, 0] to [13, 13] step [1, 1]>) grid(1) block(32) {
}
