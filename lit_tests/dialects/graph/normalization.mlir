// RUN: HIDET_ROUNDTRIP
// RUN: hidet-opt %s | hidet-opt | filecheck %s

// eps is printed where it is not torch's.

func.func @normalization(%x : tensor<2x6x4xf32>) {
  %0 = graph.softmax %x {axis = 2 : i64} : tensor<2x6x4xf32>
  %1 = graph.log_softmax %x {axis = 1 : i64} : tensor<2x6x4xf32>
  %2 = graph.layer_norm %x : tensor<2x6x4xf32>
  %3 = graph.layer_norm %x {eps = 1.000000e-06 : f64} : tensor<2x6x4xf32>
  %4 = graph.rms_norm %x {normalized_rank = 2 : i64} : tensor<2x6x4xf32>
  func.return
}

// CHECK-LABEL: func.func @normalization
// CHECK-NEXT:    %0 = graph.softmax %x {axis = 2 : i64} : tensor<2x6x4xf32>
// CHECK-NEXT:    %1 = graph.log_softmax %x {axis = 1 : i64} : tensor<2x6x4xf32>
// CHECK-NEXT:    %2 = graph.layer_norm %x : tensor<2x6x4xf32>
// CHECK-NEXT:    %3 = graph.layer_norm %x {eps = 1.000000e-06 : f64} : tensor<2x6x4xf32>
// CHECK-NEXT:    %4 = graph.rms_norm %x {normalized_rank = 2 : i64} : tensor<2x6x4xf32>
