// RUN: hidet-opt %s -p interchange-loops --split-input-file | filecheck %s

// Four neighbours add up rows together: each has a total of its own, and a step of the reduction is a
// loop over them. What is the same for all stands ahead; an index of their own is computed anew.

// CHECK-LABEL: cuda.kernel @sums
// CHECK:         %first = arith.muli
// CHECK-NEXT:    %zero = arith.constant 0.0
// CHECK-NEXT:    %total = memref.alloca() : memref<4xf32, #cuda.space<local>>
// CHECK-NEXT:    scf.for %[[A:.*]] = %c0 to %c4 step %c1 {
// CHECK-NEXT:      memref.store %zero, %total[%[[A]]]
// CHECK-NEXT:    } {cuda.unroll}
// CHECK-NEXT:    scf.for %r = %c0 to %c3 step %c1 {
// CHECK-NEXT:      %row = arith.addi %r, %c1
// CHECK-NEXT:      scf.for %s = %c0 to %c3 step %c1 {
// CHECK-NEXT:        scf.for %[[B:.*]] = %c0 to %c4 step %c1 {
// CHECK-NEXT:          %j = arith.addi %first, %[[B]]
// CHECK-NEXT:          %{{.*}} = memref.load %x[%row, %s, %j]
// CHECK-NEXT:          %old = memref.load %total[%[[B]]]
// CHECK-NEXT:          %new = arith.addf %old, %a
// CHECK-NEXT:          memref.store %new, %total[%[[B]]]
// CHECK-NEXT:        } {cuda.unroll}
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %[[C:.*]] = %c0 to %c4 step %c1 {
// CHECK-NEXT:      %[[K:.*]] = arith.addi %first, %[[C]]
// CHECK-NEXT:      %sum = memref.load %total[%[[C]]]
// CHECK-NEXT:      %positive = arith.maximumf %sum, %zero
// CHECK-NEXT:      memref.store %positive, %y[%[[K]]]
// CHECK-NEXT:    } {cuda.unroll}
// CHECK-NEXT:  }
cuda.kernel @sums(%x : memref<4x3x128xf32>, %y : memref<128xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  scf.for %v = %c0 to %c4 step %c1 {
    %first = arith.muli %t, %c4 : index
    %j = arith.addi %first, %v : index
    %total = memref.alloca() : memref<f32, #cuda.space<local>>
    %zero = arith.constant 0.0 : f32
    memref.store %zero, %total[] : memref<f32, #cuda.space<local>>
    scf.for %r = %c0 to %c3 step %c1 {
      %row = arith.addi %r, %c1 : index
      scf.for %s = %c0 to %c3 step %c1 {
        %a = memref.load %x[%row, %s, %j] : memref<4x3x128xf32>
        %old = memref.load %total[] : memref<f32, #cuda.space<local>>
        %new = arith.addf %old, %a : f32
        memref.store %new, %total[] : memref<f32, #cuda.space<local>>
      }
    }
    %sum = memref.load %total[] : memref<f32, #cuda.space<local>>
    %positive = arith.maximumf %sum, %zero : f32
    memref.store %positive, %y[%j] : memref<128xf32>
  } {cuda.unroll}
}

// -----

// A reduction whose length differs between neighbours, one that reads what the loop stores, a value in
// memory that both parts use, a loop that is not unrolled, and a copy, which reduces nothing: they stay.

// CHECK-LABEL: cuda.kernel @lengths
// CHECK:         scf.for %v
// CHECK-NEXT:      %total = memref.alloca() : memref<f32
// CHECK:           scf.for %r
cuda.kernel @lengths(%x : memref<128xf32>, %y : memref<128xf32>) grid(1) block(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %v = %c0 to %c4 step %c1 {
    %total = memref.alloca() : memref<f32, #cuda.space<local>>
    scf.for %r = %c0 to %v step %c1 {
      %a = memref.load %x[%r] : memref<128xf32>
      memref.store %a, %total[] : memref<f32, #cuda.space<local>>
    }
    %sum = memref.load %total[] : memref<f32, #cuda.space<local>>
    memref.store %sum, %y[%v] : memref<128xf32>
  } {cuda.unroll}
}

// CHECK-LABEL: cuda.kernel @in_place
// CHECK:         scf.for %v
// CHECK-NEXT:      %total = memref.alloca() : memref<f32
cuda.kernel @in_place(%y : memref<128xf32>) grid(1) block(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %v = %c0 to %c4 step %c1 {
    %total = memref.alloca() : memref<f32, #cuda.space<local>>
    scf.for %r = %c0 to %c4 step %c1 {
      %a = memref.load %y[%r] : memref<128xf32>
      memref.store %a, %total[] : memref<f32, #cuda.space<local>>
    }
    %sum = memref.load %total[] : memref<f32, #cuda.space<local>>
    memref.store %sum, %y[%v] : memref<128xf32>
  } {cuda.unroll}
}

// CHECK-LABEL: cuda.kernel @shared_value
// CHECK:         scf.for %v
// CHECK-NEXT:      %bias = memref.load
// CHECK-NEXT:      %total = memref.alloca() : memref<f32
// CHECK-LABEL: cuda.kernel @rolled
// CHECK:         scf.for %v
// CHECK-NEXT:      %total = memref.alloca() : memref<f32
cuda.kernel @shared_value(%x : memref<128xf32>, %b : memref<4xf32>, %y : memref<128xf32>) grid(1) block(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %v = %c0 to %c4 step %c1 {
    %bias = memref.load %b[%v] : memref<4xf32>
    %total = memref.alloca() : memref<f32, #cuda.space<local>>
    scf.for %r = %c0 to %c4 step %c1 {
      %a = memref.load %x[%r] : memref<128xf32>
      %s = arith.addf %a, %bias : f32
      memref.store %s, %total[] : memref<f32, #cuda.space<local>>
    }
    %sum = memref.load %total[] : memref<f32, #cuda.space<local>>
    memref.store %sum, %y[%v] : memref<128xf32>
  } {cuda.unroll}
}
cuda.kernel @rolled(%x : memref<128xf32>, %y : memref<128xf32>) grid(1) block(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %v = %c0 to %c4 step %c1 {
    %total = memref.alloca() : memref<f32, #cuda.space<local>>
    scf.for %r = %c0 to %c4 step %c1 {
      %a = memref.load %x[%r] : memref<128xf32>
      memref.store %a, %total[] : memref<f32, #cuda.space<local>>
    }
    %sum = memref.load %total[] : memref<f32, #cuda.space<local>>
    memref.store %sum, %y[%v] : memref<128xf32>
  }
}

// CHECK-LABEL: cuda.kernel @copy
// CHECK:         scf.for %v
// CHECK-NEXT:      scf.for %r
cuda.kernel @copy(%x : memref<4x4xf32>, %y : memref<4x4xf32>) grid(1) block(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %v = %c0 to %c4 step %c1 {
    scf.for %r = %c0 to %c4 step %c1 {
      %a = memref.load %x[%v, %r] : memref<4x4xf32>
      memref.store %a, %y[%v, %r] : memref<4x4xf32>
    } {cuda.unroll}
  } {cuda.unroll}
}
