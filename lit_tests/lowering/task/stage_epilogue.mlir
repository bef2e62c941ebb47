// RUN: hidet-opt %s -p 'stage-epilogue' --split-input-file | filecheck %s
// RUN: hidet-opt %s -p 'stage-epilogue{arch=sm_80}' --split-input-file | filecheck %s --check-prefix=SM80

// What the sink stores goes to a shared tile first, as the sink computes it. Two warp groups have 64
// rows each, in two pieces of a line. One thread of a group has TMA copy these; it waits before one is
// written again, and at the end. The groups do not wait for each other: each has a barrier.

// CHECK-DAG:     #[[PIECE:.*]] = #task.map<repeat(1, 8) * spatial(8, 1) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>
// CHECK-LABEL: cuda.kernel @tiles
// CHECK:         %staged = memref.alloca() {task.ring} : memref<2x2x64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
// CHECK:         scf.for
// CHECK:           %[[GROUP:.*]] = arith.divsi %t
// CHECK:           %[[MAP:.*]] = cuda.tensor_map %out strides [128, 1] : memref<256x128xf16> -> !cuda.tensor_map<tensor<256x128xf16>, box [64, 64], swizzle 128>
// CHECK:           scf.if %[[FIRST:.*]] {
// CHECK-NEXT:        cuda.tma_wait 1
// CHECK:           %[[NUMBER:.*]] = arith.addi %[[GROUP]]
// CHECK-NEXT:      %[[BARRIER:.*]] = arith.index_cast %[[NUMBER]]
// CHECK-NEXT:      cuda.barrier_sync %[[BARRIER]] count 128
// CHECK:           %[[LOCAL:.*]] = compute.sink (%[[I:.*]], %[[J:.*]], %[[V:.*]] : f32) {
// CHECK:             %[[BIAS:.*]] = compute.load %b[%[[J]]]
// CHECK:             %[[I_OF_TILE:.*]] = arith.subi %[[I]], %row : index
// CHECK:             %[[ROW:.*]] = arith.remsi %[[I_OF_TILE]], %{{.*}} : index
// CHECK:             %[[COLUMN:.*]] = arith.remsi %[[J]], %{{.*}} : index
// CHECK:             compute.store %{{.*}}, %staged[%[[GROUP]], %[[SLOT:.*]], %[[ROW]], %[[COLUMN]]]
// CHECK:           task.foreach (%{{.*}}, %{{.*}}) in #[[PIECE]] on %t
// CHECK:             compute.store %{{.*}}, %[[LOCAL]]
// CHECK:           cuda.fence_proxy_async
// CHECK:           cuda.barrier_sync %{{.*}} count 128
// CHECK:           scf.if %[[FIRST]]
// CHECK:             cuda.tma_store %staged[%[[GROUP]], %[[SLOT]], %{{.*}}, %{{.*}}] to %[[MAP]](%{{.*}}, %{{.*}})
// CHECK-NEXT:        cuda.tma_commit
// CHECK:           task.foreach (%{{.*}}, %[[LATER:.*]]) in #[[PIECE]] on %t
// CHECK:             %[[SECOND:.*]] = arith.addi %[[LATER]]
// CHECK:             memref.load %c[%{{.*}}, %[[SECOND]]]
// CHECK:             cuda.tma_store %staged
// CHECK:         scf.if
// CHECK-NEXT:      cuda.tma_wait 0
// SM80-NOT:    cuda.tma_store
cuda.kernel @tiles(%b : memref<128xf16>, %out : memref<256x128xf16>) grid(2) block(256) attributes {config = {epilogue = "staged"}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %n = arith.constant 256 : index
  %s = arith.constant 128 : index
  %product = compute.sink (%i, %j, %v : f32) {
    %bias = compute.load %b[%j] : memref<128xf16>
    %short = arith.truncf %v : f32 to f16
    %sum = arith.addf %short, %bias : f16
    compute.store %sum, %out[%i, %j] : memref<256x128xf16>
  } : tensor<256x128xf32>
  %c = memref.alloca() : memref<128x128xf32, #task.map<spatial(2, 1) * repeat(1, 16) * spatial(4, 1) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  scf.for %row = %z to %n step %s {
    task.copy %c[] to %product[%row, %z] on %t : memref<128x128xf32, #task.map<spatial(2, 1) * repeat(1, 16) * spatial(4, 1) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>> to tensor<256x128xf32>
  }
}

