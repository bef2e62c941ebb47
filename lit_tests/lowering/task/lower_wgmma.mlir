// RUN: hidet-opt %s -p 'lower-task,simplify-index' --split-input-file | filecheck %s

// Two warp groups, each 64 x 32 of the product, in two steps of k. Both factors are given by
// descriptors: the left tile is contiguous along k, so the next step is 32 bytes further on; the
// right one is contiguous along its columns (trans_b), and is 16 rows of 64 bytes further on. The
// product is only begun: whoever has made the ring waits.

// CHECK-LABEL: cuda.kernel @begun
// CHECK-DAG:     %[[A:.*]] = memref.alloca() : memref<2x128x32xf16, #cuda.space<shared>>
// CHECK-DAG:     %[[B:.*]] = memref.alloca() : memref<32x32xf16, #cuda.space<shared>>
// CHECK-NOT:     cuda.sync_threads
// CHECK:         cuda.wgmma_fence
// CHECK:         %[[DA:.*]] = cuda.matrix_descriptor %[[A]][%{{.*}}, %{{.*}}, %{{.*}}] leading 16 stride 512 swizzle 64
// CHECK:         %[[DB:.*]] = cuda.matrix_descriptor %[[B]][%{{.*}}, %{{.*}}] leading 2048 stride 512 swizzle 64
// CHECK:         cuda.wgmma "m64n32k16_f16_f32" %[[DA]], %[[DB]] trans_b, %{{.*}}[%{{.*}}] accumulate %[[YES:.*]] :
// CHECK:         %[[ROWS:.*]] = arith.constant 64 : i64
// CHECK:         %[[DB2:.*]] = arith.addi %[[DB]], %[[ROWS]] : i64
// CHECK:         %[[TWO:.*]] = arith.constant 2 : i64
// CHECK:         %[[DA2:.*]] = arith.addi %[[DA]], %[[TWO]] : i64
// CHECK:         cuda.wgmma "m64n32k16_f16_f32" %[[DA2]], %[[DB2]] trans_b
// CHECK-NEXT:    cuda.wgmma_commit
// CHECK-NOT:     cuda.wgmma_wait
cuda.kernel @begun() grid(1) block(256) {
  %t = cuda.thread_id x
  %one = arith.constant 1 : index
  %c = memref.alloca() : memref<128x32xf32, #task.map<spatial(2, 1) * spatial(4, 1) * repeat(1, 4) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %a = memref.alloca() : memref<2x128x32xf16, #task.tile<row_major, swizzle 64>, #cuda.space<shared>>
  %b = memref.alloca() : memref<32x32xf16, #task.tile<row_major, swizzle 64>, #cuda.space<shared>>
  task.matmul %a[%one], %b to %c on %t via "m64n32k16_f16_f32" async : memref<2x128x32xf16, #task.tile<row_major, swizzle 64>, #cuda.space<shared>>, memref<32x32xf16, #task.tile<row_major, swizzle 64>, #cuda.space<shared>> to memref<128x32xf32, #task.map<spatial(2, 1) * spatial(4, 1) * repeat(1, 4) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
}

// -----

// A right tile that is transposed, columns by k, is contiguous along k: the next step is 32 bytes
// further on, and nothing is transposed.

