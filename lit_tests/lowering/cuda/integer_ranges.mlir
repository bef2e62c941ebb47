// RUN: hidet-opt %s -p 'integer-ranges' | filecheck %s

// Where nothing is negative, rounding down is rounding towards zero; a power of two is a shift.

// CHECK-LABEL: cuda.kernel @floor
cuda.kernel @floor(%x : memref<64xi32>, %n : i32) grid(1) block(64) {
  %i = cuda.thread_id x
  %0 = arith.constant 0 : index
  %2 = arith.constant 2 : i32
  %3 = arith.constant 3 : i32
  %t = arith.index_cast %i : index to i32
  // CHECK: arith.divsi %t, %{{.*}} : i32
  %a = arith.floordivsi %t, %3 : i32
  memref.store %a, %x[%i] : memref<64xi32>
  // CHECK: arith.remsi %t, %{{.*}} : i32
  %b = cuda.floormodsi %t, %3 : i32
  memref.store %b, %x[%i] : memref<64xi32>
  // CHECK: arith.floordivsi %n, %{{.*}} : i32
  %c = arith.floordivsi %n, %3 : i32
  memref.store %c, %x[%i] : memref<64xi32>
  // CHECK: cuda.floormodsi %n, %{{.*}} : i32
  %d = cuda.floormodsi %n, %3 : i32
  memref.store %d, %x[%i] : memref<64xi32>
  // CHECK: %[[ONE:.*]] = arith.constant 1 : i32
  // CHECK-NEXT: arith.shrsi %n, %[[ONE]] : i32
  %e = arith.floordivsi %n, %2 : i32
  memref.store %e, %x[%i] : memref<64xi32>
  // CHECK: %[[MASK:.*]] = arith.constant 1 : i32
  // CHECK-NEXT: arith.andi %n, %[[MASK]] : i32
  %f = cuda.floormodsi %n, %2 : i32
  memref.store %f, %x[%i] : memref<64xi32>
}

// A divisor that is neither 0 nor -1, a count below the width.

// CHECK-LABEL: cuda.kernel @safe
cuda.kernel @safe(%x : memref<64xi32>, %n : i32) grid(1) block(64) {
  %i = cuda.thread_id x
  %1 = arith.constant 1 : i32
  %31 = arith.constant 31 : i32
  %t = arith.index_cast %i : index to i32
  %d = arith.addi %t, %1 : i32
  %s = arith.andi %n, %31 : i32
  // CHECK: arith.divsi %n, %d {cuda.safe} : i32
  %a = arith.divsi %n, %d : i32
  memref.store %a, %x[%i] : memref<64xi32>
  // CHECK: arith.divui %n, %t : i32
  %b = arith.divui %n, %t : i32
  memref.store %b, %x[%i] : memref<64xi32>
  // CHECK: arith.remsi %t, %n : i32
  %c = arith.remsi %t, %n {cuda.safe} : i32
  memref.store %c, %x[%i] : memref<64xi32>
  // CHECK: arith.shli %n, %s {cuda.safe} : i32
  %e = arith.shli %n, %s : i32
  memref.store %e, %x[%i] : memref<64xi32>
  // CHECK: arith.shrui %s, %n : i32
  %f = arith.shrui %s, %n : i32
  memref.store %f, %x[%i] : memref<64xi32>
}

// Of what is loaded from 8 bits, a sum does not overflow; of anything, it may.

// CHECK-LABEL: cuda.kernel @sums
cuda.kernel @sums(%x : memref<64xi32>, %y : memref<64xi8>, %n : i32) grid(1) block(64) {
  %i = cuda.thread_id x
  %small = memref.load %y[%i] : memref<64xi8>
  %v = arith.extsi %small : i8 to i32
  // CHECK: %a = arith.muli %v, %v overflow<nsw> : i32
  %a = arith.muli %v, %v : i32
  // CHECK: %b = arith.addi %a, %v overflow<nsw> : i32
  %b = arith.addi %a, %v : i32
  memref.store %b, %x[%i] : memref<64xi32>
  // CHECK: %c = arith.addi %v, %n : i32
  %c = arith.addi %v, %n overflow<nsw> : i32
  memref.store %c, %x[%i] : memref<64xi32>
  // CHECK: %d = arith.muli %n, %n : i32
  %d = arith.muli %n, %n : i32
  memref.store %d, %x[%i] : memref<64xi32>
  // CHECK: arith.addi %i, %i : index
  %e = arith.addi %i, %i : index
  memref.store %d, %x[%e] : memref<64xi32>
}

// The last sums that fit and the first that do not; the last count below the width; divisors that
// are 0 at one end of their range, or -1 for the smallest dividend.

// CHECK-LABEL: cuda.kernel @ends
cuda.kernel @ends(%x : memref<64xi32>, %n : i32) grid(1) block(64) {
  %i = cuda.thread_id x
  %0 = arith.constant 0 : i32
  %1 = arith.constant 1 : i32
  %31 = arith.constant 31 : i32
  %half = arith.constant 1073741824 : i32
  %mask = arith.constant 1073741823 : i32
  %t = arith.index_cast %i : index to i32
  %low = arith.andi %n, %mask : i32
  // CHECK: %most = arith.addi %low, %half overflow<nsw> : i32
  %most = arith.addi %low, %half : i32
  // CHECK-NEXT: %more = arith.addi %most, %{{[^ ]*}} : i32
  %more = arith.addi %most, %1 : i32
  memref.store %more, %x[%i] : memref<64xi32>
  // CHECK: %negated = arith.subi %{{.*}}, %most overflow<nsw> : i32
  %negated = arith.subi %0, %most : i32
  // CHECK-NEXT: %least = arith.subi %negated, %{{.*}} overflow<nsw> : i32
  %least = arith.subi %negated, %1 : i32
  // CHECK-NEXT: %less = arith.subi %least, %{{[^ ]*}} : i32
  %less = arith.subi %least, %1 : i32
  memref.store %less, %x[%i] : memref<64xi32>
  %count = arith.andi %n, %31 : i32
  %next = arith.addi %count, %1 : i32
  // CHECK: arith.shli %n, %next : i32
  %a = arith.shli %n, %next : i32
  memref.store %a, %x[%i] : memref<64xi32>
  // CHECK: arith.floordivsi %t, %t : i32
  %b = arith.floordivsi %t, %t : i32
  memref.store %b, %x[%i] : memref<64xi32>
  %last = arith.subi %0, %t : i32
  // CHECK: arith.divsi %t, %last : i32
  %c = arith.divsi %t, %last : i32
  memref.store %c, %x[%i] : memref<64xi32>
  %below = arith.subi %last, %1 : i32
  // CHECK: arith.divsi %n, %below : i32
  %d = arith.divsi %n, %below : i32
  memref.store %d, %x[%i] : memref<64xi32>
  // CHECK: arith.divsi %low, %below {cuda.safe} : i32
  %e = arith.divsi %low, %below : i32
  memref.store %e, %x[%i] : memref<64xi32>
}
