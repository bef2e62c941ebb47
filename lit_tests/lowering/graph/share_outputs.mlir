// RUN: hidet-opt %s -p share-outputs --split-input-file | filecheck %s

// What is saved for gradients is a view of an activation: others read it, so that one is stored.

// CHECK-LABEL: func.func @saved
// CHECK:         %s = graph.gelu %x : tensor<2x3x4xf32>
// CHECK-NEXT:    %v = graph.reshape %s : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT:    %[[W:.*]] = graph.reshape %v : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
// CHECK:         %r = graph.relu %[[W]] : tensor<2x3x4xf32>
// CHECK-NEXT:    func.return %v, %r
func.func @saved(%x : tensor<2x3x4xf32>) -> (tensor<6x4xf32>, tensor<2x3x4xf32>) {
  %s = graph.gelu %x : tensor<2x3x4xf32>
  %v = graph.reshape %s : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %r = graph.relu %s : tensor<2x3x4xf32>
  func.return %v, %r : tensor<6x4xf32>, tensor<2x3x4xf32>
}

// -----

// A weight that is transposed twice is in order.

// CHECK-LABEL: func.func @twice
// CHECK:         %o = graph.cast %w : (tensor<3x5xf32>) -> tensor<3x5xf16>
// CHECK-NEXT:    %t = graph.permute %o {dims = array<i64: 1, 0>}
// CHECK-NEXT:    graph.permute %t
// CHECK-NEXT:    %r = graph.relu %t
// CHECK-NEXT:    func.return %o, %r : tensor<3x5xf16>, tensor<5x3xf16>
func.func @twice(%w : tensor<3x5xf32>) -> (tensor<3x5xf16>, tensor<5x3xf16>) {
  %c = graph.cast %w : (tensor<3x5xf32>) -> tensor<3x5xf16>
  %t = graph.permute %c {dims = array<i64: 1, 0>} : (tensor<3x5xf16>) -> tensor<5x3xf16>
  %o = graph.permute %t {dims = array<i64: 1, 0>} : (tensor<5x3xf16>) -> tensor<3x5xf16>
  %r = graph.relu %t : tensor<5x3xf16>
  func.return %o, %r : tensor<3x5xf16>, tensor<5x3xf16>
}

// -----

// Views of arguments and constants, those in another order, and those of what nothing else reads
// stay; so does a view of another output.

// CHECK-LABEL: func.func @stays
// CHECK-NEXT:    %p = graph.constant "p" : tensor<2x3xf32>
// CHECK-NEXT:    %a = graph.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
// CHECK-NEXT:    %b = graph.reshape %p : (tensor<2x3xf32>) -> tensor<6xf32>
// CHECK-NEXT:    %s = graph.add %x, %p
// CHECK-NEXT:    %t = graph.permute %s
// CHECK-NEXT:    %g = graph.gelu %s : tensor<2x3xf32>
// CHECK-NEXT:    %h = graph.reshape %g : (tensor<2x3xf32>) -> tensor<6xf32>
// CHECK-NEXT:    func.return %a, %b, %t, %h
func.func @stays(%x : tensor<2x3xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<3x2xf32>, tensor<6xf32>) {
  %p = graph.constant "p" : tensor<2x3xf32>
  %a = graph.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  %b = graph.reshape %p : (tensor<2x3xf32>) -> tensor<6xf32>
  %s = graph.add %x, %p : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %t = graph.permute %s {dims = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %g = graph.gelu %s : tensor<2x3xf32>
  %h = graph.reshape %g : (tensor<2x3xf32>) -> tensor<6xf32>
  func.return %a, %b, %t, %h : tensor<6xf32>, tensor<6xf32>, tensor<3x2xf32>, tensor<6xf32>
}

// -----

// CHECK-LABEL: func.func @both
// CHECK-NEXT:    %s = graph.gelu %x : tensor<2x3xf32>
// CHECK:         func.return %s, %{{.*}} : tensor<2x3xf32>, tensor<6xf32>
func.func @both(%x : tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<6xf32>) {
  %s = graph.gelu %x : tensor<2x3xf32>
  %v = graph.reshape %s : (tensor<2x3xf32>) -> tensor<6xf32>
  func.return %s, %v : tensor<2x3xf32>, tensor<6xf32>
}
