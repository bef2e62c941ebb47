// RUN: hidet-opt %s -p 'restore-exits' --split-input-file | filecheck %s

// A loop that does nothing once a variable is false is left where it becomes false.

!flag = memref<i1, #cuda.space<local>>

// CHECK-LABEL: cuda.kernel @find
// CHECK-NOT:     memref.alloca
// CHECK:         scf.for %k =
// CHECK-NEXT:      arith.constant true
// CHECK-NEXT:      %[[V:.*]] = memref.load %x[%k]
// CHECK-NEXT:      %[[C:.*]] = arith.cmpf ogt, %[[V]], %a
// CHECK-NEXT:      scf.if %[[C]] {
// CHECK-NEXT:        arith.constant false
// CHECK-NEXT:        cuda.leave break
// CHECK-NEXT:      }
// CHECK-NEXT:      memref.store %a, %x[%k]
cuda.kernel @find(%x : memref<64xf32>, %a : f32) grid(1) block(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %true = arith.constant true
  %running = memref.alloca() : !flag
  memref.store %true, %running[] : !flag
  scf.for %k = %c0 to %c64 step %c1 {
    %r = memref.load %running[] : !flag
    scf.if %r {
      %v = memref.load %x[%k] : memref<64xf32>
      %c = arith.cmpf ogt, %v, %a : f32
      scf.if %c {
        %false = arith.constant false
        memref.store %false, %running[] : !flag
      } else {
        memref.store %a, %x[%k] : memref<64xf32>
      }
    }
  }
}

// -----

// One that is looked at behind the loop, too, stays; and the kernel returns where all the rest is
// for nothing.

!flag = memref<i1, #cuda.space<local>>

// CHECK-LABEL: cuda.kernel @after
// CHECK:         %found = memref.alloca()
// CHECK:         scf.while
// CHECK-NEXT:      arith.constant true
// CHECK-NEXT:      scf.condition
// CHECK:         } do {
// CHECK:           scf.if
// CHECK:             memref.store %{{.*}}, %found
// CHECK-NEXT:        cuda.leave break
// CHECK:         %[[F:.*]] = memref.load %found
// CHECK-NEXT:    scf.if %[[F]] {
// CHECK-NEXT:      scf.if %p {
// CHECK-NEXT:        arith.constant false
// CHECK-NEXT:        cuda.leave return
// CHECK-NEXT:      }
// CHECK-NEXT:      arith.constant true
// CHECK-NEXT:      memref.store %a, %x
cuda.kernel @after(%x : memref<64xf32>, %a : f32, %p : i1) grid(1) block(32) {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %found = memref.alloca() : !flag
  %returned = memref.alloca() : !flag
  memref.store %true, %returned[] : !flag
  memref.store %true, %found[] : !flag
  scf.while () : () -> () {
    %f = memref.load %found[] : !flag
    scf.condition(%f)
  } do {
    %v = memref.load %x[%c0] : memref<64xf32>
    %c = arith.cmpf ogt, %v, %a : f32
    scf.if %c {
      %false = arith.constant false
      memref.store %false, %found[] : !flag
    }
    scf.yield
  }
  memref.store %a, %x[%c1] : memref<64xf32>
  %g = memref.load %found[] : !flag
  scf.if %g {
    scf.if %p {
      %false = arith.constant false
      memref.store %false, %returned[] : !flag
    }
    %r = memref.load %returned[] : !flag
    scf.if %r {
      memref.store %a, %x[%c0] : memref<64xf32>
    }
  }
}

// -----

// The rest of an iteration.

!flag = memref<i1, #cuda.space<local>>

// CHECK-LABEL: cuda.kernel @skip
// CHECK-NOT:     memref.alloca
// CHECK:         scf.for
// CHECK:           scf.if %p {
// CHECK-NEXT:        scf.if %q {
// CHECK-NEXT:          arith.constant false
// CHECK-NEXT:          cuda.leave continue
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      arith.constant true
// CHECK-NEXT:      memref.store %a, %x[%k]
cuda.kernel @skip(%x : memref<64xf32>, %a : f32, %p : i1, %q : i1) grid(1) block(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %k = %c0 to %c64 step %c1 {
    %true = arith.constant true
    %going = memref.alloca() : !flag
    memref.store %true, %going[] : !flag
    scf.if %p {
      scf.if %q {
        %false = arith.constant false
        memref.store %false, %going[] : !flag
      }
    }
    %r = memref.load %going[] : !flag
    scf.if %r {
      memref.store %a, %x[%k] : memref<64xf32>
    }
  }
}

// -----

// Of two loops, the inner one is left at once, and the outer one after its iteration.

