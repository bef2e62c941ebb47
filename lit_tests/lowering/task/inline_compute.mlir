// RUN: hidet-opt %s -p 'inline-compute' --split-input-file | filecheck %s

// A load of a view becomes the view's body at that element; loads of one element share a copy.

// CHECK-LABEL: cuda.kernel @load
// CHECK-NOT:     compute.grid
// CHECK:         task.foreach (%i, %j)
// CHECK-NEXT:      %[[V:.*]] = compute.load %x[%j, %i] : memref<8x4xf32>
// CHECK-NEXT:      %[[E:.*]] = math.exp %[[V]] : f32
// CHECK-NEXT:      %[[S:.*]] = arith.addf %[[E]], %[[E]] : f32
// CHECK-NEXT:      compute.store %[[S]], %y[%i, %j] : memref<4x8xf32>
cuda.kernel @load(%x : memref<8x4xf32>, %y : memref<4x8xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %g = compute.grid (%i, %j) {
    %v = compute.load %x[%j, %i] : memref<8x4xf32>
    %e = math.exp %v : f32
    compute.yield %e : f32
  } : tensor<4x8xf32>
  task.foreach (%i, %j) in #task.map<spatial(4, 8)> on %t {
    %v = compute.load %g[%i, %j] : tensor<4x8xf32>
    %w = compute.load %g[%i, %j] : tensor<4x8xf32>
    %s = arith.addf %v, %w : f32
    compute.store %s, %y[%i, %j] : memref<4x8xf32>
  }
}

// -----

// Views of views go too, whichever stands first; the body is evaluated where it is loaded, after
// the store that it reads.

#map = #task.map<spatial(4)>
!tile = memref<4xf32, #map, #cuda.space<register>>

// CHECK-LABEL: cuda.kernel @chain
// CHECK-NOT:     compute.grid
// CHECK:         memref.store %{{.*}}, %r[%i]
// CHECK:         task.foreach (%[[I:.*]]) in
// CHECK-NEXT:      %[[V:.*]] = memref.load %r[%[[I]]]
// CHECK-NEXT:      %[[E:.*]] = math.exp %[[V]] : f32
// CHECK-NEXT:      %[[N:.*]] = arith.negf %[[E]] : f32
// CHECK-NEXT:      compute.store %[[N]], %y[%[[I]]]
cuda.kernel @chain(%x : memref<4xf32>, %y : memref<4xf32>) grid(1) block(4) {
  %t = cuda.thread_id x
  %r = memref.alloca() : !tile
  %g = compute.grid (%i) {
    %v = memref.load %r[%i] : !tile
    %e = math.exp %v : f32
    compute.yield %e : f32
  } : tensor<4xf32>
  %h = compute.grid (%i) {
    %v = compute.load %g[%i] : tensor<4xf32>
    %e = arith.negf %v : f32
    compute.yield %e : f32
  } : tensor<4xf32>
  task.foreach (%i) of %r on %t : !tile {
    %v = compute.load %x[%i] : memref<4xf32>
    memref.store %v, %r[%i] : !tile
  }
  task.foreach (%i) in #map on %t {
    %v = compute.load %h[%i] : tensor<4xf32>
    compute.store %v, %y[%i] : memref<4xf32>
  }
}

// -----

// A store to a sink becomes the sink's body: here two stores, one of them transposed.

// CHECK-LABEL: cuda.kernel @sink
// CHECK-NOT:     compute.sink
// CHECK:         task.foreach (%i, %j)
// CHECK-NEXT:      %[[V:.*]] = compute.load %x[%i, %j]
// CHECK-NEXT:      compute.store %[[V]], %y[%i, %j] : memref<4x8xf32>
// CHECK-NEXT:      %[[H:.*]] = arith.truncf %[[V]] : f32 to f16
// CHECK-NEXT:      compute.store %[[H]], %z[%j, %i] : memref<8x4xf16>
cuda.kernel @sink(%x : memref<4x8xf32>, %y : memref<4x8xf32>, %z : memref<8x4xf16>) grid(1) block(32) {
  %t = cuda.thread_id x
  %out = compute.sink (%i, %j, %v : f32) {
    compute.store %v, %y[%i, %j] : memref<4x8xf32>
    %h = arith.truncf %v : f32 to f16
    compute.store %h, %z[%j, %i] : memref<8x4xf16>
  } : tensor<4x8xf32>
  task.foreach (%i, %j) in #task.map<spatial(4, 8)> on %t {
    %v = compute.load %x[%i, %j] : memref<4x8xf32>
    compute.store %v, %out[%i, %j] : tensor<4x8xf32>
  }
}

// -----

// A copy from a view, or to one, is spelled out: the guard surrounds the view's body, so nothing is
// read out of bounds. A copy between memory and a tile stays a copy.

!tile = memref<4x8xf32, #task.map<spatial(4, 8)>, #cuda.space<register>>

