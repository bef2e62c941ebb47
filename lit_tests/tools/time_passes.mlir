// RUN: hidet-opt %s -p 'canonicalize,cse' --time-passes 2>&1 | filecheck %s

func.func @add_zero(%x: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %sum = arith.addi %x, %zero : i32
  func.return %sum : i32
}

// CHECK:      pass {{ +}}ms {{ +}}% ops before ops after
// CHECK:      canonicalize {{.*}} 5 {{ +}} 3
// CHECK-NEXT: cse {{.*}} 3 {{ +}} 3
// CHECK-NEXT: total
