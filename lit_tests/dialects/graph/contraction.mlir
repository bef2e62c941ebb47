// RUN: HIDET_ROUNDTRIP
// RUN: hidet-opt %s | hidet-opt | filecheck %s

// Products may be wider than their operands; the bias and the mask may be missing.

func.func @contraction(%x : tensor<5x2x3xf16>, %w : tensor<3x7xf16>, %l : tensor<7x3xf16>, %b : tensor<7xf16>, %q : tensor<2x4x8xf32>, %m : tensor<4x4xi1>, %s : tensor<2x4x1xf32>) {
  %0 = graph.matmul %x, %w : (tensor<5x2x3xf16>, tensor<3x7xf16>) -> tensor<5x2x7xf16>
  %1 = graph.matmul %x, %w {precision = "tf32"} : (tensor<5x2x3xf16>, tensor<3x7xf16>) -> tensor<5x2x7xf32>
  %2 = graph.linear %x, %l : (tensor<5x2x3xf16>, tensor<7x3xf16>) -> tensor<5x2x7xf16>
  %3 = graph.linear %x, %l, %b : (tensor<5x2x3xf16>, tensor<7x3xf16>, tensor<7xf16>) -> tensor<5x2x7xf16>
  %4 = graph.scaled_dot_product_attention %q, %q, %q {causal = true} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %5 = graph.scaled_dot_product_attention %q, %q, %q, %m {scale = 5.000000e-01 : f64} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<4x4xi1>) -> tensor<2x4x8xf32>
  %6 = graph.attention_logsumexp %q, %q {causal = true} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
  %7 = graph.attention_query_gradient %q, %q, %q, %q, %s, %s : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
  %8 = graph.attention_key_value_gradients %q, %q, %q, %q, %s, %s, %m : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>, tensor<4x4xi1>) -> tensor<2x2x4x8xf32>
  func.return
}

// CHECK-LABEL: func.func @contraction
// CHECK-NEXT:    %0 = graph.matmul %x, %w : (tensor<5x2x3xf16>, tensor<3x7xf16>) -> tensor<5x2x7xf16>
// CHECK-NEXT:    %1 = graph.matmul %x, %w {precision = "tf32"} : (tensor<5x2x3xf16>, tensor<3x7xf16>) -> tensor<5x2x7xf32>
// CHECK-NEXT:    %2 = graph.linear %x, %l : (tensor<5x2x3xf16>, tensor<7x3xf16>) -> tensor<5x2x7xf16>
// CHECK-NEXT:    %3 = graph.linear %x, %l, %b : (tensor<5x2x3xf16>, tensor<7x3xf16>, tensor<7xf16>) -> tensor<5x2x7xf16>
// CHECK-NEXT:    %4 = graph.scaled_dot_product_attention %q, %q, %q {causal = true} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
// CHECK-NEXT:    %5 = graph.scaled_dot_product_attention %q, %q, %q, %m {scale = 5.000000e-01 : f64} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<4x4xi1>) -> tensor<2x4x8xf32>
// CHECK-NEXT:    %6 = graph.attention_logsumexp %q, %q {causal = true} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
// CHECK-NEXT:    %7 = graph.attention_query_gradient %q, %q, %q, %q, %s, %s : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
// CHECK-NEXT:    %8 = graph.attention_key_value_gradients %q, %q, %q, %q, %s, %s, %m : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>, tensor<4x4xi1>) -> tensor<2x2x4x8xf32>