// CHECK-LABEL: cuda.kernel @transposed
// CHECK:         %[[B:.*]] = memref.alloca() : memref<32x32xf16, #cuda.space<shared>>
// CHECK:         %[[DB:.*]] = cuda.matrix_descriptor %[[B]][%{{.*}}, %{{.*}}] leading 16 stride 512 swizzle 64
// CHECK:         cuda.wgmma "m64n32k16_f16_f32" %[[DA:.*]], %[[DB]], %{{.*}}[%{{.*}}] accumulate
// CHECK:         %[[TWO:.*]] = arith.constant 2 : i64
// CHECK:         %[[DB2:.*]] = arith.addi %[[DB]], %[[TWO]] : i64
// CHECK:         cuda.wgmma "m64n32k16_f16_f32" %{{.*}}, %[[DB2]], %{{.*}}[%{{.*}}] accumulate
cuda.kernel @transposed() grid(1) block(128) {
  %t = cuda.thread_id x
  %c = memref.alloca() : memref<64x32xf32, #task.map<spatial(4, 1) * repeat(1, 4) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %a = memref.alloca() : memref<64x32xf16, #task.tile<row_major, swizzle 64>, #cuda.space<shared>>
  %b = memref.alloca() : memref<32x32xf16, #task.tile<row_major, swizzle 64>, #cuda.space<shared>>
  task.matmul %a, %b transposed to %c on %t via "m64n32k16_f16_f32" async : memref<64x32xf16, #task.tile<row_major, swizzle 64>, #cuda.space<shared>>, memref<32x32xf16, #task.tile<row_major, swizzle 64>, #cuda.space<shared>> to memref<64x32xf32, #task.map<spatial(4, 1) * repeat(1, 4) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
}

// -----

// Outside of a ring all threads' stores to the tiles are seen first, and the product is waited for.

// CHECK-LABEL: cuda.kernel @ended
// CHECK:         cuda.fence_proxy_async
// CHECK-NEXT:    cuda.sync_threads
// CHECK:         cuda.wgmma "m64n8k16_bf16_f32"
// CHECK-NEXT:    cuda.wgmma_commit
// CHECK-NEXT:    cuda.wgmma_wait 0
// CHECK:         cuda.wgmma_fence_operand %{{.*}}[%{{.*}}] count 4
cuda.kernel @ended() grid(1) block(128) {
  %t = cuda.thread_id x
  %c = memref.alloca() : memref<64x8xf32, #task.map<spatial(4, 1) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %a = memref.alloca() : memref<64x16xbf16, #task.tile<row_major, swizzle 32>, #cuda.space<shared>>
  %b = memref.alloca() : memref<16x8xbf16, #task.tile<column_major, swizzle 32>, #cuda.space<shared>>
  task.matmul %a, %b to %c on %t via "m64n8k16_bf16_f32" : memref<64x16xbf16, #task.tile<row_major, swizzle 32>, #cuda.space<shared>>, memref<16x8xbf16, #task.tile<column_major, swizzle 32>, #cuda.space<shared>> to memref<64x8xf32, #task.map<spatial(4, 1) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
}

// -----

// A left factor in registers has fragments of 16 columns, which the instruction takes as they are.
// With `overwrite` the first step of k replaces the accumulator.

// CHECK-LABEL: cuda.kernel @registers
// CHECK-DAG:     %[[FIRST:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[NEXT:.*]] = arith.constant 8 : index
// CHECK:         %[[NO:.*]] = arith.constant false
// CHECK-NEXT:    cuda.wgmma_rs "m64n8k16_f16_f32" %a[%[[FIRST]]], %{{.*}}, %c[%[[FIRST]]] accumulate %[[NO]] :
// CHECK:         %[[YES:.*]] = arith.constant true
// CHECK-NEXT:    cuda.wgmma_rs "m64n8k16_f16_f32" %a[%[[NEXT]]], %{{.*}}, %c[%[[FIRST]]] accumulate %[[YES]] :
// CHECK-NEXT:    cuda.wgmma_commit
cuda.kernel @registers() grid(1) block(128) {
  %t = cuda.thread_id x
  %c = memref.alloca() : memref<64x8xf32, #task.map<spatial(4, 1) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %a = memref.alloca() : memref<64x32xf16, #task.map<spatial(4, 1) * repeat(1, 4) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %b = memref.alloca() : memref<32x8xf16, #task.tile<column_major, swizzle 64>, #cuda.space<shared>>
  task.matmul %a, %b to %c on %t via "m64n8k16_f16_f32" async overwrite : memref<64x32xf16, #task.map<spatial(4, 1) * repeat(1, 4) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>, memref<32x8xf16, #task.tile<column_major, swizzle 64>, #cuda.space<shared>> to memref<64x8xf32, #task.map<spatial(4, 1) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
}
