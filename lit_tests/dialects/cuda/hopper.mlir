// RUN: HIDET_ROUNDTRIP

// Products of a warp group.

// CHECK-LABEL: cuda.kernel @wgmma
cuda.kernel @wgmma(%i : index, %p : i1) grid(1) block(128) {
  %s = memref.alloca() : memref<128x64xf16, #cuda.space<shared>>
  %d = memref.alloca() : memref<2x64xf32, #cuda.space<local>>
  %f = memref.alloca() : memref<8xf16, #cuda.space<local>>
  // CHECK:      %a = cuda.matrix_descriptor %s[%i, %i] leading 16 stride 1024 swizzle 128 : memref<128x64xf16, #cuda.space<shared>>
  %a = cuda.matrix_descriptor %s[%i, %i] leading 16 stride 1024 swizzle 128 : memref<128x64xf16, #cuda.space<shared>>
  // CHECK-NEXT: cuda.wgmma_fence
  cuda.wgmma_fence
  // CHECK-NEXT: cuda.wgmma "m64n128k16_f16_f32" %a, %a, %d[%i, %i] accumulate %p : memref<2x64xf32, #cuda.space<local>>
  cuda.wgmma "m64n128k16_f16_f32" %a, %a, %d[%i, %i] accumulate %p : memref<2x64xf32, #cuda.space<local>>
  // CHECK-NEXT: cuda.wgmma "m64n8k16_bf16_f32" %a trans_a, %a trans_b, %d[%i, %i] accumulate %p : memref<2x64xf32, #cuda.space<local>>
  cuda.wgmma "m64n8k16_bf16_f32" %a trans_a, %a trans_b, %d[%i, %i] accumulate %p : memref<2x64xf32, #cuda.space<local>>
  // CHECK-NEXT: cuda.wgmma_rs "m64n128k16_f16_f32" %f[%i], %a trans_b, %d[%i, %i] accumulate %p : memref<8xf16, #cuda.space<local>>, memref<2x64xf32, #cuda.space<local>>
  cuda.wgmma_rs "m64n128k16_f16_f32" %f[%i], %a trans_b, %d[%i, %i] accumulate %p : memref<8xf16, #cuda.space<local>>, memref<2x64xf32, #cuda.space<local>>
  // CHECK-NEXT: cuda.wgmma_commit
  cuda.wgmma_commit
  // CHECK-NEXT: cuda.wgmma_wait 1
  cuda.wgmma_wait 1
  // CHECK-NEXT: cuda.wgmma_fence_operand %d[%i, %i] count 64 : memref<2x64xf32, #cuda.space<local>>
  cuda.wgmma_fence_operand %d[%i, %i] count 64 : memref<2x64xf32, #cuda.space<local>>
}

// Barriers in memory, and copies of boxes of tensors.

// CHECK-LABEL: cuda.kernel @copy(%map : !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>, %i : index, %n : i32) grid(1) block(128) {
cuda.kernel @copy(%map : !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>, %i : index, %n : i32) grid(1) block(128) {
  %s = memref.alloca() : memref<128x64xf16, #cuda.space<shared>>
  %b = memref.alloca() : memref<4xi64, #cuda.space<shared>>
  // CHECK:      cuda.mbarrier_init %b[%i] count %n : memref<4xi64, #cuda.space<shared>>
  cuda.mbarrier_init %b[%i] count %n : memref<4xi64, #cuda.space<shared>>
  // CHECK-NEXT: cuda.fence_mbarrier_init
  cuda.fence_mbarrier_init
  // CHECK-NEXT: cuda.mbarrier_arrive_expect_tx %b[%i] bytes %n : memref<4xi64, #cuda.space<shared>>
  cuda.mbarrier_arrive_expect_tx %b[%i] bytes %n : memref<4xi64, #cuda.space<shared>>
  // CHECK-NEXT: cuda.tma_load %map(%n, %n) to %s[%i, %i] barrier %b[%i] : memref<128x64xf16, #cuda.space<shared>>, memref<4xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>
  cuda.tma_load %map(%n, %n) to %s[%i, %i] barrier %b[%i] : memref<128x64xf16, #cuda.space<shared>>, memref<4xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>
  // CHECK-NEXT: cuda.mbarrier_wait %b[%i] parity %n : memref<4xi64, #cuda.space<shared>>
  cuda.mbarrier_wait %b[%i] parity %n : memref<4xi64, #cuda.space<shared>>
  // CHECK-NEXT: cuda.mbarrier_arrive %b[%i] : memref<4xi64, #cuda.space<shared>>
  cuda.mbarrier_arrive %b[%i] : memref<4xi64, #cuda.space<shared>>
  // CHECK-NEXT: cuda.cp_async_barrier_arrive %b[%i] : memref<4xi64, #cuda.space<shared>>
  cuda.cp_async_barrier_arrive %b[%i] : memref<4xi64, #cuda.space<shared>>
  // CHECK-NEXT: cuda.mbarrier_invalidate %b[%i] : memref<4xi64, #cuda.space<shared>>
  cuda.mbarrier_invalidate %b[%i] : memref<4xi64, #cuda.space<shared>>
  // CHECK-NEXT: cuda.fence_proxy_async
  cuda.fence_proxy_async
  // CHECK-NEXT: cuda.tma_store %s[%i, %i] to %map(%n) : memref<128x64xf16, #cuda.space<shared>>, !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>
  cuda.tma_store %s[%i, %i] to %map(%n) : memref<128x64xf16, #cuda.space<shared>>, !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>
  // CHECK-NEXT: cuda.tma_commit
  cuda.tma_commit
  // CHECK-NEXT: cuda.tma_wait 0
  cuda.tma_wait 0
}

