// RUN: hidet-opt %s -p 'fuse-into-kernels' --split-input-file | filecheck %s
// RUN: hidet-opt %s -p 'fuse-into-kernels,verify-level{level="compute" after="fuse-into-kernels"},task-pipeline{arch=cpu verify=true},cuda-pipeline,plan-memory' --split-input-file | filecheck %s --check-prefix LAUNCHES

// What comes before is computed at the load, what comes after at the store; other shapes of a tensor
// have the same elements in a row. The kernel as it was is gone: nothing calls it.

// CHECK:       cuda.kernel @relu_half_add(%b : memref<8xf32>, %x0 : memref<4x8xf32>, %y : memref<4x8xf32>) grid(4) block(8) attributes {cuda.explicit} {
// CHECK-NEXT:    %x = compute.grid (%0) {
// CHECK:           %[[I:.*]] = arith.divsi %0, %{{.*}} : index
// CHECK:           %[[J:.*]] = arith.remsi %0, %{{.*}} : index
// CHECK-NEXT:      %[[X:.*]] = compute.load %x0[%[[I]], %[[J]]] : memref<4x8xf32>
// CHECK:           %[[R:.*]] = arith.maximumf %[[X]], %{{.*}} : f32
// CHECK-NEXT:      compute.yield %[[R]] : f32
// CHECK-NEXT:    } : tensor<32xf32>
// CHECK-NEXT:    %add = compute.sink (%[[A:.*]], %[[B:.*]], %[[V:.*]] : f32) {
// CHECK-NEXT:      %[[BIAS:.*]] = compute.load %b[%[[B]]] : memref<8xf32>
// CHECK-NEXT:      %[[SUM:.*]] = arith.addf %[[V]], %[[BIAS]] : f32
// CHECK-NEXT:      compute.store %[[SUM]], %y[%[[A]], %[[B]]] : memref<4x8xf32>
// CHECK-NEXT:    } : tensor<4x8xf32>
// CHECK:         compute.load %x[%{{.*}}] : tensor<32xf32>
// CHECK:         compute.store %{{.*}}, %add[%i, %j] : tensor<4x8xf32>
// CHECK-NOT:   cuda.kernel
// CHECK-LABEL: func.func @forward
// CHECK-NEXT:    %add = graph.call_kernel @relu_half_add(%b, %x0) : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:    func.return %add

// LAUNCHES-LABEL: func.func @forward
// LAUNCHES:        cuda.launch @relu_half_add(
// LAUNCHES-NEXT:   func.return
cuda.kernel @half(%x : memref<?xf32>, %y : memref<4x8xf32>) grid(4) block(8) attributes {cuda.explicit} {
  %i = cuda.block_id x
  %j = cuda.thread_id x
  %c8 = arith.constant 8 : index
  %row = arith.muli %i, %c8 : index
  %n = arith.addi %row, %j : index
  %0 = memref.load %x[%n] : memref<?xf32>
  %c = arith.constant 0.5 : f32
  %1 = arith.mulf %0, %c : f32
  memref.store %1, %y[%i, %j] : memref<4x8xf32>
}

func.func @forward(%x0 : tensor<4x8xf32>, %b : tensor<8xf32>) -> tensor<4x8xf32> {
  %relu = compute.fusion (%x_ = %x0 : tensor<4x8xf32>) -> (tensor<4x8xf32>) {
    %relu = compute.grid (%i, %j) {
      %0 = compute.load %x_[%i, %j] : tensor<4x8xf32>
      %z = arith.constant 0.0 : f32
      %1 = arith.maximumf %0, %z : f32
      compute.yield %1 : f32
    } : tensor<4x8xf32>
    compute.yield %relu : tensor<4x8xf32>
  }
  %h = graph.call_kernel @half(%relu) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %add = compute.fusion (%h_ = %h : tensor<4x8xf32>, %b_ = %b : tensor<8xf32>) -> (tensor<4x8xf32>) {
    %add = compute.grid (%i, %j) {
      %0 = compute.load %h_[%i, %j] : tensor<4x8xf32>
      %1 = compute.load %b_[%j] : tensor<8xf32>
      %2 = arith.addf %0, %1 : f32
      compute.yield %2 : f32
    } : tensor<4x8xf32>
    compute.yield %add : tensor<4x8xf32>
  }
  func.return %add : tensor<4x8xf32>
}

