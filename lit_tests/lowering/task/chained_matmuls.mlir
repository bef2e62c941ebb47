// RUN: hidet-opt %s -p 'specialize-warps' --split-input-file | filecheck %s

// The second matmul multiplies what is computed of the first. Keys and values have barriers of their
// own. The scores of the first iteration are computed ahead of the loop; in the loop those of an
// iteration are issued together with the second matmul of the previous iteration, which overlaps with
// exponentials, and completes before anything touches its operand A. A lone warp group needs no
// producer: its first thread requests the first tiles, and the next one when a stage is released.

// CHECK-LABEL: cuda.kernel @chained
// CHECK-SAME:    block(128)
// CHECK-COUNT-4: cuda.mbarrier_init
// CHECK-NOT:     cuda.mbarrier_init
// CHECK:         cuda.tma_load %[[KEYS:.*]](%{{.*}}, %{{.*}}) to %key
// CHECK:         cuda.tma_load %[[VALUES:.*]](%{{.*}}, %{{.*}}) to %value
// CHECK:         cuda.tma_load %[[KEYS]](%{{.*}}, %{{.*}}) to %key
// CHECK:         cuda.tma_load %[[VALUES]](%{{.*}}, %{{.*}}) to %value
// CHECK-NOT:     cuda.tma_load
// CHECK:         cuda.sync_threads
// CHECK-NOT:     task.group
// CHECK:         cuda.fence_proxy_async
// CHECK:         cuda.mbarrier_wait %full[
// CHECK:         task.matmul %queries, %key[%{{.*}}] to %scores on %t via "m64n64k16_f16_f32" async overwrite
// CHECK:         cuda.wgmma_wait 0
// CHECK:         cuda.tma_load %[[KEYS]](%{{.*}}, %{{.*}}) to %key
// CHECK:         math.exp
// CHECK:         arith.truncf
// CHECK:         scf.for %k0
// CHECK:           cuda.mbarrier_wait %full[
// CHECK:           task.matmul %queries, %key[%{{.*}}] to %scores on %t via "m64n64k16_f16_f32" async overwrite
// CHECK:           cuda.mbarrier_wait %full_1[
// CHECK:           task.matmul %weights, %value[%{{.*}}] to %acc on %t via "m64n64k16_f16_f32" async :
// CHECK-NEXT:      cuda.wgmma_wait 1
// CHECK:           cuda.wgmma_fence_operand %scores
// CHECK:           math.exp
// CHECK:           scf.if
// CHECK:             %[[NEXT:.*]] = arith.cmpi slt
// CHECK-NEXT:        scf.if %[[NEXT]] {
// CHECK:               cuda.mbarrier_arrive_expect_tx %full[%[[STAGE:.*]]] bytes
// CHECK:               cuda.tma_load %[[KEYS]](%{{.*}}, %{{.*}}) to %key[%[[STAGE]], %{{.*}}] barrier %full[%[[STAGE]]]
// CHECK:           cuda.wgmma_wait 0
// CHECK:           cuda.wgmma_fence_operand %acc
// CHECK:           cuda.tma_load %[[VALUES]](%{{.*}}, %{{.*}}) to %value
// CHECK:           arith.truncf
// CHECK:         task.matmul %weights, %value[%{{.*}}] to %acc on %t via "m64n64k16_f16_f32" async :
// CHECK-NEXT:    cuda.wgmma_wait 0
cuda.kernel @chained(%q : memref<64x64xf16>, %k : memref<64x256xf16>, %v : memref<256x64xf16>) grid(1) block(128) attributes {config = {stages = 2 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %n = arith.constant 256 : index
  %s = arith.constant 64 : index
  %queries = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  %key = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  %value = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  %scores = memref.alloca() : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %weights = memref.alloca() : memref<64x64xf16, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %acc = memref.alloca() : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  task.copy %q[%z, %z] to %queries[] in #task.map<?> on %t : memref<64x64xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  scf.for %k0 = %z to %n step %s {
    task.copy %k[%z, %k0] to %key[] in #task.map<?> on %t : memref<64x256xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
    task.copy %v[%k0, %z] to %value[] in #task.map<?> on %t : memref<256x64xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
    task.foreach (%i, %j) of %scores on %t : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>> {
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %scores[%i, %j] : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
    }
    task.matmul %queries, %key to %scores on %t via "m64n64k16_f16_f32" : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>, memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>> to memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
    task.foreach (%i, %j) of %scores on %t : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>> {
      %x = memref.load %scores[%i, %j] : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
      %e = math.exp %x : f32
      memref.store %e, %scores[%i, %j] : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
    }
    task.foreach (%i, %j) of %scores on %t : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>> {
      %x = memref.load %scores[%i, %j] : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
      %h = arith.truncf %x : f32 to f16
      memref.store %h, %weights[%i, %j] : memref<64x64xf16, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
    }
    task.matmul %weights, %value to %acc on %t via "m64n64k16_f16_f32" : memref<64x64xf16, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>, memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>> to memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  }
}

