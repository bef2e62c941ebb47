// RUN: hidet-opt %s -p 'order-contractions' --split-input-file | filecheck %s

// einsum("nid,hnd->ih"): letters are summed up in alphabetical order, but d is adjacent in memory.

// CHECK-LABEL: func.func @einsum
// CHECK:         compute.grid (%i, %j) {
// CHECK:           %[[K:.*]] = arith.addi
// CHECK:           %[[N:.*]] = arith.remsi %[[K]],
// CHECK:           %[[D:.*]] = arith.divsi %[[K]],
// CHECK:           compute.load %a[%[[N]], %i, %[[D]]] : tensor<4x8x32xf16>
// CHECK:         } : tensor<8x128xf16>
// CHECK:         compute.load %b[%{{.*}}, %{{.*}}, %{{.*}}] : tensor<16x4x32xf16>
// CHECK:         graph.matmul
func.func @einsum(%a : tensor<4x8x32xf16>, %b : tensor<16x4x32xf16>) -> tensor<8x16xf16> {
  %c4 = arith.constant 4 : index
  %x = compute.grid (%i, %k) {
    %n = arith.remsi %k, %c4 : index
    %d = arith.divsi %k, %c4 : index
    %v = compute.load %a[%n, %i, %d] : tensor<4x8x32xf16>
    compute.yield %v : f16
  } : tensor<8x128xf16>
  %y = compute.grid (%k, %j) {
    %n = arith.remsi %k, %c4 : index
    %d = arith.divsi %k, %c4 : index
    %v = compute.load %b[%j, %n, %d] : tensor<16x4x32xf16>
    compute.yield %v : f16
  } : tensor<128x16xf16>
  %z = graph.matmul %x, %y : (tensor<8x128xf16>, tensor<128x16xf16>) -> tensor<8x16xf16>
  func.return %z : tensor<8x16xf16>
}

// -----

// What is adjacent along the inner dimension of K stays: one operand is here.

// CHECK-LABEL: func.func @stays
// CHECK:         compute.grid (%i, %k) {
// CHECK-NEXT:      %n = arith.remsi %k, %c4 : index
// CHECK-NEXT:      %d = arith.divsi %k, %c4 : index
// CHECK-NEXT:      %v = compute.load %a[%n, %i, %d]
// CHECK:         compute.grid (%[[K:.*]], %j) {
// CHECK-NEXT:      %[[N:.*]] = arith.remsi %[[K]], %c4 : index
// CHECK-NEXT:      %[[D:.*]] = arith.divsi %[[K]], %c4 : index
// CHECK-NEXT:      %{{.*}} = compute.load %b[%j, %[[D]], %[[N]]]
func.func @stays(%a : tensor<4x8x32xf16>, %b : tensor<16x32x4xf16>) -> tensor<8x16xf16> {
  %c4 = arith.constant 4 : index
  %x = compute.grid (%i, %k) {
    %n = arith.remsi %k, %c4 : index
    %d = arith.divsi %k, %c4 : index
    %v = compute.load %a[%n, %i, %d] : tensor<4x8x32xf16>
    compute.yield %v : f16
  } : tensor<8x128xf16>
  %y = compute.grid (%k, %j) {
    %n = arith.remsi %k, %c4 : index
    %d = arith.divsi %k, %c4 : index
    %v = compute.load %b[%j, %d, %n] : tensor<16x32x4xf16>
    compute.yield %v : f16
  } : tensor<128x16xf16>
  %z = graph.matmul %x, %y : (tensor<8x128xf16>, tensor<128x16xf16>) -> tensor<8x16xf16>
  func.return %z : tensor<8x16xf16>
}