// -----

// Calls with equal neighbours share a kernel; the kernel of a call without any stays. The product of
// two results of one call stays as well, and so does what is read again.

// CHECK:       cuda.kernel @both(
// CHECK:       cuda.kernel @both_exp(
// CHECK-NOT:   cuda.kernel
// CHECK-LABEL: func.func @shared
// CHECK-NEXT:    %e0, %s0 = graph.call_kernel @both_exp(%x)
// CHECK-NEXT:    %e1, %s1 = graph.call_kernel @both_exp(%e0)
// CHECK-NEXT:    %y2, %s2 = graph.call_kernel @both(%e1)
// CHECK-NEXT:    %p = compute.fusion (%y_ = %y2 : tensor<8xf32>, %s_ = %s2 : tensor<8xf32>)
// CHECK:         %y3, %s3 = graph.call_kernel @both(%p)
// CHECK-NEXT:    %e3 = compute.fusion
// CHECK:         func.return %s0, %s1, %y3, %e3
cuda.kernel @both(%x : memref<8xf32>, %y : memref<8xf32>, %s : memref<8xf32>) grid(1) block(8) attributes {cuda.explicit} {
  %i = cuda.thread_id x
  %0 = memref.load %x[%i] : memref<8xf32>
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %k = arith.addi %i, %c1 : index
  %j = arith.remsi %k, %c8 : index
  %1 = memref.load %x[%j] : memref<8xf32>
  %2 = arith.addf %0, %1 : f32
  memref.store %2, %y[%i] : memref<8xf32>
  memref.store %0, %s[%i] : memref<8xf32>
}

