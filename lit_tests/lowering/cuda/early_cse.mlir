// RUN: hidet-opt %s -p 'early-cse' | filecheck %s

// Equal arithmetic is computed once, for later branches and loops too.

// CHECK-LABEL: cuda.kernel @arithmetic
// CHECK:         %s = arith.addf %a, %b : f32
// CHECK-NEXT:    memref.store %s, %x[%i]
// CHECK-NEXT:    scf.if %p {
// CHECK-NEXT:      memref.store %s, %x[%i]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
cuda.kernel @arithmetic(%x : memref<4xf32>, %a : f32, %b : f32, %p : i1) grid(4) block(1) {
  %i = cuda.block_id x
  %s = arith.addf %a, %b : f32
  memref.store %s, %x[%i] : memref<4xf32>
  scf.if %p {
    %j = cuda.block_id x
    %again = arith.addf %a, %b : f32
    memref.store %again, %x[%j] : memref<4xf32>
  }
}

// What differs in operands or properties is not the same. What one side of a branch has computed
// is not there after it, nor on the other side.

// CHECK-LABEL: cuda.kernel @different
// CHECK:         arith.subf %a, %b : f32
// CHECK:         arith.subf %b, %a : f32
// CHECK:         arith.cmpf olt
// CHECK:         arith.cmpf ole
// CHECK:         scf.if
// CHECK:           arith.mulf
// CHECK:         } else {
// CHECK:           arith.mulf
// CHECK:         }
// CHECK:         arith.mulf
cuda.kernel @different(%x : memref<4xf32>, %y : memref<4xi1>, %a : f32, %b : f32) grid(4) block(1) {
  %i = cuda.block_id x
  %0 = arith.subf %a, %b : f32
  memref.store %0, %x[%i] : memref<4xf32>
  %1 = arith.subf %b, %a : f32
  memref.store %1, %x[%i] : memref<4xf32>
  %2 = arith.cmpf olt, %a, %b : f32
  memref.store %2, %y[%i] : memref<4xi1>
  %3 = arith.cmpf ole, %a, %b : f32
  memref.store %3, %y[%i] : memref<4xi1>
  scf.if %2 {
    %4 = arith.mulf %a, %b : f32
    memref.store %4, %x[%i] : memref<4xf32>
  } else {
    %5 = arith.mulf %a, %b : f32
    memref.store %5, %x[%i] : memref<4xf32>
  }
  %6 = arith.mulf %a, %b : f32
  memref.store %6, %x[%i] : memref<4xf32>
}

// An element that nothing may have written meanwhile is read once: the arguments of a kernel share
// no memory.

// CHECK-LABEL: cuda.kernel @reads
// CHECK:         %v = memref.load %x[%i]
// CHECK-NEXT:    memref.store %v, %y[%i]
// CHECK-NEXT:    memref.store %v, %y[%i]
// CHECK-NEXT:  }
cuda.kernel @reads(%x : memref<4xf32>, %y : memref<4xf32>) grid(4) block(1) {
  %i = cuda.block_id x
  %v = memref.load %x[%i] : memref<4xf32>
  memref.store %v, %y[%i] : memref<4xf32>
  %w = memref.load %x[%i] : memref<4xf32>
  memref.store %w, %y[%i] : memref<4xf32>
}

// It is read again after a write to the array, after a barrier, and in a loop that writes it.

// CHECK-LABEL: cuda.kernel @written
// CHECK-COUNT-5: memref.load %x[%i]
cuda.kernel @written(%x : memref<4xf32>, %y : memref<4xf32>) grid(4) block(1) {
  %i = cuda.block_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0 = memref.load %x[%i] : memref<4xf32>
  memref.store %0, %y[%i] : memref<4xf32>
  memref.store %0, %x[%c0] : memref<4xf32>
  %1 = memref.load %x[%i] : memref<4xf32>
  memref.store %1, %y[%i] : memref<4xf32>
  cuda.sync_threads
  %2 = memref.load %x[%i] : memref<4xf32>
  memref.store %2, %y[%i] : memref<4xf32>
  scf.for %k = %c0 to %c4 step %c1 {
    %3 = memref.load %x[%i] : memref<4xf32>
    memref.store %3, %x[%k] : memref<4xf32>
  }
  %4 = memref.load %x[%i] : memref<4xf32>
  memref.store %4, %y[%i] : memref<4xf32>
}

// What is allocated twice is two arrays, and what threads do together is done as often as it says.

// CHECK-LABEL: cuda.kernel @effects
// CHECK-COUNT-2: memref.alloca
// CHECK-COUNT-2: cuda.sync_threads
cuda.kernel @effects(%x : memref<4xf32>, %a : f32) grid(1) block(4) {
  %i = cuda.thread_id x
  %s = memref.alloca() : memref<4xf32, #cuda.space<shared>>
  %t = memref.alloca() : memref<4xf32, #cuda.space<shared>>
  memref.store %a, %s[%i] : memref<4xf32, #cuda.space<shared>>
  cuda.sync_threads
  memref.store %a, %t[%i] : memref<4xf32, #cuda.space<shared>>
  cuda.sync_threads
}

