// RUN: hidet-opt %s -p insert-waits --split-input-file | filecheck %s
// RUN: hidet-opt %s -p 'insert-waits{arch=cpu}' --split-input-file | filecheck %s --check-prefix=PLAIN
// RUN: hidet-opt %s -p 'insert-waits{arch=sm_80}' --split-input-file | filecheck %s --check-prefix=PLAIN
// RUN: hidet-opt %s -p 'insert-waits{overlap_launches=false}' --split-input-file | filecheck %s --check-prefix=PLAIN

// A kernel waits before its first access to global memory that others write, for all of its
// threads, and then lets the next one start. What others write is awaited. Kernels that do not
// overlap are left alone.

// PLAIN-NOT: cuda.grid_dependency_wait
// PLAIN-NOT: cuda.launch_dependents
// PLAIN-NOT: cuda.awaited
// PLAIN-NOT: cuda.overlaps

// CHECK:      cuda.kernel @add(%x : memref<32xf32> {cuda.readonly, cuda.awaited}, %w : memref<32xf32> {cuda.readonly, cuda.constant}, %y : memref<32xf32>) grid(1) block(32) attributes {cuda.overlaps} {
// CHECK:        memref.load %w[%t] : memref<32xf32>
// CHECK-NEXT:   cuda.grid_dependency_wait
// CHECK-NEXT:   cuda.launch_dependents
// CHECK-NEXT:   %1 = memref.load %x[%t] : memref<32xf32>
cuda.kernel @add(%x : memref<32xf32> {cuda.readonly}, %w : memref<32xf32> {cuda.readonly, cuda.constant}, %y : memref<32xf32>) grid(1) block(32) attributes {cuda.overlaps} {
  %t = cuda.thread_id x
  %1 = memref.load %w[%t] : memref<32xf32>
  %2 = memref.load %x[%t] : memref<32xf32>
  %3 = arith.addf %1, %2 : f32
  memref.store %3, %y[%t] : memref<32xf32>
}

// What it writes it also reads.
// CHECK:      cuda.kernel @update(%x : memref<32xf32> {cuda.readonly, cuda.constant}, %y : memref<32xf32> {cuda.awaited})
// CHECK:        cuda.grid_dependency_wait
// CHECK-NEXT:   cuda.launch_dependents
// CHECK-NEXT:   scf.if
cuda.kernel @update(%x : memref<32xf32> {cuda.readonly, cuda.constant}, %y : memref<32xf32>) grid(1) block(32) attributes {cuda.overlaps} {
  %t = cuda.thread_id x
  %0 = arith.constant 7 : index
  %p = arith.cmpi ult, %t, %0 : index
  scf.if %p {
    %1 = memref.load %x[%t] : memref<32xf32>
    %2 = memref.load %y[%t] : memref<32xf32>
    %3 = arith.addf %1, %2 : f32
    memref.store %3, %y[%t] : memref<32xf32>
  }
}

// CHECK:      cuda.kernel @pack
// CHECK-NOT:  cuda.grid_dependency_wait
cuda.kernel @pack(%x : memref<32xf32> {cuda.readonly}, %y : memref<32xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %1 = memref.load %x[%t] : memref<32xf32>
  memref.store %1, %y[%t] : memref<32xf32>
}

// -----

// What concerns the block alone is done before, and so are copies of weights: barriers, shared
// memory. Copies by TMA see what the wait lets the threads see. A thread that leaves early waits as
// well, and where nothing is accessed all wait at the end.

