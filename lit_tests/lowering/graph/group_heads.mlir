// RUN: hidet-opt %s -p 'group-heads' | filecheck %s
// RUN: hidet-opt %s -p 'group-heads{arch=cpu}' | filecheck %s --check-prefix=CPU

// Heads that are repeated for grouped queries are broadcast. A mask of one head is, too.

// CPU-LABEL: func.func @repeated
// CPU:         graph.expand
// CPU:         %y = graph.scaled_dot_product_attention %q, %k3, %v3, %m

// CHECK-LABEL: func.func @repeated
// CHECK:         %[[k:.*]] = graph.reshape %k : (tensor<2x4x40x16xf16>) -> tensor<2x4x1x40x16xf16>
// CHECK:         %[[v:.*]] = graph.reshape %v : (tensor<2x4x40x8xf16>) -> tensor<2x4x1x40x8xf16>
// CHECK:         %[[q:.*]] = graph.reshape %q : (tensor<2x12x32x16xf16>) -> tensor<2x4x3x32x16xf16>
// CHECK-NEXT:    %[[m:.*]] = graph.reshape %m : (tensor<2x1x32x40xf16>) -> tensor<2x1x1x32x40xf16>
// CHECK-NEXT:    %[[r:.*]] = graph.scaled_dot_product_attention %[[q]], %[[k]], %[[v]], %[[m]] {scale = 2.500000e-01 : f64}
// CHECK-SAME:    -> tensor<2x4x3x32x8xf16>
// CHECK-NEXT:    %y = graph.reshape %[[r]] : (tensor<2x4x3x32x8xf16>) -> tensor<2x12x32x8xf16>
// CHECK-NEXT:    func.return %y
func.func @repeated(%q: tensor<2x12x32x16xf16>, %k: tensor<2x4x40x16xf16>, %v: tensor<2x4x40x8xf16>, %m: tensor<2x1x32x40xf16>) -> tensor<2x12x32x8xf16> {
  %k1 = graph.reshape %k : (tensor<2x4x40x16xf16>) -> tensor<2x4x1x40x16xf16>
  %k2 = graph.expand %k1 : (tensor<2x4x1x40x16xf16>) -> tensor<2x4x3x40x16xf16>
  %k3 = graph.reshape %k2 : (tensor<2x4x3x40x16xf16>) -> tensor<2x12x40x16xf16>
  %v1 = graph.reshape %v : (tensor<2x4x40x8xf16>) -> tensor<2x4x1x40x8xf16>
  %v2 = graph.expand %v1 : (tensor<2x4x1x40x8xf16>) -> tensor<2x4x3x40x8xf16>
  %v3 = graph.reshape %v2 : (tensor<2x4x3x40x8xf16>) -> tensor<2x12x40x8xf16>
  %y = graph.scaled_dot_product_attention %q, %k3, %v3, %m {scale = 2.500000e-01 : f64} : (tensor<2x12x32x16xf16>, tensor<2x12x40x16xf16>, tensor<2x12x40x8xf16>, tensor<2x1x32x40xf16>) -> tensor<2x12x32x8xf16>
  func.return %y : tensor<2x12x32x8xf16>
}

// So is what a boolean mask puts in the place of scores.

// CHECK-LABEL: func.func @filled
// CHECK:         graph.scaled_dot_product_attention {{.*}} {scale = 2.500000e-01 : f64, fill = -2.000000e+00 : f64}
// CHECK-SAME:    -> tensor<4x3x32x16xf16>
func.func @filled(%q: tensor<12x32x16xf16>, %k: tensor<4x40x16xf16>, %m: tensor<32x40xi1>) -> tensor<12x32x16xf16> {
  %k1 = graph.reshape %k : (tensor<4x40x16xf16>) -> tensor<4x1x40x16xf16>
  %k2 = graph.expand %k1 : (tensor<4x1x40x16xf16>) -> tensor<4x3x40x16xf16>
  %k3 = graph.reshape %k2 : (tensor<4x3x40x16xf16>) -> tensor<12x40x16xf16>
  %y = graph.scaled_dot_product_attention %q, %k3, %k3, %m {scale = 2.500000e-01 : f64, fill = -2.0 : f64} : (tensor<12x32x16xf16>, tensor<12x40x16xf16>, tensor<12x40x16xf16>, tensor<32x40xi1>) -> tensor<12x32x16xf16>
  func.return %y : tensor<12x32x16xf16>
}

// Heads in another order, all of the first one's repetitions after those of the last, are left alone.

// CHECK-LABEL: func.func @tiled
// CHECK:         graph.scaled_dot_product_attention %q, %k3, %k3
func.func @tiled(%q: tensor<2x12x32x16xf16>, %k: tensor<2x4x40x16xf16>) -> tensor<2x12x32x16xf16> {
  %k1 = graph.reshape %k : (tensor<2x4x40x16xf16>) -> tensor<2x1x4x40x16xf16>
  %k2 = graph.expand %k1 : (tensor<2x1x4x40x16xf16>) -> tensor<2x3x4x40x16xf16>
  %k3 = graph.reshape %k2 : (tensor<2x3x4x40x16xf16>) -> tensor<2x12x40x16xf16>
  %y = graph.scaled_dot_product_attention %q, %k3, %k3 : (tensor<2x12x32x16xf16>, tensor<2x12x40x16xf16>, tensor<2x12x40x16xf16>) -> tensor<2x12x32x16xf16>
  func.return %y : tensor<2x12x32x16xf16>
}
