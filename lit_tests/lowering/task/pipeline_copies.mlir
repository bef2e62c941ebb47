// RUN: hidet-opt %s -p 'pipeline-copies' --split-input-file | filecheck %s

// Two of three tiles are under way at any time. What is copied as it is is asynchronous; what is
// computed waits in registers while the product runs. Ahead of the loop the right factor comes
// first, a weight as a rule. The loop is not unrolled.

// CHECK-LABEL: cuda.kernel @ring
// CHECK:         %a = memref.alloca() {task.ring} : memref<3x16x16xf16, #cuda.space<shared>>
// CHECK-NEXT:    %b = memref.alloca() {task.ring} : memref<3x16x8xf16, #cuda.space<shared>>
// CHECK:         task.copy %w2[%{{.*}}, %z] to %b[%{{.*}}] in #{{.*}} on %t :
// CHECK:         task.copy %w2[%{{.*}}, %z] to %b[%{{.*}}] in #{{.*}} on %t :
// CHECK:         task.copy %x[%z, %{{.*}}] to %a[%{{.*}}] in #{{.*}} on %t async
// CHECK-NEXT:    cuda.cp_async_commit
// CHECK:         task.copy %x[%z, %{{.*}}] to %a[%{{.*}}] in #{{.*}} on %t async
// CHECK-NEXT:    cuda.cp_async_commit
// CHECK-NEXT:    scf.for %k0
// CHECK-NEXT:      cuda.cp_async_wait 1
// CHECK-NEXT:      cuda.sync_threads
// CHECK:           %[[AHEAD:.*]] = arith.cmpi slt, %[[K:.*]], %n : index
// CHECK-NEXT:      scf.if %[[AHEAD]] {
// CHECK:             task.copy %x[%z, %[[K]]] to %a[%[[FREE:.*]]] in #{{.*}} on %t async
// CHECK:           %[[R:.*]] = memref.alloca() : memref<16x8xf16, #{{.*}}, #cuda.space<register>>
// CHECK:           scf.if
// CHECK:             task.copy %w2[%[[K]], %z] to %[[R]][] on %t
// CHECK:           cuda.cp_async_commit
// CHECK:           task.matmul %a[%[[NOW:.*]]], %b[%[[NOW]]] to %c on %t
// CHECK:           scf.if
// CHECK:             task.copy %[[R]][] to %b[%[[FREE]], %{{.*}}, %{{.*}}] on %t
// CHECK:         {cuda.unroll = 1 : i64}
// CHECK-NEXT:    cuda.cp_async_wait 0
cuda.kernel @ring(%x : memref<16x64xf16>, %w : memref<64x8xf16>) grid(1) block(32) attributes {config = {stages = 3 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %n = arith.constant 64 : index
  %s = arith.constant 16 : index
  %w2 = compute.grid (%i, %j) {
    %v = compute.load %w[%i, %j] : memref<64x8xf16>
    %u = arith.addf %v, %v : f16
    compute.yield %u : f16
  } : tensor<64x8xf16>
  %c = memref.alloca() : memref<16x8xf32, #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %a = memref.alloca() : memref<16x16xf16, #cuda.space<shared>>
  %b = memref.alloca() : memref<16x8xf16, #cuda.space<shared>>
  scf.for %k0 = %z to %n step %s {
    task.copy %x[%z, %k0] to %a[] in #task.map<spatial(16, 2) * repeat(1, 8)> on %t : memref<16x64xf16> to memref<16x16xf16, #cuda.space<shared>>
    task.copy %w2[%k0, %z] to %b[] in #task.map<repeat(4, 1) * spatial(4, 8)> on %t : tensor<64x8xf16> to memref<16x8xf16, #cuda.space<shared>>
    task.matmul %a, %b to %c on %t : memref<16x16xf16, #cuda.space<shared>>, memref<16x8xf16, #cuda.space<shared>> to memref<16x8xf32, #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  }
}

// -----

// One stage, or a tile that something else reads: the loop stays.

// CHECK-LABEL: cuda.kernel @one_stage
// CHECK-NOT:     cp_async
// CHECK-LABEL: cuda.kernel @other_reader
// CHECK-NOT:     cp_async
cuda.kernel @one_stage(%x : memref<16x64xf16>) grid(1) block(32) attributes {config = {stages = 1 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %n = arith.constant 64 : index
  %s = arith.constant 16 : index
  %c = memref.alloca() : memref<16x16xf32, #task.map<spatial(8, 4) * repeat(2, 4)>, #cuda.space<register>>
  %a = memref.alloca() : memref<16x16xf16, #cuda.space<shared>>
  scf.for %k0 = %z to %n step %s {
    task.copy %x[%z, %k0] to %a[] in #task.map<spatial(16, 2) * repeat(1, 8)> on %t : memref<16x64xf16> to memref<16x16xf16, #cuda.space<shared>>
    task.matmul %a, %a to %c on %t : memref<16x16xf16, #cuda.space<shared>>, memref<16x16xf16, #cuda.space<shared>> to memref<16x16xf32, #task.map<spatial(8, 4) * repeat(2, 4)>, #cuda.space<register>>
  }
}

cuda.kernel @other_reader(%x : memref<16x64xf16>) grid(1) block(32) attributes {config = {stages = 3 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %n = arith.constant 64 : index
  %s = arith.constant 16 : index
  %c = memref.alloca() : memref<16x16xf32, #task.map<spatial(8, 4) * repeat(2, 4)>, #cuda.space<register>>
  %a = memref.alloca() : memref<16x16xf16, #cuda.space<shared>>
  scf.for %k0 = %z to %n step %s {
    task.copy %x[%z, %k0] to %a[] in #task.map<spatial(16, 2) * repeat(1, 8)> on %t : memref<16x64xf16> to memref<16x16xf16, #cuda.space<shared>>
    task.matmul %a, %a to %c on %t : memref<16x16xf16, #cuda.space<shared>>, memref<16x16xf16, #cuda.space<shared>> to memref<16x16xf32, #task.map<spatial(8, 4) * repeat(2, 4)>, #cuda.space<register>>
  }
  %v = memref.load %a[%z, %z] : memref<16x16xf16, #cuda.space<shared>>
}

// -----

// A product of a warp group goes on while the next tile is asked for: of four tiles two are being
// copied, one is multiplied, and one may still be by another group. What was copied is to be seen
// by the product (fence_proxy_async); a step later the product of the step before has ended.

// CHECK-LABEL: cuda.kernel @begun
// CHECK-COUNT-2: cuda.cp_async_commit
// CHECK:         scf.for
// CHECK-NEXT:      cuda.cp_async_wait 1
// CHECK-NEXT:      cuda.fence_proxy_async
// CHECK-NEXT:      cuda.sync_threads
// CHECK:           task.matmul %a[%[[NOW:.*]]], %a[%[[NOW]]] to %c on %t via "m64n64k16_f16_f32" async
// CHECK:           scf.if
// CHECK:             task.copy
// CHECK:           cuda.cp_async_commit
// CHECK-NEXT:      cuda.wgmma_wait 1
// CHECK:         cuda.cp_async_wait 0
// CHECK-NEXT:    cuda.wgmma_wait 0
// CHECK:         cuda.wgmma_fence_operand %c[%{{.*}}, %{{.*}}] count 32
cuda.kernel @begun(%x : memref<64x256xf16>) grid(1) block(128) attributes {config = {stages = 4 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %n = arith.constant 256 : index
  %s = arith.constant 64 : index
  %c = memref.alloca() : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %a = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  scf.for %k0 = %z to %n step %s {
    task.copy %x[%z, %k0] to %a[] in #task.map<repeat(4, 1) * spatial(16, 8) * repeat(1, 8)> on %t : memref<64x256xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
    task.matmul %a, %a to %c on %t via "m64n64k16_f16_f32" : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>, memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>> to memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  }
}

// -----

// What else the loop does stays where it is, and so do its products: the second one takes what
// becomes of the first. A tile that is fetched once comes with the first stage.

// CHECK-LABEL: cuda.kernel @chain
// CHECK:         %b = memref.alloca() {task.ring} : memref<2x16x16xf16
// CHECK:         task.copy %x[{{.*}}] to %a[] in {{.*}} on %t async
// CHECK-NEXT:    task.copy %y[{{.*}}] to %b[%{{.*}}] in {{.*}} on %t async
// CHECK:         cuda.cp_async_commit
// CHECK:         scf.for
// CHECK-NEXT:      cuda.cp_async_wait 0
// CHECK-NEXT:      cuda.sync_threads
// CHECK:           task.copy %y[{{.*}}] to %b[%{{.*}}] in {{.*}} on %t async
// CHECK:           task.matmul %a, %b[%[[NOW:.*]]] to %s on %t
// CHECK-NEXT:      task.foreach
// CHECK:           task.matmul %p, %b[%[[NOW]]] to %c on %t
#C = #task.map<repeat(1, 2) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>
#T = #task.tile<row_major, swizzle 32>
#V = #task.map<spatial(16, 2) * repeat(1, 8)>
cuda.kernel @chain(%x : memref<16x16xf16>, %y : memref<64x16xf16>) grid(1) block(32) attributes {config = {stages = 2 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %n = arith.constant 64 : index
  %step = arith.constant 16 : index
  %s = memref.alloca() : memref<16x16xf32, #C, #cuda.space<register>>
  %p = memref.alloca() : memref<16x16xf16, #C, #cuda.space<register>>
  %c = memref.alloca() : memref<16x16xf32, #C, #cuda.space<register>>
  %a = memref.alloca() : memref<16x16xf16, #T, #cuda.space<shared>>
  %b = memref.alloca() : memref<16x16xf16, #T, #cuda.space<shared>>
  task.copy %x[%z, %z] to %a[] in #V on %t : memref<16x16xf16> to memref<16x16xf16, #T, #cuda.space<shared>>
  scf.for %k = %z to %n step %step {
    task.copy %y[%k, %z] to %b[] in #V on %t : memref<64x16xf16> to memref<16x16xf16, #T, #cuda.space<shared>>
    task.matmul %a, %b to %s on %t via "m16n8k16_f16_f32" : memref<16x16xf16, #T, #cuda.space<shared>>, memref<16x16xf16, #T, #cuda.space<shared>> to memref<16x16xf32, #C, #cuda.space<register>>
    task.foreach (%i, %j) of %s on %t : memref<16x16xf32, #C, #cuda.space<register>> {
      %v = memref.load %s[%i, %j] : memref<16x16xf32, #C, #cuda.space<register>>
      %h = arith.truncf %v : f32 to f16
      memref.store %h, %p[%i, %j] : memref<16x16xf16, #C, #cuda.space<register>>
    }
    task.matmul %p, %b to %c on %t via "m16n8k16_f16_f32" : memref<16x16xf16, #C, #cuda.space<register>>, memref<16x16xf16, #T, #cuda.space<shared>> to memref<16x16xf32, #C, #cuda.space<register>>
  }
}

// -----

// By FMA, if tiles are contiguous along M and N: fragments of the next k are loaded after each step,
// those of the next tile after the barrier. After the last tile its first ones are loaded again.

// CHECK:       #[[A:.*]] = #task.map<spatial(4, 1) * repeat(2, 1) * replicate(8)>
// CHECK-NEXT:  #[[B:.*]] = #task.map<replicate(4) * spatial(1, 8) * repeat(1, 2)>
// CHECK-LABEL: cuda.kernel @fragments
// CHECK:         %a_fragment = memref.alloca() : memref<8x1xf32, #[[A]], #cuda.space<register>>
// CHECK-NEXT:    %b_fragment = memref.alloca() : memref<1x16xf32, #[[B]], #cuda.space<register>>
// CHECK:         cuda.cp_async_wait 0
// CHECK-NEXT:    cuda.sync_threads
// CHECK:         task.copy %a[%{{.*}}, %{{.*}}, %{{.*}}] to %a_fragment[] on %t
// CHECK:         task.copy %b[%{{.*}}, %{{.*}}, %{{.*}}] to %b_fragment[] on %t
// CHECK:         scf.for %k0
// CHECK:           cuda.cp_async_commit
// CHECK:           scf.for %k =
// CHECK-NEXT:        task.matmul %a_fragment, %b_fragment to %c on %t
// CHECK:             %[[K:.*]] = arith.addi %k,
// CHECK:             task.copy %a[%[[NOW:.*]], %{{.*}}, %[[K]]] to %a_fragment[] on %t
// CHECK:             task.copy %b[%[[NOW]], %[[K]], %{{.*}}] to %b_fragment[] on %t
// CHECK:           {cuda.unroll}
// CHECK-NEXT:      cuda.cp_async_wait 0
// CHECK-NEXT:      cuda.sync_threads
// CHECK-NEXT:      task.matmul %a_fragment, %b_fragment to %c on %t
// CHECK:           %[[NEXT:.*]] = arith.select %{{.*}}, %{{.*}}, %[[NOW]] : index
// CHECK:           task.copy %a[%[[NEXT]],
// CHECK:           task.copy %b[%[[NEXT]],
// CHECK:         cuda.cp_async_wait 0
cuda.kernel @fragments(%x : memref<8x64xf32>, %w : memref<64x16xf32>) grid(1) block(32) attributes {config = {stages = 2 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %n = arith.constant 64 : index
  %s = arith.constant 4 : index
  %c = memref.alloca() : memref<8x16xf32, #task.map<spatial(4, 8) * repeat(2, 2)>, #cuda.space<register>>
  %a = memref.alloca() : memref<8x4xf32, #task.tile<column_major, padding 16>, #cuda.space<shared>>
  %b = memref.alloca() : memref<4x16xf32, #task.tile<row_major>, #cuda.space<shared>>
  scf.for %k0 = %z to %n step %s {
    task.copy %x[%z, %k0] to %a[] in #task.map<spatial(8, 4)> on %t : memref<8x64xf32> to memref<8x4xf32, #task.tile<column_major, padding 16>, #cuda.space<shared>>
    task.copy %w[%k0, %z] to %b[] in #task.map<repeat(2, 1) * spatial(2, 16)> on %t : memref<64x16xf32> to memref<4x16xf32, #task.tile<row_major>, #cuda.space<shared>>
    task.matmul %a, %b to %c on %t : memref<8x4xf32, #task.tile<column_major, padding 16>, #cuda.space<shared>>, memref<4x16xf32, #task.tile<row_major>, #cuda.space<shared>> to memref<8x16xf32, #task.map<spatial(4, 8) * repeat(2, 2)>, #cuda.space<register>>
  }
}
