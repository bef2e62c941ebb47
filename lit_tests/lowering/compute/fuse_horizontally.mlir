// RUN: hidet-opt %s -p 'fuse-horizontally' --split-input-file | filecheck %s

// What depends on arguments alone, and what depends on that, are a kernel each. A shared argument is
// passed once.

// CHECK-LABEL: func.func @steps
// CHECK-NEXT:    %t, %u = compute.fusion (%a = %s : tensor<1xf32>, %b = %r : tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>) segments [1, 1] {
// CHECK-NEXT:      %t_1 = compute.grid
// CHECK:           %u_1 = compute.grid
// CHECK:           compute.yield %t_1, %u_1 : tensor<1xf32>, tensor<1xf32>
// CHECK:         %y, %y2, %z = compute.fusion (%x_ = %x : tensor<8xf32>, %c = %t : tensor<1xf32>, %w_ = %w : tensor<4x3xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<4x3xf32>) segments [2, 1] {
// CHECK-NOT:     compute.fusion
// CHECK:         func.return %y, %y2, %z, %u
func.func @steps(%x : tensor<8xf32>, %w : tensor<4x3xf32>, %s : tensor<1xf32>, %r : tensor<1xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<4x3xf32>, tensor<1xf32>) {
  %t = compute.fusion (%a = %s : tensor<1xf32>) -> (tensor<1xf32>) {
    %t = compute.grid (%i) {
      %v = compute.load %a[%i] : tensor<1xf32>
      %e = math.exp %v : f32
      compute.yield %e : f32
    } : tensor<1xf32>
    compute.yield %t : tensor<1xf32>
  }
  %y, %y2 = compute.fusion (%x_ = %x : tensor<8xf32>, %c = %t : tensor<1xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %y = compute.grid (%i) {
      %c0 = arith.constant 0 : index
      %v = compute.load %x_[%i] : tensor<8xf32>
      %o = compute.load %c[%c0] : tensor<1xf32>
      %e = arith.addf %v, %o : f32
      compute.yield %e : f32
    } : tensor<8xf32>
    %y2 = compute.grid (%i) {
      %v = compute.load %y[%i] : tensor<8xf32>
      %e = math.exp %v : f32
      compute.yield %e : f32
    } : tensor<8xf32>
    compute.yield %y, %y2 : tensor<8xf32>, tensor<8xf32>
  }
  %u = compute.fusion (%b = %r : tensor<1xf32>) -> (tensor<1xf32>) {
    %u = compute.grid (%i) {
      %v = compute.load %b[%i] : tensor<1xf32>
      %e = math.tanh %v : f32
      compute.yield %e : f32
    } : tensor<1xf32>
    compute.yield %u : tensor<1xf32>
  }
  %z = compute.fusion (%w_ = %w : tensor<4x3xf32>, %c = %t : tensor<1xf32>) -> (tensor<4x3xf32>) {
    %z = compute.grid (%i, %j) {
      %c0 = arith.constant 0 : index
      %v = compute.load %w_[%i, %j] : tensor<4x3xf32>
      %o = compute.load %c[%c0] : tensor<1xf32>
      %e = arith.mulf %v, %o : f32
      compute.yield %e : f32
    } : tensor<4x3xf32>
    compute.yield %z : tensor<4x3xf32>
  }
  func.return %y, %y2, %z, %u : tensor<8xf32>, tensor<8xf32>, tensor<4x3xf32>, tensor<1xf32>
}

// -----

// Those that read one argument of their size are computed by the same threads.

