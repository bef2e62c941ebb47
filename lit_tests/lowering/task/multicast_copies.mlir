// RUN: hidet-opt %s -p 'multicast-copies' --split-input-file | filecheck %s
// RUN: hidet-opt %s -p 'multicast-copies{arch=sm_80}' --split-input-file | filecheck %s --check-prefix=SM80

// Two blocks are a cluster. The tile of x depends on the place of the block in it, that of w does not:
// each block fetches half of its rows, and TMA gives these to both. A stage is free when the warp
// groups of both blocks have said so. The blocks wait for each other before they use barriers of one
// another, and at the end.

// CHECK-LABEL: cuda.kernel @shared
// CHECK-SAME:    cuda.cluster = array<i64: 2, 1, 1>
// CHECK:         cuda.mbarrier_init %full[%{{.*}}] count %[[ONE:.*]] :
// CHECK:         %[[TWO:.*]] = arith.constant 2 : i32
// CHECK-NEXT:    cuda.mbarrier_init %empty[%{{.*}}] count %[[TWO]] :
// CHECK:         cuda.sync_threads
// CHECK-NEXT:    cuda.cluster_arrive
// CHECK-NEXT:    cuda.cluster_wait
// CHECK:         task.group first(0) count(128)
// CHECK:           %[[X:.*]] = cuda.tensor_map %x {{.*}} box [64, 64], swizzle 128>
// CHECK:           %[[W:.*]] = cuda.tensor_map %w {{.*}} box [32, 64], swizzle 128>
// CHECK-NOT:       cuda.tensor_map
// CHECK:           cuda.tma_load %[[X]](%{{.*}}, %{{.*}}) to %a[%{{.*}}] barrier %full[%{{.*}}] :
// CHECK:           %[[BLOCK:.*]] = cuda.block_id x
// CHECK:           %[[RANK:.*]] = arith.remsi %[[BLOCK]]
// CHECK:           %[[FIRST:.*]] = arith.muli %[[RANK]]
// CHECK:           %[[ROW:.*]] = arith.index_cast %[[FIRST]]
// CHECK:           %[[PLACE:.*]] = arith.addi %{{.*}}, %[[ROW]] : i32
// CHECK:           %[[BOTH:.*]] = arith.constant 3 : i32
// CHECK-NEXT:      cuda.tma_load %[[W]](%{{.*}}, %[[PLACE]]) to %b[%{{.*}}, %{{.*}}, %[[FIRST]]] barrier %full[%{{.*}}] blocks %[[BOTH]]
// CHECK:         task.group first(128) count(128)
// CHECK:           cuda.mbarrier_arrive_cluster %empty[%{{.*}}] block
// CHECK:           cuda.mbarrier_arrive_cluster %empty[%{{.*}}] block
// CHECK-NOT:       cuda.mbarrier_arrive %
// CHECK:         cuda.cluster_arrive
// CHECK-NEXT:    cuda.cluster_wait
// CHECK-NEXT:  }
// SM80-NOT:    cuda.cluster_arrive
cuda.kernel @shared(%x : memref<256x128xf16>, %w : memref<128x128xf16>) grid(4) block(256) attributes {config = {cluster_rows = 2 : i64}} {
  %t = cuda.thread_id x
  %bid = cuda.block_id x
  %z = arith.constant 0 : index
  %two = arith.constant 2 : index
  %side = arith.constant 64 : index
  %k = arith.constant 128 : index
  %one = arith.constant 1 : i32
  %cluster = arith.floordivsi %bid, %two : index
  %row = arith.muli %bid, %side : index
  %column = arith.muli %cluster, %side : index
  %a = memref.alloca() {task.ring} : memref<1x64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  %b = memref.alloca() {task.ring} : memref<1x64x64xf16, #task.tile<column_major, swizzle 128>, #cuda.space<shared>>
  %full = memref.alloca() {task.ring} : memref<1xi64, #cuda.space<shared>>
  %empty = memref.alloca() {task.ring} : memref<1xi64, #cuda.space<shared>>
  cuda.mbarrier_init %full[%z] count %one : memref<1xi64, #cuda.space<shared>>
  cuda.mbarrier_init %empty[%z] count %one : memref<1xi64, #cuda.space<shared>>
  cuda.sync_threads
  task.group first(0) count(128) (%producer) {
    %xs = cuda.tensor_map %x strides [128, 1] : memref<256x128xf16> -> !cuda.tensor_map<tensor<256x128xf16>, box [64, 64], swizzle 128>
    %ws = cuda.tensor_map %w strides [128, 1] : memref<128x128xf16> -> !cuda.tensor_map<tensor<128x128xf16>, box [64, 64], swizzle 128>
    scf.for %k0 = %z to %k step %side {
      cuda.mbarrier_wait %empty[%z] parity %one : memref<1xi64, #cuda.space<shared>>
      %at_k = arith.index_cast %k0 : index to i32
      %at_row = arith.index_cast %row : index to i32
      %at_column = arith.index_cast %column : index to i32
      cuda.tma_load %xs(%at_k, %at_row) to %a[%z, %z, %z] barrier %full[%z] : memref<1x64x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>, memref<1xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<256x128xf16>, box [64, 64], swizzle 128>
      cuda.tma_load %ws(%at_k, %at_column) to %b[%z, %z, %z] barrier %full[%z] : memref<1x64x64xf16, #task.tile<column_major, swizzle 128>, #cuda.space<shared>>, memref<1xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<128x128xf16>, box [64, 64], swizzle 128>
    }
  }
  task.group first(128) count(128) (%me) {
    scf.for %k0 = %z to %k step %side {
      cuda.mbarrier_wait %full[%z] parity %one : memref<1xi64, #cuda.space<shared>>
      cuda.mbarrier_arrive %empty[%z] : memref<1xi64, #cuda.space<shared>>
    }
  }
}

