// RUN: hidet-opt %s -p 'schedule{arch="sm_80"}' --split-input-file | filecheck %s

// Products of f32 run on tensor cores where their precision permits TF32, and only there.

// CHECK-LABEL: cuda.kernel @fast_kernel
// CHECK-SAME:    instruction = "m16n8k8_tf32_f32"
// CHECK-LABEL: cuda.kernel @exact_kernel
// CHECK-SAME:    instruction = "fma"
func.func @precision(%x : tensor<64x128xf32>, %w : tensor<128x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %y = compute.fusion (%x_ = %x : tensor<64x128xf32>, %w_ = %w : tensor<128x64xf32>) -> (tensor<64x64xf32>) {
    %fast = graph.matmul %x_, %w_ {precision = "tf32"} : (tensor<64x128xf32>, tensor<128x64xf32>) -> tensor<64x64xf32>
    compute.yield %fast : tensor<64x64xf32>
  }
  %z = compute.fusion (%x_ = %x : tensor<64x128xf32>, %w_ = %w : tensor<128x64xf32>) -> (tensor<64x64xf32>) {
    %exact = graph.matmul %x_, %w_ : (tensor<64x128xf32>, tensor<128x64xf32>) -> tensor<64x64xf32>
    compute.yield %exact : tensor<64x64xf32>
  }
  func.return %y, %z : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// With a few rows the matrix is loaded to registers, in vectors along k where it lies along k. The
// lanes that share a column combine their sums, and the first of them stores.

// CHECK-LABEL: cuda.kernel @t_row_r_kernel
// CHECK-SAME:    template = "gemv", along = "k"
// CHECK-SAME:    vector = 8
// CHECK:         %acc = memref.alloca() : memref<1x{{[0-9]+}}xf32, #m0, #cuda.space<register>>
// CHECK-NEXT:    %x = memref.alloca() : memref<1x{{[0-9]+}}xf16, #m1, #cuda.space<register>>
// CHECK-NEXT:    %w = memref.alloca() : memref<{{[0-9]+}}x{{[0-9]+}}xf16, #m2, #cuda.space<register>>
// CHECK:         task.copy %t[%{{.*}}, %column] to %w[] on %thread
// CHECK:         scf.for %k0
// CHECK:           task.copy %x_[%{{.*}}, %k0] to %x[] on %thread
// CHECK:           task.foreach (%i, %[[K:.*]], %j) in #m3 on %thread
// CHECK:           task.copy %t[%{{.*}}, %column] to %w[] on %thread
// CHECK:         task.combine add %acc on %thread
// CHECK:         task.foreach (%[[I:.*]], %[[J:.*]]) of %acc on %thread
// CHECK:           compute.store %{{.*}}, %product
func.func @along_k(%x : tensor<1x4096xf16>, %w : tensor<4096x4096xf16>) -> tensor<1x4096xf16> {
  %y = compute.fusion (%x_ = %x : tensor<1x4096xf16>, %w_ = %w : tensor<4096x4096xf16>) -> (tensor<1x4096xf16>) {
    %t = compute.grid (%k, %n) {
      %v = compute.load %w_[%n, %k] : tensor<4096x4096xf16>
      compute.yield %v : f16
    } : tensor<4096x4096xf16>
    %row = graph.matmul %x_, %t : (tensor<1x4096xf16>, tensor<4096x4096xf16>) -> tensor<1x4096xf32>
    %r = compute.grid (%i, %j) {
      %v = compute.load %row[%i, %j] : tensor<1x4096xf32>
      %h = arith.truncf %v : f32 to f16
      compute.yield %h : f16
    } : tensor<1x4096xf16>
    compute.yield %r : tensor<1x4096xf16>
  }
  func.return %y : tensor<1x4096xf16>
}

// -----

// Where it lies along n, vectors do. More rows than the machine multiplies while it loads go to
// tensor cores; and so do columns that a view reads several times over.

// CHECK-LABEL: cuda.kernel @row_kernel
// CHECK-SAME:    template = "gemv", along = "n", vector = 8
// CHECK-LABEL: cuda.kernel @rows_kernel
// CHECK-SAME:    template = "matmul"
// CHECK-LABEL: cuda.kernel @v_windows_kernel
// CHECK-SAME:    template = "matmul"
func.func @others(%x : tensor<1x512xf16>, %xs : tensor<16x512xf16>, %w : tensor<512x512xf16>, %p : tensor<64x512xf16>)
    -> (tensor<1x512xf32>, tensor<16x512xf32>, tensor<1x512xf32>) {
  %y = compute.fusion (%x_ = %x : tensor<1x512xf16>, %w_ = %w : tensor<512x512xf16>) -> (tensor<1x512xf32>) {
    %row = graph.matmul %x_, %w_ : (tensor<1x512xf16>, tensor<512x512xf16>) -> tensor<1x512xf32>
    compute.yield %row : tensor<1x512xf32>
  }
  %z = compute.fusion (%x_ = %xs : tensor<16x512xf16>, %w_ = %w : tensor<512x512xf16>) -> (tensor<16x512xf32>) {
    %rows = graph.matmul %x_, %w_ : (tensor<16x512xf16>, tensor<512x512xf16>) -> tensor<16x512xf32>
    compute.yield %rows : tensor<16x512xf32>
  }
  %u = compute.fusion (%x_ = %x : tensor<1x512xf16>, %p_ = %p : tensor<64x512xf16>) -> (tensor<1x512xf32>) {
    %v = compute.grid (%k, %n) {
      %eight = arith.constant 8 : index
      %part = arith.floordivsi %k, %eight : index
      %e = compute.load %p_[%part, %n] : tensor<64x512xf16>
      compute.yield %e : f16
    } : tensor<512x512xf16>
    %windows = graph.matmul %x_, %v : (tensor<1x512xf16>, tensor<512x512xf16>) -> tensor<1x512xf32>
    compute.yield %windows : tensor<1x512xf32>
  }
  func.return %y, %z, %u : tensor<1x512xf32>, tensor<16x512xf32>, tensor<1x512xf32>
}

// -----

// A config decides, for any number of rows.

// CHECK-LABEL: cuda.kernel @p_kernel
// CHECK-SAME:    grid(5) block(64)
// CHECK-SAME:    config = {template = "gemv", along = "k", vector = 4 : i64, lanes = 16 : i64, groups = 4 : i64, unroll = 1 : i64, columns = 2 : i64}
// CHECK:         %acc = memref.alloca() : memref<9x8xf32
// CHECK:         %x = memref.alloca() : memref<9x64xf32
// CHECK:         %w = memref.alloca() : memref<64x8xf32
func.func @config(%x : tensor<9x128xf32>, %w : tensor<128x40xf32>) -> tensor<9x40xf32> {
  %y = compute.fusion (%x_ = %x : tensor<9x128xf32>, %w_ = %w : tensor<128x40xf32>) -> (tensor<9x40xf32>) config {template = "gemv", along = "k", vector = 4 : i64, lanes = 16 : i64, groups = 4 : i64, unroll = 1 : i64, columns = 2 : i64} {
    %p = graph.matmul %x_, %w_ : (tensor<9x128xf32>, tensor<128x40xf32>) -> tensor<9x40xf32>
    compute.yield %p : tensor<9x40xf32>
  }
  func.return %y : tensor<9x40xf32>
}

// -----

// Of products that share the left factor a block computes a tile of each. The one result of both is
// stored with the first: an element of the second is in its accumulator, at the same place.

// CHECK-LABEL: cuda.kernel @p_q_g_kernel
// CHECK:         %acc = memref.alloca() : memref<32x32xf32
// CHECK-NEXT:    %acc_1 = memref.alloca() : memref<32x32xf32
// CHECK-NEXT:    %sa = memref.alloca() : memref<32x64xf16
// CHECK-NEXT:    %sb = memref.alloca() : memref<64x32xf16
// CHECK-NEXT:    %sb_1 = memref.alloca() : memref<64x32xf16
// CHECK:         scf.for %k0
// CHECK-NEXT:      task.copy %x_[%row, %k0] to %sa[]
// CHECK-NEXT:      task.copy %w_[%k0, %column] to %sb[]
// CHECK-NEXT:      task.copy %v_[%k0, %column_1] to %sb_1[]
// CHECK-NEXT:      task.matmul %sa, %sb to %acc on
// CHECK-NEXT:      task.matmul %sa, %sb_1 to %acc_1 on
// CHECK:         %[[SINK:.*]] = compute.sink (%[[I:.*]], %[[J:.*]], %{{.*}} : f32) {
// CHECK-NEXT:      %[[OWN_I:.*]] = arith.subi %[[I]], %row
// CHECK-NEXT:      %[[OWN_J:.*]] = arith.subi %[[J]], %column_1
// CHECK-NEXT:      memref.load %acc_1[%[[OWN_I]], %[[OWN_J]]]
// CHECK:         task.copy %acc[] to %[[SINK]][%row, %column] on
func.func @gate(%x : tensor<64x128xf16>, %w : tensor<128x64xf16>, %v : tensor<128x64xf16>) -> tensor<64x64xf32> {
  %y = compute.fusion (%x_ = %x : tensor<64x128xf16>, %w_ = %w : tensor<128x64xf16>, %v_ = %v : tensor<128x64xf16>) -> (tensor<64x64xf32>) config {template = "matmul", instruction = "m16n8k16_f16_f32", block_m = 32 : i64, block_n = 64 : i64, block_k = 64 : i64, rows = 2 : i64, columns = 2 : i64, stages = 1 : i64} {
    %p = graph.matmul %x_, %w_ : (tensor<64x128xf16>, tensor<128x64xf16>) -> tensor<64x64xf32>
    %q = graph.matmul %x_, %v_ : (tensor<64x128xf16>, tensor<128x64xf16>) -> tensor<64x64xf32>
    %g = compute.grid (%i, %j) {
      %0 = compute.load %p[%i, %j] : tensor<64x64xf32>
      %1 = compute.load %q[%i, %j] : tensor<64x64xf32>
      %2 = arith.mulf %0, %1 : f32
      compute.yield %2 : f32
    } : tensor<64x64xf32>
    compute.yield %g : tensor<64x64xf32>
  }
  func.return %y : tensor<64x64xf32>
}
