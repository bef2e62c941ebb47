// RUN: hidet-opt %s -p 'vectorize,simplify-index' | filecheck %s

// Neighbouring elements are loaded before the loop and stored after it, in one access each. What is
// computed in between goes through arrays of the thread.

// CHECK-LABEL: cuda.kernel @scale
// CHECK:         %[[IN:.*]] = memref.alloca() {alignment = 16 : i64} : memref<4xf32, #cuda.space<local>>
// CHECK:         cuda.copy_vector %x[%[[AT:.*]]] to %[[IN]][%{{.*}}] width 4
// CHECK:         %[[OUT:.*]] = memref.alloca() {alignment = 16 : i64} : memref<4xf32, #cuda.space<local>>
// CHECK:         scf.for %v
// CHECK-NEXT:      %[[A:.*]] = memref.load %[[IN]][%v]
// CHECK-NEXT:      %[[B:.*]] = arith.mulf %[[A]], %c
// CHECK-NEXT:      memref.store %[[B]], %[[OUT]][%v]
// CHECK-NEXT:    }
// CHECK-NEXT:    cuda.copy_vector %[[OUT]][%{{.*}}] to %y[%[[AT]]] width 4
cuda.kernel @scale(%x : memref<256xf32>, %y : memref<256xf32>, %c : f32) grid(1) block(64) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %v = %c0 to %c4 step %c1 {
    %0 = arith.muli %t, %c4 : index
    %i = arith.addi %0, %v : index
    %a = memref.load %x[%i] : memref<256xf32>
    %b = arith.mulf %a, %c : f32
    memref.store %b, %y[%i] : memref<256xf32>
  }
}

// Vectors of one array at a constant distance are stored one by one; if they may overlap, they are not
// vectors.

// CHECK-LABEL: cuda.kernel @apart
// CHECK:         scf.for %v
// CHECK:         cuda.copy_vector %{{.*}} to %y[{{.*}}] width 4
// CHECK-NEXT:    cuda.copy_vector %{{.*}} to %y[{{.*}}] width 4
cuda.kernel @apart(%x : memref<256xf32>, %y : memref<256xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c128 = arith.constant 128 : index
  scf.for %v = %c0 to %c4 step %c1 {
    %0 = arith.muli %t, %c4 : index
    %i = arith.addi %0, %v : index
    %j = arith.addi %i, %c128 : index
    %a = memref.load %x[%i] : memref<256xf32>
    %b = arith.negf %a : f32
    memref.store %a, %y[%i] : memref<256xf32>
    memref.store %b, %y[%j] : memref<256xf32>
  }
}

// CHECK-LABEL: cuda.kernel @overlapping
// CHECK-NOT:     to %y[
cuda.kernel @overlapping(%x : memref<256xf32>, %y : memref<256xf32>, %n : index) grid(1) block(32) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %v = %c0 to %c4 step %c1 {
    %0 = arith.muli %t, %c4 : index
    %1 = arith.muli %n, %c4 : index
    %i = arith.addi %0, %v : index
    %j = arith.addi %i, %1 : index
    %a = memref.load %x[%i] : memref<256xf32>
    %b = arith.negf %a : f32
    memref.store %a, %y[%i] : memref<256xf32>
    memref.store %b, %y[%j] : memref<256xf32>
  }
}

// An array is updated by vectors if each element is loaded before it is stored. A load of what has been
// stored stays, and with it the store.

