// RUN: HIDET_ROUNDTRIP
// RUN: hidet-opt %s | hidet-opt | filecheck %s

// Positions are integers of any rank that the operator takes.

func.func @lookup(%t : tensor<10x4xf32>, %i : tensor<2x3xi64>, %j : tensor<5xi32>, %s : tensor<5x4xf32>) {
  %0 = graph.gather %t, %i {axis = 1 : i64} : (tensor<10x4xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  %1 = graph.scatter %t, %j, %s {accumulate = true} : (tensor<10x4xf32>, tensor<5xi32>, tensor<5x4xf32>) -> tensor<10x4xf32>
  func.return
}

// CHECK-LABEL: func.func @lookup
// CHECK-NEXT:    %0 = graph.gather %t, %i {axis = 1 : i64} : (tensor<10x4xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
// CHECK-NEXT:    %1 = graph.scatter %t, %j, %s {accumulate = true} : (tensor<10x4xf32>, tensor<5xi32>, tensor<5x4xf32>) -> tensor<10x4xf32>
