// RUN: hidet-opt %s -p 'order-dimensions' --split-input-file | filecheck %s

// A grid lies in memory as what it reads does; its readers read it there.

// CHECK-LABEL: func.func @chain
// CHECK-NEXT:    %e = compute.grid (%n, %h, %c) {
// CHECK-NEXT:      %[[V:.*]] = compute.load %x[%n, %h, %c] : tensor<2x6x4xf32>
// CHECK-NEXT:      math.exp %[[V]] : f32
// CHECK:         } : tensor<2x6x4xf32>
// CHECK-NEXT:    %y = compute.grid (%i, %k, %j) {
// CHECK-NEXT:      %{{.*}} = compute.load %e[%i, %k, %j] : tensor<2x6x4xf32>
// CHECK:         } : tensor<2x6x4xf32>
// CHECK-NEXT:    %[[BACK:.*]] = compute.grid (%n_1, %h_1, %c_1) {
// CHECK-NEXT:      %{{.*}} = compute.load %y[%n_1, %h_1, %c_1] : tensor<2x6x4xf32>
// CHECK:         func.return %[[BACK]]
func.func @chain(%x : tensor<2x6x4xf32>) -> tensor<2x6x4xf32> {
  %e = compute.grid (%n, %c, %h) {
    %v = compute.load %x[%n, %h, %c] : tensor<2x6x4xf32>
    %r = math.exp %v : f32
    compute.yield %r : f32
  } : tensor<2x4x6xf32>
  %y = compute.grid (%i, %j, %k) {
    %v = compute.load %e[%i, %j, %k] : tensor<2x4x6xf32>
    %r = math.sin %v : f32
    compute.yield %r : f32
  } : tensor<2x4x6xf32>
  %back = compute.grid (%n, %h, %c) {
    %v = compute.load %y[%n, %c, %h] : tensor<2x4x6xf32>
    compute.yield %v : f32
  } : tensor<2x6x4xf32>
  func.return %back : tensor<2x6x4xf32>
}

// -----

// What an element is one part of, as a pixel, counts; so do windows. A result keeps its order: it
// is a view of what is stored.

// CHECK-LABEL: func.func @pool
// CHECK-NEXT:    %y = compute.grid (%h, %w, %c) {
// CHECK:           compute.load %x[%{{.*}}, %c] : tensor<16x8xf32>
// CHECK:         } : tensor<2x2x8xf32>
// CHECK-NEXT:    %[[OUT:.*]] = compute.grid (%c_1, %h_1, %w_1) {
// CHECK-NEXT:      %{{.*}} = compute.load %y[%h_1, %w_1, %c_1] : tensor<2x2x8xf32>
// CHECK:         func.return %[[OUT]] : tensor<8x2x2xf32>
func.func @pool(%x : tensor<16x8xf32>) -> tensor<8x2x2xf32> {
  %y = compute.grid (%c, %h, %w) {
    %m = compute.reduce max [2, 2] (%r, %s) {
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %h2 = arith.muli %h, %c2 : index
      %a = arith.addi %h2, %r : index
      %w2 = arith.muli %w, %c2 : index
      %b = arith.addi %w2, %s : index
      %row = arith.muli %a, %c4 : index
      %pixel = arith.addi %row, %b : index
      %v = compute.load %x[%pixel, %c] : tensor<16x8xf32>
      compute.yield %v : f32
    } : f32
    compute.yield %m : f32
  } : tensor<8x2x2xf32>
  func.return %y : tensor<8x2x2xf32>
}

// -----

// Rows stay as they are, and so does what reads in order, or reads the same again and again; what
// is to be stored says how.

// CHECK-LABEL: func.func @stays
// CHECK-COUNT-3: } : tensor<4x64xf32>
// CHECK:         } {compute.stored} : tensor<4x64xf32>
func.func @stays(%x : tensor<64x4xf32>, %z : tensor<4x64xf32>, %v : tensor<4xf32>) -> (
    tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x64xf32>) {
  %sum = compute.grid (%i) {
    %r = compute.reduce add [64] (%k) {
      %e = compute.load %x[%k, %i] : tensor<64x4xf32>
      compute.yield %e : f32
    } : f32
    compute.yield %r : f32
  } : tensor<4xf32>
  %part = compute.grid (%i, %j) {
    %e = compute.load %x[%j, %i] : tensor<64x4xf32>
    %s = compute.load %sum[%i] : tensor<4xf32>
    %q = arith.divf %e, %s : f32
    compute.yield %q : f32
  } : tensor<4x64xf32>
  %plain = compute.grid (%i, %j) {
    %e = compute.load %z[%i, %j] : tensor<4x64xf32>
    %r = math.exp %e : f32
    compute.yield %r : f32
  } : tensor<4x64xf32>
  %same = compute.grid (%i, %j) {
    %e = compute.load %v[%i] : tensor<4xf32>
    %r = math.exp %e : f32
    compute.yield %r : f32
  } : tensor<4x64xf32>
  %packed = compute.grid (%i, %j) {
    %e = compute.load %x[%j, %i] : tensor<64x4xf32>
    compute.yield %e : f32
  } {compute.stored} : tensor<4x64xf32>
  func.return %part, %plain, %same, %packed
    : tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x64xf32>
}
