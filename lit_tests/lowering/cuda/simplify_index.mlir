// RUN: hidet-opt %s -p 'simplify-index' | filecheck %s

// What division has taken apart is put together again: the row-major number of an element whose
// indices are digits of a number is that number.

// CHECK-LABEL: cuda.kernel @digits
// CHECK-NEXT:    %t = cuda.thread_id x
// CHECK-NEXT:    memref.store %c, %x[%t]
cuda.kernel @digits(%x : memref<64xf32>, %c : f32) grid(1) block(64) {
  %t = cuda.thread_id x
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %i = arith.divsi %t, %c16 : index
  %q = arith.divsi %t, %c4 : index
  %j = arith.remsi %q, %c4 : index
  %k = arith.remsi %t, %c4 : index
  %0 = arith.muli %i, %c4 : index
  %1 = arith.addi %0, %j : index
  %2 = arith.muli %1, %c4 : index
  %3 = arith.addi %2, %k : index
  memref.store %c, %x[%3] : memref<64xf32>
}

// Ranges end divisions: a number below 16 has the quotient 0, a multiple of 8 the remainder 0.

// CHECK-LABEL: cuda.kernel @ranges
// CHECK-NEXT:    %t = cuda.thread_id x
// CHECK-NEXT:    %[[B:.*]] = cuda.block_id x
// CHECK-NEXT:    memref.store %c, %x[%[[B]], %t]
cuda.kernel @ranges(%x : memref<8x16xf32>, %c : f32) grid(8) block(16) {
  %t = cuda.thread_id x
  %b = cuda.block_id x
  %c16 = arith.constant 16 : index
  %0 = arith.muli %b, %c16 : index
  %1 = arith.addi %0, %t : index
  %i = arith.divsi %1, %c16 : index
  %j = arith.remsi %1, %c16 : index
  memref.store %c, %x[%i, %j] : memref<8x16xf32>
}

// Only what is a whole multiple leaves a division. `7 * b` is not cut into `4 * b + 3 * b`: the
// quotient and the remainder of one number are better than those of two.

// CHECK-LABEL: cuda.kernel @multiples
// CHECK:         %[[S:.*]] = arith.addi %{{.*}}, %t : index
// CHECK-NEXT:    %[[Q:.*]] = arith.divsi %[[S]], %c4
// CHECK-NEXT:    %[[R:.*]] = arith.remsi %[[S]], %c4
// CHECK-NEXT:    memref.store %c, %x[%[[Q]], %[[R]]]
cuda.kernel @multiples(%x : memref<16x4xf32>, %c : f32) grid(8) block(8) {
  %t = cuda.thread_id x
  %b = cuda.block_id x
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %0 = arith.muli %b, %c7 : index
  %1 = arith.addi %0, %t : index
  %i = arith.divsi %1, %c4 : index
  %j = arith.remsi %1, %c4 : index
  memref.store %c, %x[%i, %j] : memref<16x4xf32>
}

// The remainder of a sum is that of the sum: `b % 6 * 4 + t` modulo 8 is not `b * 4 + t` modulo 8,
// though that is the same, because the quotient next to it needs the sum.

// CHECK-LABEL: cuda.kernel @sums
// CHECK:         %[[S:.*]] = arith.addi %{{.*}}, %t : index
// CHECK-NEXT:    %[[Q:.*]] = arith.divsi %[[S]], %c8
// CHECK-NEXT:    %[[R:.*]] = arith.remsi %[[S]], %c8
// CHECK-NEXT:    memref.store %c, %x[%[[Q]], %[[R]]]
cuda.kernel @sums(%x : memref<4x8xf32>, %c : f32) grid(12) block(5) {
  %t = cuda.thread_id x
  %b = cuda.block_id x
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  %0 = arith.remsi %b, %c6 : index
  %1 = arith.muli %0, %c4 : index
  %2 = arith.addi %1, %t : index
  %i = arith.divsi %2, %c8 : index
  %j = arith.remsi %2, %c8 : index
  memref.store %c, %x[%i, %j] : memref<4x8xf32>
}

// Digits that cut through the ones that they come from are put together too: 6 x 4 elements as
// 4 x 3 x 2 elements.