// -----

// Two results of one type take turns in the shared tile.

// CHECK-LABEL: cuda.kernel @two
// CHECK:         %staged = memref.alloca() {task.ring} : memref<1x1x64x16xf32,
// CHECK:         %[[X:.*]] = cuda.tensor_map %x
// CHECK:           compute.store %{{.*}}, %staged[
// CHECK:         cuda.tma_store %staged[{{.*}} to %[[X]](
// CHECK:         %[[Y:.*]] = cuda.tensor_map %y
// CHECK:         cuda.tma_wait 0
// CHECK:         cuda.barrier_sync
// CHECK:           compute.store %{{.*}}, %staged[
// CHECK:         cuda.tma_store %staged[{{.*}} to %[[Y]](
// CHECK:         cuda.tma_wait 0
// CHECK-NOT:     cuda.tma_wait
cuda.kernel @two(%x : memref<64x16xf32>, %y : memref<64x16xf32>) grid(1) block(128) attributes {config = {epilogue = "staged"}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %product = compute.sink (%i, %j, %v : f32) {
    compute.store %v, %x[%i, %j] : memref<64x16xf32>
    %w = math.exp %v : f32
    compute.store %w, %y[%i, %j] : memref<64x16xf32>
  } : tensor<64x16xf32>
  %c = memref.alloca() : memref<64x16xf32, #task.map<spatial(64, 2) * repeat(1, 8)>, #cuda.space<register>>
  task.copy %c[] to %product[%z, %z] on %t : memref<64x16xf32, #task.map<spatial(64, 2) * repeat(1, 8)>, #cuda.space<register>> to tensor<64x16xf32>
}

// -----

// Results of two types, one of two that TMA cannot store, columns that are apart, warp groups whose
// rows lie in turns, and a config that says nothing: threads store what they have.

// CHECK-LABEL: cuda.kernel @two_types
// CHECK-NOT:     %staged
// CHECK-LABEL: cuda.kernel @unlike
// CHECK-NOT:     %staged
// CHECK-NOT:     cuda.tma_store
// CHECK-LABEL: cuda.kernel @transposed
// CHECK-NOT:     %staged
// CHECK-NOT:     cuda.tma_store
// CHECK-LABEL: cuda.kernel @in_turns
// CHECK-NOT:     %staged
// CHECK-NOT:     cuda.tma_store
// CHECK-LABEL: cuda.kernel @direct
// CHECK-NOT:     cuda.tma_store
cuda.kernel @two_types(%x : memref<64x16xf32>, %y : memref<64x16xf16>) grid(1) block(128) attributes {config = {epilogue = "staged"}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %product = compute.sink (%i, %j, %v : f32) {
    compute.store %v, %x[%i, %j] : memref<64x16xf32>
    %w = arith.truncf %v : f32 to f16
    compute.store %w, %y[%i, %j] : memref<64x16xf16>
  } : tensor<64x16xf32>
  %c = memref.alloca() : memref<64x16xf32, #task.map<spatial(64, 2) * repeat(1, 8)>, #cuda.space<register>>
  task.copy %c[] to %product[%z, %z] on %t : memref<64x16xf32, #task.map<spatial(64, 2) * repeat(1, 8)>, #cuda.space<register>> to tensor<64x16xf32>
}

cuda.kernel @unlike(%x : memref<64x16xf32>, %y : memref<64x17xf32>) grid(1) block(128) attributes {config = {epilogue = "staged"}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %product = compute.sink (%i, %j, %v : f32) {
    compute.store %v, %x[%i, %j] : memref<64x16xf32>
    compute.store %v, %y[%i, %j] : memref<64x17xf32>
  } : tensor<64x16xf32>
  %c = memref.alloca() : memref<64x16xf32, #task.map<spatial(64, 2) * repeat(1, 8)>, #cuda.space<register>>
  task.copy %c[] to %product[%z, %z] on %t : memref<64x16xf32, #task.map<spatial(64, 2) * repeat(1, 8)>, #cuda.space<register>> to tensor<64x16xf32>
}