func.func @shared(%x : tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %y0, %s0 = graph.call_kernel @both(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %e0 = compute.fusion (%y_ = %y0 : tensor<8xf32>) -> (tensor<8xf32>) {
    %exp = compute.grid (%i) {
      %0 = compute.load %y_[%i] : tensor<8xf32>
      %1 = math.exp %0 : f32
      compute.yield %1 : f32
    } : tensor<8xf32>
    compute.yield %exp : tensor<8xf32>
  }
  %y1, %s1 = graph.call_kernel @both(%e0) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %e1 = compute.fusion (%y_ = %y1 : tensor<8xf32>) -> (tensor<8xf32>) {
    %exp = compute.grid (%i) {
      %0 = compute.load %y_[%i] : tensor<8xf32>
      %1 = math.exp %0 : f32
      compute.yield %1 : f32
    } : tensor<8xf32>
    compute.yield %exp : tensor<8xf32>
  }
  %y2, %s2 = graph.call_kernel @both(%e1) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %p = compute.fusion (%y_ = %y2 : tensor<8xf32>, %s_ = %s2 : tensor<8xf32>) -> (tensor<8xf32>) {
    %p = compute.grid (%i) {
      %0 = compute.load %y_[%i] : tensor<8xf32>
      %1 = compute.load %s_[%i] : tensor<8xf32>
      %2 = arith.divf %0, %1 : f32
      compute.yield %2 : f32
    } : tensor<8xf32>
    compute.yield %p : tensor<8xf32>
  }
  %y3, %s3 = graph.call_kernel @both(%p) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %e3 = compute.fusion (%y_ = %y3 : tensor<8xf32>) -> (tensor<8xf32>) {
    %exp = compute.grid (%i) {
      %0 = compute.load %y_[%i] : tensor<8xf32>
      %1 = math.exp %0 : f32
      compute.yield %1 : f32
    } : tensor<8xf32>
    compute.yield %exp : tensor<8xf32>
  }
  func.return %s0, %s1, %y3, %e3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// What costs much moves where each element is loaded once: two loads of one place are one.

// CHECK:       cuda.kernel @exp_square(%x : memref<8xf32>, %y : memref<8xf32>)
// CHECK-LABEL: func.func @once
// CHECK-NEXT:    %y = graph.call_kernel @exp_square(%x)
// CHECK-NEXT:    func.return %y
cuda.kernel @square(%x : memref<8xf32>, %y : memref<8xf32>) grid(1) block(8) attributes {cuda.explicit} {
  %i = cuda.thread_id x
  %0 = memref.load %x[%i] : memref<8xf32>
  %1 = memref.load %x[%i] : memref<8xf32>
  %2 = arith.mulf %0, %1 : f32
  memref.store %2, %y[%i] : memref<8xf32>
}

func.func @once(%x : tensor<8xf32>) -> tensor<8xf32> {
  %e = compute.fusion (%x_ = %x : tensor<8xf32>) -> (tensor<8xf32>) {
    %exp = compute.grid (%i) {
      %0 = compute.load %x_[%i] : tensor<8xf32>
      %1 = math.exp %0 : f32
      compute.yield %1 : f32
    } : tensor<8xf32>
    compute.yield %exp : tensor<8xf32>
  }
  %y = graph.call_kernel @square(%e) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// -----

// The call moves to what follows, where that reads something that is made in between.

// CHECK-LABEL: func.func @forward
// CHECK-NEXT:    %m = graph.call_kernel @opaque(%x)
// CHECK-NEXT:    %a = graph.call_kernel @copy_add(%x, %m)
// CHECK-NEXT:    func.return %a

// LAUNCHES-LABEL: func.func @forward
// LAUNCHES:        cuda.launch @opaque(
// LAUNCHES-NEXT:   cuda.launch @copy_add(
// LAUNCHES-NEXT:   func.return
cuda.kernel @copy(%x : memref<8xf32>, %y : memref<8xf32>) grid(1) block(8) attributes {cuda.explicit} {
  %i = cuda.thread_id x
  %0 = memref.load %x[%i] : memref<8xf32>
  memref.store %0, %y[%i] : memref<8xf32>
}

cuda.kernel @opaque(%x : memref<8xf32>, %y : memref<8xf32>) grid(1) block(2) attributes {cuda.explicit} {
  %i = cuda.thread_id x
  %c4 = arith.constant 4 : index
  %j = arith.muli %i, %c4 : index
  cuda.copy_vector %x[%j] to %y[%j] width 4 : memref<8xf32> to memref<8xf32>
}

func.func @forward(%x : tensor<8xf32>) -> tensor<8xf32> {
  %y = graph.call_kernel @copy(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %m = graph.call_kernel @opaque(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %a = compute.fusion (%y_ = %y : tensor<8xf32>, %m_ = %m : tensor<8xf32>) -> (tensor<8xf32>) {
    %add = compute.grid (%i) {
      %0 = compute.load %y_[%i] : tensor<8xf32>
      %1 = compute.load %m_[%i] : tensor<8xf32>
      %2 = arith.addf %0, %1 : f32
      compute.yield %2 : f32
    } : tensor<8xf32>
    compute.yield %add : tensor<8xf32>
  }
  func.return %a : tensor<8xf32>
}

// -----

// Few elements are loaded from far apart.

// CHECK-LABEL: func.func @forward
// CHECK-NEXT:    %y = graph.call_kernel @copy(%x)
// CHECK-NEXT:    %z = graph.call_kernel @t_copy(%y)
cuda.kernel @copy(%x : memref<4x4xf32>, %y : memref<4x4xf32>) grid(4) block(4) attributes {cuda.explicit} {
  %i = cuda.block_id x
  %j = cuda.thread_id x
  %0 = memref.load %x[%i, %j] : memref<4x4xf32>
  memref.store %0, %y[%i, %j] : memref<4x4xf32>
}

func.func @forward(%x : tensor<4x4xf32>) -> tensor<4x4xf32> {
  %y = graph.call_kernel @copy(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = compute.fusion (%y_ = %y : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %t = compute.grid (%i, %j) {
      %0 = compute.load %y_[%j, %i] : tensor<4x4xf32>
      compute.yield %0 : f32
    } : tensor<4x4xf32>
    compute.yield %t : tensor<4x4xf32>
  }
  %z = graph.call_kernel @copy(%t) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %z : tensor<4x4xf32>
}
