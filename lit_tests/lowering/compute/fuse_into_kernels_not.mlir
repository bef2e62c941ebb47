// RUN: hidet-opt %s -p 'fuse-into-kernels' --split-input-file | filecheck %s

// What stays between kernels, each case a module of its own.

// A kernel that loads what it has stored keeps its result.

// CHECK-LABEL: func.func @forward
// CHECK-NEXT:    %y = graph.call_kernel @sum(%x)
// CHECK-NEXT:    %e = compute.fusion
// CHECK:         func.return %e
cuda.kernel @sum(%x : memref<4x4xf32>, %y : memref<4x4xf32>) grid(4) block(4) attributes {cuda.explicit} {
  %i = cuda.block_id x
  %j = cuda.thread_id x
  %0 = memref.load %x[%i, %j] : memref<4x4xf32>
  memref.store %0, %y[%i, %j] : memref<4x4xf32>
  %1 = memref.load %y[%i, %j] : memref<4x4xf32>
  %2 = arith.addf %0, %1 : f32
  memref.store %2, %y[%i, %j] : memref<4x4xf32>
}

func.func @forward(%x : tensor<4x4xf32>) -> tensor<4x4xf32> {
  %y = graph.call_kernel @sum(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = compute.fusion (%y_ = %y : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %e = compute.grid (%i, %j) {
      %0 = compute.load %y_[%i, %j] : tensor<4x4xf32>
      %1 = math.exp %0 : f32
      compute.yield %1 : f32
    } : tensor<4x4xf32>
    compute.yield %e : tensor<4x4xf32>
  }
  func.return %e : tensor<4x4xf32>
}

// -----

// A kernel that copies vectors keeps both.

// CHECK-LABEL: func.func @forward
// CHECK-NEXT:    %relu = compute.fusion
// CHECK:         %y = graph.call_kernel @vectors(%relu)
// CHECK-NEXT:    %e = compute.fusion
// CHECK:         func.return %e
cuda.kernel @vectors(%x : memref<4x4xf32>, %y : memref<4x4xf32>) grid(1) block(4) attributes {cuda.explicit} {
  %i = cuda.thread_id x
  %c0 = arith.constant 0 : index
  cuda.copy_vector %x[%i, %c0] to %y[%i, %c0] width 4 : memref<4x4xf32> to memref<4x4xf32>
}

func.func @forward(%x : tensor<4x4xf32>) -> tensor<4x4xf32> {
  %relu = compute.fusion (%x_ = %x : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %relu = compute.grid (%i, %j) {
      %0 = compute.load %x_[%i, %j] : tensor<4x4xf32>
      %z = arith.constant 0.0 : f32
      %1 = arith.maximumf %0, %z : f32
      compute.yield %1 : f32
    } : tensor<4x4xf32>
    compute.yield %relu : tensor<4x4xf32>
  }
  %y = graph.call_kernel @vectors(%relu) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = compute.fusion (%y_ = %y : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %e = compute.grid (%i, %j) {
      %0 = compute.load %y_[%i, %j] : tensor<4x4xf32>
      %1 = math.exp %0 : f32
      compute.yield %1 : f32
    } : tensor<4x4xf32>
    compute.yield %e : tensor<4x4xf32>
  }
  func.return %e : tensor<4x4xf32>
}

// -----

// What the kernel writes over is there before, and neither side of it moves.

// CHECK-LABEL: func.func @forward
// CHECK-NEXT:    %relu = compute.fusion
// CHECK:         %y = graph.call_kernel @copy(%x, %relu) {inits = array<i64: 0>}
// CHECK-NEXT:    %e = compute.fusion
// CHECK:         func.return %e
cuda.kernel @copy(%x : memref<4x4xf32>, %y : memref<4x4xf32>) grid(4) block(4) attributes {cuda.explicit} {
  %i = cuda.block_id x
  %j = cuda.thread_id x
  %0 = memref.load %x[%i, %j] : memref<4x4xf32>
  memref.store %0, %y[%i, %j] : memref<4x4xf32>
}

func.func @forward(%x : tensor<4x4xf32>) -> tensor<4x4xf32> {
  %relu = compute.fusion (%x_ = %x : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %relu = compute.grid (%i, %j) {
      %0 = compute.load %x_[%i, %j] : tensor<4x4xf32>
      %z = arith.constant 0.0 : f32
      %1 = arith.maximumf %0, %z : f32
      compute.yield %1 : f32
    } : tensor<4x4xf32>
    compute.yield %relu : tensor<4x4xf32>
  }
  %y = graph.call_kernel @copy(%x, %relu) {inits = array<i64: 0>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = compute.fusion (%y_ = %y : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %e = compute.grid (%i, %j) {
      %0 = compute.load %y_[%i, %j] : tensor<4x4xf32>
      %1 = math.exp %0 : f32
      compute.yield %1 : f32
    } : tensor<4x4xf32>
    compute.yield %e : tensor<4x4xf32>
  }
  func.return %e : tensor<4x4xf32>
}

// -----

// The element that the kernel may not have stored is not chosen: a mask that has nothing to do with it
// decides, by a select or a branch.

// CHECK-LABEL: func.func @forward
// CHECK-NEXT:    %y = graph.call_kernel @copy(%x)
// CHECK-NEXT:    %w = compute.fusion
// CHECK:         %z = graph.call_kernel @copy(%x)
// CHECK-NEXT:    %v = compute.fusion
// CHECK:         func.return %w, %v
cuda.kernel @copy(%x : memref<4x4xf32>, %y : memref<4x4xf32>) grid(4) block(4) attributes {cuda.explicit} {
  %i = cuda.block_id x
  %j = cuda.thread_id x
  %0 = memref.load %x[%i, %j] : memref<4x4xf32>
  memref.store %0, %y[%i, %j] : memref<4x4xf32>
}

func.func @forward(%x : tensor<4x4xf32>, %m : tensor<4x4xi1>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %y = graph.call_kernel @copy(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %w = compute.fusion (%y_ = %y : tensor<4x4xf32>, %m_ = %m : tensor<4x4xi1>) -> (tensor<4x4xf32>) {
    %w = compute.grid (%i, %j) {
      %0 = compute.load %y_[%i, %j] : tensor<4x4xf32>
      %1 = compute.load %m_[%i, %j] : tensor<4x4xi1>
      %c = arith.constant 0.0 : f32
      %2 = arith.select %1, %0, %c : f32
      compute.yield %2 : f32
    } : tensor<4x4xf32>
    compute.yield %w : tensor<4x4xf32>
  }
  %z = graph.call_kernel @copy(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %v = compute.fusion (%z_ = %z : tensor<4x4xf32>, %m_ = %m : tensor<4x4xi1>) -> (tensor<4x4xf32>) {
    %v = compute.grid (%i, %j) {
      %0 = compute.load %z_[%i, %j] : tensor<4x4xf32>
      %1 = compute.load %m_[%i, %j] : tensor<4x4xi1>
      %2 = scf.if %1 -> (f32) {
        %3 = math.exp %0 : f32
        scf.yield %3 : f32
      } else {
        %c = arith.constant 0.0 : f32
        scf.yield %c : f32
      }
      compute.yield %2 : f32
    } : tensor<4x4xf32>
    compute.yield %v : tensor<4x4xf32>
  }
  func.return %w, %v : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Other elements than those that are stored are read; neighbouring threads would load far apart.

// CHECK-LABEL: func.func @forward
// CHECK-NEXT:    %y = graph.call_kernel @copy(%x)
// CHECK-NEXT:    %t = compute.fusion
// CHECK:         %z = graph.call_kernel @copy(%t)
// CHECK:         func.return %z
cuda.kernel @copy(%x : memref<128x128xf32>, %y : memref<128x128xf32>) grid(128) block(128) attributes {cuda.explicit} {
  %i = cuda.block_id x
  %j = cuda.thread_id x
  %0 = memref.load %x[%i, %j] : memref<128x128xf32>
  memref.store %0, %y[%i, %j] : memref<128x128xf32>
}

func.func @forward(%x : tensor<128x128xf32>) -> tensor<128x128xf32> {
  %y = graph.call_kernel @copy(%x) : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %t = compute.fusion (%y_ = %y : tensor<128x128xf32>) -> (tensor<128x128xf32>) {
    %t = compute.grid (%i, %j) {
      %0 = compute.load %y_[%j, %i] : tensor<128x128xf32>
      compute.yield %0 : f32
    } : tensor<128x128xf32>
    compute.yield %t : tensor<128x128xf32>
  }
  %z = graph.call_kernel @copy(%t) : (tensor<128x128xf32>) -> tensor<128x128xf32>
  func.return %z : tensor<128x128xf32>
}

// -----

// What costs much is not computed at each of several loads.

// CHECK-LABEL: func.func @forward
// CHECK-NEXT:    %e = compute.fusion
// CHECK:         %y = graph.call_kernel @rows(%e)
// CHECK-NEXT:    func.return %y
cuda.kernel @rows(%x : memref<4x4xf32>, %y : memref<4x4xf32>) grid(4) block(4) attributes {cuda.explicit} {
  %i = cuda.block_id x
  %j = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0 = memref.load %x[%i, %c0] : memref<4x4xf32>
  %sum = scf.for %k = %c1 to %c4 step %c1 iter_args(%acc = %0) -> (f32) {
    %1 = memref.load %x[%i, %k] : memref<4x4xf32>
    %2 = arith.addf %acc, %1 : f32
    scf.yield %2 : f32
  }
  memref.store %sum, %y[%i, %j] : memref<4x4xf32>
}

func.func @forward(%x : tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = compute.fusion (%x_ = %x : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %e = compute.grid (%i, %j) {
      %0 = compute.load %x_[%i, %j] : tensor<4x4xf32>
      %1 = math.exp %0 : f32
      compute.yield %1 : f32
    } : tensor<4x4xf32>
    compute.yield %e : tensor<4x4xf32>
  }
  %y = graph.call_kernel @rows(%e) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// -----

// What somebody else reads, or the function returns, is stored.

// CHECK-LABEL: func.func @forward
// CHECK-NEXT:    %relu = compute.fusion
// CHECK:         %y = graph.call_kernel @copy(%relu)
// CHECK-NEXT:    %z = graph.call_kernel @a_copy(%relu, %y)
// CHECK-NEXT:    func.return %y, %z
cuda.kernel @copy(%x : memref<4x4xf32>, %y : memref<4x4xf32>) grid(4) block(4) attributes {cuda.explicit} {
  %i = cuda.block_id x
  %j = cuda.thread_id x
  %0 = memref.load %x[%i, %j] : memref<4x4xf32>
  memref.store %0, %y[%i, %j] : memref<4x4xf32>
}

func.func @forward(%x : tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %relu = compute.fusion (%x_ = %x : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %relu = compute.grid (%i, %j) {
      %0 = compute.load %x_[%i, %j] : tensor<4x4xf32>
      %z = arith.constant 0.0 : f32
      %1 = arith.maximumf %0, %z : f32
      compute.yield %1 : f32
    } : tensor<4x4xf32>
    compute.yield %relu : tensor<4x4xf32>
  }
  %y = graph.call_kernel @copy(%relu) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = compute.fusion (%relu_ = %relu : tensor<4x4xf32>, %y_ = %y : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %a = compute.grid (%i, %j) {
      %0 = compute.load %relu_[%i, %j] : tensor<4x4xf32>
      %1 = compute.load %y_[%i, %j] : tensor<4x4xf32>
      %2 = arith.divf %0, %1 : f32
      %3 = math.exp %2 : f32
      %4 = math.exp %1 : f32
      %5 = arith.addf %3, %4 : f32
      compute.yield %5 : f32
    } : tensor<4x4xf32>
    compute.yield %a : tensor<4x4xf32>
  }
  %z = graph.call_kernel @copy(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %y, %z : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// What a kernel copies boxes of is memory: nothing is computed where it is read or written.

// CHECK-LABEL: func.func @forward
// CHECK-NEXT:    %relu = compute.fusion
// CHECK:         %y = graph.call_kernel @boxes(%relu)
// CHECK-NEXT:    %z = compute.fusion (%y_ = %y : tensor<64x64xf16>)
!map = !cuda.tensor_map<tensor<64x64xf16>, box [64, 64], swizzle 128>
cuda.kernel @boxes(%x : !map, %y : !map) grid(1) block(32) attributes {cuda.explicit} {
}

func.func @forward(%x : tensor<64x64xf16>) -> tensor<64x64xf16> {
  %relu = compute.fusion (%x_ = %x : tensor<64x64xf16>) -> (tensor<64x64xf16>) {
    %relu = compute.grid (%i, %j) {
      %0 = compute.load %x_[%i, %j] : tensor<64x64xf16>
      %z = arith.constant 0.0 : f16
      %1 = arith.maximumf %0, %z : f16
      compute.yield %1 : f16
    } : tensor<64x64xf16>
    compute.yield %relu : tensor<64x64xf16>
  }
  %y = graph.call_kernel @boxes(%relu) : (tensor<64x64xf16>) -> tensor<64x64xf16>
  %z = compute.fusion (%y_ = %y : tensor<64x64xf16>) -> (tensor<64x64xf16>) {
    %z = compute.grid (%i, %j) {
      %0 = compute.load %y_[%i, %j] : tensor<64x64xf16>
      %1 = arith.addf %0, %0 : f16
      compute.yield %1 : f16
    } : tensor<64x64xf16>
    compute.yield %z : tensor<64x64xf16>
  }
  func.return %z : tensor<64x64xf16>
}

// -----

// The first elements of what a kernel stores: the rest has no element that it could become.

// CHECK-LABEL: func.func @forward
// CHECK-NEXT:    %y = graph.call_kernel @copy(%x)
// CHECK-NEXT:    %first = compute.fusion (%y_ = %y : tensor<4x4xf32>)
cuda.kernel @copy(%x : memref<4x4xf32>, %y : memref<4x4xf32>) grid(4) block(4) attributes {cuda.explicit} {
  %i = cuda.block_id x
  %j = cuda.thread_id x
  %0 = memref.load %x[%i, %j] : memref<4x4xf32>
  memref.store %0, %y[%i, %j] : memref<4x4xf32>
}

func.func @forward(%x : tensor<4x4xf32>) -> tensor<2x4xf32> {
  %y = graph.call_kernel @copy(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %first = compute.fusion (%y_ = %y : tensor<4x4xf32>) -> (tensor<2x4xf32>) {
    %first = compute.grid (%i, %j) {
      %0 = compute.load %y_[%i, %j] : tensor<4x4xf32>
      %1 = arith.addf %0, %0 : f32
      compute.yield %1 : f32
    } : tensor<2x4xf32>
    compute.yield %first : tensor<2x4xf32>
  }
  func.return %first : tensor<2x4xf32>
}
