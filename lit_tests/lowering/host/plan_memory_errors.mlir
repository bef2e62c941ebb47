// RUN: hidet-opt %s -p plan-memory --verify-diagnostics --split-input-file | filecheck %s

// CHECK: result 0 of a launch holds an argument at first, which it must be the new content of, and nothing else may read it later
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

// -----

// CHECK: result 0 is an argument, which cannot be what another one holds afterwards
func.func @forward(%x : tensor<64xf32>, %y : tensor<64xf32>) -> tensor<64xf32> attributes {updates = array<i64: 0>} {
  func.return %y : tensor<64xf32>
}

// -----

// CHECK: 'updates' of @forward are [2], for 2 arguments and 1 results
func.func @forward(%x : tensor<64xf32>, %y : tensor<64xf32>) -> tensor<64xf32> attributes {updates = array<i64: 2>} {
  func.return %y : tensor<64xf32>
}

// -----

// CHECK: 'updates' of @forward are [0, 1], for 2 arguments and 1 results
func.func @forward(%x : tensor<64xf32>, %y : tensor<64xf32>) -> tensor<64xf32> attributes {updates = array<i64: 0, 1>} {
  func.return %y : tensor<64xf32>
}
