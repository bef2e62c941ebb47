// RUN: hidet-opt %s -t cuda | filecheck %s

// CHECK-LABEL: loops(
cuda.kernel @loops(%x : memref<64xf32>, %n : i64) grid(1) block(1) attributes {cuda.formed} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %16 = arith.constant 16 : index
  %v = arith.constant 1.0 : f32
  // CHECK:      for (int i = 0; i < 16; ++i) {
  // CHECK-NEXT:   for (int j = i + 1; j < i * 16; j += 16) {
  // CHECK-NEXT:     x[j] = 1.0f;
  // CHECK-NEXT:   }
  // CHECK-NEXT: }
  scf.for %i = %0 to %16 step %1 {
    %2 = arith.addi %i, %1 : index
    %3 = arith.muli %i, %16 : index
    scf.for %j = %2 to %3 step %16 {
      memref.store %v, %x[%j] : memref<64xf32>
    }
  }

  // Two loops after each other may use the same name.
  // CHECK-NEXT: #pragma unroll
  // CHECK-NEXT: for (int i = 0; i < 16; ++i) {
  scf.for %i = %0 to %16 step %1 {
    memref.store %v, %x[%i] : memref<64xf32>
  } {cuda.unroll}
  // CHECK:      #pragma unroll 4
  // CHECK-NEXT: for (long long i = 0LL; i < 16; ++i) {
  scf.for %i = %0 to %16 step %1 {
    memref.store %v, %x[%i] : memref<64xf32>
  } {cuda.unroll = 4 : i64, cuda.long}
  // CHECK:      for (long long k = n; k < n; ++k) {
  // CHECK-NEXT: }
  %4 = arith.constant 1 : i64
  scf.for %k = %n to %n step %4 : i64 {
  }
}

// CHECK-LABEL: branches(
cuda.kernel @branches(%x : memref<64xf32>, %p : i1, %q : i1) grid(1) block(1) attributes {cuda.formed} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1.0 : f32
  %2 = arith.constant 2.0 : f32
  // CHECK:      if (p) {
  // CHECK-NEXT:   x[0] = 1.0f;
  // CHECK-NEXT: }
  scf.if %p {
    memref.store %1, %x[%0] : memref<64xf32>
  }
  // CHECK-NEXT: if (p && q) {
  // CHECK-NEXT:   x[0] = 1.0f;
  // CHECK-NEXT: } else if (q) {
  // CHECK-NEXT:   x[0] = 2.0f;
  // CHECK-NEXT: } else {
  // CHECK-NEXT:   x[0] = 1.0f;
  // CHECK-NEXT:   x[0] = 2.0f;
  // CHECK-NEXT: }
  %3 = arith.andi %p, %q : i1
  scf.if %3 {
    memref.store %1, %x[%0] : memref<64xf32>
  } else {
    scf.if %q {
      memref.store %2, %x[%0] : memref<64xf32>
    } else {
      memref.store %1, %x[%0] : memref<64xf32>
      memref.store %2, %x[%0] : memref<64xf32>
    }
  }
  // An arm that does nothing is left out.
  // CHECK-NEXT: if (q) {
  // CHECK-NEXT:   x[0] = 1.0f;
  // CHECK-NEXT: }
  scf.if %q {
    memref.store %1, %x[%0] : memref<64xf32>
  } else {
  }

  // A branch with a value is an expression.
  // CHECK-NEXT: x[0] = p ? x[0] + 1.0f : q ? 1.0f : 2.0f;
  %4 = scf.if %p -> (f32) {
    %5 = memref.load %x[%0] : memref<64xf32>
    %6 = arith.addf %5, %1 : f32
    scf.yield %6 : f32
  } else {
    %7 = arith.select %q, %1, %2 : f32
    scf.yield %7 : f32
  }
  memref.store %4, %x[%0] : memref<64xf32>
  // CHECK-NEXT: const float v = p ? 1.0f : 2.0f;
  %v = scf.if %p -> (f32) {
    scf.yield %1 : f32
  } else {
    scf.yield %2 : f32
  }
}

// A loop that looks at its condition first.

// CHECK-LABEL: // loop
cuda.kernel @loop(%x : memref<32xf32>) grid(1) block(32) attributes {cuda.formed} {
  %tid = cuda.thread_id x
  %1 = arith.constant 1.000000e+00 : f32
  // CHECK:      while (x[tid] < 1.0f) {
  // CHECK-NEXT:   x[tid] = 1.0f;
  // CHECK-NEXT: }
  scf.while () : () -> () {
    %2 = memref.load %x[%tid] : memref<32xf32>
    %3 = arith.cmpf olt, %2, %1 : f32
    scf.condition(%3)
  } do {
    memref.store %1, %x[%tid] : memref<32xf32>
    scf.yield
  }
  // One whose condition takes statements.
  // CHECK-NEXT: while (true) {
  // CHECK-NEXT:   const float v = x[tid];
  // CHECK-NEXT:   if (v * v < 1.0f) {
  // CHECK-NEXT:     x[tid] = 1.0f;
  // CHECK-NEXT:   } else {
  // CHECK-NEXT:     break;
  // CHECK-NEXT:   }
  // CHECK-NEXT: }
  scf.while () : () -> () {
    %v = memref.load %x[%tid] : memref<32xf32>
    %4 = arith.mulf %v, %v : f32
    %5 = arith.cmpf olt, %4, %1 : f32
    scf.condition(%5)
  } do {
    memref.store %1, %x[%tid] : memref<32xf32>
    scf.yield
  }
}

// Ways out.

// CHECK:      leave(
cuda.kernel @leave(%p : i1, %q : i1) grid(1) block(32) attributes {cuda.formed} {
  // CHECK-NEXT: while (p) {
  scf.while () : () -> () {
    scf.condition(%p)
  } do {
    // CHECK-NEXT: if (q) {
    // CHECK-NEXT:   break;
    // CHECK-NEXT: }
    scf.if %q {
      cuda.leave break
    }
    // CHECK-NEXT: continue;
    cuda.leave continue
    scf.yield
  }
  // CHECK:      return;
  cuda.leave return
}
