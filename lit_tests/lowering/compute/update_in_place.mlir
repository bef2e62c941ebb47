// RUN: hidet-opt %s -p 'update-in-place' --split-input-file | filecheck %s

// What an update reads becomes what its result holds at first: the argument %p is overwritten. Another
// kernel may read it before.

// CHECK-LABEL: func.func @update
// CHECK-NEXT:    %n = compute.fusion (%p_ = %p : tensor<8xf32>) -> (tensor<8xf32>) {
// CHECK:         %m2, %q = compute.fusion (%g_ = %g : tensor<8xf32>, %m_ = %m : tensor<8xf32>, %p_ = %p : tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) inits [0, 1] {
// CHECK-NEXT:      %a = compute.grid
func.func @update(%p : tensor<8xf32>, %g : tensor<8xf32>, %m : tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) attributes {updates = array<i64: 0, 2>} {
  %n = compute.fusion (%p_ = %p : tensor<8xf32>) -> (tensor<8xf32>) {
    %n = compute.grid (%i) {
      %v = compute.load %p_[%i] : tensor<8xf32>
      %e = math.exp %v : f32
      compute.yield %e : f32
    } : tensor<8xf32>
    compute.yield %n : tensor<8xf32>
  }
  %m2, %q = compute.fusion (%p_ = %p : tensor<8xf32>, %g_ = %g : tensor<8xf32>, %m_ = %m : tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %a = compute.grid (%i) {
      %v = compute.load %m_[%i] : tensor<8xf32>
      %w = compute.load %g_[%i] : tensor<8xf32>
      %e = arith.addf %v, %w : f32
      compute.yield %e : f32
    } : tensor<8xf32>
    %b = compute.grid (%i) {
      %v = compute.load %p_[%i] : tensor<8xf32>
      %w = compute.load %a[%i] : tensor<8xf32>
      %e = arith.addf %v, %w : f32
      compute.yield %e : f32
    } : tensor<8xf32>
    compute.yield %a, %b : tensor<8xf32>, tensor<8xf32>
  }
  func.return %n, %q, %m2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// An argument stays that is read by a later kernel or by the caller, in another order, by all threads,
// or by the blocks of another segment; and where rows are reduced.

// CHECK-LABEL: func.func @kept
// CHECK-NOT:     inits
func.func @kept(%a : tensor<8xf32>, %b : tensor<8xf32>, %c : tensor<1xf32>, %d : tensor<8xf32>, %e : tensor<8x4xf32>, %f : tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<1xf32>, tensor<8xf32>, tensor<8x4xf32>, tensor<8xf32>)
    attributes {updates = array<i64: 0, 1, 2, 3, 4, 5>} {
  %a2 = compute.fusion (%x = %a : tensor<8xf32>) -> (tensor<8xf32>) {
    %r = compute.grid (%i) {
      %v = compute.load %x[%i] : tensor<8xf32>
      %s = math.exp %v : f32
      compute.yield %s : f32
    } : tensor<8xf32>
    compute.yield %r : tensor<8xf32>
  }
  %later = compute.fusion (%x = %a : tensor<8xf32>) -> (tensor<8xf32>) {
    %r = compute.grid (%i) {
      %v = compute.load %x[%i] : tensor<8xf32>
      %s = math.tanh %v : f32
      compute.yield %s : f32
    } : tensor<8xf32>
    compute.yield %r : tensor<8xf32>
  }
  %b2 = compute.fusion (%x = %b : tensor<8xf32>) -> (tensor<8xf32>) {
    %r = compute.grid (%i) {
      %c7 = arith.constant 7 : index
      %j = arith.subi %c7, %i : index
      %v = compute.load %x[%j] : tensor<8xf32>
      compute.yield %v : f32
    } : tensor<8xf32>
    compute.yield %r : tensor<8xf32>
  }
  %c2, %all = compute.fusion (%x = %c : tensor<1xf32>, %y = %a : tensor<8xf32>) -> (tensor<1xf32>, tensor<8xf32>) segments [1, 1] {
    %r = compute.grid (%i) {
      %v = compute.load %x[%i] : tensor<1xf32>
      %s = math.exp %v : f32
      compute.yield %s : f32
    } : tensor<1xf32>
    %t = compute.grid (%i) {
      %c0 = arith.constant 0 : index
      %v = compute.load %x[%c0] : tensor<1xf32>
      %w = compute.load %y[%i] : tensor<8xf32>
      %s = arith.addf %v, %w : f32
      compute.yield %s : f32
    } : tensor<8xf32>
    compute.yield %r, %t : tensor<1xf32>, tensor<8xf32>
  }
  %d2, %other = compute.fusion (%x = %d : tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) segments [1, 1] {
    %r = compute.grid (%i) {
      %v = compute.load %x[%i] : tensor<8xf32>
      %s = math.exp %v : f32
      compute.yield %s : f32
    } : tensor<8xf32>
    %t = compute.grid (%i) {
      %v = compute.load %x[%i] : tensor<8xf32>
      %s = math.tanh %v : f32
      compute.yield %s : f32
    } : tensor<8xf32>
    compute.yield %r, %t : tensor<8xf32>, tensor<8xf32>
  }
  %e2 = compute.fusion (%x = %e : tensor<8x4xf32>) -> (tensor<8x4xf32>) {
    %r = compute.grid (%i, %j) {
      %s = compute.reduce add [4] (%k) {
        %v = compute.load %x[%i, %k] : tensor<8x4xf32>
        compute.yield %v : f32
      } : f32
      compute.yield %s : f32
    } : tensor<8x4xf32>
    compute.yield %r : tensor<8x4xf32>
  }
  %f2 = compute.fusion (%x = %f : tensor<8xf32>) -> (tensor<8xf32>) {
    %r = compute.grid (%i) {
      %v = compute.load %x[%i] : tensor<8xf32>
      %s = math.exp %v : f32
      compute.yield %s : f32
    } : tensor<8xf32>
    compute.yield %r : tensor<8xf32>
  }
  func.return %f, %a2, %b2, %c2, %d2, %e2, %f2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<1xf32>, tensor<8xf32>, tensor<8x4xf32>, tensor<8xf32>
}

// -----

// Nor is one overwritten of which another row is read, by the update itself or through another result.

// CHECK-LABEL: func.func @rows
// CHECK-NOT:     inits
func.func @rows(%a : tensor<2x4xf32>, %b : tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    attributes {updates = array<i64: 0, 1>} {
  %a2 = compute.fusion (%x = %a : tensor<2x4xf32>) -> (tensor<2x4xf32>) {
    %r = compute.grid (%i, %j) {
      %c1 = arith.constant 1 : index
      %k = arith.subi %c1, %i : index
      %v = compute.load %x[%k, %j] : tensor<2x4xf32>
      compute.yield %v : f32
    } : tensor<2x4xf32>
    compute.yield %r : tensor<2x4xf32>
  }
  %b2, %turned = compute.fusion (%x = %b : tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
    %r = compute.grid (%i, %j) {
      %v = compute.load %x[%i, %j] : tensor<2x4xf32>
      %s = math.exp %v : f32
      compute.yield %s : f32
    } : tensor<2x4xf32>
    %t = compute.grid (%i, %j) {
      %c1 = arith.constant 1 : index
      %k = arith.subi %c1, %i : index
      %v = compute.load %r[%k, %j] : tensor<2x4xf32>
      compute.yield %v : f32
    } : tensor<2x4xf32>
    compute.yield %r, %t : tensor<2x4xf32>, tensor<2x4xf32>
  }
  func.return %turned, %a2, %b2 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