// -----

// A loop whose blocks take different steps, a box whose half has four rows, and a config without
// clusters: nothing is shared.

// CHECK-LABEL: cuda.kernel @steps
// CHECK-NOT:     cuda.cluster
// CHECK-LABEL: cuda.kernel @low
// CHECK-NOT:     cuda.cluster
// CHECK-LABEL: cuda.kernel @alone
// CHECK-NOT:     cuda.cluster
cuda.kernel @steps(%w : memref<128x128xf16>) grid(4) block(128) attributes {config = {cluster_rows = 2 : i64}} {
  %bid = cuda.block_id x
  %z = arith.constant 0 : index
  %side = arith.constant 64 : index
  %one = arith.constant 1 : i32
  %b = memref.alloca() {task.ring} : memref<1x64x64xf16, #task.tile<column_major, swizzle 128>, #cuda.space<shared>>
  %full = memref.alloca() {task.ring} : memref<1xi64, #cuda.space<shared>>
  %empty = memref.alloca() {task.ring} : memref<1xi64, #cuda.space<shared>>
  cuda.mbarrier_init %empty[%z] count %one : memref<1xi64, #cuda.space<shared>>
  cuda.sync_threads
  %ws = cuda.tensor_map %w strides [128, 1] : memref<128x128xf16> -> !cuda.tensor_map<tensor<128x128xf16>, box [64, 64], swizzle 128>
  scf.for %k0 = %z to %bid step %side {
    cuda.mbarrier_wait %empty[%z] parity %one : memref<1xi64, #cuda.space<shared>>
    cuda.tma_load %ws(%one, %one) to %b[%z, %z, %z] barrier %full[%z] : memref<1x64x64xf16, #task.tile<column_major, swizzle 128>, #cuda.space<shared>>, memref<1xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<128x128xf16>, box [64, 64], swizzle 128>
  }
}

cuda.kernel @low(%w : memref<128x128xf16>) grid(4) block(128) attributes {config = {cluster_columns = 2 : i64}} {
  %z = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %b = memref.alloca() {task.ring} : memref<1x8x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>
  %full = memref.alloca() {task.ring} : memref<1xi64, #cuda.space<shared>>
  %empty = memref.alloca() {task.ring} : memref<1xi64, #cuda.space<shared>>
  cuda.mbarrier_init %empty[%z] count %one : memref<1xi64, #cuda.space<shared>>
  cuda.sync_threads
  %ws = cuda.tensor_map %w strides [128, 1] : memref<128x128xf16> -> !cuda.tensor_map<tensor<128x128xf16>, box [8, 64], swizzle 128>
  cuda.mbarrier_wait %empty[%z] parity %one : memref<1xi64, #cuda.space<shared>>
  cuda.tma_load %ws(%one, %one) to %b[%z, %z, %z] barrier %full[%z] : memref<1x8x64xf16, #task.tile<row_major, swizzle 128>, #cuda.space<shared>>, memref<1xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<128x128xf16>, box [8, 64], swizzle 128>
}

cuda.kernel @alone(%w : memref<128x128xf16>) grid(4) block(128) attributes {config = {stages = 3 : i64}} {
  %z = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %b = memref.alloca() {task.ring} : memref<1x64x64xf16, #task.tile<column_major, swizzle 128>, #cuda.space<shared>>
  %full = memref.alloca() {task.ring} : memref<1xi64, #cuda.space<shared>>
  %empty = memref.alloca() {task.ring} : memref<1xi64, #cuda.space<shared>>
  cuda.mbarrier_init %empty[%z] count %one : memref<1xi64, #cuda.space<shared>>
  cuda.sync_threads
  %ws = cuda.tensor_map %w strides [128, 1] : memref<128x128xf16> -> !cuda.tensor_map<tensor<128x128xf16>, box [64, 64], swizzle 128>
  cuda.mbarrier_wait %empty[%z] parity %one : memref<1xi64, #cuda.space<shared>>
  cuda.tma_load %ws(%one, %one) to %b[%z, %z, %z] barrier %full[%z] : memref<1x64x64xf16, #task.tile<column_major, swizzle 128>, #cuda.space<shared>>, memref<1xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<128x128xf16>, box [64, 64], swizzle 128>
}
