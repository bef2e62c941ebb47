// RUN: HIDET_ROUNDTRIP
// RUN: hidet-opt %s | hidet-opt | filecheck %s

// Views, joins and padding.

func.func @shape(%x : tensor<2x3x4xf32>, %s : tensor<20xf32>, %e : tensor<2x0x4xf32>, %y : tensor<1xf32>) {
  %0 = graph.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %1 = graph.reshape %y : (tensor<1xf32>) -> tensor<f32>
  %2 = graph.permute %x {dims = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %packed = graph.pack %x {dims = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %3 = graph.expand %y : (tensor<1xf32>) -> tensor<2x5xf32>
  %4 = graph.slice %x {starts = array<i64: 0, 1, 0>, steps = array<i64: 1, 1, 2>, stops = array<i64: 2, 3, 4>} : (tensor<2x3x4xf32>) -> tensor<2x2x2xf32>
  %5 = graph.slice %x {starts = array<i64: 1, 0, 3>, stops = array<i64: -1, 3, -1>, steps = array<i64: -1, 1, -1>} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %6 = graph.as_strided %s {strides = array<i64: 1, 4>} : (tensor<20xf32>) -> tensor<4x5xf32>
  %7 = graph.as_strided %s {offset = 3 : i64, strides = array<i64: 0>} : (tensor<20xf32>) -> tensor<7xf32>
  %8 = graph.concat %x, %e, %x {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x0x4xf32>, tensor<2x3x4xf32>) -> tensor<2x6x4xf32>
  %9 = graph.pad %x {high = array<i64: 0, 0, 2>, low = array<i64: 0, 1, 0>, value = 0.000000e+00 : f32} : (tensor<2x3x4xf32>) -> tensor<2x4x6xf32>
  %10 = graph.resample %x {axis = 1 : i64, size = 6 : i64, step = 1 : i64, offset = -1 : i64, repeat = 2 : i64, low = 0 : i64, high = 2 : i64} : (tensor<2x3x4xf32>) -> tensor<2x6x4xf32>
  func.return
}

// CHECK-LABEL: func.func @shape
// CHECK-NEXT:    %0 = graph.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT:    %1 = graph.reshape %y : (tensor<1xf32>) -> tensor<f32>
// CHECK-NEXT:    %2 = graph.permute %x {dims = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
// CHECK-NEXT:    %packed = graph.pack %x {dims = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
// CHECK-NEXT:    %3 = graph.expand %y : (tensor<1xf32>) -> tensor<2x5xf32>
// CHECK-NEXT:    %4 = graph.slice %x {starts = array<i64: 0, 1, 0>, steps = array<i64: 1, 1, 2>, stops = array<i64: 2, 3, 4>} : (tensor<2x3x4xf32>) -> tensor<2x2x2xf32>
// CHECK-NEXT:    %5 = graph.slice %x {starts = array<i64: 1, 0, 3>, stops = array<i64: -1, 3, -1>, steps = array<i64: -1, 1, -1>} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT:    %6 = graph.as_strided %s {strides = array<i64: 1, 4>} : (tensor<20xf32>) -> tensor<4x5xf32>
// CHECK-NEXT:    %7 = graph.as_strided %s {offset = 3 : i64, strides = array<i64: 0>} : (tensor<20xf32>) -> tensor<7xf32>
// CHECK-NEXT:    %8 = graph.concat %x, %e, %x {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x0x4xf32>, tensor<2x3x4xf32>) -> tensor<2x6x4xf32>
// CHECK-NEXT:    %9 = graph.pad %x {high = array<i64: 0, 0, 2>, low = array<i64: 0, 1, 0>, value = 0.000000e+00 : f32} : (tensor<2x3x4xf32>) -> tensor<2x4x6xf32>
// CHECK-NEXT:    %10 = graph.resample %x {axis = 1 : i64, size = 6 : i64, step = 1 : i64, offset = -1 : i64, repeat = 2 : i64, low = 0 : i64, high = 2 : i64} : (tensor<2x3x4xf32>) -> tensor<2x6x4xf32>
