// RUN: hidet-opt %s -p 'schedule' --split-input-file | filecheck %s

// The logsumexp of queries: attention without values, whose maximum and sum are the result.

// CHECK-LABEL: cuda.kernel @p_kernel
// CHECK-SAME:    template = "backward", instruction = "m64n256k16_f16_f32"
// CHECK:         task.copy %q_[{{.*}}] to %queries[]
// CHECK:         scf.for %k0
// CHECK:           task.copy %k_[{{.*}}] to %keys[]
// CHECK:           task.matmul %queries, %keys transposed to %scores
// CHECK:           task.combine max %largest
// CHECK-NOT:       task.matmul
// CHECK:         task.combine add %total
// CHECK:         cuda.function "fast_log2"
// CHECK:         compute.store %{{.*}}, %result
func.func @logsumexp(%q : tensor<2x128x64xf16>, %k : tensor<2x128x64xf16>) -> tensor<2x128x1xf32> {
  %y = compute.fusion (%q_ = %q : tensor<2x128x64xf16>, %k_ = %k : tensor<2x128x64xf16>) -> (tensor<2x128x1xf32>) {
    %p = graph.attention_logsumexp %q_, %k_ : (tensor<2x128x64xf16>, tensor<2x128x64xf16>) -> tensor<2x128x1xf32>
    compute.yield %p : tensor<2x128x1xf32>
  }
  func.return %y : tensor<2x128x1xf32>
}

// -----

// The gradient of queries: a tile of keys gives scores, transposed, and takes part in the sum.

// CHECK-LABEL: cuda.kernel @p_kernel
// CHECK-SAME:    template = "backward"
// CHECK:         task.copy %q_[{{.*}}] to %queries[]
// CHECK:         task.copy %g_[{{.*}}] to %gradients[]
// CHECK:         scf.for %k0
// CHECK:           task.copy %k_[{{.*}}] to %keys[]
// CHECK:           task.copy %v_[{{.*}}] to %values[]
// CHECK:           task.matmul %queries, %keys transposed to %scores
// CHECK:           task.matmul %gradients, %values transposed to %products
// CHECK:           cuda.function "fast_exp2"
// CHECK:           memref.store %{{.*}}, %slopes
// CHECK:           task.matmul %slopes, %keys to %acc
// CHECK:         compute.store %{{.*}}, %result
func.func @query(%q : tensor<2x128x64xf16>, %k : tensor<2x128x64xf16>, %v : tensor<2x128x64xf16>, %g : tensor<2x128x64xf16>, %l : tensor<2x128x1xf32>, %d : tensor<2x128x1xf32>) -> tensor<2x128x64xf16> {
  %y = compute.fusion (%q_ = %q : tensor<2x128x64xf16>, %k_ = %k : tensor<2x128x64xf16>, %v_ = %v : tensor<2x128x64xf16>, %g_ = %g : tensor<2x128x64xf16>, %l_ = %l : tensor<2x128x1xf32>, %d_ = %d : tensor<2x128x1xf32>) -> (tensor<2x128x64xf16>) {
    %p = graph.attention_query_gradient %q_, %k_, %v_, %g_, %l_, %d_ : (tensor<2x128x64xf16>, tensor<2x128x64xf16>, tensor<2x128x64xf16>, tensor<2x128x64xf16>, tensor<2x128x1xf32>, tensor<2x128x1xf32>) -> tensor<2x128x64xf16>
    compute.yield %p : tensor<2x128x64xf16>
  }
  func.return %y : tensor<2x128x64xf16>
}

// -----

// The gradients of keys and values: scores are transposed, and causal ones begin at the tile of
// queries that sees the first key of the block.

// CHECK-LABEL: cuda.kernel @p_kernel
// CHECK-SAME:    template = "backward"
// CHECK:         task.copy %k_[{{.*}}] to %keys[]
// CHECK:         task.copy %v_[{{.*}}] to %values[]
// CHECK:         %[[FIRST:.*]] = arith.floordivsi %row, %{{.*}} : index
// CHECK:         %[[END:.*]] = arith.subi %{{.*}}, %[[FIRST]] : index
// CHECK:         scf.for %step = %{{.*}} to %[[END]]
// CHECK:           task.copy %q_[{{.*}}] to %queries[]
// CHECK:           task.copy %g_[{{.*}}] to %gradients[]
// CHECK:           task.matmul %keys, %queries transposed to %scores
// CHECK:           task.matmul %values, %gradients transposed to %products
// CHECK:           cuda.function "fast_exp2"
// CHECK:           task.matmul %weights, %gradients to %of_value
// CHECK:           task.matmul %slopes, %queries to %of_key
// CHECK:         compute.store %{{.*}}, %result
func.func @key_value(%q : tensor<2x128x64xf16>, %k : tensor<2x128x64xf16>, %v : tensor<2x128x64xf16>, %g : tensor<2x128x64xf16>, %l : tensor<2x128x1xf32>, %d : tensor<2x128x1xf32>) -> tensor<2x2x128x64xf16> {
  %y = compute.fusion (%q_ = %q : tensor<2x128x64xf16>, %k_ = %k : tensor<2x128x64xf16>, %v_ = %v : tensor<2x128x64xf16>, %g_ = %g : tensor<2x128x64xf16>, %l_ = %l : tensor<2x128x1xf32>, %d_ = %d : tensor<2x128x1xf32>) -> (tensor<2x2x128x64xf16>) {
    %p = graph.attention_key_value_gradients %q_, %k_, %v_, %g_, %l_, %d_ {causal = true} : (tensor<2x128x64xf16>, tensor<2x128x64xf16>, tensor<2x128x64xf16>, tensor<2x128x64xf16>, tensor<2x128x1xf32>, tensor<2x128x1xf32>) -> tensor<2x2x128x64xf16>
    compute.yield %p : tensor<2x2x128x64xf16>
  }
  func.return %y : tensor<2x2x128x64xf16>
}
