// RUN: hidet-opt %s -p prefetch-operands --split-input-file | filecheck %s

// A bias and a residual are in registers by the time that the product is made: the residual spread as
// the sums are, the bias as one row, which threads of other rows have too. What does not depend on the
// column, and what is loaded on a condition, is loaded where it is needed.

// CHECK-DAG:     #[[SUMS:.*]] = #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>
// CHECK-DAG:     #[[ROW:.*]] = #task.map<replicate(8) * spatial(1, 4) * repeat(1, 2)>
// CHECK-LABEL: cuda.kernel @epilogue
// CHECK:         %residual = memref.alloca() : memref<16x8xf16, #[[SUMS]], #cuda.space<register>>
// CHECK-NEXT:    %[[RESIDUAL:.*]] = compute.grid (%[[I:.*]], %[[K:.*]]) {
// CHECK-NEXT:      %{{.*}} = compute.load %r[%[[I]], %[[K]]]
// CHECK:         } : tensor<64x32xf16>
// CHECK-NEXT:    task.copy %[[RESIDUAL]][%row, %column] to %residual[] on %t
// CHECK-NEXT:    %bias = memref.alloca() : memref<1x8xf16, #[[ROW]], #cuda.space<register>>
// CHECK-NEXT:    %[[BIAS:.*]] = compute.grid (%{{.*}}, %[[J:.*]]) {
// CHECK-NEXT:      %{{.*}} = compute.load %b[%[[J]]]
// CHECK:         } : tensor<1x32xf16>
// CHECK:         task.copy %[[BIAS]][%{{.*}}, %column] to %bias[] on %t
// CHECK-NEXT:    scf.for %k0
// CHECK:         compute.sink (%[[R:.*]], %[[C:.*]], %{{.*}} : f32) {
// CHECK-NEXT:      %[[OF_TILE:.*]] = arith.subi %[[C]], %column
// CHECK:           %{{.*}} = memref.load %bias[%{{.*}}, %[[OF_TILE]]]
// CHECK-DAG:       %[[DOWN:.*]] = arith.subi %[[R]], %row
// CHECK-DAG:       %[[ACROSS:.*]] = arith.subi %[[C]], %column
// CHECK:           memref.load %residual[%[[DOWN]], %[[ACROSS]]]
// CHECK-NEXT:      compute.load %s[%[[R]]]
// CHECK:           scf.if
// CHECK-NEXT:        compute.load %r
cuda.kernel @epilogue(%x : memref<64x64xf16>, %w : memref<64x32xf16>, %b : memref<32xf16>, %r : memref<64x32xf16>, %s : memref<64xf16>, %out : memref<64x32xf16>) grid(16) block(32) attributes {config = {stages = 3 : i64}} {
  %t = cuda.thread_id x
  %row = cuda.block_id x
  %column = cuda.block_id y
  %z = arith.constant 0 : index
  %n = arith.constant 64 : index
  %step = arith.constant 16 : index
  %c = memref.alloca() : memref<16x8xf32, #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %sa = memref.alloca() : memref<16x16xf16, #cuda.space<shared>>
  %sb = memref.alloca() : memref<16x8xf16, #cuda.space<shared>>
  scf.for %k0 = %z to %n step %step {
    task.copy %x[%row, %k0] to %sa[] in #task.map<?> on %t : memref<64x64xf16> to memref<16x16xf16, #cuda.space<shared>>
    task.copy %w[%k0, %column] to %sb[] in #task.map<?> on %t : memref<64x32xf16> to memref<16x8xf16, #cuda.space<shared>>
    task.matmul %sa, %sb to %c on %t via "m16n8k16_f16_f32" : memref<16x16xf16, #cuda.space<shared>>, memref<16x8xf16, #cuda.space<shared>> to memref<16x8xf32, #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  }
  %sink = compute.sink (%i, %j, %v : f32) {
    %bias = compute.load %b[%j] : memref<32xf16>
    %residual = compute.load %r[%i, %j] : memref<64x32xf16>
    %scale = compute.load %s[%i] : memref<64xf16>
    %half = arith.truncf %v : f32 to f16
    %1 = arith.addf %half, %bias : f16
    %2 = arith.addf %1, %residual : f16
    %3 = arith.mulf %2, %scale : f16
    %positive = arith.cmpi slt, %i, %j : index
    %4 = scf.if %positive -> (f16) {
      %5 = compute.load %r[%i, %j] : memref<64x32xf16>
      scf.yield %5 : f16
    } else {
      scf.yield %3 : f16
    }
    compute.store %4, %out[%i, %j] : memref<64x32xf16>
  } : tensor<64x32xf32>
  task.copy %c[] to %sink[%row, %column] on %t : memref<16x8xf32, #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>> to tensor<64x32xf32>
}

// -----

// 256 columns of sums take 128 registers of a thread; a residual of as many halves fits beside them, a
// bias in f32 does not any more. Products without an instruction are left alone.

// CHECK-LABEL: cuda.kernel @wide
// CHECK:         %residual = memref.alloca() : memref<64x256xf16
// CHECK-NOT:     memref.alloca
// CHECK:         scf.for
// CHECK:         compute.load %b
// CHECK-NOT:     compute.load %r
cuda.kernel @wide(%x : memref<64x64xf16>, %w : memref<64x256xf16>, %b : memref<256xf32>, %r : memref<64x256xf16>, %out : memref<64x256xf32>) grid(1) block(128) attributes {config = {stages = 3 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %n = arith.constant 64 : index
  %c = memref.alloca() : memref<64x256xf32, #task.map<spatial(4, 1) * repeat(1, 32) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %sa = memref.alloca() : memref<64x64xf16, #cuda.space<shared>>
  %sb = memref.alloca() : memref<64x256xf16, #cuda.space<shared>>
  scf.for %k0 = %z to %n step %n {
    task.copy %x[%z, %k0] to %sa[] in #task.map<?> on %t : memref<64x64xf16> to memref<64x64xf16, #cuda.space<shared>>
    task.copy %w[%k0, %z] to %sb[] in #task.map<?> on %t : memref<64x256xf16> to memref<64x256xf16, #cuda.space<shared>>
    task.matmul %sa, %sb to %c on %t via "m64n256k16_f16_f32" : memref<64x64xf16, #cuda.space<shared>>, memref<64x256xf16, #cuda.space<shared>> to memref<64x256xf32, #task.map<spatial(4, 1) * repeat(1, 32) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  }
  %sink = compute.sink (%i, %j, %v : f32) {
    %bias = compute.load %b[%j] : memref<256xf32>
    %residual = compute.load %r[%i, %j] : memref<64x256xf16>
    %more = arith.extf %residual : f16 to f32
    %1 = arith.addf %v, %bias : f32
    %2 = arith.addf %1, %more : f32
    compute.store %2, %out[%i, %j] : memref<64x256xf32>
  } : tensor<64x256xf32>
  task.copy %c[] to %sink[%z, %z] on %t : memref<64x256xf32, #task.map<spatial(4, 1) * repeat(1, 32) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>> to tensor<64x256xf32>
}

// CHECK-LABEL: cuda.kernel @threads
// CHECK-NOT:     compute.grid
cuda.kernel @threads(%x : memref<16x16xf32>, %b : memref<16xf32>, %out : memref<16x16xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %n = arith.constant 16 : index
  %c = memref.alloca() : memref<16x16xf32, #task.map<spatial(8, 4) * repeat(2, 4)>, #cuda.space<register>>
  %sa = memref.alloca() : memref<16x16xf32, #cuda.space<shared>>
  scf.for %k0 = %z to %n step %n {
    task.copy %x[%z, %k0] to %sa[] in #task.map<?> on %t : memref<16x16xf32> to memref<16x16xf32, #cuda.space<shared>>
    task.matmul %sa, %sa to %c on %t : memref<16x16xf32, #cuda.space<shared>>, memref<16x16xf32, #cuda.space<shared>> to memref<16x16xf32, #task.map<spatial(8, 4) * repeat(2, 4)>, #cuda.space<register>>
  }
  %sink = compute.sink (%i, %j, %v : f32) {
    %bias = compute.load %b[%j] : memref<16xf32>
    %1 = arith.addf %v, %bias : f32
    compute.store %1, %out[%i, %j] : memref<16x16xf32>
  } : tensor<16x16xf32>
  task.copy %c[] to %sink[%z, %z] on %t : memref<16x16xf32, #task.map<spatial(8, 4) * repeat(2, 4)>, #cuda.space<register>> to tensor<16x16xf32>
}

// -----

// A residual that TMA will load to the shared memory of the results stays in the sink, a bias does not.

// CHECK-LABEL: cuda.kernel @staged
// CHECK:         %bias = memref.alloca() : memref<1x64xf16,
// CHECK-NOT:     memref<64x64xf16, #{{.*}}, #cuda.space<register>>
// CHECK:         scf.for
// CHECK:         compute.sink
// CHECK:           memref.load %bias
// CHECK:           compute.load %r
cuda.kernel @staged(%x : memref<64x16xf16>, %w : memref<16x64xf16>, %b : memref<64xf16>, %r : memref<64x64xf16>, %out : memref<64x64xf16>) grid(1) block(128) attributes {config = {epilogue = "staged-residual"}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %n = arith.constant 16 : index
  %c = memref.alloca() : memref<64x64xf32, #task.map<repeat(1, 8) * spatial(4, 1) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %sa = memref.alloca() : memref<64x16xf16, #task.tile<row_major, swizzle 32>, #cuda.space<shared>>
  %sb = memref.alloca() : memref<16x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  scf.for %k0 = %z to %n step %n {
    task.copy %x[%z, %k0] to %sa[] in #task.map<?> on %t : memref<64x16xf16> to memref<64x16xf16, #task.tile<row_major, swizzle 32>, #cuda.space<shared>>
    task.copy %w[%k0, %z] to %sb[] in #task.map<?> on %t : memref<16x64xf16> to memref<16x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
    task.matmul %sa, %sb to %c on %t via "m64n64k16_f16_f32" : memref<64x16xf16, #task.tile<row_major, swizzle 32>, #cuda.space<shared>>, memref<16x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>> to memref<64x64xf32, #task.map<repeat(1, 8) * spatial(4, 1) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  }
  %sink = compute.sink (%i, %j, %v : f32) {
    %bias = compute.load %b[%j] : memref<64xf16>
    %residual = compute.load %r[%i, %j] : memref<64x64xf16>
    %short = arith.truncf %v : f32 to f16
    %1 = arith.addf %short, %bias : f16
    %2 = arith.addf %1, %residual : f16
    compute.store %2, %out[%i, %j] : memref<64x64xf16>
  } : tensor<64x64xf32>
  task.copy %c[] to %sink[%z, %z] on %t : memref<64x64xf32, #task.map<repeat(1, 8) * spatial(4, 1) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>> to tensor<64x64xf32>
}

// -----

// Where a place is computed after the loop, nothing can be loaded ahead of it.

// CHECK-LABEL: cuda.kernel @late
// CHECK-NOT:     %residual = memref.alloca
// CHECK:         compute.load %r
cuda.kernel @late(%x : memref<64x64xf16>, %w : memref<64x32xf16>, %r : memref<64x32xf16>, %out : memref<64x32xf16>) grid(16) block(32) attributes {config = {stages = 3 : i64}} {
  %t = cuda.thread_id x
  %row = cuda.block_id x
  %column = cuda.block_id y
  %z = arith.constant 0 : index
  %n = arith.constant 64 : index
  %step = arith.constant 16 : index
  %c = memref.alloca() : memref<16x8xf32, #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %sa = memref.alloca() : memref<16x16xf16, #cuda.space<shared>>
  %sb = memref.alloca() : memref<16x8xf16, #cuda.space<shared>>
  scf.for %k0 = %z to %n step %step {
    task.copy %x[%row, %k0] to %sa[] in #task.map<?> on %t : memref<64x64xf16> to memref<16x16xf16, #cuda.space<shared>>
    task.copy %w[%k0, %column] to %sb[] in #task.map<?> on %t : memref<64x32xf16> to memref<16x8xf16, #cuda.space<shared>>
    task.matmul %sa, %sb to %c on %t via "m16n8k16_f16_f32" : memref<16x16xf16, #cuda.space<shared>>, memref<16x8xf16, #cuda.space<shared>> to memref<16x8xf32, #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  }
  %sink = compute.sink (%i, %j, %v : f32) {
    %residual = compute.load %r[%i, %j] : memref<64x32xf16>
    %half = arith.truncf %v : f32 to f16
    %1 = arith.addf %half, %residual : f16
    compute.store %1, %out[%i, %j] : memref<64x32xf16>
  } : tensor<64x32xf32>
  %after = arith.muli %row, %step : index
  task.copy %c[] to %sink[%after, %column] on %t : memref<16x8xf32, #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>> to tensor<64x32xf32>
}
