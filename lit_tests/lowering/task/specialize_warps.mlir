// RUN: hidet-opt %s -p 'specialize-warps' --split-input-file | filecheck %s
// RUN: hidet-opt %s -p 'specialize-warps{arch=sm_80}' --split-input-file | filecheck %s --check-prefix=SM80

// Blocks go through tiles of the result. A new warp group fetches: one of its threads waits until a
// stage of the ring is free, says how many bytes will come, and asks TMA for both tiles, of which the
// right one has two panels. The threads that were there have all the work: they wait for the bytes,
// begin the product, and free the stage of the product before, which has ended by then.

// CHECK-LABEL: cuda.kernel @tiles
// CHECK-SAME:    grid(2) block(256)
// CHECK-DAG:     %a = memref.alloca() {task.ring} : memref<3x64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
// CHECK-DAG:     %b = memref.alloca() {task.ring} : memref<3x64x128xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
// CHECK:         %[[X:.*]] = cuda.tensor_map %x strides [128, 1] : memref<256x128xf16> -> !cuda.tensor_map<tensor<256x128xf16>, box [64, 64], swizzle 128>
// CHECK:         %[[W:.*]] = cuda.tensor_map %w strides [128, 1] : memref<128x128xf16> -> !cuda.tensor_map<tensor<128x128xf16>, box [64, 64], swizzle 128>
// CHECK-DAG:     %full = memref.alloca() {task.ring} : memref<3xi64, #cuda.space<shared>>
// CHECK-DAG:     %empty = memref.alloca() {task.ring} : memref<3xi64, #cuda.space<shared>>
// CHECK:         cuda.mbarrier_init %full
// CHECK:         cuda.fence_mbarrier_init
// CHECK-NEXT:    }
// CHECK:         cuda.sync_threads
// CHECK-NEXT:    task.group first(0) count(128) (%producer) {
// CHECK:           scf.if
// CHECK:             scf.for %row
// CHECK:               scf.for %k0
// CHECK:                 cuda.mbarrier_wait %empty[%[[STAGE:.*]]] parity
// CHECK:                 cuda.mbarrier_arrive_expect_tx %full[%[[STAGE]]] bytes
// CHECK:                 cuda.tma_load %[[X]](%{{.*}}, %{{.*}}) to %a[%[[STAGE]], %{{.*}}] barrier %full[%[[STAGE]]]
// CHECK-COUNT-2:         cuda.tma_load %[[W]]
// CHECK-NOT:             task.copy
// CHECK:         task.group first(128) count(128) (%[[ME:.*]]) {
// CHECK:           task.foreach (%{{.*}}, %{{.*}}) of %c on %[[ME]]
// CHECK:           scf.for %row
// CHECK:             scf.for %k0
// CHECK:               cuda.mbarrier_wait %full[%[[NOW:.*]]] parity
// CHECK:               task.matmul %a[%[[NOW]]], %b[%[[NOW]]] to %c on %[[ME]] via "m64n128k16_f16_f32" async
// CHECK:               cuda.wgmma_wait 1
// CHECK:               scf.if
// CHECK:                 cuda.mbarrier_arrive %empty
// CHECK:             cuda.wgmma_wait 0
// CHECK:             cuda.wgmma_fence_operand %c
// CHECK:             scf.if
// CHECK:               cuda.mbarrier_arrive %empty
// SM80-NOT:    task.group
cuda.kernel @tiles(%x : memref<256x128xf16>, %w : memref<128x128xf16>) grid(2) block(128) attributes {config = {stages = 3 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %n = arith.constant 128 : index
  %m = arith.constant 256 : index
  %s = arith.constant 64 : index
  %bid = cuda.block_id x
  %first = arith.muli %bid, %s : index
  %c = memref.alloca() : memref<64x128xf32, #task.map<spatial(4, 1) * repeat(1, 16) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %a = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  %b = memref.alloca() : memref<64x128xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  task.foreach (%i, %j) of %c on %t : memref<64x128xf32, #task.map<spatial(4, 1) * repeat(1, 16) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>> {
    %v = arith.constant 0.0 : f32
    memref.store %v, %c[%i, %j] : memref<64x128xf32, #task.map<spatial(4, 1) * repeat(1, 16) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  }
  scf.for %row = %first to %m step %n {
    scf.for %k0 = %z to %n step %s {
      task.copy %x[%row, %k0] to %a[] in #task.map<?> on %t : memref<256x128xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
      task.copy %w[%k0, %z] to %b[] in #task.map<?> on %t : memref<128x128xf16> to memref<64x128xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
      task.matmul %a, %b to %c on %t via "m64n128k16_f16_f32" : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>, memref<64x128xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>> to memref<64x128xf32, #task.map<spatial(4, 1) * repeat(1, 16) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
    }
  }
}

// -----

// A block of one tile asks for its right factor, a weight as a rule, as soon as there are barriers:
// as many tiles as the ring has stages. The loop asks for the others.

// CHECK-LABEL: cuda.kernel @single
// CHECK:         cuda.fence_mbarrier_init
// CHECK-COUNT-3: cuda.tma_load %[[W:.*]](%{{.*}}, %{{.*}}) to %b[
// CHECK-NOT:     cuda.tma_load
// CHECK:         cuda.sync_threads
// CHECK-NEXT:    task.group first(0)
// CHECK:           scf.for %k0
// CHECK:             cuda.mbarrier_arrive_expect_tx %full[%[[STAGE:.*]]] bytes
// CHECK:             %[[LATER:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : index
// CHECK-NEXT:        scf.if %[[LATER]] {
// CHECK:               cuda.tma_load %[[W]](%{{.*}}, %{{.*}}) to %b[%[[STAGE]], %{{.*}}] barrier %full[%[[STAGE]]]
// CHECK-NEXT:        }
// CHECK:             cuda.tma_load %{{.*}}(%{{.*}}, %{{.*}}) to %a[%[[STAGE]], %{{.*}}] barrier %full[%[[STAGE]]]
cuda.kernel @single(%x : memref<128x256xf16>, %w : memref<256x64xf16>) grid(2) block(128) attributes {config = {stages = 3 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %n = arith.constant 256 : index
  %s = arith.constant 64 : index
  %bid = cuda.block_id x
  %row = arith.muli %bid, %s : index
  %c = memref.alloca() : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %a = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  %b = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  scf.for %k0 = %z to %n step %s {
    task.copy %x[%row, %k0] to %a[] in #task.map<?> on %t : memref<128x256xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
    task.copy %w[%k0, %z] to %b[] in #task.map<?> on %t : memref<256x64xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
    task.matmul %a, %b to %c on %t via "m64n64k16_f16_f32" : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>, memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>> to memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  }
}

// -----

// A tile of computed elements, or of rows that are no multiple of 16 bytes, is pipeline-copies' to
// fetch.

// CHECK-LABEL: cuda.kernel @computed
// CHECK-NOT:     task.group
// CHECK-LABEL: cuda.kernel @narrow
// CHECK-NOT:     task.group
cuda.kernel @computed(%x : memref<64x64xf16>) grid(1) block(128) attributes {config = {stages = 3 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %s = arith.constant 64 : index
  %x2 = compute.grid (%i, %j) {
    %v = compute.load %x[%i, %j] : memref<64x64xf16>
    %u = arith.addf %v, %v : f16
    compute.yield %u : f16
  } : tensor<64x64xf16>
  %c = memref.alloca() : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %a = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  scf.for %k0 = %z to %s step %s {
    task.copy %x2[%z, %k0] to %a[] in #task.map<?> on %t : tensor<64x64xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
    task.matmul %a, %a to %c on %t via "m64n64k16_f16_f32" : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>, memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>> to memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  }
}

cuda.kernel @narrow(%x : memref<64x65xf16>) grid(1) block(128) attributes {config = {stages = 3 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %s = arith.constant 64 : index
  %c = memref.alloca() : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %a = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  scf.for %k0 = %z to %s step %s {
    task.copy %x[%z, %k0] to %a[] in #task.map<?> on %t : memref<64x65xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
    task.matmul %a, %a to %c on %t via "m64n64k16_f16_f32" : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>, memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>> to memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  }
}

// -----

// TMA rounds tiles of TF32, which wgmma would truncate.

// CHECK-LABEL: cuda.kernel @tf32
// CHECK:         cuda.tensor_map %x strides [128, 1] : memref<64x128xf32> -> !cuda.tensor_map<tensor<64x128xf32>, box [64, 32], swizzle 128, tf32>
// CHECK:         cuda.tensor_map %w strides [128, 1] : memref<64x128xf32> -> !cuda.tensor_map<tensor<64x128xf32>, box [64, 32], swizzle 128, tf32>
cuda.kernel @tf32(%x : memref<64x128xf32>, %w : memref<64x128xf32>) grid(1) block(128) attributes {config = {stages = 3 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %n = arith.constant 128 : index
  %s = arith.constant 32 : index
  %turned = compute.grid (%i, %j) {
    %v = compute.load %w[%j, %i] : memref<64x128xf32>
    compute.yield %v : f32
  } : tensor<128x64xf32>
  %c = memref.alloca() : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %a = memref.alloca() : memref<64x32xf32, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  %b = memref.alloca() : memref<32x64xf32, #task.tile<column_major, swizzle 128>, #cuda.space<shared>>
  scf.for %k0 = %z to %n step %s {
    task.copy %x[%z, %k0] to %a[] in #task.map<?> on %t : memref<64x128xf32> to memref<64x32xf32, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
    task.copy %turned[%k0, %z] to %b[] in #task.map<?> on %t : tensor<128x64xf32> to memref<32x64xf32, #task.tile<column_major, swizzle 128>, #cuda.space<shared>>
    task.matmul %a, %b to %c on %t via "m64n64k8_tf32_f32" : memref<64x32xf32, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>, memref<32x64xf32, #task.tile<column_major, swizzle 128>, #cuda.space<shared>> to memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  }
}