// CHECK:      cuda.kernel @fetch
// CHECK:          cuda.fence_mbarrier_init
// CHECK-NEXT:     cuda.tma_load %w(%zero, %zero)
// CHECK-NEXT:   }
// CHECK-NEXT:   cuda.sync_threads
// CHECK-NEXT:   cuda.grid_dependency_wait
// CHECK-NEXT:   cuda.fence_proxy_async_global
// CHECK-NEXT:   cuda.launch_dependents
// CHECK-NEXT:   scf.if %is_first {
// CHECK-NEXT:     cuda.tma_load %m(%zero, %zero)
cuda.kernel @fetch(%m : !cuda.tensor_map<tensor<8x64xf16>, box [8, 64], swizzle 128> {cuda.readonly}, %w : !cuda.tensor_map<tensor<8x64xf16>, box [8, 64], swizzle 128> {cuda.readonly, cuda.constant}) grid(1) block(32) attributes {cuda.overlaps} {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %tile = memref.alloca() : memref<2x8x64xf16, #cuda.space<shared>>
  %next = arith.constant 1 : index
  %full = memref.alloca() : memref<1xi64, #cuda.space<shared>>
  %t = cuda.thread_id x
  %is_first = arith.cmpi eq, %t, %0 : index
  scf.if %is_first {
    cuda.mbarrier_init %full[%0] count %1 : memref<1xi64, #cuda.space<shared>>
    cuda.fence_mbarrier_init
    cuda.tma_load %w(%zero, %zero) to %tile[%0, %0, %0] barrier %full[%0] : memref<2x8x64xf16, #cuda.space<shared>>, memref<1xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<8x64xf16>, box [8, 64], swizzle 128>
  }
  cuda.sync_threads
  scf.if %is_first {
    cuda.tma_load %m(%zero, %zero) to %tile[%next, %0, %0] barrier %full[%0] : memref<2x8x64xf16, #cuda.space<shared>>, memref<1xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<8x64xf16>, box [8, 64], swizzle 128>
  }
}
// What TMA fetches is constant here: nothing else has to be seen.
// CHECK:      cuda.kernel @fetch_weights
// CHECK:        cuda.tma_load
// CHECK-NEXT:   cuda.grid_dependency_wait
// CHECK-NEXT:   cuda.launch_dependents
// CHECK-NEXT:   memref.store
cuda.kernel @fetch_weights(%w : !cuda.tensor_map<tensor<8x64xf16>, box [8, 64], swizzle 128> {cuda.readonly, cuda.constant}, %y : memref<32xf32>) grid(1) block(32) attributes {cuda.overlaps} {
  %0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %tile = memref.alloca() : memref<8x64xf16, #cuda.space<shared>>
  %full = memref.alloca() : memref<1xi64, #cuda.space<shared>>
  %t = cuda.thread_id x
  %1 = arith.constant 0.0 : f32
  cuda.tma_load %w(%zero, %zero) to %tile[%0, %0] barrier %full[%0] : memref<8x64xf16, #cuda.space<shared>>, memref<1xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<8x64xf16>, box [8, 64], swizzle 128>
  memref.store %1, %y[%t] : memref<32xf32>
}
// CHECK:      cuda.kernel @leave
// CHECK:        cuda.grid_dependency_wait
// CHECK-NEXT:   cuda.launch_dependents
// CHECK-NEXT:   scf.if
cuda.kernel @leave(%y : memref<32xf32>) grid(1) block(32) attributes {cuda.overlaps} {
  %t = cuda.thread_id x
  %0 = arith.constant 7 : index
  %p = arith.cmpi ult, %t, %0 : index
  scf.if %p {
    cuda.leave return
  }
  %1 = arith.constant 0.0 : f32
  memref.store %1, %y[%t] : memref<32xf32>
}
// CHECK:      cuda.kernel @nothing
// CHECK:        %t = cuda.thread_id x
// CHECK-NEXT:   cuda.grid_dependency_wait
// CHECK-NEXT:   cuda.launch_dependents
// CHECK-NEXT: }
cuda.kernel @nothing(%y : memref<32xf32>) grid(1) block(32) attributes {cuda.overlaps} {
  %t = cuda.thread_id x
}

// -----

// A kernel whose roofline exceeds 2 us lets the next one start when it ends.
// CHECK:      cuda.kernel @short
// CHECK:        cuda.grid_dependency_wait
// CHECK-NEXT:   cuda.launch_dependents
cuda.kernel @short(%y : memref<32xf32>) grid(1) block(32) attributes {cuda.overlaps, work = {operations = 0 : i64, moved = 9000000 : i64, kind = "f32"}} {
  %t = cuda.thread_id x
  %1 = arith.constant 0.0 : f32
  memref.store %1, %y[%t] : memref<32xf32>
}
// CHECK:      cuda.kernel @long
// CHECK:        cuda.grid_dependency_wait
// CHECK-NEXT:   memref.store
cuda.kernel @long(%y : memref<32xf32>) grid(1) block(32) attributes {cuda.overlaps, work = {operations = 0 : i64, moved = 10000000 : i64, kind = "f32"}} {
  %t = cuda.thread_id x
  %1 = arith.constant 0.0 : f32
  memref.store %1, %y[%t] : memref<32xf32>
}
