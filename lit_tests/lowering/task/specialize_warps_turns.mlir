// RUN: hidet-opt %s -p 'specialize-warps' | filecheck %s

// Two warp groups take turns with the tiles of a block (ping-pong): each has every other tile, and
// multiplies once the other one has issued its own matmuls. A stage of the ring is released by one.

// CHECK-LABEL: cuda.kernel @turns
// CHECK-SAME:    grid(2) block(384)
// CHECK:         %turn = memref.alloca() {task.ring} : memref<2xi64, #cuda.space<shared>>
// CHECK:         cuda.mbarrier_init %full[%{{.*}}] count %[[ONE:.*]]
// CHECK-NEXT:    cuda.mbarrier_init %empty[%{{.*}}] count %{{.*}}
// CHECK-COUNT-2: cuda.mbarrier_init %turn
// CHECK:         task.group first(0) count(128)
// CHECK:           scf.for %row = %first to %m step %n
// CHECK:         task.group first(128) count(128) copies(2) (%[[ME:.*]], %[[COPY:.*]]) {
// CHECK:           task.foreach (%{{.*}}, %{{.*}}) of %c on %[[ME]]
// CHECK:           %[[AHEAD:.*]] = arith.muli %[[COPY]]
// CHECK:           %[[FIRST:.*]] = arith.addi %first, %[[AHEAD]]
// CHECK:           scf.for %{{.*}} = %[[FIRST]] to %m step %{{.*}} {
// CHECK:             cuda.mbarrier_wait %turn[%[[OWN:.*]]] parity
// CHECK:             scf.for %k0
// CHECK:               task.matmul %a[%{{.*}}], %b[%{{.*}}] to %c on %[[ME]]
// CHECK:             %[[OTHER:.*]] = arith.subi %{{.*}}, %[[OWN]]
// CHECK-NEXT:        cuda.mbarrier_arrive %turn[%[[OTHER]]]
// CHECK:             cuda.wgmma_wait 0
// CHECK:             memref.store %[[COPY]], %stored
cuda.kernel @turns(%x : memref<512x128xf16>, %w : memref<128x128xf16>, %stored : memref<1xindex>) grid(2) block(128) attributes {config = {stages = 3 : i64, schedule = "pingpong"}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %n = arith.constant 128 : index
  %m = arith.constant 512 : index
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
      task.copy %x[%row, %k0] to %a[] in #task.map<?> on %t : memref<512x128xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
      task.copy %w[%k0, %z] to %b[] in #task.map<?> on %t : memref<128x128xf16> to memref<64x128xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
      task.matmul %a, %b to %c on %t via "m64n128k16_f16_f32" : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>, memref<64x128xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>> to memref<64x128xf32, #task.map<spatial(4, 1) * repeat(1, 16) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
    }
    %group = arith.divsi %t, %n : index
    memref.store %group, %stored[%z] : memref<1xindex>
  }
}
