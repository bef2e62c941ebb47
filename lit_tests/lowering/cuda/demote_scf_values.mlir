// RUN: hidet-opt %s -p 'demote-scf-values' --split-input-file | filecheck %s

// An iteration argument becomes a variable.

// CHECK-LABEL: cuda.kernel @sum
cuda.kernel @sum(%x : memref<64xf32>, %out : memref<1xf32>) grid(1) block(1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  // CHECK:      %acc = memref.alloca() : memref<f32, #cuda.space<local>>
  // CHECK-NEXT: memref.store %zero, %acc[] : memref<f32, #cuda.space<local>>
  // CHECK-NEXT: scf.for %i = %c0 to %n step %c1 {
  // CHECK-NEXT:   %acc_1 = memref.load %acc[] : memref<f32, #cuda.space<local>>
  // CHECK-NEXT:   %v = memref.load %x[%i] : memref<64xf32>
  // CHECK-NEXT:   %next = arith.addf %acc_1, %v : f32
  // CHECK-NEXT:   memref.store %next, %acc[] : memref<f32, #cuda.space<local>>
  // CHECK-NEXT: } {cuda.unroll}
  // CHECK-NEXT: %total = memref.load %acc[] : memref<f32, #cuda.space<local>>
  // CHECK-NEXT: memref.store %total, %out[%c0] : memref<1xf32>
  %total = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) {
    %v = memref.load %x[%i] : memref<64xf32>
    %next = arith.addf %acc, %v : f32
    scf.yield %next : f32
  } {cuda.unroll}
  memref.store %total, %out[%c0] : memref<1xf32>
}

// -----

// Values that change places do so at once: both are loaded before one is stored.

// CHECK-LABEL: cuda.kernel @swap
cuda.kernel @swap(%out : memref<2xf32>) grid(1) block(1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  // CHECK:      memref.store %zero, %a[] :
  // CHECK-NEXT: memref.store %one, %b[] :
  // CHECK-NEXT: scf.for
  // CHECK-NEXT:   %a_1 = memref.load %a[] :
  // CHECK-NEXT:   %b_1 = memref.load %b[] :
  // CHECK-NEXT:   memref.store %b_1, %a[] :
  // CHECK-NEXT:   memref.store %a_1, %b[] :
  // CHECK-NEXT: }
  %x, %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero, %b = %one) -> (f32, f32) {
    scf.yield %b, %a : f32, f32
  }
  memref.store %x, %out[%c0] : memref<2xf32>
  memref.store %y, %out[%c1] : memref<2xf32>
}

// -----

// A value that is only handed on is computed in the variable of the outer loop, also by two loops
// after each other and by a branch.

// CHECK-LABEL: cuda.kernel @nested
cuda.kernel @nested(%x : memref<64xf32>, %out : memref<1xf32>, %p : i1) grid(1) block(1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  // CHECK:      %acc = memref.alloca()
  // CHECK-NEXT: memref.store %zero, %acc[]
  // CHECK-NEXT: scf.for %i
  // CHECK-NEXT:   %acc_1 = memref.load %acc[]
  // CHECK-NEXT:   scf.for %j
  // CHECK-NEXT:     %inner = memref.load %acc[]
  // CHECK-NEXT:     %v = memref.load %x[%j] : memref<64xf32>
  // CHECK-NEXT:     %s = arith.addf %inner, %v : f32
  // CHECK-NEXT:     memref.store %s, %acc[]
  // CHECK-NEXT:   }
  // CHECK-NEXT:   scf.for %k
  // CHECK-NEXT:     %other = memref.load %acc[]
  // CHECK-NEXT:     %t = arith.mulf %other, %other : f32
  // CHECK-NEXT:     memref.store %t, %acc[]
  // CHECK-NEXT:   }
  // CHECK-NEXT: }
  // CHECK-NEXT: %total = memref.load %acc[]
  %total = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) {
    %first = scf.for %j = %c0 to %n step %c1 iter_args(%inner = %acc) -> (f32) {
      %v = memref.load %x[%j] : memref<64xf32>
      %s = arith.addf %inner, %v : f32
      scf.yield %s : f32
    }
    %second = scf.for %k = %c0 to %n step %c1 iter_args(%other = %first) -> (f32) {
      %t = arith.mulf %other, %other : f32
      scf.yield %t : f32
    }
    scf.yield %second : f32
  }
  memref.store %total, %out[%c0] : memref<1xf32>
}

// -----

// A branch that may leave a variable as it is becomes an update, also where that is the first arm.