// CHECK-LABEL: cuda.kernel @regrouped
// CHECK:         %[[FOURS:.*]] = arith.muli %b
// CHECK-NEXT:    %[[AT:.*]] = arith.addi %[[FOURS]], %t
// CHECK-NEXT:    memref.store %c, %x[%[[AT]]]
cuda.kernel @regrouped(%x : memref<24xf32>, %c : f32) grid(6) block(4) {
  %t = cuda.thread_id x
  %b = cuda.block_id x
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %0 = arith.muli %b, %c4 : index
  %1 = arith.addi %0, %t : index
  %i = arith.divsi %1, %c6 : index
  %2 = arith.divsi %1, %c2 : index
  %j = arith.remsi %2, %c3 : index
  %k = arith.remsi %1, %c2 : index
  %3 = arith.muli %i, %c3 : index
  %4 = arith.addi %3, %j : index
  %5 = arith.muli %4, %c2 : index
  %6 = arith.addi %5, %k : index
  memref.store %c, %x[%6] : memref<24xf32>
}

// A branch that ranges decide goes, with its condition; inside a branch its condition counts.

// CHECK-LABEL: cuda.kernel @decided
// CHECK:         %[[IN:.*]] = arith.cmpi slt, %{{.*}}, %c50 : index
// CHECK-NEXT:    scf.if %[[IN]] {
// CHECK-NEXT:      memref.store %c, %x
// CHECK-NEXT:    }
// CHECK-NEXT:  }
cuda.kernel @decided(%x : memref<64xf32>, %c : f32) grid(4) block(32) {
  %t = cuda.thread_id x
  %b = cuda.block_id x
  %c32 = arith.constant 32 : index
  %c50 = arith.constant 50 : index
  %c64 = arith.constant 64 : index
  %small = arith.cmpi slt, %t, %c32 : index
  scf.if %small {
    %0 = arith.muli %b, %c32 : index
    %1 = arith.addi %0, %t : index
    %2 = arith.cmpi slt, %1, %c50 : index
    scf.if %2 {
      %3 = arith.cmpi slt, %1, %c64 : index
      scf.if %3 {
        memref.store %c, %x[%1] : memref<64xf32>
      }
    }
  }
}

// A branch that ranges do not decide stays.

// CHECK-LABEL: cuda.kernel @undecided
// CHECK:         arith.cmpi slt
// CHECK-NEXT:    scf.if
cuda.kernel @undecided(%x : memref<31xf32>, %c : f32) grid(1) block(32) {
  %t = cuda.thread_id x
  %c31 = arith.constant 31 : index
  %0 = arith.cmpi slt, %t, %c31 : index
  scf.if %0 {
    memref.store %c, %x[%t] : memref<31xf32>
  }
}

// A loop of one iteration is its body, a loop of none is nothing; others stay.

// CHECK-LABEL: cuda.kernel @loops
// CHECK:         memref.store %c, %x[%c2]
// CHECK-NEXT:    scf.for %i = %c0 to %c2 step %c1 {
// CHECK-NEXT:      memref.store %c, %x[%i]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
cuda.kernel @loops(%x : memref<8xf32>, %c : f32) grid(1) block(1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c2 to %c4 step %c4 {
    memref.store %c, %x[%i] : memref<8xf32>
  }
  scf.for %i = %c4 to %c2 step %c1 {
    memref.store %c, %x[%i] : memref<8xf32>
  }
  scf.for %i = %c0 to %c2 step %c1 {
    memref.store %c, %x[%i] : memref<8xf32>
  }
}

// The same index is computed once, and ahead of the loops in which it does not change, even if it
// is needed in a branch there only. What comes from memory stays where it is.

// CHECK-LABEL: cuda.kernel @invariant
// CHECK:         %[[Q:.*]] = arith.divsi %t
// CHECK:         scf.for %i
// CHECK:           %[[V:.*]] = memref.load %x
// CHECK-NEXT:      memref.store %[[V]], %x[%i, %[[Q]]]
// CHECK-NEXT:      scf.if %p {
// CHECK-NEXT:        memref.store %[[V]], %y[%i, %[[Q]]]
// CHECK-NEXT:      }
cuda.kernel @invariant(%x : memref<4x8xf32>, %y : memref<4x8xf32>, %p : i1) grid(1) block(32) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %x[%c0, %c0] : memref<4x8xf32>
    %0 = arith.divsi %t, %c4 : index
    memref.store %v, %x[%i, %0] : memref<4x8xf32>
    scf.if %p {
      %1 = arith.divsi %t, %c4 : index
      memref.store %v, %y[%i, %1] : memref<4x8xf32>
    }
  }
}

