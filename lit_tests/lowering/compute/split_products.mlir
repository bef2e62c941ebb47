// RUN: hidet-opt %s -p 'split-products{arch="sm_90a"}' --split-input-file | filecheck %s
// RUN: hidet-opt %s -p 'split-products{arch="cpu"}' --split-input-file | filecheck %s --check-prefix CPU
// RUN: hidet-opt %s -p 'split-products{parallel_k="disabled"}' --split-input-file | filecheck %s --check-prefix CPU
// RUN: hidet-opt %s -p 'split-products{arch="cpu" parallel_k="3"}' --split-input-file | filecheck %s --check-prefix THREE

// 64 tiles at most, and a sum over 16384: some batches of products over views of the operands, and a
// grid that adds them up in their order. On a CPU every product stays as it is.

// CHECK-LABEL: func.func @long
// CHECK-NEXT:    %[[X:.*]] = compute.grid (%i, %j, %k) {
// CHECK-NEXT:      %[[PART:.*]] = arith.constant [[LENGTH:[0-9]+]] : index
// CHECK-NEXT:      %[[FIRST:.*]] = arith.muli %i, %[[PART]] : index
// CHECK-NEXT:      %[[K:.*]] = arith.addi %[[FIRST]], %k : index
// CHECK-NEXT:      %[[V:.*]] = compute.load %x[%j, %[[K]]]
// CHECK-NEXT:      compute.yield %[[V]] : f16
// CHECK-NEXT:    } : tensor<[[P:[0-9]+]]x16x[[LENGTH]]xf16>
// CHECK-NEXT:    %[[W:.*]] = compute.grid
// CHECK:           compute.load %w[%{{.*}}, %{{.*}}]
// CHECK:         } : tensor<[[P]]x[[LENGTH]]x2048xf16>
// CHECK-NEXT:    %parts = graph.matmul %[[X]], %[[W]] : (tensor<[[P]]x16x[[LENGTH]]xf16>, tensor<[[P]]x[[LENGTH]]x2048xf16>) -> tensor<[[P]]x16x2048xf32>
// CHECK-NEXT:    %y = compute.grid (%[[I:.*]], %[[J:.*]]) {
// CHECK-NEXT:      %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT:      %[[P0:.*]] = compute.load %parts[%[[C0]], %[[I]], %[[J]]]
// CHECK-NEXT:      %[[C1:.*]] = arith.constant 1 : index
// CHECK-NEXT:      %[[P1:.*]] = compute.load %parts[%[[C1]], %[[I]], %[[J]]]
// CHECK-NEXT:      %[[C2:.*]] = arith.constant 2 : index
// CHECK-NEXT:      %[[P2:.*]] = compute.load %parts[%[[C2]], %[[I]], %[[J]]]
// CHECK:           %[[S1:.*]] = arith.addf %[[P0]], %[[P1]] : f32
// CHECK-NEXT:      %[[S2:.*]] = arith.addf %[[S1]], %[[P2]] : f32
// CHECK:         } : tensor<16x2048xf32>
// CHECK-NEXT:    func.return %y
// CPU-LABEL: func.func @long
// CPU-NEXT:    %y = graph.matmul %x, %w
func.func @long(%x : tensor<16x16384xf16>, %w : tensor<16384x2048xf16>) -> tensor<16x2048xf32> {
  %y = graph.matmul %x, %w : (tensor<16x16384xf16>, tensor<16384x2048xf16>) -> tensor<16x2048xf32>
  func.return %y : tensor<16x2048xf32>
}

// -----

// A batch stays one, with the parts in front of it; an operand without batch has dimensions of 1. What
// is narrower than the sums is rounded when they are complete.

