// RUN: HIDET_ROUNDTRIP
// RUN: hidet-opt %s | hidet-opt | filecheck %s

// Constants are names; numbers have the element type, those of a range are wide.

func.func @creation() {
  %0 = graph.constant "p0" : tensor<64x3x7x7xf32>
  %1 = graph.fill 1.500000e+00 : f32 : tensor<2x3xf32>
  %2 = graph.fill 0xff800000 : f32 : tensor<f32>
  %3 = graph.fill true : tensor<4xi1>
  %4 = graph.fill -3 : i64 : tensor<0xi64>
  %5 = graph.iota {start = 0 : i64, step = 1 : i64} : tensor<4xi64>
  %6 = graph.iota {dim = 1 : i64, start = 0.000000e+00 : f64, step = 5.000000e-01 : f64} : tensor<2x4xf16>
  func.return
}

// CHECK-LABEL: func.func @creation
// CHECK-NEXT:    %0 = graph.constant "p0" : tensor<64x3x7x7xf32>
// CHECK-NEXT:    %1 = graph.fill 1.500000e+00 : f32 : tensor<2x3xf32>
// CHECK-NEXT:    %2 = graph.fill 0xff800000 : f32 : tensor<f32>
// CHECK-NEXT:    %3 = graph.fill true : tensor<4xi1>
// CHECK-NEXT:    %4 = graph.fill -3 : i64 : tensor<0xi64>
// CHECK-NEXT:    %5 = graph.iota {start = 0 : i64, step = 1 : i64} : tensor<4xi64>
// CHECK-NEXT:    %6 = graph.iota {dim = 1 : i64, start = 0.000000e+00 : f64, step = 5.000000e-01 : f64} : tensor<2x4xf16>