// An instruction writes what the table says, and a wait lets all copies be seen.

// CHECK-LABEL: cuda.kernel @instructions
// CHECK-COUNT-2: memref.load %c[%i]
// CHECK-NOT:     memref.load %c[%i]
// CHECK:         memref.load %s[%i]
// CHECK-NOT:     memref.load
// CHECK:         cuda.cp_async_wait 0
// CHECK:         memref.load %s[%i]
// CHECK:         cuda.cp_async ca
// CHECK:         memref.load %s[%i]
cuda.kernel @instructions(%x : memref<32xf32>, %y : memref<32xf32>) grid(1) block(32) {
  %i = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %s = memref.alloca() : memref<32xf32, #cuda.space<shared>>
  %a = memref.alloca() : memref<4xf32, #cuda.space<local>>
  %b = memref.alloca() : memref<2xf32, #cuda.space<local>>
  %c = memref.alloca() : memref<4xf32, #cuda.space<local>>
  %0 = memref.load %c[%i] : memref<4xf32, #cuda.space<local>>
  cuda.mma_sync "m16n8k8_tf32_f32" %a[%c0], %b[%c0], %c[%c0] : memref<4xf32, #cuda.space<local>>, memref<2xf32, #cuda.space<local>>, memref<4xf32, #cuda.space<local>>
  %1 = memref.load %c[%i] : memref<4xf32, #cuda.space<local>>
  cuda.cp_async_commit
  %2 = memref.load %c[%i] : memref<4xf32, #cuda.space<local>>
  %3 = memref.load %s[%i] : memref<32xf32, #cuda.space<shared>>
  cuda.ldmatrix %s[%i] to %a[%c0] count 4 : memref<32xf32, #cuda.space<shared>> to memref<4xf32, #cuda.space<local>>
  %4 = memref.load %s[%i] : memref<32xf32, #cuda.space<shared>>
  cuda.cp_async_wait 0
  %5 = memref.load %s[%i] : memref<32xf32, #cuda.space<shared>>
  cuda.cp_async ca %x[%i] to %s[%i] width 1 : memref<32xf32> to memref<32xf32, #cuda.space<shared>>
  %6 = memref.load %s[%i] : memref<32xf32, #cuda.space<shared>>
  "test.op"(%0, %1, %2, %3, %4, %5, %6) : (f32, f32, f32, f32, f32, f32, f32) -> ()
}

// A store through a view changes what is behind it, and one to an argument that may overlap others
// changes those.

// CHECK-LABEL: cuda.kernel @views
// CHECK-COUNT-2: memref.load %x[%i]
// CHECK-LABEL: cuda.kernel @aliased
// CHECK-COUNT-2: memref.load %x[%i]
// CHECK-LABEL: cuda.kernel @apart
// CHECK:         %a = memref.load %x[%i]
// CHECK-NOT:     memref.load
cuda.kernel @views(%x : memref<4xf32>, %y : memref<4xf32>) grid(4) block(1) {
  %i = cuda.block_id x
  %v = cuda.view %x[%i] : memref<4xf32> to memref<?xi32>
  %a = memref.load %x[%i] : memref<4xf32>
  %bits = arith.bitcast %a : f32 to i32
  memref.store %bits, %v[%i] : memref<?xi32>
  %b = memref.load %x[%i] : memref<4xf32>
  memref.store %b, %y[%i] : memref<4xf32>
}
cuda.kernel @aliased(%x : memref<4xf32>, %y : memref<4xf32>) grid(4) block(1) attributes {cuda.may_alias} {
  %i = cuda.block_id x
  %a = memref.load %x[%i] : memref<4xf32>
  memref.store %a, %y[%i] : memref<4xf32>
  %b = memref.load %x[%i] : memref<4xf32>
  memref.store %b, %y[%i] : memref<4xf32>
}
cuda.kernel @apart(%x : memref<4xf32>, %y : memref<4xf32>) grid(4) block(1) {
  %i = cuda.block_id x
  %a = memref.load %x[%i] : memref<4xf32>
  memref.store %a, %y[%i] : memref<4xf32>
  %b = memref.load %x[%i] : memref<4xf32>
  memref.store %b, %y[%i] : memref<4xf32>
}



// To check an index twice is to check it once.

// CHECK-LABEL: cuda.kernel @checks
// CHECK-NEXT:    %a = cuda.checked_index %i below 8 "x"
// CHECK-NEXT:    %c = cuda.checked_index %i below 8 "y"
// CHECK-NEXT:    memref.store %f, %x[%a]
// CHECK-NEXT:    memref.store %f, %x[%a]
cuda.kernel @checks(%x : memref<8xf32>, %f : f32, %i : index) grid(1) block(64) {
  %a = cuda.checked_index %i below 8 "x"
  %b = cuda.checked_index %i below 8 "x"
  %c = cuda.checked_index %i below 8 "y"
  memref.store %f, %x[%a] : memref<8xf32>
  memref.store %f, %x[%b] : memref<8xf32>
}
