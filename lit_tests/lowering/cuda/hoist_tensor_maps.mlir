// RUN: hidet-opt %s -p hoist-tensor-maps --split-input-file | filecheck %s

// What a kernel makes of an argument comes as an argument: equal maps once, and what nothing else
// uses, %x, goes. The map of %y, which the kernel writes, counts as written. No name is taken twice.

cuda.kernel @f(%x : memref<2048xf16> {cuda.readonly}, %n : i32 {cuda.unsigned}, %y_ : memref<2048xf16>, %i : index) grid(1) block(32) {
  %s = memref.alloca() : memref<64x32xf16, #cuda.space<shared>>
  %b = memref.alloca() : memref<1xi64, #cuda.space<shared>>
  %c = arith.cmpi eq, %n, %n : i32
  scf.if %c {
    %m = cuda.tensor_map %x : memref<2048xf16> -> !cuda.tensor_map<tensor<64x32xf16>, box [64, 32]>
    cuda.tma_load %m(%n, %n) to %s[%i, %i] barrier %b[%i] : memref<64x32xf16, #cuda.space<shared>>, memref<1xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<64x32xf16>, box [64, 32]>
  }
  %m = cuda.tensor_map %x : memref<2048xf16> -> !cuda.tensor_map<tensor<64x32xf16>, box [64, 32]>
  cuda.tma_load %m(%n, %n) to %s[%i, %i] barrier %b[%i] : memref<64x32xf16, #cuda.space<shared>>, memref<1xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<64x32xf16>, box [64, 32]>
  %x_map = cuda.tensor_map %x offset 1024 strides [64, 1] : memref<2048xf16> -> !cuda.tensor_map<tensor<16x64xf16>, box [16, 32]>
  cuda.tma_load %x_map(%n, %n) to %s[%i, %i] barrier %b[%i] : memref<64x32xf16, #cuda.space<shared>>, memref<1xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<16x64xf16>, box [16, 32]>
  %o = cuda.tensor_map %y_ : memref<2048xf16> -> !cuda.tensor_map<tensor<64x32xf16>, box [64, 32]>
  cuda.tma_store %s[%i, %i] to %o(%n, %n) : memref<64x32xf16, #cuda.space<shared>>, !cuda.tensor_map<tensor<64x32xf16>, box [64, 32]>
  %e = memref.load %y_[%i] : memref<2048xf16>
}
// CHECK:      cuda.kernel @f(%n : i32 {cuda.unsigned}, %y_ : memref<2048xf16>, %i : index,
// CHECK-SAME:   %x_map1 : !cuda.tensor_map<tensor<64x32xf16>, box [64, 32]> {cuda.readonly},
// CHECK-SAME:   %x_map2 : !cuda.tensor_map<tensor<16x64xf16>, box [16, 32]> {cuda.readonly, cuda.map = {offset = 1024 : i64, strides = array<i64: 64, 1>}},
// CHECK-SAME:   %y_map : !cuda.tensor_map<tensor<64x32xf16>, box [64, 32]>)
// CHECK-SAME:   attributes {cuda.launch_arguments = array<i64: 1, 2, 3, 0, 0, 2>}
// CHECK-NOT:    cuda.tensor_map %
// CHECK:        scf.if
// CHECK-NEXT:     cuda.tma_load %x_map1(
// CHECK:        cuda.tma_load %x_map1(
// CHECK-NEXT:   cuda.tma_load %x_map2(
// CHECK-NEXT:   cuda.tma_store %s[%i, %i] to %y_map(
// CHECK-NEXT:   memref.load %y_[%i]

// -----

// Where nothing is made in the kernel, nothing changes.

// CHECK:      cuda.kernel @script(%a : !cuda.tensor_map<tensor<8x32xf16>, box [8, 32]> {cuda.readonly}, %c : memref<256xf16>) grid(1) block(32) {
cuda.kernel @script(%a : !cuda.tensor_map<tensor<8x32xf16>, box [8, 32]> {cuda.readonly}, %c : memref<256xf16>) grid(1) block(32) {
}
