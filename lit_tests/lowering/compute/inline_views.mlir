// RUN: hidet-opt %s -p 'inline-views' | filecheck %s

// A transpose is read through: its reader loads the source at the other place, and it is gone.

// CHECK-LABEL: func.func @permute
// CHECK-NEXT:    %y = compute.grid (%i, %j) {
// CHECK-NEXT:      %[[V:.*]] = compute.load %x[%j, %i] : tensor<4x8xf32>
// CHECK-NEXT:      %e = math.exp %[[V]] : f32
func.func @permute(%x : tensor<4x8xf32>) -> tensor<8x4xf32> {
  %t = compute.grid (%r, %c) {
    %v = compute.load %x[%c, %r] : tensor<4x8xf32>
    compute.yield %v : f32
  } : tensor<8x4xf32>
  %y = compute.grid (%i, %j) {
    %w = compute.load %t[%i, %j] : tensor<8x4xf32>
    %e = math.exp %w : f32
    compute.yield %e : f32
  } : tensor<8x4xf32>
  func.return %y : tensor<8x4xf32>
}

// What is to be stored is no view.

// CHECK-LABEL: func.func @stored
// CHECK:         } {compute.stored} : tensor<8x4xf32>
// CHECK:         compute.load %t
func.func @stored(%x : tensor<4x8xf32>) -> tensor<8x4xf32> {
  %t = compute.grid (%r, %c) {
    %v = compute.load %x[%c, %r] : tensor<4x8xf32>
    compute.yield %v : f32
  } {compute.stored} : tensor<8x4xf32>
  %y = compute.grid (%i, %j) {
    %w = compute.load %t[%i, %j] : tensor<8x4xf32>
    %e = math.exp %w : f32
    compute.yield %e : f32
  } : tensor<8x4xf32>
  func.return %y : tensor<8x4xf32>
}

// Padding is a view too: the branch moves into the reader, and with it the load that it guards.

