// RUN: hidet-opt %s -p 'pipeline-copies' --split-input-file | filecheck %s

// Two of three tiles are under way at any time. What is copied as it is is asynchronous; what is
// computed waits in registers while the product runs.

// CHECK-LABEL: cuda.kernel @ring
// CHECK:         %a = memref.alloca() {task.ring} : memref<3x16x16xf16, #cuda.space<shared>>
// CHECK-NEXT:    %b = memref.alloca() {task.ring} : memref<3x16x8xf16, #cuda.space<shared>>
// CHECK:         task.copy %x[%z, %{{.*}}] to %a[%{{.*}}] in #{{.*}} on %t async
// CHECK:         task.copy %w2[%{{.*}}, %z] to %b[%{{.*}}] in #{{.*}} on %t :
// CHECK-NEXT:    cuda.cp_async_commit
// CHECK:         task.copy %x[%z, %{{.*}}] to %a[%{{.*}}] in #{{.*}} on %t async
// CHECK:         cuda.cp_async_commit
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
// CHECK:         cuda.cp_async_wait 0
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
