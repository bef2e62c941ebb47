// RUN: HIDET_ROUNDTRIP
// RUN: hidet-opt %s | hidet-opt | filecheck %s

// Dimensions vanish, or stay with size 1.

func.func @reduction(%x : tensor<2x3xf32>, %b : tensor<0xi1>) {
  %0 = graph.sum %x {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  %1 = graph.prod %x {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  %2 = graph.max %x {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  %3 = graph.min %x {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  %4 = graph.mean %x {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  %5 = graph.max %b {axes = array<i64: 0>} : (tensor<0xi1>) -> tensor<i1>
  %6 = graph.min %b {axes = array<i64: 0>} : (tensor<0xi1>) -> tensor<i1>
  %7 = graph.sum %x {axes = array<i64: 1>, keepdims = true} : (tensor<2x3xf32>) -> tensor<2x1xf32>
  %8 = graph.var %x {axes = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<3xf32>
  %9 = graph.var %x {axes = array<i64: 0>, correction = 0 : i64} : (tensor<2x3xf32>) -> tensor<3xf32>
  func.return
}

// CHECK-LABEL: func.func @reduction
// CHECK-NEXT:    %0 = graph.sum %x {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
// CHECK-NEXT:    %1 = graph.prod %x {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
// CHECK-NEXT:    %2 = graph.max %x {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
// CHECK-NEXT:    %3 = graph.min %x {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
// CHECK-NEXT:    %4 = graph.mean %x {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
// CHECK-NEXT:    %5 = graph.max %b {axes = array<i64: 0>} : (tensor<0xi1>) -> tensor<i1>
// CHECK-NEXT:    %6 = graph.min %b {axes = array<i64: 0>} : (tensor<0xi1>) -> tensor<i1>
// CHECK-NEXT:    %7 = graph.sum %x {axes = array<i64: 1>, keepdims = true} : (tensor<2x3xf32>) -> tensor<2x1xf32>
// CHECK-NEXT:    %8 = graph.var %x {axes = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<3xf32>
// CHECK-NEXT:    %9 = graph.var %x {axes = array<i64: 0>, correction = 0 : i64} : (tensor<2x3xf32>) -> tensor<3xf32>
