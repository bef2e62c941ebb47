// RUN: hidet-opt %s -p 'strength-reduce' --split-input-file | filecheck %s

// The stage of a ring and the parity of its phase are carried; the parity advances when the stage
// wraps. k / 704 wraps when (k / 64) mod 11 does, so there is one counter for both.

!ring = memref<11xi64, #cuda.space<shared>>

// CHECK-LABEL: cuda.kernel @ring
// CHECK:         %[[STAGE0:.*]] = arith.index_cast %c0{{.*}} : index to i32
// CHECK:         %[[PARITY0:.*]] = arith.index_cast %c1{{.*}} : index to i32
// CHECK:         scf.for %k = {{.*}} iter_args(%[[S:.*]] = %[[STAGE0]], %[[P:.*]] = %[[PARITY0]]) -> (i32, i32) {
// CHECK-NEXT:      %[[PARITY:.*]] = arith.index_cast %[[P]] : i32 to index
// CHECK-NEXT:      %[[STAGE:.*]] = arith.index_cast %[[S]] : i32 to index
// CHECK-NOT:       arith.divsi
// CHECK-NOT:       arith.remsi
// CHECK:           cuda.mbarrier_wait %full[%[[STAGE]]]
// CHECK:           %[[NEXT:.*]] = arith.addi %[[STAGE]], %c1
// CHECK-NEXT:      %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]], %c11
// CHECK-NEXT:      %[[A:.*]] = arith.select %[[WRAPS]], %c0{{.*}}, %[[NEXT]] : index
// CHECK-NEXT:      %[[A32:.*]] = arith.index_cast %[[A]] : index to i32
// CHECK-NEXT:      %[[OTHER:.*]] = arith.subi %c1{{.*}}, %[[PARITY]] : index
// CHECK-NEXT:      %[[B:.*]] = arith.select %[[WRAPS]], %[[OTHER]], %[[PARITY]] : index
// CHECK-NEXT:      %[[B32:.*]] = arith.index_cast %[[B]] : index to i32
// CHECK-NEXT:      scf.yield %[[A32]], %[[B32]] : i32, i32
cuda.kernel @ring() grid(1) block(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c11 = arith.constant 11 : index
  %c64 = arith.constant 64 : index
  %c704 = arith.constant 704 : index
  %c8640 = arith.constant 8640 : index
  %full = memref.alloca() : !ring
  scf.for %k = %c0 to %c8640 step %c64 {
    %number = arith.divsi %k, %c64 : index
    %stage = arith.remsi %number, %c11 : index
    %turn = arith.divsi %k, %c704 : index
    %phase = arith.addi %turn, %c1 : index
    %odd = arith.remsi %phase, %c2 : index
    %parity = arith.index_cast %odd : index to i32
    cuda.mbarrier_wait %full[%stage] parity %parity : !ring
  }
}

// -----

// The ring goes on where an earlier tile has left it: the first values are computed ahead of the
// loop. A remainder whose dividend has a known factor is carried without it.

// CHECK-LABEL: cuda.kernel @tiles
// CHECK:         scf.for %tile =
// CHECK:           %[[BASE:.*]] = arith.muli %tile, %c15
// CHECK:           arith.remsi %[[BASE]], %c11
// CHECK:           scf.for %k = {{.*}} iter_args
// CHECK-NOT:         arith.remsi
// CHECK:             arith.muli %{{.*}}, %c64
// CHECK:             cuda.sync_threads
cuda.kernel @tiles(%out : memref<960xi32>) grid(1) block(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c11 = arith.constant 11 : index
  %c15 = arith.constant 15 : index
  %c64 = arith.constant 64 : index
  %c320 = arith.constant 320 : index
  %c960 = arith.constant 960 : index
  scf.for %tile = %c0 to %c3 step %c1 {
    %base = arith.muli %tile, %c15 : index
    scf.for %k = %c0 to %c960 step %c64 {
      %number = arith.divsi %k, %c64 : index
      %all = arith.addi %base, %number : index
      %stage = arith.remsi %all, %c11 : index
      %channel = arith.remsi %k, %c320 : index
      %value = arith.index_cast %channel : index to i32
      memref.store %value, %out[%stage] : memref<960xi32>
      cuda.sync_threads
    }
  }
}

// -----

// Left alone: powers of two, loops that wait for nobody, what may be or begins negative, 64 bits.

// CHECK-LABEL: cuda.kernel @alone
// CHECK-NOT:     iter_args
cuda.kernel @alone(%out : memref<960xi32>, %n : i32) grid(1) block(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c11 = arith.constant 11 : index
  %c960 = arith.constant 960 : index
  %offset = arith.index_cast %n : i32 to index
  scf.for %i = %c0 to %c960 step %c1 {
    %0 = arith.remsi %i, %c8 : index
    %1 = arith.index_cast %0 : index to i32
    memref.store %1, %out[%i] : memref<960xi32>
    cuda.sync_threads
  }
  scf.for %i = %c0 to %c960 step %c1 {
    %2 = arith.remsi %i, %c11 : index
    %3 = arith.index_cast %2 : index to i32
    memref.store %3, %out[%i] : memref<960xi32>
  }
  scf.for %i = %c0 to %c960 step %c1 {
    %4 = arith.addi %i, %offset : index
    %5 = arith.remsi %4, %c11 : index
    %6 = arith.index_cast %5 : index to i32
    memref.store %6, %out[%i] : memref<960xi32>
    cuda.sync_threads
  }
  scf.for %i = %c0 to %c960 step %c8 {  // -4 / 8 is 0, and so is 4 / 8
    %9 = arith.subi %i, %c4 : index
    %10 = arith.divsi %9, %c8 : index
    %11 = arith.remsi %10, %c11 : index
    %12 = arith.index_cast %11 : index to i32
    memref.store %12, %out[%i] : memref<960xi32>
    cuda.sync_threads
  }
  scf.for %i = %c0 to %c960 step %c1 {
    %7 = arith.remsi %i, %c11 {cuda.long} : index
    %8 = arith.index_cast %7 : index to i32
    memref.store %8, %out[%i] : memref<960xi32>
    cuda.sync_threads
  }
}