// CHECK-LABEL: func.func @siblings
// CHECK-NEXT:    %y, %z = compute.fusion (%x_ = %x : tensor<8xf32>, %w_ = %w : tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
// CHECK-NOT:     compute.fusion
func.func @siblings(%x : tensor<8xf32>, %w : tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = compute.fusion (%x_ = %x : tensor<8xf32>) -> (tensor<8xf32>) {
    %y = compute.grid (%i) {
      %v = compute.load %x_[%i] : tensor<8xf32>
      %e = math.exp %v : f32
      compute.yield %e : f32
    } : tensor<8xf32>
    compute.yield %y : tensor<8xf32>
  }
  %z = compute.fusion (%w_ = %w : tensor<8xf32>, %x_ = %x : tensor<8xf32>) -> (tensor<8xf32>) {
    %z = compute.grid (%i) {
      %v = compute.load %x_[%i] : tensor<8xf32>
      %u = compute.load %w_[%i] : tensor<8xf32>
      %e = arith.mulf %v, %u : f32
      compute.yield %e : f32
    } : tensor<8xf32>
    compute.yield %z : tensor<8xf32>
  }
  func.return %y, %z : tensor<8xf32>, tensor<8xf32>
}

// -----

// What has been marked already stays.

// CHECK-LABEL: func.func @marked
// CHECK:         compute.fusion (%x_ = %x : tensor<8xf32>) -> (tensor<8xf32>) inits [0] {
// CHECK:         compute.fusion (%w_ = %w : tensor<4xf32>) -> (tensor<4xf32>) {
func.func @marked(%x : tensor<8xf32>, %w : tensor<4xf32>) -> (tensor<4xf32>, tensor<8xf32>) attributes {updates = array<i64: 0>} {
  %y = compute.fusion (%x_ = %x : tensor<8xf32>) -> (tensor<8xf32>) inits [0] {
    %y = compute.grid (%i) {
      %v = compute.load %x_[%i] : tensor<8xf32>
      %e = math.exp %v : f32
      compute.yield %e : f32
    } : tensor<8xf32>
    compute.yield %y : tensor<8xf32>
  }
  %z = compute.fusion (%w_ = %w : tensor<4xf32>) -> (tensor<4xf32>) {
    %z = compute.grid (%i) {
      %v = compute.load %w_[%i] : tensor<4xf32>
      %e = math.tanh %v : f32
      compute.yield %e : f32
    } : tensor<4xf32>
    compute.yield %z : tensor<4xf32>
  }
  func.return %z, %y : tensor<4xf32>, tensor<8xf32>
}

// -----

// A kernel stays that a reduction reads, a reduction itself, and what is read across.

// CHECK-LABEL: func.func @others
// CHECK-NOT:     segments
func.func @others(%x : tensor<8xf32>, %w : tensor<64x32xf32>) -> (tensor<1xf32>, tensor<8xf32>, tensor<32x64xf32>) {
  %a = compute.fusion (%x_ = %x : tensor<8xf32>) -> (tensor<8xf32>) {
    %a = compute.grid (%i) {
      %v = compute.load %x_[%i] : tensor<8xf32>
      %e = math.exp %v : f32
      compute.yield %e : f32
    } : tensor<8xf32>
    compute.yield %a : tensor<8xf32>
  }
  %s = compute.fusion (%a_ = %a : tensor<8xf32>) -> (tensor<1xf32>) {
    %s = compute.grid (%i) {
      %r = compute.reduce add [8] (%k) {
        %v = compute.load %a_[%k] : tensor<8xf32>
        compute.yield %v : f32
      } : f32
      compute.yield %r : f32
    } : tensor<1xf32>
    compute.yield %s : tensor<1xf32>
  }
  %b = compute.fusion (%x_ = %x : tensor<8xf32>) -> (tensor<8xf32>) {
    %b = compute.grid (%i) {
      %v = compute.load %x_[%i] : tensor<8xf32>
      %e = math.tanh %v : f32
      compute.yield %e : f32
    } : tensor<8xf32>
    compute.yield %b : tensor<8xf32>
  }
  %t = compute.fusion (%w_ = %w : tensor<64x32xf32>) -> (tensor<32x64xf32>) {
    %t = compute.grid (%i, %j) {
      %v = compute.load %w_[%j, %i] : tensor<64x32xf32>
      %e = math.tanh %v : f32
      compute.yield %e : f32
    } : tensor<32x64xf32>
    compute.yield %t : tensor<32x64xf32>
  }
  func.return %s, %b, %t : tensor<1xf32>, tensor<8xf32>, tensor<32x64xf32>
}