cuda.kernel @transposed(%x : memref<16x64xf16>) grid(1) block(128) attributes {config = {epilogue = "staged"}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %product = compute.sink (%i, %j, %v : f16) {
    compute.store %v, %x[%j, %i] : memref<16x64xf16>
  } : tensor<64x16xf16>
  %c = memref.alloca() : memref<64x16xf16, #task.map<spatial(64, 2) * repeat(1, 8)>, #cuda.space<register>>
  task.copy %c[] to %product[%z, %z] on %t : memref<64x16xf16, #task.map<spatial(64, 2) * repeat(1, 8)>, #cuda.space<register>> to tensor<64x16xf16>
}

cuda.kernel @in_turns(%x : memref<64x16xf32>) grid(1) block(256) attributes {config = {epilogue = "staged"}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %product = compute.sink (%i, %j, %v : f32) {
    compute.store %v, %x[%i, %j] : memref<64x16xf32>
  } : tensor<64x16xf32>
  %c = memref.alloca() : memref<64x16xf32, #task.map<repeat(2, 1) * spatial(32, 8) * repeat(1, 2)>, #cuda.space<register>>
  task.copy %c[] to %product[%z, %z] on %t : memref<64x16xf32, #task.map<repeat(2, 1) * spatial(32, 8) * repeat(1, 2)>, #cuda.space<register>> to tensor<64x16xf32>
}

