// RUN: not hidet-opt %s -p 'pipeline-copies' 2>&1 | filecheck %s

// No chip has the shared memory of so many stages.

// CHECK: 1000 stages of a tile take 512000 bytes of shared memory, of {{[0-9]+}} at most
cuda.kernel @too_many(%x : memref<16x64xf16>, %w : memref<64x8xf16>) grid(1) block(32) attributes {config = {stages = 1000 : i64}} {
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
