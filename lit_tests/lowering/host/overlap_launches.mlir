// RUN: hidet-opt %s -p overlap-launches --split-input-file | filecheck %s
// RUN: hidet-opt %s -p 'overlap-launches{arch=cpu}' --split-input-file | filecheck %s --check-prefix=PLAIN
// RUN: hidet-opt %s -p 'overlap-launches{arch=sm_80}' --split-input-file | filecheck %s --check-prefix=PLAIN
// RUN: hidet-opt %s -p 'overlap-launches{overlap_launches=false}' --split-input-file | filecheck %s --check-prefix=PLAIN

// A kernel waits ahead of its first access to global memory that others write, for all of its
// threads, and then lets the next one begin. What others write is awaited: %x is an input and %w a
// weight, %a lies in the arena. Kernels that only @prepare launches have nobody ahead that could
// still be at work.

// PLAIN-NOT: cuda.grid_dependency_wait
// PLAIN-NOT: cuda.launch_dependents
// PLAIN-NOT: cuda.awaited
// PLAIN-NOT: programmatic

// CHECK:      cuda.kernel @add(%x : memref<32xf32> {cuda.readonly, cuda.awaited}, %w : memref<32xf32> {cuda.readonly}, %y : memref<32xf32>)
// CHECK:        memref.load %w[%t] : memref<32xf32>
// CHECK-NEXT:   cuda.grid_dependency_wait
// CHECK-NEXT:   cuda.launch_dependents
// CHECK-NEXT:   %1 = memref.load %x[%t] : memref<32xf32>
cuda.kernel @add(%x : memref<32xf32> {cuda.readonly}, %w : memref<32xf32> {cuda.readonly}, %y : memref<32xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %1 = memref.load %w[%t] : memref<32xf32>
  %2 = memref.load %x[%t] : memref<32xf32>
  %3 = arith.addf %1, %2 : f32
  memref.store %3, %y[%t] : memref<32xf32>
}

// The one launch reads an input; what it writes it also reads.
// CHECK:      cuda.kernel @update(%x : memref<32xf32> {cuda.readonly}, %y : memref<32xf32> {cuda.awaited})
// CHECK:        cuda.grid_dependency_wait
// CHECK-NEXT:   cuda.launch_dependents
// CHECK-NEXT:   scf.if
cuda.kernel @update(%x : memref<32xf32> {cuda.readonly}, %y : memref<32xf32>) grid(1) block(32) {
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
// CHECK:      func.func @prepare
func.func @prepare() {
  %p = cuda.buffer constant "p0" : memref<32xf32>
  %w = cuda.buffer prepared offset 0 : memref<32xf32>
  // CHECK:      cuda.launch @pack(%p, %w) : (memref<32xf32>, memref<32xf32>) -> ()
  cuda.launch @pack(%p, %w) : (memref<32xf32>, memref<32xf32>) -> ()
  func.return
}
// CHECK:      func.func @forward
func.func @forward(%x : memref<32xf32>, %y : memref<32xf32>) attributes {outputs = 1 : i64} {
  %p = cuda.buffer constant "p0" : memref<32xf32>
  %w = cuda.buffer prepared offset 0 : memref<32xf32>
  %a = cuda.buffer arena offset 0 : memref<32xf32>
  // CHECK:      cuda.launch @add(%x, %p, %a) programmatic
  cuda.launch @add(%x, %p, %a) : (memref<32xf32>, memref<32xf32>, memref<32xf32>) -> ()
  // CHECK-NEXT: cuda.launch @add(%a, %w, %y) programmatic
  cuda.launch @add(%a, %w, %y) : (memref<32xf32>, memref<32xf32>, memref<32xf32>) -> ()
  // CHECK-NEXT: cuda.launch @update(%x, %y) programmatic
  cuda.launch @update(%x, %y) : (memref<32xf32>, memref<32xf32>) -> ()
  func.return
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
// CHECK-NEXT:   cuda.effect "fence_proxy_async_global"()
// CHECK-NEXT:   cuda.launch_dependents
// CHECK-NEXT:   scf.if %is_first {
// CHECK-NEXT:     cuda.tma_load %m(%zero, %zero)
cuda.kernel @fetch(%m : !cuda.tensor_map<tensor<8x64xf16>, box [8, 64], swizzle 128> {cuda.readonly}, %w : !cuda.tensor_map<tensor<8x64xf16>, box [8, 64], swizzle 128> {cuda.readonly}) grid(1) block(32) {
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
cuda.kernel @fetch_weights(%w : !cuda.tensor_map<tensor<8x64xf16>, box [8, 64], swizzle 128> {cuda.readonly}, %y : memref<32xf32>) grid(1) block(32) {
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
cuda.kernel @leave(%y : memref<32xf32>) grid(1) block(32) {
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
cuda.kernel @nothing(%y : memref<32xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
}
func.func @forward(%y : memref<32xf32>) attributes {outputs = 1 : i64} {
  %a = cuda.buffer arena offset 0 : memref<8x64xf16>
  %p = cuda.buffer constant "p0" : memref<8x64xf16>
  %m = cuda.tensor_map %a : memref<8x64xf16> -> !cuda.tensor_map<tensor<8x64xf16>, box [8, 64], swizzle 128>
  %w = cuda.tensor_map %p : memref<8x64xf16> -> !cuda.tensor_map<tensor<8x64xf16>, box [8, 64], swizzle 128>
  cuda.launch @fetch(%m, %w) : (!cuda.tensor_map<tensor<8x64xf16>, box [8, 64], swizzle 128>, !cuda.tensor_map<tensor<8x64xf16>, box [8, 64], swizzle 128>) -> ()
  cuda.launch @fetch_weights(%w, %y) : (!cuda.tensor_map<tensor<8x64xf16>, box [8, 64], swizzle 128>, memref<32xf32>) -> ()
  cuda.launch @leave(%y) : (memref<32xf32>) -> ()
  cuda.launch @nothing(%y) : (memref<32xf32>) -> ()
  func.return
}

// -----

// A launch alone waits for nobody.

// CHECK:      cuda.kernel @alone
// CHECK-NOT:  cuda.grid_dependency_wait
cuda.kernel @alone(%y : memref<32xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %1 = arith.constant 0.0 : f32
  memref.store %1, %y[%t] : memref<32xf32>
}
func.func @forward(%y : memref<32xf32>) attributes {outputs = 1 : i64} {
  // CHECK:      cuda.launch @alone(%y) : (memref<32xf32>) -> ()
  cuda.launch @alone(%y) programmatic : (memref<32xf32>) -> ()
  func.return
}