// CHECK-LABEL: cuda.kernel @update
// CHECK:         cuda.copy_vector %x[%[[AT:.*]]] to %[[IN:.*]][%{{.*}}] width 4
// CHECK:         scf.for %v
// CHECK-NEXT:      memref.load %[[IN]][%v]
// CHECK:         cuda.copy_vector %{{.*}} to %x[%[[AT]]] width 4
// CHECK:         cuda.copy_vector %y[%[[AT]]] to %{{.*}} width 4
// CHECK-NOT:     cuda.copy_vector %{{.*}} to %y[
// CHECK:           memref.store %{{.*}}, %y[
// CHECK-NEXT:      memref.load %y[
cuda.kernel @update(%x : memref<256xf32>, %y : memref<256xf32>, %z : memref<1xf32>) grid(1) block(64) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0 = arith.muli %t, %c4 : index
  scf.for %v = %c0 to %c4 step %c1 {
    %i = arith.addi %0, %v : index
    %a = memref.load %x[%i] : memref<256xf32>
    %b = arith.mulf %a, %a : f32
    memref.store %b, %x[%i] : memref<256xf32>
  }
  scf.for %v = %c0 to %c4 step %c1 {
    %i = arith.addi %0, %v : index
    %a = memref.load %y[%i] : memref<256xf32>
    %b = arith.mulf %a, %a : f32
    memref.store %b, %y[%i] : memref<256xf32>
    %c = memref.load %y[%i] : memref<256xf32>
    memref.store %c, %z[%c0] : memref<1xf32>
  }
}

// Booleans take a byte each.

// CHECK-LABEL: cuda.kernel @negate
// CHECK:         cuda.copy_vector %x[{{.*}}] to %[[IN:.*]][{{.*}}] width 16 : memref<256xi1> to
// CHECK:         scf.for %v
// CHECK:         cuda.copy_vector %{{.*}}[{{.*}}] to %y[{{.*}}] width 16 : {{.*}} to memref<256xi1>
cuda.kernel @negate(%x : memref<256xi1>, %y : memref<256xi1>, %c : i1) grid(1) block(16) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %v = %c0 to %c16 step %c1 {
    %0 = arith.muli %t, %c16 : index
    %i = arith.addi %0, %v : index
    %a = memref.load %x[%i] : memref<256xi1>
    %b = arith.xori %a, %c : i1
    memref.store %b, %y[%i] : memref<256xi1>
  }
}

// A loop that only copies becomes copies from memory to memory: two here, of 16 bytes each.

// CHECK-LABEL: cuda.kernel @copy
// CHECK:         cuda.copy_vector %x[{{.*}}] to %s[{{.*}}] width 8
// CHECK:         cuda.copy_vector %x[{{.*}}] to %s[{{.*}}] width 8
// CHECK-NOT:     scf.for
cuda.kernel @copy(%x : memref<512xf16>) grid(1) block(32) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %s = memref.alloca() : memref<512xf16, #cuda.space<shared>>
  scf.for %v = %c0 to %c16 step %c1 {
    %0 = arith.muli %t, %c16 : index
    %i = arith.addi %0, %v : index
    %a = memref.load %x[%i] : memref<512xf16>
    memref.store %a, %s[%i] : memref<512xf16, #cuda.space<shared>>
  }
}

// A vector is as wide as its address is aligned: rows of 6 floats start at multiples of 2.

// CHECK-LABEL: cuda.kernel @alignment
// CHECK:         cuda.copy_vector %x[{{.*}}] to %{{.*}} width 2
// CHECK:         cuda.copy_vector %x[{{.*}}] to %{{.*}} width 2
cuda.kernel @alignment(%x : memref<32x6xf32>, %y : memref<32xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %v = %c0 to %c4 step %c1 {
    %a = memref.load %x[%t, %v] : memref<32x6xf32>
    %b = memref.load %y[%t] : memref<32xf32>
    %s = arith.addf %a, %b : f32
    memref.store %s, %y[%t] : memref<32xf32>
  }
}

// Loops stay as they are whose addresses are odd, whose elements are not neighbours, which write
// what they read, or which do not have the length of a vector.

// CHECK-LABEL: cuda.kernel @scalar
// CHECK-NOT:     cuda.copy_vector
cuda.kernel @scalar(%x : memref<1024xf32>, %y : memref<1024xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %0 = arith.muli %t, %c4 : index
  scf.for %v = %c0 to %c4 step %c1 {
    %1 = arith.addi %0, %v : index
    %odd = arith.addi %1, %c1 : index
    %a = memref.load %x[%odd] : memref<1024xf32>
    %apart = arith.muli %1, %c2 : index
    memref.store %a, %y[%apart] : memref<1024xf32>
  }
  scf.for %v = %c0 to %c4 step %c1 {
    %1 = arith.addi %0, %v : index
    %a = memref.load %x[%1] : memref<1024xf32>
    %next = arith.addi %1, %c4 : index
    memref.store %a, %x[%next] : memref<1024xf32>
    memref.store %a, %x[%c0] : memref<1024xf32>
  }
  scf.for %v = %c0 to %c3 step %c1 {
    %1 = arith.addi %0, %v : index
    %a = memref.load %x[%1] : memref<1024xf32>
    memref.store %a, %y[%1] : memref<1024xf32>
  }
}

