// RUN: HIDET_ROUNDTRIP
// RUN: hidet-opt %s | hidet-opt | filecheck %s

// Numbers that look random are a function of a seed, one of those that are given.

func.func @random(%seeds : tensor<4x2xi32>) {
  %0 = graph.random %seeds {number = 0 : i64, distribution = "bits"} : (tensor<4x2xi32>) -> tensor<8xi64>
  %1 = graph.random %seeds {number = 2 : i64, distribution = "uniform"} : (tensor<4x2xi32>) -> tensor<8x64xf32>
  %2 = graph.random %seeds {number = 3 : i64, distribution = "normal"} : (tensor<4x2xi32>) -> tensor<0xf64>
  func.return
}

// CHECK-LABEL: func.func @random
// CHECK-NEXT:    %0 = graph.random %seeds {number = 0 : i64, distribution = "bits"} : (tensor<4x2xi32>) -> tensor<8xi64>
// CHECK-NEXT:    %1 = graph.random %seeds {number = 2 : i64, distribution = "uniform"} : (tensor<4x2xi32>) -> tensor<8x64xf32>
// CHECK-NEXT:    %2 = graph.random %seeds {number = 3 : i64, distribution = "normal"} : (tensor<4x2xi32>) -> tensor<0xf64>
