// RUN: hidet-opt %s -p 'lower-task,simplify-index' | filecheck %s

// Two warps, each 16 x 16 of the product: a fragment of the left side, two of the right,
// which one ldmatrix loads together. The right tile is contiguous along its columns and needs no
// transposing load; the left one is contiguous along its columns too, and does.
// LowerSharedTile: tiles become arrays; segments of 16 bytes trade places.

// CHECK-LABEL: cuda.kernel @product
// CHECK-DAG:     %[[A:.*]] = memref.alloca() : memref<2x16x32xf16, #cuda.space<shared>>
// CHECK-DAG:     %[[B:.*]] = memref.alloca() : memref<16x16xf16, #cuda.space<shared>>
// CHECK:         %[[RA:.*]] = memref.alloca() : memref<8xf16, #cuda.space<local>>
// CHECK-NEXT:    %[[RB:.*]] = memref.alloca() : memref<8xf16, #cuda.space<local>>
// CHECK:         arith.xori
// CHECK:         cuda.ldmatrix %[[A]][%[[STAGE:.*]], %{{.*}}, %{{.*}}] to %[[RA]][%{{.*}}] count 4 trans
// CHECK:         cuda.ldmatrix %[[B]][%{{.*}}, %{{.*}}] to %[[RB]][%{{.*}}] count 4 :
// CHECK:         scf.for
// CHECK:           cuda.mma_sync "m16n8k16_f16_f32" %[[RA]][%{{.*}}], %[[RB]][%{{.*}}], %{{.*}}[%{{.*}}]
cuda.kernel @product() grid(1) block(64) {
  %t = cuda.thread_id x
  %one = arith.constant 1 : index
  %c = memref.alloca() : memref<32x16xf32, #task.map<spatial(2, 1) * repeat(1, 2) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %a = memref.alloca() : memref<2x32x16xf16, #task.tile<column_major, swizzle 64>, #cuda.space<shared>>
  %b = memref.alloca() : memref<16x16xf16, #task.tile<column_major, swizzle 32>, #cuda.space<shared>>
  task.matmul %a[%one], %b to %c on %t via "m16n8k16_f16_f32" : memref<2x32x16xf16, #task.tile<column_major, swizzle 64>, #cuda.space<shared>>, memref<16x16xf16, #task.tile<column_major, swizzle 32>, #cuda.space<shared>> to memref<32x16xf32, #task.map<spatial(2, 1) * repeat(1, 2) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
}