// A condition that holds for a whole vector or for none of it leaves the loop: 100 is a multiple
// of 4.

// CHECK-LABEL: cuda.kernel @guarded
// CHECK:         %[[IN:.*]] = arith.cmpi slt
// CHECK-NEXT:    scf.if %[[IN]] {
// CHECK-NEXT:      cuda.copy_vector %x
// CHECK-NEXT:    }
// CHECK-NOT:     scf.for
cuda.kernel @guarded(%x : memref<100xf32>, %y : memref<128xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c100 = arith.constant 100 : index
  scf.for %v = %c0 to %c4 step %c1 {
    %0 = arith.muli %t, %c4 : index
    %i = arith.addi %0, %v : index
    %inside = arith.cmpi slt, %i, %c100 : index
    scf.if %inside {
      %a = memref.load %x[%i] : memref<100xf32>
      memref.store %a, %y[%i] : memref<128xf32>
    }
  }
}

// With something to do on either side of the condition there is a loop for each.

// CHECK-LABEL: cuda.kernel @either
// CHECK:         scf.if
// CHECK:           cuda.copy_vector %x
// CHECK:         } else {
// CHECK:           scf.for
// CHECK:           cuda.copy_vector %{{.*}} to %y
cuda.kernel @either(%x : memref<100xf32>, %y : memref<128xf32>, %c : f32) grid(1) block(32) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c100 = arith.constant 100 : index
  scf.for %v = %c0 to %c4 step %c1 {
    %0 = arith.muli %t, %c4 : index
    %i = arith.addi %0, %v : index
    %inside = arith.cmpi slt, %i, %c100 : index
    scf.if %inside {
      %a = memref.load %x[%i] : memref<100xf32>
      memref.store %a, %y[%i] : memref<128xf32>
    } else {
      memref.store %c, %y[%i] : memref<128xf32>
    }
  }
}

// What both sides load is loaded ahead of the branch, so that threads of a warp which take different
// sides wait for it together.

// CHECK-LABEL: cuda.kernel @ahead
// CHECK:         cuda.copy_vector %z
// CHECK:         scf.if
// CHECK:           cuda.copy_vector %x
// CHECK-NOT:     cuda.copy_vector %z
cuda.kernel @ahead(%x : memref<100xf32>, %z : memref<128xf32>, %y : memref<128xf32>, %c : f32) grid(1) block(32) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c100 = arith.constant 100 : index
  scf.for %v = %c0 to %c4 step %c1 {
    %0 = arith.muli %t, %c4 : index
    %i = arith.addi %0, %v : index
    %inside = arith.cmpi slt, %i, %c100 : index
    %b = memref.load %z[%i] : memref<128xf32>
    %a = scf.if %inside -> (f32) {
      %x0 = memref.load %x[%i] : memref<100xf32>
      scf.yield %x0 : f32
    } else {
      scf.yield %c : f32
    }
    %s = arith.addf %a, %b : f32
    memref.store %s, %y[%i] : memref<128xf32>
  }
}

// A condition that changes within a vector stays, and what it guards is not a vector.

// CHECK-LABEL: cuda.kernel @cut
// CHECK:         scf.for
// CHECK:           scf.if
// CHECK-NOT:     cuda.copy_vector
cuda.kernel @cut(%x : memref<99xf32>, %y : memref<128xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c99 = arith.constant 99 : index
  scf.for %v = %c0 to %c4 step %c1 {
    %0 = arith.muli %t, %c4 : index
    %i = arith.addi %0, %v : index
    %inside = arith.cmpi slt, %i, %c99 : index
    scf.if %inside {
      %a = memref.load %x[%i] : memref<99xf32>
      memref.store %a, %y[%i] : memref<128xf32>
    }
  }
}

