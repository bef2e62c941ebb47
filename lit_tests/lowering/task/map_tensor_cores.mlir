// RUN: hidet-opt %s -p 'map-tensor-cores' --split-input-file | filecheck %s

// The config names the instruction, and how many warps share rows and columns. The accumulator
// consists of fragments; tiles are contiguous as what they are copied from, and swizzled.

// CHECK:       #[[C:.*]] = #task.map<spatial(2, 2) * repeat(2, 2) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>
// CHECK-LABEL: cuda.kernel @mma
// CHECK:         %c = memref.alloca() : memref<64x32xf32, #[[C]], #cuda.space<register>>
// CHECK-NEXT:    %a = memref.alloca() : memref<64x32xf16, #task.tile<row_major, swizzle 64>, #cuda.space<shared>>
// CHECK-NEXT:    %b = memref.alloca() : memref<32x32xf16, #task.tile<column_major, swizzle 64>, #cuda.space<shared>>
// CHECK:         task.matmul %a, %b to %c on %t via "m16n8k16_f16_f32"
cuda.kernel @mma(%x : memref<64x64xf16>, %w : memref<64x64xf16>) grid(1) block(128) attributes {config = {instruction = "m16n8k16_f16_f32", rows = 2 : i64, columns = 2 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %wt = compute.grid (%i, %j) {
    %v = compute.load %w[%j, %i] : memref<64x64xf16>
    compute.yield %v : f16
  } : tensor<64x64xf16>
  %c = memref.alloca() : memref<64x32xf32, #task.map<?>, #cuda.space<register>>
  %a = memref.alloca() : memref<64x32xf16, #cuda.space<shared>>
  %b = memref.alloca() : memref<32x32xf16, #cuda.space<shared>>
  task.copy %x[%z, %z] to %a[] in #task.map<?> on %t : memref<64x64xf16> to memref<64x32xf16, #cuda.space<shared>>
  task.copy %wt[%z, %z] to %b[] in #task.map<?> on %t : tensor<64x64xf16> to memref<32x32xf16, #cuda.space<shared>>
  task.matmul %a, %b to %c on %t : memref<64x32xf16, #cuda.space<shared>>, memref<32x32xf16, #cuda.space<shared>> to memref<64x32xf32, #task.map<?>, #cuda.space<register>>
}

// -----

// TF32 has no transposing load: its tiles are contiguous along k, whatever the source is.

// CHECK-LABEL: cuda.kernel @tf32
// CHECK:         %a = memref.alloca() : memref<16x32xf32, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
// CHECK-NEXT:    %b = memref.alloca() : memref<32x8xf32, #task.tile<column_major, swizzle 128>, #cuda.space<shared>>
// CHECK:         via "m16n8k8_tf32_f32"
cuda.kernel @tf32(%x : memref<16x32xf32>, %w : memref<32x8xf32>) grid(1) block(32) attributes {config = {instruction = "m16n8k8_tf32_f32", rows = 1 : i64, columns = 1 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %c = memref.alloca() : memref<16x8xf32, #task.map<?>, #cuda.space<register>>
  %a = memref.alloca() : memref<16x32xf32, #cuda.space<shared>>
  %b = memref.alloca() : memref<32x8xf32, #cuda.space<shared>>
  task.copy %x[%z, %z] to %a[] in #task.map<?> on %t : memref<16x32xf32> to memref<16x32xf32, #cuda.space<shared>>
  task.copy %w[%z, %z] to %b[] in #task.map<?> on %t : memref<32x8xf32> to memref<32x8xf32, #cuda.space<shared>>
  task.matmul %a, %b to %c on %t : memref<16x32xf32, #cuda.space<shared>>, memref<32x8xf32, #cuda.space<shared>> to memref<16x8xf32, #task.map<?>, #cuda.space<register>>
}

// -----

// By FMA, blocked: each thread has neighbouring elements. A product with a map stays as it is.

// CHECK:       #[[F:.*]] = #task.map<spatial(4, 8) * repeat(2, 2)>
// CHECK-NEXT:  #m1 = #task.map<spatial(8, 4) * repeat(1, 4)>
// CHECK-LABEL: cuda.kernel @fma
// CHECK:         %c = memref.alloca() : memref<8x16xf32, #[[F]], #cuda.space<register>>
// CHECK-NEXT:    %d = memref.alloca() : memref<8x16xf32, #m1, #cuda.space<register>>
// CHECK-NEXT:    %a = memref.alloca() : memref<8x8xf32, #cuda.space<shared>>
// CHECK-NEXT:    %b = memref.alloca() : memref<8x16xf32, #cuda.space<shared>>
// CHECK-NOT:     via
cuda.kernel @fma() grid(1) block(32) attributes {config = {instruction = "fma", rows = 4 : i64, columns = 8 : i64}} {
  %t = cuda.thread_id x
  %c = memref.alloca() : memref<8x16xf32, #task.map<?>, #cuda.space<register>>
  %d = memref.alloca() : memref<8x16xf32, #task.map<spatial(8, 4) * repeat(1, 4)>, #cuda.space<register>>
  %a = memref.alloca() : memref<8x8xf32, #cuda.space<shared>>
  %b = memref.alloca() : memref<8x16xf32, #cuda.space<shared>>
  task.matmul %a, %b to %d on %t : memref<8x8xf32, #cuda.space<shared>>, memref<8x16xf32, #cuda.space<shared>> to memref<8x16xf32, #task.map<spatial(8, 4) * repeat(1, 4)>, #cuda.space<register>>
  task.matmul %a, %b to %c on %t : memref<8x8xf32, #cuda.space<shared>>, memref<8x16xf32, #cuda.space<shared>> to memref<8x16xf32, #task.map<?>, #cuda.space<register>>
}

// -----

// By FMA, striped: adjacent threads own adjacent elements or vectors, in warps of 4x8. A tile has the
// contiguous dimension of its source: %a along k, so threads read vectors of k; %b along columns.

// CHECK:       #[[F:.*]] = #task.map<repeat(2, 1) * spatial(2, 8) * repeat(1, 4) * spatial(2, 1)>
// CHECK-LABEL: cuda.kernel @striped
// CHECK:         %c = memref.alloca() : memref<8x32xf32, #[[F]], #cuda.space<register>>
// CHECK-NEXT:    %a = memref.alloca() : memref<8x16xf32, #task.tile<row_major, swizzle 64>, #cuda.space<shared>>
// CHECK-NEXT:    %b = memref.alloca() : memref<16x32xf32, #task.tile<row_major>, #cuda.space<shared>>
cuda.kernel @striped(%x : memref<8x16xf32>, %w : memref<16x32xf32>) grid(1) block(32) attributes {config = {instruction = "fma", rows = 4 : i64, columns = 8 : i64, arrangement = "striped"}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %c = memref.alloca() : memref<8x32xf32, #task.map<?>, #cuda.space<register>>
  %a = memref.alloca() : memref<8x16xf32, #cuda.space<shared>>
  %b = memref.alloca() : memref<16x32xf32, #cuda.space<shared>>
  task.copy %x[%z, %z] to %a[] in #task.map<?> on %t : memref<8x16xf32> to memref<8x16xf32, #cuda.space<shared>>
  task.copy %w[%z, %z] to %b[] in #task.map<?> on %t : memref<16x32xf32> to memref<16x32xf32, #cuda.space<shared>>
  task.matmul %a, %b to %c on %t : memref<8x16xf32, #cuda.space<shared>>, memref<16x32xf32, #cuda.space<shared>> to memref<8x32xf32, #task.map<?>, #cuda.space<register>>
}

// -----

// By FMA, transposed: %a is contiguous along its rows, too; its copy transposes, and padding avoids
// bank conflicts.

// CHECK:       #[[F:.*]] = #task.map<repeat(2, 1) * spatial(2, 8) * spatial(2, 1) * repeat(4, 4)>
// CHECK-LABEL: cuda.kernel @transposed
// CHECK:         %c = memref.alloca() : memref<32x32xf32, #[[F]], #cuda.space<register>>
// CHECK-NEXT:    %a = memref.alloca() : memref<32x16xf32, #task.tile<column_major, padding 16>, #cuda.space<shared>>
// CHECK-NEXT:    %b = memref.alloca() : memref<16x32xf32, #task.tile<row_major>, #cuda.space<shared>>
cuda.kernel @transposed(%x : memref<32x16xf32>, %w : memref<16x32xf32>) grid(1) block(32) attributes {config = {instruction = "fma", rows = 4 : i64, columns = 8 : i64, arrangement = "transposed"}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %c = memref.alloca() : memref<32x32xf32, #task.map<?>, #cuda.space<register>>
  %a = memref.alloca() : memref<32x16xf32, #cuda.space<shared>>
  %b = memref.alloca() : memref<16x32xf32, #cuda.space<shared>>
  task.copy %x[%z, %z] to %a[] in #task.map<?> on %t : memref<32x16xf32> to memref<32x16xf32, #cuda.space<shared>>
  task.copy %w[%z, %z] to %b[] in #task.map<?> on %t : memref<16x32xf32> to memref<16x32xf32, #cuda.space<shared>>
  task.matmul %a, %b to %c on %t : memref<32x16xf32, #cuda.space<shared>>, memref<16x32xf32, #cuda.space<shared>> to memref<32x32xf32, #task.map<?>, #cuda.space<register>>
}

// -----

// Products of warp groups (wgmma). A tile that is contiguous along its side is cut into panels that
// a product takes whole: 32 columns have rows of 64 bytes.

// CHECK:       #[[C:.*]] = #task.map<spatial(2, 2) * repeat(1, 4) * spatial(4, 1) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>
// CHECK-LABEL: cuda.kernel @wgmma
// CHECK:         %c = memref.alloca() : memref<128x64xf32, #[[C]], #cuda.space<register>>
// CHECK-NEXT:    %a = memref.alloca() : memref<128x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
// CHECK-NEXT:    %b = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 64>, #cuda.space<shared>>
// CHECK:         task.matmul %a, %b to %c on %t via "m64n32k16_f16_f32"
cuda.kernel @wgmma(%x : memref<128x64xf16>, %w : memref<64x64xf16>) grid(1) block(512) attributes {config = {instruction = "m64n32k16_f16_f32", rows = 2 : i64, columns = 2 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %c = memref.alloca() : memref<128x64xf32, #task.map<?>, #cuda.space<register>>
  %a = memref.alloca() : memref<128x64xf16, #cuda.space<shared>>
  %b = memref.alloca() : memref<64x64xf16, #cuda.space<shared>>
  task.copy %x[%z, %z] to %a[] in #task.map<?> on %t : memref<128x64xf16> to memref<128x64xf16, #cuda.space<shared>>
  task.copy %w[%z, %z] to %b[] in #task.map<?> on %t : memref<64x64xf16> to memref<64x64xf16, #cuda.space<shared>>
  task.matmul %a, %b to %c on %t : memref<128x64xf16, #cuda.space<shared>>, memref<64x64xf16, #cuda.space<shared>> to memref<128x64xf32, #task.map<?>, #cuda.space<register>>
}

// -----

// The left factor is in registers: fragments of sums, which the instruction takes as they are. What
// there is one of for each row belongs to all who have elements of the row.

// CHECK:       #[[C:.*]] = #task.map<repeat(1, 2) * spatial(2, 1) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>
// CHECK-NEXT:  #[[R:.*]] = #task.map<spatial(2) * repeat(2) * spatial(8) * replicate(4)>
// CHECK-LABEL: cuda.kernel @chain
// CHECK:         %s = memref.alloca() : memref<32x16xf16, #[[C]], #cuda.space<register>>
// CHECK-NEXT:    %c = memref.alloca() : memref<32x16xf32, #[[C]], #cuda.space<register>>
// CHECK-NEXT:    %r = memref.alloca() : memref<32xf32, #[[R]], #cuda.space<register>>
// CHECK:         task.matmul %s, %b to %c on %t via "m16n8k16_f16_f32"
// CHECK:         task.combine max %r on %t : memref<32xf32, #[[R]], #cuda.space<register>>
cuda.kernel @chain() grid(1) block(64) attributes {config = {instruction = "m16n8k16_f16_f32", rows = 2 : i64, columns = 1 : i64}} {
  %t = cuda.thread_id x
  %s = memref.alloca() : memref<32x16xf16, #task.map<?>, #cuda.space<register>>
  %c = memref.alloca() : memref<32x16xf32, #task.map<?>, #cuda.space<register>>
  %r = memref.alloca() : memref<32xf32, #task.map<?>, #cuda.space<register>>
  %b = memref.alloca() : memref<16x16xf16, #cuda.space<shared>>
  task.matmul %s, %b to %c on %t : memref<32x16xf16, #task.map<?>, #cuda.space<register>>, memref<16x16xf16, #cuda.space<shared>> to memref<32x16xf32, #task.map<?>, #cuda.space<register>>
  task.foreach (%i, %j) of %c on %t : memref<32x16xf32, #task.map<?>, #cuda.space<register>> {
    %v = memref.load %c[%i, %j] : memref<32x16xf32, #task.map<?>, #cuda.space<register>>
    %m = memref.load %r[%i] : memref<32xf32, #task.map<?>, #cuda.space<register>>
    %n = arith.maxnumf %v, %m : f32
    memref.store %n, %r[%i] : memref<32xf32, #task.map<?>, #cuda.space<register>>
  }
  task.combine max %r on %t : memref<32xf32, #task.map<?>, #cuda.space<register>>
}

// -----

// Of products of several widths the narrower ones take the instruction that has their columns; and
// factors of tf32 lie along k, also where their source does not.

// CHECK-LABEL: cuda.kernel @widths
// CHECK:         memref.alloca() : memref<32x64xf32, #task.tile<column_major, swizzle 128>, #cuda.space<shared>>
// CHECK:         task.matmul %a, %b to %c on %t via "m64n64k8_tf32_f32"
// CHECK:         task.matmul %a, %d to %e on %t via "m64n16k8_tf32_f32"
cuda.kernel @widths(%x : memref<64x32xf32>, %w : memref<32x64xf32>, %v : memref<32x16xf32>) grid(1) block(128) attributes {config = {instruction = "m64n64k8_tf32_f32", rows = 1 : i64, columns = 1 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %c = memref.alloca() : memref<64x64xf32, #task.map<?>, #cuda.space<register>>
  %e = memref.alloca() : memref<64x16xf32, #task.map<?>, #cuda.space<register>>
  %a = memref.alloca() : memref<64x32xf32, #cuda.space<shared>>
  %b = memref.alloca() : memref<32x64xf32, #cuda.space<shared>>
  %d = memref.alloca() : memref<32x16xf32, #cuda.space<shared>>
  task.copy %x[%z, %z] to %a[] in #task.map<?> on %t : memref<64x32xf32> to memref<64x32xf32, #cuda.space<shared>>
  task.copy %w[%z, %z] to %b[] in #task.map<?> on %t : memref<32x64xf32> to memref<32x64xf32, #cuda.space<shared>>
  task.copy %v[%z, %z] to %d[] in #task.map<?> on %t : memref<32x16xf32> to memref<32x16xf32, #cuda.space<shared>>
  task.matmul %a, %b to %c on %t : memref<64x32xf32, #cuda.space<shared>>, memref<32x64xf32, #cuda.space<shared>> to memref<64x64xf32, #task.map<?>, #cuda.space<register>>
  task.matmul %a, %d to %e on %t : memref<64x32xf32, #cuda.space<shared>>, memref<32x16xf32, #cuda.space<shared>> to memref<64x16xf32, #task.map<?>, #cuda.space<register>>
}

// -----

// A tile that one matmul takes transposed, and another one as it is, has one layout: that of its rows.

// CHECK-LABEL: cuda.kernel @transposed
// CHECK:         %b = memref.alloca() : memref<32x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
// CHECK:         task.matmul %a, %b transposed to %c on %t via "m64n32k16_f16_f32"
// CHECK:         task.matmul %s, %b to %d on %t via "m64n64k16_f16_f32"
cuda.kernel @transposed(%x : memref<64x64xf16>, %w : memref<32x64xf16>) grid(1) block(128) attributes {config = {instruction = "m64n256k16_f16_f32", rows = 1 : i64, columns = 1 : i64}} {
  %t = cuda.thread_id x
  %z = arith.constant 0 : index
  %a = memref.alloca() : memref<64x64xf16, #cuda.space<shared>>
  %b = memref.alloca() : memref<32x64xf16, #cuda.space<shared>>
  %c = memref.alloca() : memref<64x32xf32, #task.map<?>, #cuda.space<register>>
  %s = memref.alloca() : memref<64x32xf16, #task.map<?>, #cuda.space<register>>
  %d = memref.alloca() : memref<64x64xf32, #task.map<?>, #cuda.space<register>>
  task.copy %x[%z, %z] to %a[] in #task.map<?> on %t : memref<64x64xf16> to memref<64x64xf16, #cuda.space<shared>>
  task.copy %w[%z, %z] to %b[] in #task.map<?> on %t : memref<32x64xf16> to memref<32x64xf16, #cuda.space<shared>>
  task.matmul %a, %b transposed to %c on %t : memref<64x64xf16, #cuda.space<shared>>, memref<32x64xf16, #cuda.space<shared>> to memref<64x32xf32, #task.map<?>, #cuda.space<register>>
  task.matmul %s, %b to %d on %t : memref<64x32xf16, #task.map<?>, #cuda.space<register>>, memref<32x64xf16, #cuda.space<shared>> to memref<64x64xf32, #task.map<?>, #cuda.space<register>>
}