// CHECK-LABEL: func.func @pad
// CHECK-NOT:     tensor<6xf32>
// CHECK:         %y = compute.grid (%i) {
// CHECK:           %[[IN:.*]] = arith.cmpi slt, %i
// CHECK-NEXT:      %[[V:.*]] = scf.if %[[IN]] -> (f32) {
// CHECK-NEXT:        %{{.*}} = compute.load %x[%i] : tensor<4xf32>
// CHECK:           math.exp %[[V]] : f32
func.func @pad(%x : tensor<4xf32>) -> tensor<4xf32> {
  %p = compute.grid (%k) {
    %c4 = arith.constant 4 : index
    %in = arith.cmpi slt, %k, %c4 : index
    %v = scf.if %in -> (f32) {
      %w = compute.load %x[%k] : tensor<4xf32>
      scf.yield %w : f32
    } else {
      %zero = arith.constant 0.0 : f32
      scf.yield %zero : f32
    }
    compute.yield %v : f32
  } : tensor<6xf32>
  %y = compute.grid (%i) {
    %w = compute.load %p[%i] : tensor<6xf32>
    %e = math.exp %w : f32
    compute.yield %e : f32
  } : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// A chain of views collapses, also into a reduction; a constant is a view of nothing.

// CHECK-LABEL: func.func @chain
// CHECK-NEXT:    %y = compute.grid (%i) {
// CHECK-NEXT:      %{{.*}} = compute.reduce add [8] (%k) {
// CHECK-NEXT:        %[[ONE:.*]] = arith.constant 1 : index
// CHECK-NEXT:        %[[ROW:.*]] = arith.addi %i, %[[ONE]] : index
// CHECK-NEXT:        %[[V:.*]] = compute.load %x[%[[ROW]], %k] : tensor<4x8xf32>
// CHECK-NEXT:        %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT:        %{{.*}} = arith.mulf %[[V]], %[[TWO]] : f32
func.func @chain(%x : tensor<4x8xf32>) -> tensor<3xf32> {
  %t = compute.grid (%r, %c) {
    %v = compute.load %x[%c, %r] : tensor<4x8xf32>
    compute.yield %v : f32
  } : tensor<8x4xf32>
  %s = compute.grid (%a, %b) {
    %one = arith.constant 1 : index
    %d = arith.addi %b, %one : index
    %v = compute.load %t[%a, %d] : tensor<8x4xf32>
    compute.yield %v : f32
  } : tensor<8x3xf32>
  %two = compute.grid (%a) {
    %c = arith.constant 2.0 : f32
    compute.yield %c : f32
  } : tensor<8xf32>
  %y = compute.grid (%i) {
    %sum = compute.reduce add [8] (%k) {
      %v = compute.load %s[%k, %i] : tensor<8x3xf32>
      %f = compute.load %two[%k] : tensor<8xf32>
      %p = arith.mulf %v, %f : f32
      compute.yield %p : f32
    } : f32
    compute.yield %sum : f32
  } : tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// Loads of one element share a copy of the view, or a chain of x + x would double at every link.

// CHECK-LABEL: func.func @shared
// CHECK-COUNT-1: compute.load %x
// CHECK-NOT:     compute.load %x
// CHECK:         arith.addf %[[V:.*]], %[[V]] : f32
func.func @shared(%x : tensor<4x8xf32>) -> tensor<8x4xf32> {
  %t = compute.grid (%r, %c) {
    %v = compute.load %x[%c, %r] : tensor<4x8xf32>
    compute.yield %v : f32
  } : tensor<8x4xf32>
  %y = compute.grid (%i, %j) {
    %v = compute.load %t[%i, %j] : tensor<8x4xf32>
    %w = compute.load %t[%i, %j] : tensor<8x4xf32>
    %d = arith.addf %v, %w : f32
    compute.yield %d : f32
  } : tensor<8x4xf32>
  func.return %y : tensor<8x4xf32>
}

// Arithmetic makes a grid more than a view, and so do two sources; both stay.

// CHECK-LABEL: func.func @no_view
// CHECK-NEXT:    %s = compute.grid
// CHECK:         %m = compute.grid
// CHECK:         %y = compute.grid
func.func @no_view(%x : tensor<4xf32>, %z : tensor<4xf32>) -> tensor<4xf32> {
  %s = compute.grid (%i) {
    %v = compute.load %x[%i] : tensor<4xf32>
    %d = arith.addf %v, %v : f32
    compute.yield %d : f32
  } : tensor<4xf32>
  %m = compute.grid (%i) {
    %c2 = arith.constant 2 : index
    %in = arith.cmpi slt, %i, %c2 : index
    %v = compute.load %x[%i] : tensor<4xf32>
    %w = compute.load %z[%i] : tensor<4xf32>
    %r = arith.select %in, %v, %w : f32
    compute.yield %r : f32
  } : tensor<4xf32>
  %y = compute.grid (%i) {
    %v = compute.load %s[%i] : tensor<4xf32>
    %w = compute.load %m[%i] : tensor<4xf32>
    %d = arith.addf %v, %w : f32
    compute.yield %d : f32
  } : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// A cast to a wider type is read through; one to a narrower is not: it would be stored wide.

// CHECK-LABEL: func.func @casts
// CHECK-NEXT:    %n = compute.grid (%i) {
// CHECK:           arith.truncf
// CHECK:         %y = compute.grid (%i_1) {
// CHECK-NEXT:      %{{.*}} = compute.load %n[%i_1] : tensor<4xf16>
// CHECK-NEXT:      %{{.*}} = arith.extf
// CHECK-NEXT:      %{{.*}} = math.exp
func.func @casts(%x : tensor<4xf32>) -> tensor<4xf32> {
  %n = compute.grid (%i) {
    %v = compute.load %x[%i] : tensor<4xf32>
    %h = arith.truncf %v : f32 to f16
    compute.yield %h : f16
  } : tensor<4xf16>
  %w = compute.grid (%i) {
    %v = compute.load %n[%i] : tensor<4xf16>
    %f = arith.extf %v : f16 to f32
    compute.yield %f : f32
  } : tensor<4xf32>
  %y = compute.grid (%i) {
    %v = compute.load %w[%i] : tensor<4xf32>
    %e = math.exp %v : f32
    compute.yield %e : f32
  } : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// An anchor and the function's result take the tensor itself: there the view stays.

// CHECK-LABEL: func.func @kept
// CHECK-NEXT:    %t = compute.grid
// CHECK:         %p = graph.matmul %t, %x
// CHECK:         %y = compute.grid
// CHECK-NEXT:      compute.load %x[
// CHECK:         func.return %t, %y, %p
func.func @kept(%x : tensor<4x8xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x8xf32>) {
  %t = compute.grid (%r, %c) {
    %v = compute.load %x[%c, %r] : tensor<4x8xf32>
    compute.yield %v : f32
  } : tensor<8x4xf32>
  %p = graph.matmul %t, %x : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %y = compute.grid (%i, %j) {
    %v = compute.load %t[%i, %j] : tensor<8x4xf32>
    %e = math.exp %v : f32
    compute.yield %e : f32
  } : tensor<8x4xf32>
  func.return %t, %y, %p : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x8xf32>
}

// A long view is not copied: with two readers it stays, and `fuse` stores it; with one it moves.

// CHECK-LABEL: func.func @long
// CHECK-NEXT:    %long = compute.grid (%k, %l) {
// CHECK-NOT:     %moved = compute.grid
// CHECK:         %y = compute.grid (%i, %j) {
// CHECK-NEXT:      compute.load %long[%i, %j]
// CHECK:         %z = compute.grid (%i_1, %j_1) {
// CHECK-NEXT:      compute.load %long[%j_1, %i_1]
// CHECK:         %w = compute.grid
// CHECK-COUNT-4: arith.divsi
// CHECK:         compute.load %x
func.func @long(%x : tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %long = compute.grid (%k, %l) {
    %c2 = arith.constant 2 : index
    %a = arith.divsi %k, %c2 : index
    %b = arith.divsi %l, %c2 : index
    %c = arith.divsi %a, %c2 : index
    %d = arith.divsi %b, %c2 : index
    %e = arith.addi %a, %b : index
    %f = arith.addi %c, %d : index
    %g = arith.remsi %e, %c2 : index
    %h = arith.remsi %f, %c2 : index
    %m = arith.addi %g, %c : index
    %n = arith.addi %h, %d : index
    %v = compute.load %x[%m, %n] : tensor<8x8xf32>
    compute.yield %v : f32
  } : tensor<8x8xf32>
  %moved = compute.grid (%k, %l) {
    %c2 = arith.constant 2 : index
    %a = arith.divsi %k, %c2 : index
    %b = arith.divsi %l, %c2 : index
    %c = arith.divsi %a, %c2 : index
    %d = arith.divsi %b, %c2 : index
    %e = arith.addi %a, %b : index
    %f = arith.addi %c, %d : index
    %g = arith.remsi %e, %c2 : index
    %h = arith.remsi %f, %c2 : index
    %m = arith.addi %g, %c : index
    %n = arith.addi %h, %d : index
    %v = compute.load %x[%n, %m] : tensor<8x8xf32>
    compute.yield %v : f32
  } : tensor<8x8xf32>
  %y = compute.grid (%i, %j) {
    %v = compute.load %long[%i, %j] : tensor<8x8xf32>
    %e = math.exp %v : f32
    compute.yield %e : f32
  } : tensor<8x8xf32>
  %z = compute.grid (%i, %j) {
    %v = compute.load %long[%j, %i] : tensor<8x8xf32>
    %e = math.exp %v : f32
    compute.yield %e : f32
  } : tensor<8x8xf32>
  %w = compute.grid (%i, %j) {
    %v = compute.load %moved[%i, %j] : tensor<8x8xf32>
    %e = math.exp %v : f32
    compute.yield %e : f32
  } : tensor<8x8xf32>
  func.return %y, %z, %w : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// An output that is a view in order of what only it reads is computed itself, and read by others: one
// tensor is stored. One in another order reads what is stored for others, too.

// CHECK-LABEL: func.func @outputs
// CHECK:         %v = compute.grid (%{{.*}}, %{{.*}}) {
// CHECK:           math.exp
// CHECK:         } : tensor<6x4xf32>
// CHECK:         %r = compute.grid
// CHECK:           compute.load %v[
// CHECK:         %s = compute.grid
// CHECK:           math.exp
// CHECK:         } : tensor<2x3x4xf32>
// CHECK:         %t = compute.grid
// CHECK:           compute.load %s[
// CHECK:         func.return %v, %r, %t
func.func @outputs(%x : tensor<2x3x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>, tensor<4x2x3xf32>) {
  %e = compute.grid (%i, %j, %k) {
    %a = compute.load %x[%i, %j, %k] : tensor<2x3x4xf32>
    %b = math.exp %a : f32
    compute.yield %b : f32
  } : tensor<2x3x4xf32>
  %v = compute.grid (%i, %j) {
    %c3 = arith.constant 3 : index
    %m = arith.divsi %i, %c3 : index
    %n = arith.remsi %i, %c3 : index
    %a = compute.load %e[%m, %n, %j] : tensor<2x3x4xf32>
    compute.yield %a : f32
  } : tensor<6x4xf32>
  %r = compute.grid (%i, %j) {
    %a = compute.load %v[%i, %j] : tensor<6x4xf32>
    %b = arith.negf %a : f32
    compute.yield %b : f32
  } : tensor<6x4xf32>
  %s = compute.grid (%i, %j, %k) {
    %a = compute.load %x[%i, %j, %k] : tensor<2x3x4xf32>
    %b = math.exp %a : f32
    compute.yield %b : f32
  } : tensor<2x3x4xf32>
  %t = compute.grid (%k, %i, %j) {
    %a = compute.load %s[%i, %j, %k] : tensor<2x3x4xf32>
    compute.yield %a : f32
  } : tensor<4x2x3xf32>
  func.return %v, %r, %t : tensor<6x4xf32>, tensor<6x4xf32>, tensor<4x2x3xf32>
}
