// RUN: hidet-opt %s -p 'index-width' --split-input-file | filecheck %s

// What fits in 32 bits is not marked: 2^31 - 1 does, 2^31 does not.

// CHECK-LABEL: cuda.kernel @limits
cuda.kernel @limits() grid(32768) block(1) {
  %b = cuda.block_id x
  %c1 = arith.constant 1 : index
  %c65536 = arith.constant 65536 : index
  %c65535 = arith.constant 65535 : index
  // CHECK: %fits = arith.muli %b, %c65536 : index
  %fits = arith.muli %b, %c65536 : index
  // CHECK-NEXT: %largest = arith.addi %fits, %c65535 : index
  %largest = arith.addi %fits, %c65535 : index
  // CHECK-NEXT: %larger = arith.addi %largest, %c1 {cuda.long} : index
  %larger = arith.addi %largest, %c1 : index
  // An index that fits again is an int again, whatever it was computed from.
  // CHECK-NEXT: %back = arith.remsi %larger, %c65536 : index
  %back = arith.remsi %larger, %c65536 : index
  "test.op"(%back) : (index) -> ()
}

// -----

// Every step of an expression counts, not only its result.

// CHECK-LABEL: cuda.kernel @steps
cuda.kernel @steps() grid(70000) block(64) {
  %b = cuda.block_id x
  %t = cuda.thread_id x
  %c70000 = arith.constant 70000 : index
  // CHECK: %0 = arith.muli %b, %c70000 {cuda.long} : index
  %0 = arith.muli %b, %c70000 : index
  // CHECK-NEXT: %1 = arith.addi %0, %t {cuda.long} : index
  %1 = arith.addi %0, %t : index
  // CHECK-NEXT: %2 = arith.divsi %1, %c70000 : index
  %2 = arith.divsi %1, %c70000 : index
  "test.op"(%2) : (index) -> ()
}

// -----

// The variable of a loop also has to hold the value that ends the loop.

// CHECK-LABEL: cuda.kernel @loops
cuda.kernel @loops(%n : index) grid(1) block(1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %last = arith.constant 2147483647 : index
  %c3e9 = arith.constant 3000000000 : index
  // CHECK: scf.for %i = %c0 to %last step %c1 {
  // CHECK-NEXT: "test.op"(%i)
  // CHECK-NEXT: }
  scf.for %i = %c0 to %last step %c1 {
    "test.op"(%i) : (index) -> ()
  }
  // CHECK-NEXT: scf.for %i_1 = %c0 to %last step %c4 {
  // CHECK-NEXT: "test.op"(%i_1)
  // CHECK-NEXT: } {cuda.long}
  scf.for %i = %c0 to %last step %c4 {
    "test.op"(%i) : (index) -> ()
  }
  // CHECK-NEXT: scf.for %i_2 = %c0 to %c3e9 step %c1 {
  // CHECK-NEXT: } {cuda.unroll = 2 : i64, cuda.long}
  scf.for %i = %c0 to %c3e9 step %c1 {
  } {cuda.unroll = 2 : i64}
  // The bounds are unknown.
  // CHECK-NEXT: scf.for %i_3 = %c0 to %n step %c1 {
  // CHECK-NEXT: } {cuda.long}
  scf.for %i = %c0 to %n step %c1 {
  }
  // CHECK-NEXT: scf.for %i_4 = %n to %c4 step %c1 {
  // CHECK-NEXT: } {cuda.long}
  scf.for %i = %n to %c4 step %c1 {
  }
}

// -----

// What is loaded may be anything, and so may be a conversion of 64 bits; one of 32 bits is an int.

// CHECK-LABEL: cuda.kernel @unknown
cuda.kernel @unknown(%x : memref<4xi64>, %y : memref<4xi32>, %n : index) grid(1) block(1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.load %x[%c0] : memref<4xi64>
  %b = memref.load %y[%c0] : memref<4xi32>
  // CHECK: %i = arith.index_cast %a {cuda.long} : i64 to index
  %i = arith.index_cast %a : i64 to index
  // CHECK-NEXT: %j = arith.index_cast %b : i32 to index
  %j = arith.index_cast %b : i32 to index
  // CHECK-NEXT: %k = arith.addi %n, %c1 {cuda.long} : index
  %k = arith.addi %n, %c1 : index
  // CHECK: %v = memref.alloca() : memref<index, #cuda.space<local>>
  %v = memref.alloca() : memref<index, #cuda.space<local>>
  // CHECK-NEXT: %w = memref.load %v[] {cuda.long} : memref<index, #cuda.space<local>>
  %w = memref.load %v[] : memref<index, #cuda.space<local>>
  // A mark that is wrong goes.
  // CHECK-NEXT: %t = cuda.thread_id x
  // CHECK-NOT: cuda.long
  %t = cuda.thread_id x {cuda.long}
  "test.op"(%i, %j, %k, %w, %t) : (index, index, index, index, index) -> ()
}