// Shared arrays are aligned for the instructions that access them.

// CHECK-LABEL: cuda.kernel @aligned
// CHECK:         %s = memref.alloca() {alignment = 16 : i64} : memref<64xf16, #cuda.space<shared>>
// CHECK-NEXT:    %t = memref.alloca() {alignment = 8 : i64} : memref<64xf16, #cuda.space<shared>>
// CHECK-NEXT:    %r = memref.alloca() : memref<8xf16, #cuda.space<local>>
cuda.kernel @aligned(%x : memref<64xf16>) grid(1) block(32) {
  %i = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %s = memref.alloca() : memref<64xf16, #cuda.space<shared>>
  %t = memref.alloca() : memref<64xf16, #cuda.space<shared>>
  %r = memref.alloca() : memref<8xf16, #cuda.space<local>>
  cuda.cp_async ca %x[%c0] to %s[%c0] width 2 : memref<64xf16> to memref<64xf16, #cuda.space<shared>>
  cuda.cp_async ca %x[%c0] to %t[%c0] width 4 : memref<64xf16> to memref<64xf16, #cuda.space<shared>>
  cuda.ldmatrix %s[%c0] to %r[%c0] count 4 : memref<64xf16, #cuda.space<shared>> to memref<8xf16, #cuda.space<local>>
}

// Dimensions of one element behind do not matter.

// CHECK-LABEL: cuda.kernel @filters
// CHECK:         cuda.copy_vector %w[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] to %y[%{{.*}}] width 4
cuda.kernel @filters(%w : memref<32x4x1x1xf32>, %y : memref<128xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %v = %c0 to %c4 step %c1 {
    %0 = arith.muli %t, %c4 : index
    %i = arith.addi %0, %v : index
    %a = memref.load %w[%t, %v, %c0, %c0] : memref<32x4x1x1xf32>
    memref.store %a, %y[%i] : memref<128xf32>
  }
}

// An asynchronous copy takes its conditions along: it reads nothing where one does not hold, and
// writes zeros. Other constants are stored in a branch.

// CHECK-LABEL: cuda.kernel @zeros
// CHECK-NOT:     scf.if
// CHECK:         %[[BOTH:.*]] = arith.andi
// CHECK:         %[[VALID:.*]] = arith.select %[[BOTH]], %{{.*}}, %{{.*}} : index
// CHECK-NEXT:    cuda.cp_async cg %x[%{{.*}}] to %s[%{{.*}}] width 4 valid %[[VALID]]
// CHECK-LABEL: cuda.kernel @ones
// CHECK:         scf.if
// CHECK:           cuda.cp_async cg %x[%{{.*}}] to %s[%{{.*}}] width 4 : memref
// CHECK:         } else {
// CHECK:           cuda.copy_vector
cuda.kernel @zeros(%x : memref<100xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %s = memref.alloca() : memref<128xf32, #cuda.space<shared>>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c100 = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  scf.for %v = %c0 to %c4 step %c1 {
    %0 = arith.muli %t, %c4 : index
    %i = arith.addi %0, %v : index
    %inside = arith.cmpi slt, %i, %c100 : index
    %a = scf.if %inside -> (f32) {
      %late = arith.cmpi sge, %i, %c8 : index
      %b = scf.if %late -> (f32) {
        %c = memref.load %x[%i] : memref<100xf32>
        scf.yield %c : f32
      } else {
        scf.yield %zero : f32
      }
      scf.yield %b : f32
    } else {
      scf.yield %zero : f32
    }
    memref.store %a, %s[%i] : memref<128xf32, #cuda.space<shared>>
  } {task.async}
}

cuda.kernel @ones(%x : memref<100xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %s = memref.alloca() : memref<128xf32, #cuda.space<shared>>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c100 = arith.constant 100 : index
  %one = arith.constant 1.0 : f32
  scf.for %v = %c0 to %c4 step %c1 {
    %0 = arith.muli %t, %c4 : index
    %i = arith.addi %0, %v : index
    %inside = arith.cmpi slt, %i, %c100 : index
    %a = scf.if %inside -> (f32) {
      %c = memref.load %x[%i] : memref<100xf32>
      scf.yield %c : f32
    } else {
      scf.yield %one : f32
    }
    memref.store %a, %s[%i] : memref<128xf32, #cuda.space<shared>>
  } {task.async}
}

