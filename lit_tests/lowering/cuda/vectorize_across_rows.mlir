// A thread has two adjacent elements of rows of 7, which may belong to two rows. Only the address
// shows that they are adjacent, once it is linear.

// CHECK-LABEL: cuda.kernel @double
// CHECK:         cuda.copy_vector %x[%{{.*}}] to %x_vector[%{{.*}}] width 2 : memref<14xf32> to
// CHECK:         cuda.copy_vector %y_vector[%{{.*}}] to %y[%{{.*}}] width 2
cuda.kernel @double(%x : memref<2x7xf32>, %y : memref<2x7xf32>) grid(1) block(7) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  %7 = arith.constant 7 : index
  %t = cuda.thread_id x
  scf.for %v = %0 to %2 step %1 {
    %first = arith.muli %t, %2 : index
    %n = arith.addi %first, %v : index
    %i = arith.divsi %n, %7 : index
    %j = arith.remsi %n, %7 : index
    %a = memref.load %x[%i, %j] : memref<2x7xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %y[%i, %j] : memref<2x7xf32>
  } {cuda.unroll}
}

// RUN: hidet-opt %s -p 'flatten-memrefs,vectorize' | filecheck %s
