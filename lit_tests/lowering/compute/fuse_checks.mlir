// RUN: hidet-opt %s -p 'fuse' | filecheck %s
// RUN: hidet-opt %s -p 'fuse{arch=cpu}' | filecheck --check-prefix CPU %s

// On a GPU a check of an index is done where it is used. On the CPU one that would be done for 1024
// elements is a kernel of its own, and one that would be done twice is not.

// CHECK-LABEL: func.func @embedding
// CHECK-COUNT-1: compute.fusion
// CHECK-NOT:     compute.fusion
// CHECK-LABEL: func.func @pairs
// CPU-LABEL: func.func @embedding
// CPU-COUNT-2: compute.fusion
// CPU-LABEL: func.func @pairs
// CPU-COUNT-1: compute.fusion
// CPU-NOT:     compute.fusion
func.func @embedding(%table : tensor<50x1024xf32>, %ids : tensor<64xi64>) -> tensor<64x1024xf32> {
  %checked = compute.grid (%i) {
    %0 = compute.load %ids[%i] : tensor<64xi64>
    %1 = arith.index_cast %0 : i64 to index
    %2 = cuda.checked_index %1 below 50 "aten.embedding"
    %3 = arith.index_cast %2 : index to i64
    compute.yield %3 : i64
  } : tensor<64xi64>
  %rows = compute.grid (%i, %j) {
    %0 = compute.load %checked[%i] : tensor<64xi64>
    %1 = arith.index_cast %0 : i64 to index
    %2 = compute.load %table[%1, %j] : tensor<50x1024xf32>
    compute.yield %2 : f32
  } : tensor<64x1024xf32>
  func.return %rows : tensor<64x1024xf32>
}

func.func @pairs(%table : tensor<50x2xf32>, %ids : tensor<64000xi64>) -> tensor<64000x2xf32> {
  %checked = compute.grid (%i) {
    %0 = compute.load %ids[%i] : tensor<64000xi64>
    %1 = arith.index_cast %0 : i64 to index
    %2 = cuda.checked_index %1 below 50 "aten.embedding"
    %3 = arith.index_cast %2 : index to i64
    compute.yield %3 : i64
  } : tensor<64000xi64>
  %rows = compute.grid (%i, %j) {
    %0 = compute.load %checked[%i] : tensor<64000xi64>
    %1 = arith.index_cast %0 : i64 to index
    %2 = compute.load %table[%1, %j] : tensor<50x2xf32>
    compute.yield %2 : f32
  } : tensor<64000x2xf32>
  func.return %rows : tensor<64000x2xf32>
}

// A launch checks positions ahead of a kernel that would repeat the checks; others are done in place.

// CPU-LABEL: func.func @ahead
// CPU:         cuda.checked_index %{{.*}} ahead below 50
// CPU:         cuda.checked_index %{{.*}} below 50
func.func @ahead(%table : tensor<50x1024xf32>, %ids : tensor<64xi64>) -> (tensor<64x1024xf32>, tensor<64xf32>) {
  %rows = compute.grid (%i, %j) {
    %0 = compute.load %ids[%i] : tensor<64xi64>
    %1 = arith.index_cast %0 : i64 to index
    %2 = cuda.checked_index %1 ahead below 50 "aten.embedding"
    %3 = compute.load %table[%2, %j] : tensor<50x1024xf32>
    compute.yield %3 : f32
  } : tensor<64x1024xf32>
  %column = compute.grid (%i) {
    %0 = compute.load %ids[%i] : tensor<64xi64>
    %1 = arith.index_cast %0 : i64 to index
    %2 = cuda.checked_index %1 ahead below 50 "aten.embedding"
    %c0 = arith.constant 0 : index
    %3 = compute.load %table[%2, %c0] : tensor<50x1024xf32>
    compute.yield %3 : f32
  } : tensor<64xf32>
  func.return %rows, %column : tensor<64x1024xf32>, tensor<64xf32>
}
