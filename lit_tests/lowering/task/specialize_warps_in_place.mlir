// RUN: hidet-opt %s -p 'specialize-warps' | filecheck %s

// Matmuls that are not two chained ones are issued where they are, and waited for ahead of what uses
// their registers, the first one while the second is in flight, the last one at the end of the
// iteration. A tile that two matmuls read, once transposed, is loaded once and released after
// the second. What zeroes an accumulator is left to the matmul.

// CHECK-LABEL: cuda.kernel @in_place
// CHECK-COUNT-4: cuda.mbarrier_init
// CHECK-NOT:     cuda.mbarrier_init
// CHECK:         scf.for %k0
// CHECK-NOT:       task.foreach
// CHECK:           cuda.mbarrier_wait %full[
// CHECK:           task.matmul %queries, %keys[%{{.*}}] transposed to %scores on %t via "m64n64k16_f16_f32" async overwrite
// CHECK:           cuda.mbarrier_wait %full_1[
// CHECK:           task.matmul %gradients, %values[%{{.*}}] transposed to %products on %t via "m64n64k16_f16_f32" async overwrite
// CHECK-NEXT:      cuda.wgmma_wait 1
// CHECK:           cuda.wgmma_fence_operand %scores
// CHECK-NOT:       cuda.tma_load
// CHECK:           math.exp
// CHECK:           cuda.wgmma_wait 0
// CHECK:           cuda.wgmma_fence_operand %products
// CHECK:           cuda.tma_load %{{.*}} to %values
// CHECK:           arith.truncf
// CHECK:           cuda.mbarrier_wait %full[
// CHECK:           task.matmul %slopes, %keys[%{{.*}}] to %acc on %t via "m64n64k16_f16_f32" async :
// CHECK-NEXT:      cuda.wgmma_wait 0
// CHECK:           cuda.wgmma_fence_operand %acc
// CHECK:           cuda.tma_load %{{.*}} to %keys
cuda.kernel @in_place(%q : memref<64x64xf16>, %g : memref<64x64xf16>, %k : memref<256x64xf16>, %v : memref<256x64xf16>) grid(1) block(128) attributes {config = {stages = 2 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %n = arith.constant 256 : index
  %s = arith.constant 64 : index
  %queries = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  %gradients = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  %keys = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  %values = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  %scores = memref.alloca() : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %products = memref.alloca() : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %slopes = memref.alloca() : memref<64x64xf16, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %acc = memref.alloca() : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  task.copy %q[%z, %z] to %queries[] in #task.map<?> on %t : memref<64x64xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  task.copy %g[%z, %z] to %gradients[] in #task.map<?> on %t : memref<64x64xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  scf.for %k0 = %z to %n step %s {
    task.copy %k[%k0, %z] to %keys[] in #task.map<?> on %t : memref<256x64xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
    task.copy %v[%k0, %z] to %values[] in #task.map<?> on %t : memref<256x64xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
    task.foreach (%i, %j) of %scores on %t : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>> {
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %scores[%i, %j] : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
    }
    task.matmul %queries, %keys transposed to %scores on %t via "m64n64k16_f16_f32" : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>, memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>> to memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
    task.foreach (%i, %j) of %products on %t : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>> {
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %products[%i, %j] : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
    }
    task.matmul %gradients, %values transposed to %products on %t via "m64n64k16_f16_f32" : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>, memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>> to memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
    task.foreach (%i, %j) of %scores on %t : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>> {
      %x = memref.load %scores[%i, %j] : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
      %e = math.exp %x : f32
      memref.store %e, %scores[%i, %j] : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
    }
    task.foreach (%i, %j) of %slopes on %t : memref<64x64xf16, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>> {
      %x = memref.load %scores[%i, %j] : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
      %y = memref.load %products[%i, %j] : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
      %p = arith.mulf %x, %y : f32
      %h = arith.truncf %p : f32 to f16
      memref.store %h, %slopes[%i, %j] : memref<64x64xf16, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
    }
    task.matmul %slopes, %keys to %acc on %t via "m64n64k16_f16_f32" : memref<64x64xf16, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>, memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>> to memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  }
}