// Copies of pixels say how far from the pixels of the map they are.

// CHECK-LABEL: cuda.kernel @copy_pixels
cuda.kernel @copy_pixels(%map : !cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 64], pixels [0, 0] to [13, 13] step [1, 1], swizzle 128>, %i : index, %n : i32) grid(1) block(128) {
  %s = memref.alloca() : memref<128x64xf16, #cuda.space<shared>>
  %b = memref.alloca() : memref<4xi64, #cuda.space<shared>>
  // CHECK: cuda.tma_load %map(%n, %n, %n, %n) offset(%n, %n) to %s[%i, %i] barrier %b[%i] : memref<128x64xf16, #cuda.space<shared>>, memref<4xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 64], pixels [0, 0] to [13, 13] step [1, 1], swizzle 128>
  cuda.tma_load %map(%n, %n, %n, %n) offset(%n, %n) to %s[%i, %i] barrier %b[%i] : memref<128x64xf16, #cuda.space<shared>>, memref<4xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 64], pixels [0, 0] to [13, 13] step [1, 1], swizzle 128>
}

// Warps with different work.

// CHECK-LABEL: cuda.kernel @roles(%n : i32)
cuda.kernel @roles(%n : i32) grid(1) block(256) {
  // CHECK-NEXT: cuda.grid_dependency_wait
  cuda.grid_dependency_wait
  // CHECK-NEXT: cuda.setmaxnreg "dec" 24
  cuda.setmaxnreg "dec" 24
  // CHECK-NEXT: cuda.setmaxnreg "inc" 256
  cuda.setmaxnreg "inc" 256
  // CHECK-NEXT: cuda.barrier_arrive %n count 256
  cuda.barrier_arrive %n count 256
  // CHECK-NEXT: cuda.barrier_sync %n count 32
  cuda.barrier_sync %n count 32
  // CHECK-NEXT: cuda.launch_dependents
  cuda.launch_dependents
}

// Clusters of blocks.

// CHECK-LABEL: cuda.kernel @cluster
// CHECK-SAME: attributes {cuda.cluster = array<i64: 2, 1, 1>}
cuda.kernel @cluster(%map : !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>, %i : index, %n : i32) grid(2) block(128) attributes {cuda.cluster = array<i64: 2, 1, 1>} {
  %s = memref.alloca() : memref<128x64xf16, #cuda.space<shared>>
  %b = memref.alloca() : memref<4xi64, #cuda.space<shared>>
  // CHECK:      cuda.cluster_arrive
  cuda.cluster_arrive
  // CHECK-NEXT: cuda.cluster_wait
  cuda.cluster_wait
  // CHECK-NEXT: %peer = cuda.map_shared_rank %s, %n : memref<128x64xf16, #cuda.space<shared>>
  %peer = cuda.map_shared_rank %s, %n : memref<128x64xf16, #cuda.space<shared>>
  // CHECK-NEXT: cuda.mbarrier_arrive_cluster %b[%i] block %n : memref<4xi64, #cuda.space<shared>>
  cuda.mbarrier_arrive_cluster %b[%i] block %n : memref<4xi64, #cuda.space<shared>>
  // CHECK-NEXT: cuda.tma_load %map(%n, %n) to %s[%i, %i] barrier %b[%i] blocks %n : memref<128x64xf16, #cuda.space<shared>>, memref<4xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>
  cuda.tma_load %map(%n, %n) to %s[%i, %i] barrier %b[%i] blocks %n : memref<128x64xf16, #cuda.space<shared>>, memref<4xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>
}
