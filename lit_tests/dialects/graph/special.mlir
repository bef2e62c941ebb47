// RUN: HIDET_ROUNDTRIP
// RUN: hidet-opt %s | hidet-opt | filecheck %s

// Functions of C's library print like all others of one or two elements.

func.func @special(%x : tensor<2x3xf32>) {
  %0 = graph.acosh %x : tensor<2x3xf32>
  %1 = graph.asinh %x : tensor<2x3xf32>
  %2 = graph.atanh %x : tensor<2x3xf32>
  %3 = graph.lgamma %x : tensor<2x3xf32>
  %4 = graph.copysign %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = graph.hypot %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = graph.nextafter %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @special
// CHECK-NEXT:    %0 = graph.acosh %x : tensor<2x3xf32>
// CHECK-NEXT:    %1 = graph.asinh %x : tensor<2x3xf32>
// CHECK-NEXT:    %2 = graph.atanh %x : tensor<2x3xf32>
// CHECK-NEXT:    %3 = graph.lgamma %x : tensor<2x3xf32>
// CHECK-NEXT:    %4 = graph.copysign %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %5 = graph.hypot %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %6 = graph.nextafter %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