// CHECK-LABEL: cuda.kernel @update
cuda.kernel @update(%x : memref<64xf32>, %out : memref<2xf32>, %p : i1) grid(1) block(1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  // CHECK:      scf.for %i
  // CHECK-NEXT:   %a_1 = memref.load %a[]
  // CHECK-NEXT:   %b_1 = memref.load %b[]
  // CHECK-NEXT:   scf.if %p {
  // CHECK-NEXT:     %s = arith.addf %a_1, %a_1 : f32
  // CHECK-NEXT:     memref.store %s, %a[]
  // CHECK-NEXT:   }
  // CHECK-NEXT:   %[[TRUE:.*]] = arith.constant true
  // CHECK-NEXT:   %[[NOT:.*]] = arith.xori %p, %[[TRUE]] : i1
  // CHECK-NEXT:   scf.if %[[NOT]] {
  // CHECK-NEXT:     %t = arith.mulf %b_1, %a_1 : f32
  // CHECK-NEXT:     memref.store %t, %b[]
  // CHECK-NEXT:   }
  // CHECK-NEXT: }
  %ra, %rb = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero, %b = %zero) -> (f32, f32) {
    %na = scf.if %p -> (f32) {
      %s = arith.addf %a, %a : f32
      scf.yield %s : f32
    } else {
      scf.yield %a : f32
    }
    %nb = scf.if %p -> (f32) {
      scf.yield %b : f32
    } else {
      %t = arith.mulf %b, %a : f32
      scf.yield %t : f32
    }
    scf.yield %na, %nb : f32, f32
  }
  memref.store %ra, %out[%c0] : memref<2xf32>
  memref.store %rb, %out[%c1] : memref<2xf32>
}

// -----

// What an inner loop hands on as the value from before the loop is not what the variable holds.

// CHECK-LABEL: cuda.kernel @stale
cuda.kernel @stale(%out : memref<1xf32>, %p : i1) grid(1) block(1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  // CHECK:      scf.for %i
  // CHECK-NEXT:   %old_1 = memref.load %old[]
  // CHECK-NEXT:   scf.for %j
  // CHECK-NEXT:     %new = memref.load %old[]
  // CHECK-NEXT:     %q = scf.if %p -> (f32) {
  // CHECK-NEXT:       scf.yield %old_1 : f32
  // CHECK:          memref.store %q, %old[]
  %total = scf.for %i = %c0 to %n step %c1 iter_args(%old = %zero) -> (f32) {
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%new = %old) -> (f32) {
      %q = scf.if %p -> (f32) {
        scf.yield %old : f32
      } else {
        %s = arith.addf %new, %new : f32
        scf.yield %s : f32
      }
      scf.yield %q : f32
    }
    scf.yield %r : f32
  }
  memref.store %total, %out[%c0] : memref<1xf32>
}

// -----

// A branch that C++ can write as `c ? a : b` keeps its value.

// CHECK-LABEL: cuda.kernel @conditional
cuda.kernel @conditional(%x : memref<64xf32>, %out : memref<64xf32>, %p : i1) grid(1) block(64) {
  %tid = cuda.thread_id x
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  // CHECK: %r = scf.if %p -> (f32) {
  %r = scf.if %p -> (f32) {
    %i = arith.muli %tid, %c4 : index
    %v = memref.load %x[%i] : memref<64xf32>
    scf.yield %v : f32
  } else {
    scf.yield %zero : f32
  }
  memref.store %r, %out[%tid] : memref<64xf32>
}

// -----

// One with two values does not, nor one in which a value has two uses, or that has an effect.

// CHECK-LABEL: cuda.kernel @branches
cuda.kernel @branches(%x : memref<64xf32>, %out : memref<64xf32>, %p : i1) grid(1) block(64) {
  %tid = cuda.thread_id x
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  // CHECK:      %a = memref.alloca() : memref<f32, #cuda.space<local>>
  // CHECK-NEXT: %b = memref.alloca() : memref<f32, #cuda.space<local>>
  // CHECK-NEXT: scf.if %p {
  // CHECK-NEXT:   memref.store %zero, %a[]
  // CHECK-NEXT:   memref.store %one, %b[]
  // CHECK-NEXT: } else {
  // CHECK-NEXT:   memref.store %one, %a[]
  // CHECK-NEXT:   memref.store %zero, %b[]
  // CHECK-NEXT: }
  // CHECK-NEXT: %a_1 = memref.load %a[]
  // CHECK-NEXT: %b_1 = memref.load %b[]
  %a, %b = scf.if %p -> (f32, f32) {
    scf.yield %zero, %one : f32, f32
  } else {
    scf.yield %one, %zero : f32, f32
  }
  // CHECK-NEXT: %c = memref.alloca()
  // CHECK-NEXT: scf.if %p {
  %c = scf.if %p -> (f32) {
    %v = memref.load %x[%tid] : memref<64xf32>
    %w = arith.mulf %v, %v : f32
    scf.yield %w : f32
  } else {
    scf.yield %zero : f32
  }
  // CHECK: %d = memref.alloca()
  // CHECK-NEXT: scf.if %p {
  %d = scf.if %p -> (f32) {
    memref.store %zero, %out[%tid] : memref<64xf32>
    scf.yield %one : f32
  } else {
    scf.yield %zero : f32
  }
  %s = arith.addf %a, %b : f32
  %t = arith.addf %c, %d : f32
  %u = arith.addf %s, %t : f32
  memref.store %u, %out[%tid] : memref<64xf32>
}