cuda.kernel @direct(%x : memref<64x16xf32>) grid(1) block(128) attributes {config = {stages = 3 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %product = compute.sink (%i, %j, %v : f32) {
    compute.store %v, %x[%i, %j] : memref<64x16xf32>
  } : tensor<64x16xf32>
  %c = memref.alloca() : memref<64x16xf32, #task.map<spatial(64, 2) * repeat(1, 8)>, #cuda.space<register>>
  task.copy %c[] to %product[%z, %z] on %t : memref<64x16xf32, #task.map<spatial(64, 2) * repeat(1, 8)>, #cuda.space<register>> to tensor<64x16xf32>
}

// -----

// Warps store rows of 6 bytes, which TMA cannot, adjacent elements by adjacent lanes. Shared memory
// takes all elements of a tile, where nothing is loaded for them.

// CHECK-LABEL: cuda.kernel @narrow
// CHECK:         %staged = memref.alloca() {task.ring} : memref<1x1x64x16xf16,
// CHECK:         %[[TILE:.*]] = compute.sink
// CHECK:           compute.store %{{.*}}, %staged[
// CHECK-NEXT:    } : tensor<64x16xf16>
// CHECK:         cuda.barrier_sync %{{.*}} count 128
// CHECK:         %[[ROWS:.*]] = compute.sink (%[[I:.*]], %[[J:.*]], %[[V:.*]] : f16) {
// CHECK-NEXT:      compute.store %[[V]], %x[%[[I]], %[[J]]] : memref<64x3xf16>
// CHECK-NEXT:    } : tensor<64x3xf16>
// CHECK-NEXT:    task.foreach (%{{.*}}, %{{.*}}) in #task.map<spatial(8, 16) * repeat(8, 1)>
// CHECK:           memref.load %staged[
// CHECK-NEXT:      compute.store %{{.*}}, %[[ROWS]][
// CHECK-NOT:     cuda.tma
cuda.kernel @narrow(%x : memref<64x3xf16>) grid(1) block(128) attributes {config = {epilogue = "staged"}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %product = compute.sink (%i, %j, %v : f16) {
    compute.store %v, %x[%i, %j] : memref<64x3xf16>
  } : tensor<64x3xf16>
  %c = memref.alloca() : memref<64x16xf16, #task.map<spatial(64, 2) * repeat(1, 8)>, #cuda.space<register>>
  task.copy %c[] to %product[%z, %z] on %t : memref<64x16xf16, #task.map<spatial(64, 2) * repeat(1, 8)>, #cuda.space<register>> to tensor<64x3xf16>
}

// -----

// TMA loads the residual of a tile to both slots ahead of the matmul loop, once the results of the
// tile before have been read. Its barriers are those of the warp group; their phase is a variable. What
// is loaded under a condition stays where it is.

// CHECK-LABEL: cuda.kernel @residual
// CHECK:         %staged = memref.alloca() {task.ring} : memref<1x2x64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
// CHECK-NEXT:    %arrived = memref.alloca() {task.ring} : memref<1x2xi64, #cuda.space<shared>>
// CHECK-NEXT:    %[[PARITY:.*]] = memref.alloca() : memref<i32, #cuda.space<local>>
// CHECK:         memref.store %{{.*}}, %[[PARITY]][]
// CHECK:         scf.if %{{.*}} {
// CHECK:           cuda.mbarrier_init %arrived[%{{.*}}, %{{.*}}]
// CHECK:           cuda.mbarrier_init %arrived[%{{.*}}, %{{.*}}]
// CHECK-NEXT:      cuda.fence_mbarrier_init
// CHECK:         cuda.barrier_sync %{{.*}} count 128
// CHECK:         scf.for %row
// CHECK:           %[[MAP:.*]] = cuda.tensor_map %r strides [128, 1]
// CHECK:           scf.if %{{.*}} {
// CHECK-NEXT:        cuda.tma_wait 0
// CHECK:             cuda.mbarrier_arrive_expect_tx %arrived[%{{.*}}, %{{.*}}]
// CHECK:             cuda.tma_load %[[MAP]]
// CHECK:             cuda.mbarrier_arrive_expect_tx %arrived[%{{.*}}, %{{.*}}]
// CHECK:             cuda.tma_load %[[MAP]]
// CHECK:           scf.for
// CHECK:             task.matmul
// CHECK:           %[[PHASE:.*]] = memref.load %[[PARITY]][]
// CHECK-NEXT:      cuda.mbarrier_wait %arrived[%[[GROUP:.*]], %[[SLOT:.*]]] parity %[[PHASE]]
// CHECK-NEXT:      %left = memref.alloca()
// CHECK-NEXT:      task.foreach
// CHECK:             %[[ELEMENT:.*]] = memref.load %staged[%[[GROUP]], %[[SLOT]], %{{.*}}, %{{.*}}]
// CHECK:             memref.store %[[ELEMENT]], %left
// CHECK:           compute.sink
// CHECK-NOT:         compute.load
// CHECK:             memref.load %left
// CHECK-NOT:         compute.load
// CHECK:             compute.store %{{.*}}, %staged
// CHECK:           cuda.tma_store
// CHECK:           cuda.mbarrier_wait %arrived
// CHECK:           cuda.tma_store
// CHECK:           arith.xori
// CHECK:           memref.store %{{.*}}, %[[PARITY]][]
cuda.kernel @residual(%x : memref<256x64xf16>, %w : memref<64x128xf16>, %r : memref<256x128xf16>, %out : memref<256x128xf16>) grid(2) block(128) attributes {config = {epilogue = "staged-residual"}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %n = arith.constant 256 : index
  %s = arith.constant 64 : index
  %step = arith.constant 16 : index
  %sa = memref.alloca() : memref<64x16xf16, #task.tile<row_major, swizzle 32>, #cuda.space<shared>>
  %sb = memref.alloca() : memref<16x128xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  %sum = compute.sink (%i, %j, %v : f32) {
    %left = compute.load %r[%i, %j] : memref<256x128xf16>
    %short = arith.truncf %v : f32 to f16
    %y = arith.addf %short, %left : f16
    compute.store %y, %out[%i, %j] : memref<256x128xf16>
  } : tensor<256x128xf32>
  %c = memref.alloca() : memref<64x128xf32, #task.map<repeat(1, 16) * spatial(4, 1) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  scf.for %row = %z to %n step %s {
    scf.for %k0 = %z to %s step %step {
      task.copy %x[%row, %k0] to %sa[] in #task.map<?> on %t : memref<256x64xf16> to memref<64x16xf16, #task.tile<row_major, swizzle 32>, #cuda.space<shared>>
      task.copy %w[%k0, %z] to %sb[] in #task.map<?> on %t : memref<64x128xf16> to memref<16x128xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
      task.matmul %sa, %sb to %c on %t via "m64n128k16_f16_f32" : memref<64x16xf16, #task.tile<row_major, swizzle 32>, #cuda.space<shared>>, memref<16x128xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>> to memref<64x128xf32, #task.map<repeat(1, 16) * spatial(4, 1) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
    }
    task.copy %c[] to %sum[%row, %z] on %t : memref<64x128xf32, #task.map<repeat(1, 16) * spatial(4, 1) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>> to tensor<256x128xf32>
  }
}