// -----

// Several warp groups have a producer. Where scores do not start at zero, each matmul is waited for in
// place.

// CHECK-LABEL: cuda.kernel @in_place
// CHECK-SAME:    block(384)
// CHECK-COUNT-8: cuda.mbarrier_init
// CHECK:         task.group first(0) count(128) (%producer) {
// CHECK:           scf.for %k0
// CHECK:             cuda.mbarrier_wait %empty[
// CHECK:             cuda.tma_load %{{.*}} to %key
// CHECK:             cuda.mbarrier_wait %empty_1[
// CHECK:             cuda.tma_load %{{.*}} to %value
// CHECK:         task.group first(128) count(256) (%[[ME:.*]]) {
// CHECK:           scf.for %k0
// CHECK:             cuda.mbarrier_wait %full[
// CHECK-NEXT:        task.matmul %queries, %key[%{{.*}}] to %scores on %[[ME]] via "m64n64k16_f16_f32" async :
// CHECK-NEXT:        cuda.wgmma_wait 0
// CHECK:             cuda.mbarrier_arrive %empty[
// CHECK:             cuda.mbarrier_wait %full_1[
// CHECK-NEXT:        task.matmul %weights, %value[%{{.*}}] to %acc on %[[ME]] via "m64n64k16_f16_f32" async :
// CHECK-NEXT:        cuda.wgmma_wait 0
// CHECK:             cuda.mbarrier_arrive %empty_1[
cuda.kernel @in_place(%q : memref<128x64xf16>, %k : memref<64x256xf16>, %v : memref<256x64xf16>) grid(1) block(256) attributes {config = {stages = 2 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %n = arith.constant 256 : index
  %s = arith.constant 64 : index
  %queries = memref.alloca() : memref<128x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  %key = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  %value = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  %scores = memref.alloca() : memref<128x64xf32, #task.map<spatial(8, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %weights = memref.alloca() : memref<128x64xf16, #task.map<spatial(8, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %acc = memref.alloca() : memref<128x64xf32, #task.map<spatial(8, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  task.copy %q[%z, %z] to %queries[] in #task.map<?> on %t : memref<128x64xf16> to memref<128x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  scf.for %k0 = %z to %n step %s {
    task.copy %k[%z, %k0] to %key[] in #task.map<?> on %t : memref<64x256xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
    task.copy %v[%k0, %z] to %value[] in #task.map<?> on %t : memref<256x64xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
    task.foreach (%i, %j) of %scores on %t : memref<128x64xf32, #task.map<spatial(8, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>> {
      %zero = arith.constant 1.0 : f32
      memref.store %zero, %scores[%i, %j] : memref<128x64xf32, #task.map<spatial(8, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
    }
    task.matmul %queries, %key to %scores on %t via "m64n64k16_f16_f32" : memref<128x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>, memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>> to memref<128x64xf32, #task.map<spatial(8, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
    task.foreach (%i, %j) of %scores on %t : memref<128x64xf32, #task.map<spatial(8, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>> {
      %x = memref.load %scores[%i, %j] : memref<128x64xf32, #task.map<spatial(8, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
      %e = math.exp %x : f32
      memref.store %e, %scores[%i, %j] : memref<128x64xf32, #task.map<spatial(8, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
    }
    task.foreach (%i, %j) of %scores on %t : memref<128x64xf32, #task.map<spatial(8, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>> {
      %x = memref.load %scores[%i, %j] : memref<128x64xf32, #task.map<spatial(8, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
      %h = arith.truncf %x : f32 to f16
      memref.store %h, %weights[%i, %j] : memref<128x64xf16, #task.map<spatial(8, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
    }
    task.matmul %weights, %value to %acc on %t via "m64n64k16_f16_f32" : memref<128x64xf16, #task.map<spatial(8, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>, memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>> to memref<128x64xf32, #task.map<spatial(8, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  }
}