// CHECK-LABEL: func.func @batch
// CHECK:         } : tensor<[[P:[0-9]+]]x2x16x[[K:[0-9]+]]xf16>
// CHECK:         } : tensor<[[P]]x1x[[K]]x256xf16>
// CHECK:         %parts = graph.matmul {{.*}} -> tensor<[[P]]x2x16x256xf32>
// CHECK:         arith.truncf %{{.*}} : f32 to f16
// CHECK:         } : tensor<2x16x256xf16>
func.func @batch(%x : tensor<2x16x8192xf16>, %w : tensor<8192x256xf16>) -> tensor<2x16x256xf16> {
  %y = graph.matmul %x, %w : (tensor<2x16x8192xf16>, tensor<8192x256xf16>) -> tensor<2x16x256xf16>
  func.return %y : tensor<2x16x256xf16>
}

// -----

// Left alone: what has tiles for the whole machine; sums that do not come out even; a single row,
// which `gemv` shares among threads.

// CHECK-LABEL: func.func @left
// CHECK-NEXT:    graph.matmul
// CHECK-NEXT:    graph.matmul
// CHECK-NEXT:    graph.matmul
// CHECK-NEXT:    func.return
func.func @left(%x : tensor<4096x4096xf16>, %u : tensor<16x8190xf16>, %v : tensor<8190x4096xf16>, %r : tensor<1x8192xf16>,
    %w : tensor<8192x4096xf16>) -> (tensor<4096x4096xf32>, tensor<16x4096xf32>, tensor<1x4096xf32>) {
  %0 = graph.matmul %x, %x : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf32>
  %1 = graph.matmul %u, %v : (tensor<16x8190xf16>, tensor<8190x4096xf16>) -> tensor<16x4096xf32>
  %2 = graph.matmul %r, %w : (tensor<1x8192xf16>, tensor<8192x4096xf16>) -> tensor<1x4096xf32>
  func.return %0, %1, %2 : tensor<4096x4096xf32>, tensor<16x4096xf32>, tensor<1x4096xf32>
}

// -----

// Parts that a norm reads are added up in its kernel, which there is in any case: so more is split.

// CHECK-LABEL: func.func @norm
// CHECK:         %parts = graph.matmul
// CHECK-LABEL: func.func @no_norm
// CHECK-NEXT:    graph.matmul
func.func @norm(%x : tensor<128x3072xf16>, %w : tensor<3072x768xf16>, %r : tensor<128x768xf32>) -> tensor<128xf32> {
  %p = graph.matmul %x, %w : (tensor<128x3072xf16>, tensor<3072x768xf16>) -> tensor<128x768xf32>
  %y = compute.grid (%i, %j) {
    %0 = compute.load %p[%i, %j] : tensor<128x768xf32>
    %1 = compute.load %r[%i, %j] : tensor<128x768xf32>
    %2 = arith.addf %0, %1 : f32
    compute.yield %2 : f32
  } : tensor<128x768xf32>
  %s = compute.grid (%i) {
    %t = compute.reduce add [768] (%j) {
      %0 = compute.load %y[%i, %j] : tensor<128x768xf32>
      compute.yield %0 : f32
    } : f32
    compute.yield %t : f32
  } : tensor<128xf32>
  func.return %s : tensor<128xf32>
}
func.func @no_norm(%x : tensor<128x3072xf16>, %w : tensor<3072x768xf16>) -> tensor<128x768xf32> {
  %p = graph.matmul %x, %w : (tensor<128x3072xf16>, tensor<3072x768xf16>) -> tensor<128x768xf32>
  func.return %p : tensor<128x768xf32>
}

// -----

// As many slices as `parallel_k` says, where they come out even and sums are those of floats.

// THREE-LABEL: func.func @three
// THREE:         %parts = graph.matmul {{.*}} -> tensor<3x16x64xf32>
// THREE:         %y = compute.grid
// THREE:         %z = graph.matmul %u, %v
func.func @three(%x : tensor<16x96xf32>, %w : tensor<96x64xf32>, %u : tensor<16x64xf32>, %v : tensor<64x64xf32>)
    -> (tensor<16x64xf32>, tensor<16x64xf32>) {
  %y = graph.matmul %x, %w : (tensor<16x96xf32>, tensor<96x64xf32>) -> tensor<16x64xf32>
  %z = graph.matmul %u, %v : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  func.return %y, %z : tensor<16x64xf32>, tensor<16x64xf32>
}
