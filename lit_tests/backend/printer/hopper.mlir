// RUN: hidet-opt %s -t cuda | filecheck %s

// Instructions of Hopper, which no other machine compiles.

#shared = #cuda.space<shared>
#local = #cuda.space<local>

// A tensor that boxes are copied from stays where the launch has put it.

// CHECK-LABEL: // hopper
// CHECK-NEXT:  extern "C" __global__ void __launch_bounds__(128) hopper(
// CHECK-NEXT:      const __grid_constant__ hidet::TensorMap map,
cuda.kernel @hopper(%map : !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>, %p : i1, %n : i32) grid(1) block(128) attributes {cuda.formed} {
  %0 = arith.constant 0 : index
  %s = memref.alloca() : memref<128x64xf16, #shared>
  %b = memref.alloca() : memref<4xi64, #shared>
  %d = memref.alloca() : memref<64xf32, #local>
  %f = memref.alloca() : memref<8xf16, #local>
  // CHECK:      hidet::mbarrier_init(b, n);
  cuda.mbarrier_init %b[%0] count %n : memref<4xi64, #shared>
  // CHECK-NEXT: hidet::fence_mbarrier_init();
  cuda.fence_mbarrier_init
  // CHECK-NEXT: hidet::mbarrier_arrive_expect_tx(b, n);
  cuda.mbarrier_arrive_expect_tx %b[%0] bytes %n : memref<4xi64, #shared>
  // CHECK-NEXT: hidet::tma_load(&s[0][0], b, map, n, n);
  cuda.tma_load %map(%n, %n) to %s[%0, %0] barrier %b[%0] : memref<128x64xf16, #shared>, memref<4xi64, #shared>, !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>
  // CHECK-NEXT: hidet::mbarrier_wait(b, n);
  cuda.mbarrier_wait %b[%0] parity %n : memref<4xi64, #shared>
  // CHECK-NEXT: const unsigned long long a = hidet::matrix_descriptor<16, 1024, 128>(&s[0][0]);
  %a = cuda.matrix_descriptor %s[%0, %0] leading 16 stride 1024 swizzle 128 : memref<128x64xf16, #shared>
  // CHECK-NEXT: hidet::wgmma_fence();
  cuda.wgmma_fence
  // CHECK-NEXT: hidet::wgmma_m64n128k16_f16_f32<0, 1>(d, a, a, p);
  cuda.wgmma "m64n128k16_f16_f32" %a, %a trans_b, %d[%0] accumulate %p : memref<64xf32, #local>
  // CHECK-NEXT: hidet::wgmma_rs_m64n128k16_f16_f32<1>(d, f, a, p);
  cuda.wgmma_rs "m64n128k16_f16_f32" %f[%0], %a trans_b, %d[%0] accumulate %p : memref<8xf16, #local>, memref<64xf32, #local>
  // CHECK-NEXT: hidet::wgmma_commit();
  cuda.wgmma_commit
  // CHECK-NEXT: hidet::wgmma_wait<0>();
  cuda.wgmma_wait 0
  // CHECK-NEXT: hidet::wgmma_fence_operand<64>(d);
  cuda.wgmma_fence_operand %d[%0] count 64 : memref<64xf32, #local>
  // CHECK-NEXT: hidet::mbarrier_arrive(b);
  cuda.mbarrier_arrive %b[%0] : memref<4xi64, #shared>
  // CHECK-NEXT: hidet::cp_async_barrier_arrive(b);
  cuda.cp_async_barrier_arrive %b[%0] : memref<4xi64, #shared>
  // CHECK-NEXT: hidet::mbarrier_invalidate(b);
  cuda.mbarrier_invalidate %b[%0] : memref<4xi64, #shared>
  // CHECK-NEXT: hidet::fence_proxy_async();
  cuda.fence_proxy_async
  // CHECK-NEXT: hidet::fence_proxy_async_global();
  cuda.fence_proxy_async_global
  // CHECK-NEXT: hidet::tma_store(&s[0][0], map, n);
  cuda.tma_store %s[%0, %0] to %map(%n) : memref<128x64xf16, #shared>, !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>
  // CHECK-NEXT: hidet::tma_commit();
  cuda.tma_commit
  // CHECK-NEXT: hidet::tma_wait<0>();
  cuda.tma_wait 0
}

// Warps with different work.

// CHECK-LABEL: // roles
cuda.kernel @roles(%n : i32) grid(1) block(256) attributes {cuda.formed} {
  // CHECK:      hidet::grid_dependency_wait();
  cuda.grid_dependency_wait
  // CHECK-NEXT: hidet::setmaxnreg_dec<24>();
  cuda.setmaxnreg "dec" 24
  // CHECK-NEXT: hidet::setmaxnreg_inc<256>();
  cuda.setmaxnreg "inc" 256
  // CHECK-NEXT: hidet::barrier_arrive<256>(n);
  cuda.barrier_arrive %n count 256
  // CHECK-NEXT: hidet::barrier_sync<32>(n);
  cuda.barrier_sync %n count 32
  // CHECK-NEXT: hidet::launch_dependents();
  cuda.launch_dependents
}

// Clusters of blocks.

// CHECK-LABEL: extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128) cluster(
cuda.kernel @cluster(%map : !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>, %n : i32) grid(2) block(128) attributes {cuda.cluster = array<i64: 2, 1, 1>, cuda.formed} {
  %0 = arith.constant 0 : index
  %s = cuda.dynamic_shared offset 0 : memref<128x64xf16, #shared>
  %b = cuda.dynamic_shared offset 16384 : memref<4xi64, #shared>
  // CHECK:      hidet::cluster_arrive();
  cuda.cluster_arrive
  // CHECK-NEXT: hidet::cluster_wait();
  cuda.cluster_wait
  // CHECK-NEXT: auto& peer = hidet::map_shared_rank(s, n);
  %peer = cuda.map_shared_rank %s, %n : memref<128x64xf16, #shared>
  // CHECK-NEXT: hidet::mbarrier_arrive_cluster(b, n);
  cuda.mbarrier_arrive_cluster %b[%0] block %n : memref<4xi64, #shared>
  // CHECK-NEXT: hidet::tma_load_multicast(&s[0][0], b, map, n, n, n);
  cuda.tma_load %map(%n, %n) to %s[%0, %0] barrier %b[%0] blocks %n : memref<128x64xf16, #shared>, memref<4xi64, #shared>, !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>
}
// CHECK-NEXT: }
// CHECK-NEXT: HIDET_CLUSTER_KERNEL(cluster, 128, 1, 1, 2, 1, 1)

// Pixels of images.

// CHECK:      // pixels
// CHECK:      hidet::tma_load_pixels(&s[0][0], b, map, n, n, n, n, n, n);
cuda.kernel @pixels(%map : !cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 64], pixels [0, 0] to [13, 13] step [1, 1], swizzle 128>, %n : i32) grid(1) block(128) attributes {cuda.formed} {
  %0 = arith.constant 0 : index
  %s = memref.alloca() : memref<128x64xf16, #shared>
  %b = memref.alloca() : memref<4xi64, #shared>
  cuda.tma_load %map(%n, %n, %n, %n) offset(%n, %n) to %s[%0, %0] barrier %b[%0] : memref<128x64xf16, #shared>, memref<4xi64, #shared>, !cuda.tensor_map<tensor<8x14x14x64xf16>, box [128, 64], pixels [0, 0] to [13, 13] step [1, 1], swizzle 128>
}