// CHECK-LABEL: cuda.kernel @copies
// CHECK:         task.foreach (%[[A:.*]], %[[B:.*]]) of %r on %t
// CHECK-NEXT:      %i = arith.addi %c2, %[[A]] : index
// CHECK-NEXT:      %j = arith.addi %c2, %[[B]] : index
// CHECK:           %[[IN:.*]] = arith.andi
// CHECK-NEXT:      %[[V:.*]] = scf.if %[[IN]] -> (f32) {
// CHECK-NEXT:        %{{.*}} = compute.load %x[%i, %j]
// CHECK-NEXT:        %[[E:.*]] = math.exp
// CHECK-NEXT:        scf.yield %[[E]] : f32
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:        scf.yield %[[ZERO]] : f32
// CHECK:           memref.store %[[V]], %r[%[[A]], %[[B]]]
// CHECK:         task.foreach (%[[C:.*]], %[[D:.*]]) of %r on %t
// CHECK:           scf.if %{{.*}} {
// CHECK-NEXT:        %[[W:.*]] = memref.load %r[%[[C]], %[[D]]]
// CHECK-NEXT:        compute.store %[[W]], %y[
// CHECK:         task.copy %r[] to %y[%c2, %c2]
cuda.kernel @copies(%x : memref<4x8xf32>, %y : memref<4x8xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %c2 = arith.constant 2 : index
  %r = memref.alloca() : !tile
  %g = compute.grid (%i, %j) {
    %v = compute.load %x[%i, %j] : memref<4x8xf32>
    %e = math.exp %v : f32
    compute.yield %e : f32
  } : tensor<4x8xf32>
  %out = compute.sink (%i, %j, %v : f32) {
    compute.store %v, %y[%i, %j] : memref<4x8xf32>
  } : tensor<4x8xf32>
  task.copy %g[%c2, %c2] to %r[] on %t : tensor<4x8xf32> to !tile
  task.copy %r[] to %out[%c2, %c2] on %t : !tile to tensor<4x8xf32>
  task.copy %r[] to %y[%c2, %c2] on %t : !tile to memref<4x8xf32>
}

// -----

// Reductions of a body become loops that combine in a variable, an inner one inside the outer.

// CHECK-LABEL: cuda.kernel @reduce
// CHECK:         %total = memref.alloca() : memref<f32, #cuda.space<local>>
// CHECK-NEXT:    %[[LOW:.*]] = arith.constant 0xff800000 : f32
// CHECK-NEXT:    memref.store %[[LOW]], %total[]
// CHECK:         scf.for %k
// CHECK-NEXT:      %total_1 = memref.alloca() : memref<f32, #cuda.space<local>>
// CHECK-NEXT:      %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      memref.store %[[ZERO]], %total_1[]
// CHECK:           scf.for %l
// CHECK-NEXT:        %v = compute.load %x[%t, %k, %l]
// CHECK-NEXT:        %[[SO_FAR:.*]] = memref.load %total_1[]
// CHECK-NEXT:        %[[SUM:.*]] = arith.addf %[[SO_FAR]], %v : f32
// CHECK-NEXT:        memref.store %[[SUM]], %total_1[]
// CHECK:           %s = memref.load %total_1[]
// CHECK:           arith.maximumf %{{.*}}, %s : f32
// CHECK:         %m = memref.load %total[]
// CHECK-NEXT:    compute.store %m, %y[%t]
cuda.kernel @reduce(%x : memref<4x6x5xf32>, %y : memref<4xf32>) grid(1) block(4) {
  %t = cuda.thread_id x
  %g = compute.grid (%i) {
    %m = compute.reduce max [6] (%k) {
      %s = compute.reduce add [5] (%l) {
        %v = compute.load %x[%i, %k, %l] : memref<4x6x5xf32>
        compute.yield %v : f32
      } : f32
      compute.yield %s : f32
    } : f32
    compute.yield %m : f32
  } : tensor<4xf32>
  %v = compute.load %g[%t] : tensor<4xf32>
  compute.store %v, %y[%t] : memref<4xf32>
}

// -----

// A reduction of up to four elements is no loop, so that its loads can be vectors.

// CHECK-LABEL: cuda.kernel @short
// CHECK-NOT:     scf.for
// CHECK:         %[[A:.*]] = compute.load %x[%t, %{{.*}}]
// CHECK-NEXT:    %[[B:.*]] = compute.load %x[%t, %{{.*}}]
// CHECK-NEXT:    %[[SUM:.*]] = arith.addf %[[A]], %[[B]] : f32
// CHECK-NEXT:    compute.store %[[SUM]], %y[%t]

cuda.kernel @short(%x : memref<4x2xf32>, %y : memref<4xf32>) grid(1) block(4) {
  %t = cuda.thread_id x
  %g = compute.grid (%i) {
    %s = compute.reduce add [2] (%k) {
      %v = compute.load %x[%i, %k] : memref<4x2xf32>
      compute.yield %v : f32
    } : f32
    compute.yield %s : f32
  } : tensor<4xf32>
  %v = compute.load %g[%t] : tensor<4xf32>
  compute.store %v, %y[%t] : memref<4xf32>
}

// -----

// Grids outside of kernels are none of this pass's business.

// CHECK-LABEL: func.func @host
// CHECK-NEXT:    %g = compute.grid
// CHECK:         %y = compute.grid
// CHECK-NEXT:      %{{.*}} = compute.load %g[%i_1]
func.func @host(%x : tensor<4xf32>) -> tensor<4xf32> {
  %g = compute.grid (%i) {
    %v = compute.load %x[%i] : tensor<4xf32>
    compute.yield %v : f32
  } : tensor<4xf32>
  %y = compute.grid (%i) {
    %v = compute.load %g[%i] : tensor<4xf32>
    compute.yield %v : f32
  } : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
