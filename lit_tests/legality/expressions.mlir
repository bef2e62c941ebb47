// RUN: hidet-opt %s -p 'verify-level{level=cuda}' --verify-diagnostics --split-input-file | filecheck %s

// In a formed kernel a value without a name is written where it is used: once.

// CHECK: a value without a name is used 2 times
// CHECK-NEXT: at: arith.addi in @twice
// CHECK-NEXT: hint: form-expressions names what is not used once; nothing may run after it
cuda.kernel @twice(%out : memref<32xindex>) grid(1) block(32) attributes {cuda.formed} {
  %tid = cuda.thread_id x
  %0 = arith.addi %tid, %tid : index
  memref.store %0, %out[%0] : memref<32xindex>
}

// -----

// CHECK: a value without a name is used 0 times
// CHECK-NEXT: at: arith.addi in @dead
cuda.kernel @dead() grid(1) block(32) attributes {cuda.formed} {
  %tid = cuda.thread_id x
  %0 = arith.addi %tid, %tid : index
}

// -----

// What writes is a statement where nobody wants its value.

// CHECK-LABEL: cuda.kernel @atomic
cuda.kernel @atomic(%x : memref<32xi32>) grid(1) block(32) attributes {cuda.formed} {
  %tid = cuda.thread_id x
  %one = arith.constant 1 : i32
  %0 = cuda.atomic add %one, %x[%tid] : memref<32xi32>
}

// -----

// The statement counts in which the text ends, not the user: `%1` is written after the store.

// CHECK: what it reads may be written before memref.store, where it is evaluated
// CHECK-NEXT: at: memref.load in @order
cuda.kernel @order(%x : memref<32xf32>, %y : memref<32xf32>) grid(1) block(32) attributes {cuda.formed} {
  %tid = cuda.thread_id x
  %0 = memref.load %x[%tid] : memref<32xf32>
  %1 = arith.negf %0 : f32
  %one = arith.constant 1.0 : f32
  memref.store %one, %x[%tid] : memref<32xf32>
  memref.store %1, %y[%tid] : memref<32xf32>
}

// -----

// A write inside of a loop or branch counts, and so does a barrier.

// CHECK: what it reads may be written before memref.store, where it is evaluated
// CHECK-NEXT: at: memref.load in @loop
cuda.kernel @loop(%x : memref<32xf32>, %y : memref<32xf32>, %c : i1) grid(1) block(32) attributes {cuda.formed} {
  %tid = cuda.thread_id x
  %one = arith.constant 1.0 : f32
  %0 = memref.load %x[%tid] : memref<32xf32>
  scf.if %c {
    memref.store %one, %x[%tid] : memref<32xf32>
  }
  memref.store %0, %y[%tid] : memref<32xf32>
}

// -----

// CHECK: what it reads may be written before memref.store, where it is evaluated
// CHECK-NEXT: at: memref.load in @barrier
cuda.kernel @barrier(%y : memref<32xf32>) grid(1) block(32) attributes {cuda.formed} {
  %tid = cuda.thread_id x
  %tile = memref.alloca() : memref<32xf32, #cuda.space<shared>>
  %0 = memref.load %tile[%tid] : memref<32xf32, #cuda.space<shared>>
  cuda.sync_threads
  memref.store %0, %y[%tid] : memref<32xf32>
}

// -----

// A wait for other launches writes what they write: no arguments that are constant.

// CHECK-LABEL: cuda.kernel @constant
cuda.kernel @constant(%x : memref<32xf32> {cuda.constant, cuda.readonly}, %y : memref<32xf32>) grid(1) block(32) attributes {cuda.formed} {
  %tid = cuda.thread_id x
  %0 = memref.load %x[%tid] : memref<32xf32>
  cuda.grid_dependency_wait
  memref.store %0, %y[%tid] : memref<32xf32>
}

// -----

