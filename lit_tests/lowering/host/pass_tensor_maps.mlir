// RUN: hidet-opt %s -p pass-tensor-maps --split-input-file | filecheck %s

// Each launch makes the maps that its kernel takes, of what the kernel says.

cuda.kernel @f(%n : i32 {cuda.unsigned}, %y : memref<2048xf16>, %i : index, %x_map1 : !cuda.tensor_map<tensor<64x32xf16>, box [64, 32]> {cuda.readonly}, %x_map2 : !cuda.tensor_map<tensor<16x64xf16>, box [16, 32]> {cuda.readonly, cuda.map = {offset = 1024 : i64, strides = array<i64: 64, 1>}}, %y_map : !cuda.tensor_map<tensor<64x32xf16>, box [64, 32]>) grid(1) block(32) attributes {cuda.launch_arguments = array<i64: 1, 2, 3, 0, 0, 2>} {
}
func.func @forward(%x : memref<64x32xf16>, %out0 : memref<64x32xf16>) {
  %n = arith.constant 3 : i32
  %i = arith.constant 0 : index
  %t = cuda.buffer arena offset 0 : memref<64x32xf16>
  cuda.launch @f(%x, %n, %t, %i) : (memref<64x32xf16>, i32, memref<64x32xf16>, index) -> ()
  cuda.launch @f(%t, %n, %out0, %i) : (memref<64x32xf16>, i32, memref<64x32xf16>, index) -> ()
  func.return
}

// CHECK:      cuda.kernel @f(%n : i32 {cuda.unsigned}, %y : memref<2048xf16>, %i : index,
// CHECK-SAME:   %x_map1 : !cuda.tensor_map<tensor<64x32xf16>, box [64, 32]> {cuda.readonly},
// CHECK-SAME:   %x_map2 : !cuda.tensor_map<tensor<16x64xf16>, box [16, 32]> {cuda.readonly},
// CHECK-SAME:   %y_map : !cuda.tensor_map<tensor<64x32xf16>, box [64, 32]>) grid(1) block(32) {
// CHECK:      func.func @forward
// CHECK:        %x_map = cuda.tensor_map %x : memref<64x32xf16> -> !cuda.tensor_map<tensor<64x32xf16>, box [64, 32]>
// CHECK-NEXT:   %x_map_1 = cuda.tensor_map %x offset 1024 strides [64, 1] : memref<64x32xf16>
// CHECK-NEXT:   %t_map = cuda.tensor_map %t : memref<64x32xf16>
// CHECK-NEXT:   cuda.launch @f(%n, %t, %i, %x_map, %x_map_1, %t_map) : (i32, memref<64x32xf16>, index,
// CHECK-NEXT:   %t_map_1 = cuda.tensor_map %t : memref<64x32xf16>
// CHECK-NEXT:   %t_map_2 = cuda.tensor_map %t offset 1024
// CHECK-NEXT:   %out0_map = cuda.tensor_map %out0 : memref<64x32xf16>
// CHECK-NEXT:   cuda.launch @f(%n, %out0, %i, %t_map_1, %t_map_2, %out0_map)

// -----

// A kernel of a script has maps from the start; what it takes as memory, and kernels without maps,
// are left alone.

cuda.kernel @script(%a : !cuda.tensor_map<tensor<8x32xf16>, box [8, 32]> {cuda.readonly}, %c : memref<256xf16>) grid(1) block(32) {
}
cuda.kernel @other(%a : memref<256xf16> {cuda.readonly}, %c : memref<256xf16>) grid(1) block(32) {
}
func.func @forward(%a : memref<16x16xf16>, %c : memref<256xf16>) {
  cuda.launch @script(%a, %c) : (memref<16x16xf16>, memref<256xf16>) -> ()
  cuda.launch @other(%a, %c) : (memref<16x16xf16>, memref<256xf16>) -> ()
  func.return
}

// CHECK:      cuda.kernel @script(%a : !cuda.tensor_map<tensor<8x32xf16>, box [8, 32]> {cuda.readonly}, %c : memref<256xf16>)
// CHECK:      cuda.kernel @other(%a : memref<256xf16> {cuda.readonly}, %c : memref<256xf16>)
// CHECK:        %a_map = cuda.tensor_map %a : memref<16x16xf16> -> !cuda.tensor_map<tensor<8x32xf16>, box [8, 32]>
// CHECK-NEXT:   cuda.launch @script(%a_map, %c) :
// CHECK-NEXT:   cuda.launch @other(%a, %c) : (memref<16x16xf16>, memref<256xf16>) -> ()

// -----

// What has been passed as a map already stays as it is: the pass may run again.

cuda.kernel @twice(%a : !cuda.tensor_map<tensor<8x32xf16>, box [8, 32]>) grid(1) block(32) {
}
func.func @forward(%a : memref<8x32xf16>) {
  %m = cuda.tensor_map %a : memref<8x32xf16> -> !cuda.tensor_map<tensor<8x32xf16>, box [8, 32]>
  cuda.launch @twice(%m) : (!cuda.tensor_map<tensor<8x32xf16>, box [8, 32]>) -> ()
  func.return
}

// CHECK:      %m = cuda.tensor_map %a
// CHECK-NEXT: cuda.launch @twice(%m)
