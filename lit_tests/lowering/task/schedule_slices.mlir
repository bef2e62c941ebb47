// RUN: hidet-opt %s -p 'schedule{arch="sm_90a"}' | filecheck %s
// RUN: hidet-opt %s -p 'kernels-pipeline{arch=sm_90a}' -t cuda | filecheck %s --check-prefix CUDA

// The blocks of a cluster compute one tile, each for a slice of K. They store their sums in shared
// memory, and when all have done so, each adds up some rows and stores them through the epilogue. None
// ends before all have read.

// CHECK-LABEL: cuda.kernel @t_y_z_kernel(
// CHECK-SAME:    grid([[BLOCKS:[0-9]+]]) block(128)
// CHECK-SAME:    block_m = 64 : i64, block_n = 32 : i64, block_k = 64 : i64
// CHECK-SAME:    cuda.cluster = array<i64: 8, 1, 1>
// CHECK:         %bid = cuda.block_id x
// CHECK:         %number = arith.floordivsi %bid, %{{.*}} : index
// CHECK:         scf.for %k0
// CHECK:           %[[RANK:.*]] = cuda.floormodsi %bid, %{{.*}} : index
// CHECK:           %[[LENGTH:.*]] = arith.constant 576 : index
// CHECK-NEXT:      %[[START:.*]] = arith.muli %[[RANK]], %[[LENGTH]] : index
// CHECK-NEXT:      %[[K:.*]] = arith.addi %[[START]], %k0 : index
// CHECK-NEXT:      task.copy %x_[%row, %[[K]]] to %sa[]
// CHECK:         %total = memref.alloca() : memref<8x32xf32, #{{.*}}, #cuda.space<register>>
// CHECK-NEXT:    %sums = memref.alloca() {task.ring} : memref<64x40xf32, #cuda.space<shared>>
// CHECK:         task.copy %acc[] to %sums[%{{.*}}, %{{.*}}] on %thread
// CHECK-NEXT:    cuda.cluster_arrive
// CHECK-NEXT:    cuda.cluster_wait
// CHECK-COUNT-8: cuda.map_shared_rank %sums, %{{.*}} : memref<64x40xf32, #cuda.space<shared>>
// CHECK:         task.foreach (%i, %j) of %total on %thread
// CHECK:         task.copy %total[] to %{{.*}}[%{{.*}}, %column] on %thread
// CHECK-NEXT:    cuda.cluster_arrive
// CHECK-NEXT:    cuda.cluster_wait
// CHECK-NEXT:  }

// A producer loads by TMA, consumers wait for the cluster, and vectors are read from the others.

// CUDA-LABEL: __cluster_dims__(8, 1, 1) __launch_bounds__(256) t_y_z_kernel(
// CUDA:         tma_load(&sa
// CUDA:         wgmma_m64n32k16
// CUDA:         copy_vector<float, 2>(&sums
// CUDA:         cluster_arrive();
// CUDA-NEXT:    hidet::cluster_wait();
// CUDA-NEXT:    auto& peer = hidet::map_shared_rank(sums, 0);
// CUDA:         copy_vector<float, 2>(buf, &peer[
// CUDA:         copy_vector<hidet::half, 2>(&out
// CUDA:         cluster_arrive();
// CUDA-NEXT:    hidet::cluster_wait();
func.func @forward(%x : tensor<49x4608xf16>, %w : tensor<512x4608xf16>, %b : tensor<512xf16>) -> tensor<49x512xf16> {
  %z = compute.fusion (%x_ = %x : tensor<49x4608xf16>, %w_ = %w : tensor<512x4608xf16>, %b_ = %b : tensor<512xf16>) -> (tensor<49x512xf16>) {
    %t = compute.grid (%k, %n) {
      %v = compute.load %w_[%n, %k] : tensor<512x4608xf16>
      compute.yield %v : f16
    } : tensor<4608x512xf16>
    %y = graph.matmul %x_, %t {slices = 8 : i64} : (tensor<49x4608xf16>, tensor<4608x512xf16>) -> tensor<49x512xf32>
    %z_ = compute.grid (%i, %j) {
      %v = compute.load %y[%i, %j] : tensor<49x512xf32>
      %c = compute.load %b_[%j] : tensor<512xf16>
      %f = arith.extf %c : f16 to f32
      %s = arith.addf %v, %f : f32
      %h = arith.truncf %s : f32 to f16
      compute.yield %h : f16
    } : tensor<49x512xf16>
    compute.yield %z_ : tensor<49x512xf16>
  }
  func.return %z : tensor<49x512xf16>
}