// A division by what may be 0 does not leave its branch.

// CHECK-LABEL: cuda.kernel @guarded_division
// CHECK:         scf.if
// CHECK-NEXT:      arith.divsi %t, %n
cuda.kernel @guarded_division(%x : memref<64xf32>, %sizes : memref<1xi64>, %c : f32) grid(1) block(64) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %size = memref.load %sizes[%c0] : memref<1xi64>
  %n = arith.index_cast %size : i64 to index
  scf.for %i = %c0 to %c4 step %c1 {
    %positive = arith.cmpi sgt, %n, %c0 : index
    scf.if %positive {
      %0 = arith.divsi %t, %n : index
      memref.store %c, %x[%0] : memref<64xf32>
    }
  }
}

// Numbers that may be negative are divided as the program says: towards zero, or down.

// CHECK-LABEL: cuda.kernel @negative
// CHECK:         arith.divsi
// CHECK:         arith.floordivsi
cuda.kernel @negative(%x : memref<64xf32>, %sizes : memref<1xi64>, %c : f32) grid(1) block(1) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %size = memref.load %sizes[%c0] : memref<1xi64>
  %n = arith.index_cast %size : i64 to index
  %0 = arith.divsi %n, %c4 : index
  memref.store %c, %x[%0] : memref<64xf32>
  %1 = arith.floordivsi %n, %c4 : index
  memref.store %c, %x[%1] : memref<64xf32>
}

// Bits of an index are combined in front of the loop too, where they do not depend on it.

// CHECK-LABEL: cuda.kernel @bits
// CHECK:         arith.xori
// CHECK:         scf.for
// CHECK-NOT:     arith.xori
cuda.kernel @bits(%x : memref<64xf32>, %c : f32) grid(1) block(32) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  scf.for %i = %c0 to %c2 step %c1 {
    %0 = arith.xori %t, %c5 : index
    %1 = arith.muli %0, %c2 : index
    %2 = arith.addi %1, %i : index
    memref.store %c, %x[%2] : memref<64xf32>
  }
}



// What a branch says of a multiple of 32 is rounded to one: k + 64 below 256 is at most 224.

// CHECK-LABEL: cuda.kernel @rounded
// CHECK:         scf.if
// CHECK-NOT:       scf.if
// CHECK:           memref.store
cuda.kernel @rounded(%x : memref<256xf32>, %v : f32) grid(1) block(32) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %n = arith.constant 256 : index
  scf.for %k = %c0 to %n step %c32 {
    %ahead = arith.addi %k, %c64 : index
    %is_there = arith.cmpi slt, %ahead, %n : index
    scf.if %is_there {
      %i = arith.addi %ahead, %t : index
      %is_inside = arith.cmpi slt, %i, %n : index
      scf.if %is_inside {
        memref.store %v, %x[%i] : memref<256xf32>
      }
    }
  }
}

// Checks that ranges prove to succeed go; all others stay, also where the index is known, as that of
// a dimension of size 1, or needed by nobody.

// CHECK-LABEL: cuda.kernel @checked_index
// CHECK-NEXT:    %t = cuda.thread_id x
// CHECK-NEXT:    memref.store %c, %x[%t]
// CHECK-NEXT:    %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %{{.*}} = cuda.checked_index %n below 1 "one"
// CHECK-NEXT:    %unused = cuda.checked_index %n below 64 "unused"
// CHECK-NEXT:    memref.store %c, %x[%[[ZERO]]]
cuda.kernel @checked_index(%x : memref<64xf32>, %c : f32, %n : index) grid(1) block(64) {
  %t = cuda.thread_id x
  %i = cuda.checked_index %t below 64 "proven"
  memref.store %c, %x[%i] : memref<64xf32>
  %one = cuda.checked_index %n below 1 "one"
  %unused = cuda.checked_index %n below 64 "unused"
  memref.store %c, %x[%one] : memref<64xf32>
}

// Arithmetic may use what has been checked and is proven.

