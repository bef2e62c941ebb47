// RUN: hidet-opt %s -p 'verify-level{level=cuda}' --verify-diagnostics --split-input-file | filecheck %s

// CHECK: operand 0, %b, is used before it is defined
// CHECK-NEXT: at: arith.addi in @later
cuda.kernel @later() grid(1) block(32) {
  %sum = arith.addi %b, %b : index
  %b = cuda.block_id x
}

// -----

// CHECK: operand 0, %result, is used before it is defined
// CHECK-NEXT: at: arith.addi in @own_result
cuda.kernel @own_result() grid(1) block(32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %result = scf.for %i = %zero to %one step %one iter_args(%a = %zero) -> (index) {
    %sum = arith.addi %result, %a : index
    scf.yield %sum : index
  }
}

// -----

// Where a region may see what is around it: everything before it, and its own arguments.

// CHECK: cuda.kernel @legal
cuda.kernel @legal(%c : i1) grid(1) block(32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %one step %one iter_args(%a = %zero) -> (index) {
    %s = scf.if %c -> (index) {
      %sum = arith.addi %a, %i : index
      scf.yield %sum : index
    } else {
      scf.yield %one : index
    }
    scf.yield %s : index
  }
  %last = arith.addi %r, %one : index
}

// -----

// CHECK: a region with several blocks
// CHECK-NEXT: at: func.func in @branches
// CHECK-NEXT: hint: use the control flow of scf
func.func @branches() {
  "test.termop"() [^second] : () -> ()
^second:
  func.return
}
