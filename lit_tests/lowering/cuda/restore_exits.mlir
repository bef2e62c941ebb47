// RUN: hidet-opt %s -p 'restore-exits' --split-input-file | filecheck %s

// A marked guard is replaced by its `then`; the flag, which nothing tests then, is removed. The
// `else` of a branch that exits follows it.

!flag = memref<i1, #cuda.space<local>>

// CHECK-LABEL: cuda.kernel @find
// CHECK-NOT:     memref.alloca
// CHECK:         scf.for %k =
// CHECK-NEXT:      %[[V:.*]] = memref.load %x[%k]
// CHECK-NEXT:      %[[C:.*]] = arith.cmpf ogt, %[[V]], %a
// CHECK-NEXT:      scf.if %[[C]] {
// CHECK-NEXT:        cuda.leave break
// CHECK-NEXT:      }
// CHECK-NEXT:      memref.store %a, %x[%k]
cuda.kernel @find(%x : memref<64xf32>, %a : f32) grid(1) block(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %true = arith.constant true
  %false = arith.constant false
  %running = memref.alloca() : !flag
  memref.store %true, %running[] : !flag
  scf.for %k = %c0 to %c64 step %c1 {
    %r = memref.load %running[] : !flag
    "scf.if"(%r) ({
      %v = memref.load %x[%k] : memref<64xf32>
      %c = arith.cmpf ogt, %v, %a : f32
      scf.if %c {
        memref.store %false, %running[] : !flag
        cuda.leave break
      } else {
        memref.store %a, %x[%k] : memref<64xf32>
      }
      scf.yield
    }, {}) {cuda.guard} : (i1) -> ()
  }
}

// -----

// The test of a loop is marked, too. A guard without the mark stays, and so does its flag.

!flag = memref<i1, #cuda.space<local>>

// CHECK-LABEL: cuda.kernel @after
// CHECK:         %found = memref.alloca()
// CHECK:         scf.while
// CHECK-NEXT:      scf.condition(%q)
// CHECK:         } do {
// CHECK-NEXT:      scf.if %p {
// CHECK-NEXT:        memref.store %false, %found
// CHECK-NEXT:        cuda.leave break
// CHECK:         %[[F:.*]] = memref.load %found
// CHECK-NEXT:    scf.if %[[F]] {
// CHECK-NEXT:      memref.store %a, %x
cuda.kernel @after(%x : memref<64xf32>, %a : f32, %p : i1, %q : i1) grid(1) block(32) {
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %false = arith.constant false
  %found = memref.alloca() : !flag
  memref.store %true, %found[] : !flag
  scf.while () : () -> () {
    %f = memref.load %found[] : !flag
    %again = "scf.if"(%f) ({
      scf.yield %q : i1
    }, {
      scf.yield %false : i1
    }) {cuda.guard} : (i1) -> i1
    scf.condition(%again)
  } do {
    scf.if %p {
      memref.store %false, %found[] : !flag
      cuda.leave break
    }
    scf.yield
  }
  %g = memref.load %found[] : !flag
  scf.if %g {
    memref.store %a, %x[%c0] : memref<64xf32>
  }
}

// -----

// Flags of scripts that do not exit early are variables like any other.

!flag = memref<i1, #cuda.space<local>>

// CHECK-LABEL: cuda.kernel @variable
// CHECK:         memref.store %true, %never
cuda.kernel @variable() grid(1) block(32) {
  %true = arith.constant true
  %never = memref.alloca() : !flag
  memref.store %true, %never[] : !flag
}

// -----

// What follows an exit whose condition has been folded is unreachable.

!flag = memref<i1, #cuda.space<local>>

// CHECK-LABEL: cuda.kernel @always
// CHECK:         scf.if %p {
// CHECK-NEXT:      cuda.leave return
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.store %a, %x[%c0]
// CHECK-NEXT:  }
cuda.kernel @always(%x : memref<64xf32>, %a : f32, %p : i1) grid(1) block(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %false = arith.constant false
  %unreturned = memref.alloca() : !flag
  memref.store %true, %unreturned[] : !flag
  scf.if %p {
    memref.store %false, %unreturned[] : !flag
    cuda.leave return
    %v = memref.load %x[%c0] : memref<64xf32>
    memref.store %v, %x[%c1] : memref<64xf32>
  }
  %r = memref.load %unreturned[] : !flag
  "scf.if"(%r) ({
    memref.store %a, %x[%c0] : memref<64xf32>
    scf.yield
  }, {}) {cuda.guard} : (i1) -> ()
}