// CHECK-LABEL: cuda.kernel @proven_then_computed
// CHECK-NEXT:    %[[C3:.*]] = arith.constant 3 : index
// CHECK-NEXT:    memref.store %c, %x[%[[C3]]]
cuda.kernel @proven_then_computed(%x : memref<64xf32>, %c : f32) grid(1) block(64) {
  %three = arith.constant 3 : i64
  %place = arith.index_cast %three : i64 to index
  %i = cuda.checked_index %place below 64 "proven"
  %wide = arith.index_cast %i : index to i64
  %again = arith.index_cast %wide : i64 to index
  memref.store %c, %x[%again] : memref<64xf32>
}

// So are positions of limited integers; and casts to shorter integers that hold the index.

// CHECK-LABEL: cuda.kernel @limited
// CHECK:         %[[PLACE:.*]] = arith.index_cast %low : i64 to index
// CHECK-NEXT:    memref.store %c, %x[%[[PLACE]]]
// CHECK-NEXT:    memref.store %c, %x[%[[PLACE]]]
cuda.kernel @limited(%x : memref<64xf32>, %c : f32, %n : i64) grid(1) block(64) {
  %zero = arith.constant 0 : i64
  %last = arith.constant 63 : i64
  %high = arith.maxsi %n, %zero : i64
  %low = arith.minsi %high, %last : i64
  %place = arith.index_cast %low : i64 to index
  %i = cuda.checked_index %place from_end below 64 "proven"
  memref.store %c, %x[%i] : memref<64xf32>
  %wide = arith.index_cast %i : index to i64
  %narrow = arith.trunci %wide : i64 to i32
  %again = arith.index_cast %narrow : i32 to index
  memref.store %c, %x[%again] : memref<64xf32>
}

// An index that is the same in all iterations is loaded and checked ahead of the loop, where the loop
// is sure to run.

// CHECK-LABEL: cuda.kernel @check_ahead_of_loop
// CHECK:         %id = memref.load %ids[%t]
// CHECK-NEXT:    %index = arith.index_cast %id
// CHECK-NEXT:    %i = cuda.checked_index %index below 50 "aten.embedding"
// CHECK:         scf.for
// CHECK-NOT:     cuda.checked_index
// CHECK:         scf.for
// CHECK:           cuda.checked_index
cuda.kernel @check_ahead_of_loop(%x : memref<50x4xf32>, %ids : memref<64xi64>, %y : memref<64x4xf32>, %n : index) grid(1) block(64) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %v = %c0 to %c4 step %c1 {
    %id = memref.load %ids[%t] : memref<64xi64>
    %index = arith.index_cast %id : i64 to index
    %i = cuda.checked_index %index below 50 "aten.embedding"
    %e = memref.load %x[%i, %v] : memref<50x4xf32>
    memref.store %e, %y[%t, %v] : memref<64x4xf32>
  }
  scf.for %v = %c0 to %n step %c1 {
    %id = memref.load %ids[%t] : memref<64xi64>
    %index = arith.index_cast %id : i64 to index
    %i = cuda.checked_index %index below 50 "aten.embedding"
    %e = memref.load %x[%i, %c0] : memref<50x4xf32>
    memref.store %e, %y[%t, %c0] : memref<64x4xf32>
  }
}

// A cast of a constant is a constant, unless its type cannot hold it.

// CHECK-LABEL: cuda.kernel @casts
// CHECK-NEXT:    %[[SEVEN:.*]] = arith.constant 7 : i32
// CHECK-NEXT:    memref.store %[[SEVEN]], %x[]
// CHECK-NEXT:    %[[LARGE:.*]] = arith.constant 4294967296 : index
// CHECK-NEXT:    %[[CUT:.*]] = arith.index_cast %[[LARGE]] : index to i32
// CHECK-NEXT:    memref.store %[[CUT]], %x[]
cuda.kernel @casts(%x : memref<i32>) grid(1) block(1) {
  %three = arith.constant 3 : index
  %four = arith.constant 4 : index
  %seven = arith.addi %three, %four : index
  %0 = arith.index_cast %seven : index to i32
  memref.store %0, %x[] : memref<i32>
  %large = arith.constant 4294967296 : index
  %1 = arith.index_cast %large : index to i32
  memref.store %1, %x[] : memref<i32>
}
