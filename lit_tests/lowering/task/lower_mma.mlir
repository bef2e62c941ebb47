// RUN: hidet-opt %s --split-input-file -p 'lower-task,simplify-index' | filecheck %s

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
// CHECK-NOT:     cuda.round_tf32
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

// -----

// A right tile that is transposed, columns by k: along k if its rows are, so that nothing is
// transposed; the lanes of the second eight columns are eight rows further on.

// CHECK-LABEL: cuda.kernel @transposed
// CHECK:         %[[B:.*]] = memref.alloca() : memref<16x64xf16, #cuda.space<shared>>
// CHECK:         cuda.ldmatrix %[[B]][%{{.*}}, %{{.*}}] to %{{.*}}[%{{.*}}] count 4 :
cuda.kernel @transposed() grid(1) block(32) {
  %t = cuda.thread_id x
  %c = memref.alloca() : memref<16x16xf32, #task.map<repeat(1, 2) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %s = memref.alloca() : memref<16x64xf16, #task.map<repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %b = memref.alloca() : memref<16x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  task.matmul %s, %b transposed to %c on %t via "m16n8k16_f16_f32" : memref<16x64xf16, #task.map<repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>, memref<16x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>> to memref<16x16xf32, #task.map<repeat(1, 2) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
}

// -----

// Factors of f32 are rounded to TF32 where they are loaded.

// CHECK-LABEL: cuda.kernel @tf32
// CHECK:         cuda.ldmatrix %{{.*}} to %[[RA:.*]][%{{.*}}] count 4 :
// CHECK-NEXT:    scf.for %[[R:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NEXT:      %[[V:.*]] = memref.load %[[RA]][%[[R]]]
// CHECK-NEXT:      %[[T:.*]] = cuda.round_tf32 %[[V]]
// CHECK-NEXT:      memref.store %[[T]], %[[RA]][%[[R]]]
// CHECK:         cuda.ldmatrix %{{.*}} to %[[RB:.*]][%{{.*}}] count 2 :
// CHECK:           cuda.round_tf32
// CHECK:         cuda.mma_sync "m16n8k8_tf32_f32"
cuda.kernel @tf32() grid(1) block(32) {
  %t = cuda.thread_id x
  %c = memref.alloca() : memref<16x8xf32, #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %a = memref.alloca() : memref<16x8xf32, #task.tile<row_major, swizzle 32>, #cuda.space<shared>>
  %b = memref.alloca() : memref<8x8xf32, #task.tile<column_major, swizzle 32>, #cuda.space<shared>>
  task.matmul %a, %b to %c on %t via "m16n8k8_tf32_f32" : memref<16x8xf32, #task.tile<row_major, swizzle 32>, #cuda.space<shared>>, memref<8x8xf32, #task.tile<column_major, swizzle 32>, #cuda.space<shared>> to memref<16x8xf32, #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
}

// -----

// A left factor in registers is not loaded: its fragments begin at every second one of the sums.

// CHECK-LABEL: cuda.kernel @registers
// CHECK-NOT:     cuda.ldmatrix %{{.*}} count 4 :
// CHECK:         cuda.ldmatrix %b[%{{.*}}, %{{.*}}] to %b_regs[%{{.*}}] count 2 trans
// CHECK:         cuda.mma_sync "m16n8k16_f16_f32" %s[%{{.*}}], %b_regs[%{{.*}}], %c[%{{.*}}]
cuda.kernel @registers() grid(1) block(32) {
  %t = cuda.thread_id x
  %c = memref.alloca() : memref<16x8xf32, #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %s = memref.alloca() : memref<16x32xf16, #task.map<repeat(1, 4) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %b = memref.alloca() : memref<32x8xf16, #task.tile<row_major>, #cuda.space<shared>>
  task.matmul %s, %b to %c on %t via "m16n8k16_f16_f32" : memref<16x32xf16, #task.map<repeat(1, 4) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>, memref<32x8xf16, #task.tile<row_major>, #cuda.space<shared>> to memref<16x8xf32, #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
}