!flag = memref<i1, #cuda.space<local>>

// CHECK-LABEL: cuda.kernel @nested
// CHECK:         scf.for %i =
// CHECK-NEXT:      arith.constant true
// CHECK-NEXT:      scf.for %j =
// CHECK:             scf.if %p {
// CHECK:               memref.store %{{.*}}, %running
// CHECK-NEXT:          cuda.leave break
// CHECK:             memref.store %a, %x[%j]
// CHECK:           %[[R:.*]] = memref.load %running
// CHECK-NEXT:      %[[OVER:.*]] = arith.xori %[[R]], %{{.*}} : i1
// CHECK-NEXT:      scf.if %[[OVER]] {
// CHECK-NEXT:        cuda.leave break
// CHECK:         memref.store %a, %x[%c0]
cuda.kernel @nested(%x : memref<64xf32>, %a : f32, %p : i1) grid(1) block(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %true = arith.constant true
  %running = memref.alloca() : !flag
  memref.store %true, %running[] : !flag
  scf.for %i = %c0 to %c8 step %c1 {
    %r = memref.load %running[] : !flag
    scf.if %r {
      scf.for %j = %c0 to %c8 step %c1 {
        %s = memref.load %running[] : !flag
        scf.if %s {
          scf.if %p {
            %false = arith.constant false
            memref.store %false, %running[] : !flag
          } else {
            memref.store %a, %x[%j] : memref<64xf32>
          }
        }
      }
    }
  }
  memref.store %a, %x[%c0] : memref<64xf32>
}

// -----

// Nothing is left where something still happens: a store, a barrier, a variable that comes back.

!flag = memref<i1, #cuda.space<local>>

// CHECK-LABEL: cuda.kernel @busy
// CHECK-NOT:     cuda.leave
cuda.kernel @busy(%x : memref<64xf32>, %a : f32, %p : i1) grid(1) block(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %true = arith.constant true
  %false = arith.constant false
  %one = memref.alloca() : !flag
  %two = memref.alloca() : !flag
  memref.store %true, %one[] : !flag
  memref.store %true, %two[] : !flag
  scf.for %k = %c0 to %c64 step %c1 {
    %r = memref.load %one[] : !flag
    scf.if %r {
      memref.store %false, %one[] : !flag
      cuda.sync_threads
    }
    %s = memref.load %two[] : !flag
    scf.if %s {
      memref.store %false, %two[] : !flag
    }
    memref.store %a, %x[%k] : memref<64xf32>
  }
}

// -----

// A branch that is for nothing takes along where the next variable would become false.

!flag = memref<i1, #cuda.space<local>>

// CHECK-LABEL: cuda.kernel @gone
// CHECK-NOT:     memref.store %false
// CHECK:         %[[O:.*]] = memref.load %other
// CHECK-NEXT:    scf.if %[[O]] {
// CHECK-NEXT:      memref.store %a, %x
cuda.kernel @gone(%x : memref<64xf32>, %a : f32, %p : i1) grid(1) block(32) {
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %false = arith.constant false
  %running = memref.alloca() : !flag
  %other = memref.alloca() : !flag
  memref.store %true, %running[] : !flag
  memref.store %true, %other[] : !flag
  memref.store %false, %running[] : !flag
  %r = memref.load %running[] : !flag
  scf.if %r {
    memref.store %false, %other[] : !flag
  }
  %o = memref.load %other[] : !flag
  scf.if %o {
    memref.store %a, %x[%c0] : memref<64xf32>
  }
}

// -----

// What is known is so in a branch that goes with it, too, and twice in one operation.

!flag = memref<i1, #cuda.space<local>>

// CHECK-LABEL: cuda.kernel @known
// CHECK-NOT:     memref.load %running
// CHECK:         memref.store %a, %x[%c1]
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.if %p {
// CHECK-NEXT:      memref.store %a, %x[%c0]
// CHECK-NEXT:    }
cuda.kernel @known(%x : memref<64xf32>, %a : f32, %p : i1) grid(1) block(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %false = arith.constant false
  %running = memref.alloca() : !flag
  memref.store %true, %running[] : !flag
  %r = memref.load %running[] : !flag
  %twice = arith.andi %r, %r : i1
  scf.if %twice {
    memref.store %a, %x[%c1] : memref<64xf32>
  }
  scf.if %r {
    %both = arith.andi %r, %p : i1
    scf.if %both {
      memref.store %a, %x[%c0] : memref<64xf32>
    }
  } else {
    %never = arith.andi %r, %p : i1
    scf.if %never {
      memref.store %a, %x[%c1] : memref<64xf32>
    }
  }
  memref.store %false, %running[] : !flag
}