// An asynchronous copy of single elements of four bytes is one, too, of shorter ones it is not.

// CHECK-LABEL: cuda.kernel @elements
// CHECK:         scf.for
// CHECK:           %[[VALID:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : index
// CHECK-NEXT:      cuda.cp_async ca %x[%{{.*}}, %t] to %s[%t, %{{.*}}] width 1 valid %[[VALID]]
// CHECK:         scf.for
// CHECK:           cuda.cp_async ca %x[%{{.*}}, %t] to %s[%t, %{{.*}}] width 1 : memref
// CHECK:         scf.for
// CHECK:           memref.load %y[
cuda.kernel @elements(%x : memref<3x32xf32>, %y : memref<4x32xf16>) grid(1) block(32) {
  %t = cuda.thread_id x
  %s = memref.alloca() : memref<32x4xf32, #cuda.space<shared>>
  %h = memref.alloca() : memref<32x4xf16, #cuda.space<shared>>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  scf.for %v = %c0 to %c4 step %c1 {
    %inside = arith.cmpi slt, %v, %c3 : index
    %a = scf.if %inside -> (f32) {
      %b = memref.load %x[%v, %t] : memref<3x32xf32>
      scf.yield %b : f32
    } else {
      scf.yield %zero : f32
    }
    memref.store %a, %s[%t, %v] : memref<32x4xf32, #cuda.space<shared>>
  } {task.async}
  scf.for %v = %c0 to %c3 step %c1 {
    %a = memref.load %x[%v, %t] : memref<3x32xf32>
    memref.store %a, %s[%t, %v] : memref<32x4xf32, #cuda.space<shared>>
  } {task.async}
  scf.for %v = %c0 to %c4 step %c1 {
    %a = memref.load %y[%v, %t] : memref<4x32xf16>
    memref.store %a, %h[%t, %v] : memref<32x4xf16, #cuda.space<shared>>
  } {task.async}
}

// An index in scope that the condition of a branch simplifies is not reused there: %r is 4 * %t.

// CHECK-LABEL: cuda.kernel @simpler
// CHECK-NOT:     arith.remsi
// CHECK:         scf.if
// CHECK-NEXT:      cuda.copy_vector %x[%q, %{{.*}}] to %y[%q] width 4
cuda.kernel @simpler(%x : memref<64x4xf32>, %y : memref<128xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %q = arith.muli %t, %c4 : index
  %r = arith.remsi %q, %c64 : index
  %first = arith.cmpi slt, %t, %c16 : index
  scf.if %first {
    scf.for %v = %c0 to %c4 step %c1 {
      %k = arith.addi %q, %v : index
      %a = memref.load %x[%r, %v] : memref<64x4xf32>
      memref.store %a, %y[%k] : memref<128xf32>
    }
  }
}

// The array of another block of the cluster is aligned as the own one.

// CHECK-LABEL: cuda.kernel @peer
// CHECK:         %s = memref.alloca() {alignment = 16 : i64} : memref<32x4xf32, #cuda.space<shared>>
// CHECK:         cuda.copy_vector %p[%t, %{{.*}}] to %{{.*}}[%{{.*}}] width 4
cuda.kernel @peer(%y : memref<128xf32>, %n : i32) grid(2) block(32) attributes {cuda.cluster = array<i64: 2, 1, 1>} {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = memref.alloca() : memref<32x4xf32, #cuda.space<shared>>
  %p = cuda.map_shared_rank %s, %n : memref<32x4xf32, #cuda.space<shared>>
  scf.for %v = %c0 to %c4 step %c1 {
    %q = arith.muli %t, %c4 : index
    %k = arith.addi %q, %v : index
    %a = memref.load %p[%t, %v] : memref<32x4xf32, #cuda.space<shared>>
    memref.store %a, %y[%k] : memref<128xf32>
  }
}
