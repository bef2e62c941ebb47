// RUN: hidet-opt %s -p plan-memory --verify-diagnostics --split-input-file | filecheck %s

// CHECK: what result 0 of a launch holds at first must be the result of a launch, and nothing else may read it
func.func @forward(%x : tensor<64xf32>) -> tensor<64xf32> {
  %a = cuda.launch @f(%x) {inits = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32>
  func.return %a : tensor<64xf32>
}

// -----

// CHECK: what result 0 of a launch holds at first must be the result of a launch, and nothing else may read it
func.func @forward() -> (tensor<64xf32>, tensor<64xf32>) {
  %a = cuda.launch @f() : () -> tensor<64xf32>
  %b = cuda.launch @f(%a) {inits = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32>
  func.return %a, %b : tensor<64xf32>, tensor<64xf32>
}
