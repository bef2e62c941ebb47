// RUN: hidet-opt %s -p 'specialize-warps' --split-input-file | filecheck %s

// What 3 x 3 filters see of images, two pixels apart and with one row of zeros around: a tile is 64
// places after each other, and 64 channels of one tap. The tap is where the copied pixels lie from
// those of the map.

// CHECK-LABEL: cuda.kernel @strided
// CHECK:         %[[X:.*]] = cuda.tensor_map %x strides [10368, 1152, 128, 1] : memref<2x9x9x128xf16> -> !cuda.tensor_map<tensor<2x9x9x128xf16>, box [64, 64], pixels [-1, -1] to [7, 7] step [2, 2], swizzle 128>
// CHECK:         task.group first(0) count(128) (%producer) {
// CHECK:           scf.for %k0
// CHECK:             %[[N:.*]] = arith.divsi %row, %{{.*}} : index
// CHECK:             cuda.tma_load %[[X]](%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) offset(%{{.*}}, %{{.*}}) to %a[%{{.*}}] barrier %full
// CHECK-NOT:         task.copy
// CHECK:           {cuda.unroll = 4 : i64}
// CHECK:         task.group first(128) count(128)
cuda.kernel @strided(%x : memref<2x9x9x128xf16>, %w : memref<1152x64xf16>) grid(3) block(128) attributes {config = {stages = 3 : i64}} {
  %t = cuda.thread_id x
  %bid = cuda.block_id x
  %zero = arith.constant 0 : index
  %stop = arith.constant 1152 : index
  %step = arith.constant 64 : index
  %row = arith.muli %bid, %step : index
  %view = compute.grid (%i, %j) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    %c9 = arith.constant 9 : index
    %c25 = arith.constant 25 : index
    %channels = arith.constant 128 : index
    %n = arith.divsi %i, %c25 : index
    %rows = arith.divsi %i, %c5 : index
    %oh = arith.remsi %rows, %c5 : index
    %ow = arith.remsi %i, %c5 : index
    %taps = arith.divsi %j, %channels : index
    %r = arith.divsi %taps, %c3 : index
    %s = arith.remsi %taps, %c3 : index
    %c = arith.remsi %j, %channels : index
    %oh2 = arith.muli %oh, %c2 : index
    %y1 = arith.addi %oh2, %r : index
    %y = arith.subi %y1, %c1 : index
    %ow2 = arith.muli %ow, %c2 : index
    %x1 = arith.addi %ow2, %s : index
    %p = arith.subi %x1, %c1 : index
    %a0 = arith.cmpi sge, %y, %c0 : index
    %a1 = arith.cmpi slt, %y, %c9 : index
    %a2 = arith.cmpi sge, %p, %c0 : index
    %a3 = arith.cmpi slt, %p, %c9 : index
    %a4 = arith.andi %a0, %a1 : i1
    %a5 = arith.andi %a2, %a3 : i1
    %inside = arith.andi %a4, %a5 : i1
    %v = scf.if %inside -> (f16) {
      %u = compute.load %x[%n, %y, %p, %c] : memref<2x9x9x128xf16>
      scf.yield %u : f16
    } else {
      %z = arith.constant 0.0 : f16
      scf.yield %z : f16
    }
    compute.yield %v : f16
  } : tensor<50x1152xf16>
  %acc = memref.alloca() : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %a = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  %b = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  scf.for %k0 = %zero to %stop step %step {
    task.copy %view[%row, %k0] to %a[] in #task.map<?> on %t : tensor<50x1152xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
    task.copy %w[%k0, %zero] to %b[] in #task.map<?> on %t : memref<1152x64xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
    task.matmul %a, %b to %acc on %t via "m64n64k16_f16_f32" : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>, memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>> to memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  }
}

// -----

// A tile of 64 columns is of two taps where there are 96 channels: pipeline-copies fetches it.

// CHECK-LABEL: cuda.kernel @straddling
// CHECK-NOT:     task.group
cuda.kernel @straddling(%x : memref<2x9x9x96xf16>, %w : memref<864x64xf16>) grid(3) block(128) attributes {config = {stages = 3 : i64}} {
  %t = cuda.thread_id x
  %bid = cuda.block_id x
  %zero = arith.constant 0 : index
  %stop = arith.constant 864 : index
  %step = arith.constant 64 : index
  %row = arith.muli %bid, %step : index
  %view = compute.grid (%i, %j) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    %c9 = arith.constant 9 : index
    %c25 = arith.constant 25 : index
    %channels = arith.constant 96 : index
    %n = arith.divsi %i, %c25 : index
    %rows = arith.divsi %i, %c5 : index
    %oh = arith.remsi %rows, %c5 : index
    %ow = arith.remsi %i, %c5 : index
    %taps = arith.divsi %j, %channels : index
    %r = arith.divsi %taps, %c3 : index
    %s = arith.remsi %taps, %c3 : index
    %c = arith.remsi %j, %channels : index
    %oh2 = arith.muli %oh, %c2 : index
    %y1 = arith.addi %oh2, %r : index
    %y = arith.subi %y1, %c1 : index
    %ow2 = arith.muli %ow, %c2 : index
    %x1 = arith.addi %ow2, %s : index
    %p = arith.subi %x1, %c1 : index
    %a0 = arith.cmpi sge, %y, %c0 : index
    %a1 = arith.cmpi slt, %y, %c9 : index
    %a2 = arith.cmpi sge, %p, %c0 : index
    %a3 = arith.cmpi slt, %p, %c9 : index
    %a4 = arith.andi %a0, %a1 : i1
    %a5 = arith.andi %a2, %a3 : i1
    %inside = arith.andi %a4, %a5 : i1
    %v = scf.if %inside -> (f16) {
      %u = compute.load %x[%n, %y, %p, %c] : memref<2x9x9x96xf16>
      scf.yield %u : f16
    } else {
      %z = arith.constant 0.0 : f16
      scf.yield %z : f16
    }
    compute.yield %v : f16
  } : tensor<50x864xf16>
  %acc = memref.alloca() : memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  %a = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  %b = memref.alloca() : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  scf.for %k0 = %zero to %stop step %step {
    task.copy %view[%row, %k0] to %a[] in #task.map<?> on %t : tensor<50x864xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
    task.copy %w[%k0, %zero] to %b[] in #task.map<?> on %t : memref<864x64xf16> to memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
    task.matmul %a, %b to %acc on %t via "m64n64k16_f16_f32" : memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>, memref<64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>> to memref<64x64xf32, #task.map<spatial(4, 1) * repeat(1, 8) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>
  }
}