// CHECK: what it reads may be written before memref.store, where it is evaluated
// CHECK-NEXT: at: memref.load in @written
cuda.kernel @written(%x : memref<32xf32>, %y : memref<32xf32>) grid(1) block(32) attributes {cuda.formed} {
  %tid = cuda.thread_id x
  %0 = memref.load %x[%tid] : memref<32xf32>
  cuda.grid_dependency_wait
  memref.store %0, %y[%tid] : memref<32xf32>
}

// -----

// A load does not move into a branch, or into the bounds of a loop, which are evaluated every time.

// CHECK: a value that is read from memory is evaluated in memref.store
// CHECK-NEXT: at: memref.load in @inner
cuda.kernel @inner(%x : memref<32xf32>, %y : memref<32xf32>, %c : i1) grid(1) block(32) attributes {cuda.formed} {
  %tid = cuda.thread_id x
  %0 = memref.load %x[%tid] : memref<32xf32>
  scf.if %c {
    memref.store %0, %y[%tid] : memref<32xf32>
  }
}

// -----

// CHECK: a value that is read from memory is evaluated in scf.for
cuda.kernel @bounds(%n : memref<1xindex>) grid(1) block(32) attributes {cuda.formed} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %0 = memref.load %n[%zero] : memref<1xindex>
  scf.for %i = %zero to %0 step %one {
  }
}

// -----

// Named values, constants, `x[i] += v`, arms of `c ? a : b`, other memory that is written.

// CHECK: cuda.kernel @legal
cuda.kernel @legal(%x : memref<32xf32>, %c : i1) grid(1) block(32) attributes {cuda.formed} {
  %tid = cuda.thread_id x
  %tile = memref.alloca() : memref<32xf32, #cuda.space<shared>>
  %0 = arith.constant 1.0 : f32
  %1 = memref.load %tile[%tid] : memref<32xf32, #cuda.space<shared>>
  %2 = arith.addf %1, %0 : f32
  memref.store %0, %x[%tid] : memref<32xf32>
  memref.store %2, %x[%tid] : memref<32xf32>
  %3 = memref.load %x[%tid] : memref<32xf32>
  %4 = arith.addf %3, %0 : f32
  memref.store %4, %x[%tid] {cuda.update = 0 : i64} : memref<32xf32>
  %5 = scf.if %c -> (f32) {
    %6 = memref.load %x[%tid] : memref<32xf32>
    scf.yield %6 : f32
  } else {
    scf.yield %0 : f32
  }
  memref.store %5, %tile[%tid] : memref<32xf32, #cuda.space<shared>>
}

// -----

// CHECK: what it reads may be written before memref.store, where it is evaluated
// CHECK-NEXT: at: scf.if in @conditional
cuda.kernel @conditional(%x : memref<32xf32>, %y : memref<32xf32>, %c : i1) grid(1) block(32) attributes {cuda.formed} {
  %tid = cuda.thread_id x
  %zero = arith.constant 0.0 : f32
  %5 = scf.if %c -> (f32) {
    %6 = memref.load %x[%tid] : memref<32xf32>
    scf.yield %6 : f32
  } else {
    scf.yield %zero : f32
  }
  memref.store %zero, %x[%tid] : memref<32xf32>
  memref.store %5, %y[%tid] : memref<32xf32>
}

// -----

// Kernels that form-expressions has not seen are not looked at.

// CHECK: cuda.kernel @not_formed
cuda.kernel @not_formed(%out : memref<32xindex>) grid(1) block(32) {
  %tid = cuda.thread_id x
  %0 = arith.addi %tid, %tid : index
  memref.store %0, %out[%0] : memref<32xindex>
}

// -----

// The mark of `x[i] += v` is the number of an operand.

// CHECK: cuda.update is 2, but arith.addf has 2 operands
// CHECK-NEXT: at: memref.store in @update
cuda.kernel @update(%x : memref<32xf32>, %v : f32) grid(1) block(32) attributes {cuda.formed} {
  %tid = cuda.thread_id x
  %0 = memref.load %x[%tid] : memref<32xf32>
  %1 = arith.addf %0, %v : f32
  memref.store %1, %x[%tid] {cuda.update = 2 : i64} : memref<32xf32>
}
