// RUN: hidet-opt %s -p 'fuse' --split-input-file | filecheck %s

// What is fused to a product of matrices; fuse.mlir has all else.

// Bias and ReLU are the epilogue of a product; one grid reads the anchor itself.

// CHECK-LABEL: func.func @epilogue
// CHECK-NEXT:    %y = compute.fusion (%x_1 = %x : tensor<4x8xf32>, %w_1 = %w : tensor<8x6xf32>, %b_1 = %b : tensor<6xf32>) -> (tensor<4x6xf32>) {
// CHECK-NEXT:      %p = graph.matmul %x_1, %w_1
// CHECK-NEXT:      %y_1 = compute.grid (%i, %j) {
// CHECK-NEXT:        %v = compute.load %p[%i, %j] : tensor<4x6xf32>
// CHECK-NEXT:        %c = compute.load %b_1[%j] : tensor<6xf32>
// CHECK-NEXT:        %{{.*}} = arith.addf %v, %c : f32
// CHECK:             arith.maximumf
// CHECK:           compute.yield %y_1
// CHECK-NOT:     compute.fusion
func.func @epilogue(%x : tensor<4x8xf32>, %w : tensor<8x6xf32>, %b : tensor<6xf32>) -> tensor<4x6xf32> {
  %p = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %s = compute.grid (%i, %j) {
    %v = compute.load %p[%i, %j] : tensor<4x6xf32>
    %c = compute.load %b[%j] : tensor<6xf32>
    %a = arith.addf %v, %c : f32
    compute.yield %a : f32
  } : tensor<4x6xf32>
  %y = compute.grid (%i, %j) {
    %v = compute.load %s[%i, %j] : tensor<4x6xf32>
    %zero = arith.constant 0.0 : f32
    %a = arith.maximumf %v, %zero : f32
    compute.yield %a : f32
  } : tensor<4x6xf32>
  func.return %y : tensor<4x6xf32>
}

// -----

// Where the way back is known, an epilogue may move its element: a transpose, and heads that are
// split (column 2b + j, row 2i + k), are results of the product's own kernel.

// CHECK-LABEL: func.func @inverted
// CHECK-NEXT:    %t, %h = compute.fusion (%x_1 = %x : tensor<4x8xf32>, %w_1 = %w : tensor<8x6xf32>) -> (tensor<6x4xf32>, tensor<3x2x2x2xf32>) {
// CHECK-NEXT:      %p = graph.matmul
// CHECK-NOT:     compute.fusion
func.func @inverted(%x : tensor<4x8xf32>, %w : tensor<8x6xf32>) -> (tensor<6x4xf32>, tensor<3x2x2x2xf32>) {
  %p = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %t = compute.grid (%i, %j) {
    %v = compute.load %p[%j, %i] : tensor<4x6xf32>
    %n = arith.negf %v : f32
    compute.yield %n : f32
  } : tensor<6x4xf32>
  %h = compute.grid (%b, %i, %j, %k) {
    %c2 = arith.constant 2 : index
    %r = arith.muli %i, %c2 : index
    %row = arith.addi %r, %k : index
    %q = arith.muli %b, %c2 : index
    %column = arith.addi %q, %j : index
    %v = compute.load %p[%row, %column] : tensor<4x6xf32>
    %n = arith.negf %v : f32
    compute.yield %n : f32
  } : tensor<3x2x2x2xf32>
  func.return %t, %h : tensor<6x4xf32>, tensor<3x2x2x2xf32>
}

// -----

// A part of the product, several copies of it, a sum over it, an element and its mirror image: of
// these none follows from one element. Each reads the stored product in a kernel of its own.

// CHECK-LABEL: func.func @not_inverted
// CHECK-NEXT:    %p = compute.fusion
// CHECK:         %part = compute.fusion (%p_1 = %p : tensor<4x4xf32>)
// CHECK:         %copies = compute.fusion (%p_1 = %p : tensor<4x4xf32>)
// CHECK:         %sum = compute.fusion (%p_1 = %p : tensor<4x4xf32>)
// CHECK:         %mirrored = compute.fusion (%p_1 = %p : tensor<4x4xf32>)
func.func @not_inverted(%x : tensor<4x8xf32>, %w : tensor<8x4xf32>)
    -> (tensor<2x4xf32>, tensor<2x4x4xf32>, tensor<4xf32>, tensor<4x4xf32>) {
  %p = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %part = compute.grid (%i, %j) {
    %c1 = arith.constant 1 : index
    %r = arith.addi %i, %c1 : index
    %v = compute.load %p[%r, %j] : tensor<4x4xf32>
    %n = arith.negf %v : f32
    compute.yield %n : f32
  } : tensor<2x4xf32>
  %copies = compute.grid (%b, %i, %j) {
    %v = compute.load %p[%i, %j] : tensor<4x4xf32>
    %n = arith.negf %v : f32
    compute.yield %n : f32
  } : tensor<2x4x4xf32>
  %sum = compute.grid (%i) {
    %r = compute.reduce add [4] (%k) {
      %v = compute.load %p[%i, %k] : tensor<4x4xf32>
      compute.yield %v : f32
    } : f32
    compute.yield %r : f32
  } : tensor<4xf32>
  %mirrored = compute.grid (%i, %j) {
    %v = compute.load %p[%i, %j] : tensor<4x4xf32>
    %c = compute.load %p[%j, %i] : tensor<4x4xf32>
    %a = arith.addf %v, %c : f32
    compute.yield %a : f32
  } : tensor<4x4xf32>
  func.return %part, %copies, %sum, %mirrored
    : tensor<2x4xf32>, tensor<2x4x4xf32>, tensor<4xf32>, tensor<4x4xf32>
}

// -----

// The sum of two products is the epilogue of the later one; a kernel has one anchor.

// CHECK-LABEL: func.func @two_anchors
// CHECK-NEXT:    %p = compute.fusion
// CHECK:         %y = compute.fusion ({{.*}}%p_1 = %p : tensor<4x6xf32>) -> (tensor<4x6xf32>) {
// CHECK-NEXT:      %q = graph.matmul
// CHECK-NEXT:      %y_1 = compute.grid
// CHECK-NOT:     compute.fusion
func.func @two_anchors(%x : tensor<4x8xf32>, %w : tensor<8x6xf32>) -> tensor<4x6xf32> {
  %p = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %q = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %y = compute.grid (%i, %j) {
    %v = compute.load %p[%i, %j] : tensor<4x6xf32>
    %c = compute.load %q[%i, %j] : tensor<4x6xf32>
    %a = arith.addf %v, %c : f32
    compute.yield %a : f32
  } : tensor<4x6xf32>
  func.return %y : tensor<4x6xf32>
}

// -----

// A view, or a little arithmetic, in front of a product is read through; each product gets its own
// copy of a view. An exponential is stored: every block of the product would evaluate it again.

// CHECK-LABEL: func.func @prologue
// CHECK-NEXT:    %e = compute.fusion (%x_1 = %x : tensor<8x4xf32>) -> (tensor<4x8xf32>) {
// CHECK:         %p = compute.fusion (%x_1 = %x : tensor<8x4xf32>, %w_1 = %w : tensor<8x6xf32>)
// CHECK-NEXT:      %t = compute.grid
// CHECK:           graph.matmul %t, %w_1
// CHECK:         %q = compute.fusion (%x_1 = %x : tensor<8x4xf32>, %w_1 = %w : tensor<8x6xf32>)
// CHECK-NEXT:      %d = compute.grid
// CHECK:           graph.matmul %d, %w_1
// CHECK:         %r = compute.fusion (%e_1 = %e : tensor<4x8xf32>, %w_1 = %w : tensor<8x6xf32>)
// CHECK-NEXT:      %{{.*}} = graph.matmul %e_1, %w_1
func.func @prologue(%x : tensor<8x4xf32>, %w : tensor<8x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %t = compute.grid (%i, %j) {
    %v = compute.load %x[%j, %i] : tensor<8x4xf32>
    compute.yield %v : f32
  } : tensor<4x8xf32>
  %d = compute.grid (%i, %j) {
    %v = compute.load %t[%i, %j] : tensor<4x8xf32>
    %a = arith.addf %v, %v : f32
    compute.yield %a : f32
  } : tensor<4x8xf32>
  %e = compute.grid (%i, %j) {
    %v = compute.load %t[%i, %j] : tensor<4x8xf32>
    %a = math.exp %v : f32
    compute.yield %a : f32
  } : tensor<4x8xf32>
  %p = graph.matmul %t, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %q = graph.matmul %d, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %r = graph.matmul %e, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  func.return %p, %q, %r : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// Epilogues that read each other twice stand in the last one once.

// CHECK-LABEL: func.func @powers
// CHECK:         graph.matmul
// CHECK-COUNT-3: arith.mulf
// CHECK-NOT:     arith.mulf
func.func @powers(%x : tensor<4x8xf32>, %w : tensor<8x6xf32>) -> tensor<4x6xf32> {
  %p = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %a = compute.grid (%i, %j) {
    %u = compute.load %p[%i, %j] : tensor<4x6xf32>
    %v = arith.mulf %u, %u : f32
    compute.yield %v : f32
  } : tensor<4x6xf32>
  %b = compute.grid (%i, %j) {
    %u = compute.load %a[%i, %j] : tensor<4x6xf32>
    %t = compute.load %a[%i, %j] : tensor<4x6xf32>
    %v = arith.mulf %u, %t : f32
    compute.yield %v : f32
  } : tensor<4x6xf32>
  %y = compute.grid (%i, %j) {
    %u = compute.load %b[%i, %j] : tensor<4x6xf32>
    %t = compute.load %b[%i, %j] : tensor<4x6xf32>
    %v = arith.mulf %u, %t : f32
    compute.yield %v : f32
  } : tensor<4x6xf32>
  func.return %y : tensor<4x6xf32>
}

// -----

// What an anchor reads in windows, again and again, is computed once ahead of it.

// CHECK-LABEL: func.func @windows
// CHECK-NEXT:    %[[D:.*]] = compute.fusion
// CHECK:           arith.addf
// CHECK:         compute.fusion (%[[A:.*]] = %[[D]]
// CHECK:           graph.matmul
func.func @windows(%x : tensor<10xf32>, %w : tensor<3x6xf32>) -> tensor<8x6xf32> {
  %d = compute.grid (%i) {
    %v = compute.load %x[%i] : tensor<10xf32>
    %a = arith.addf %v, %v : f32
    compute.yield %a : f32
  } : tensor<10xf32>
  %t = compute.grid (%i, %k) {
    %at = arith.addi %i, %k : index
    %v = compute.load %d[%at] : tensor<10xf32>
    compute.yield %v : f32
  } : tensor<8x3xf32>
  %p = graph.matmul %t, %w : (tensor<8x3xf32>, tensor<3x6xf32>) -> tensor<8x6xf32>
  func.return %p : tensor<8x6xf32>
}

// -----

// The squares of a product that is stored anyway, which a norm alone adds up, are computed there;
// those that something else reads too are stored beside it.

// CHECK-LABEL: func.func @squares_of_a_norm
// CHECK-NEXT:    %p = compute.fusion {{.*}} -> (tensor<4x4xf32>) {
// CHECK:         %total = compute.fusion (%p_1 = %p : tensor<4x4xf32>) -> (tensor<4xf32>) {
func.func @squares_of_a_norm(%x : tensor<4x8xf32>, %w : tensor<8x4xf32>)
    -> (tensor<4x4xf32>, tensor<4xf32>) {
  %p = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %squares = compute.grid (%i, %j) {
    %0 = compute.load %p[%i, %j] : tensor<4x4xf32>
    %1 = arith.mulf %0, %0 : f32
    compute.yield %1 : f32
  } : tensor<4x4xf32>
  %total = compute.grid (%i) {
    %s = compute.reduce add [4] (%j) {
      %0 = compute.load %squares[%i, %j] : tensor<4x4xf32>
      compute.yield %0 : f32
    } : f32
    compute.yield %s : f32
  } : tensor<4xf32>
  func.return %p, %total : tensor<4x4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @squares_for_two
// CHECK-NEXT:    %p, %squares = compute.fusion {{.*}} -> (tensor<4x4xf32>, tensor<4x4xf32>) {
func.func @squares_for_two(%x : tensor<4x8xf32>, %w : tensor<8x4xf32>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) {
  %p = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %squares = compute.grid (%i, %j) {
    %0 = compute.load %p[%i, %j] : tensor<4x4xf32>
    %1 = arith.mulf %0, %0 : f32
    compute.yield %1 : f32
  } : tensor<4x4xf32>
  %total = compute.grid (%i) {
    %s = compute.reduce add [4] (%j) {
      %0 = compute.load %squares[%i, %j] : tensor<4x4xf32>
      compute.yield %0 : f32
    } : f32
    compute.yield %s : f32
  } : tensor<4xf32>
  func.return %p, %squares, %total : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>
}

// -----

// Products of one matrix with several others become one kernel: here a gate and what it lets pass,
// of which one result is stored. The views of the left factor are equal, and one is enough.

// CHECK-LABEL: func.func @siblings
// CHECK-NEXT:    %y = compute.fusion (%x_1 = %x : tensor<1x512x2048xf16>, %w_1 = %w : tensor<2048x8192xf16>, %v_1 = %v : tensor<2048x8192xf16>) -> (tensor<512x8192xf32>) {
// CHECK-NEXT:      %a = compute.grid
// CHECK-NOT:       %b = compute.grid
// CHECK:           %gate = graph.matmul %a, %w_1
// CHECK-NEXT:      %up = graph.matmul %a, %v_1
// CHECK-NEXT:      %[[Y:.*]] = compute.grid
// CHECK-NEXT:        compute.load %gate
// CHECK-NEXT:        compute.load %up
// CHECK:           compute.yield %[[Y]] : tensor<512x8192xf32>
func.func @siblings(%x : tensor<1x512x2048xf16>, %w : tensor<2048x8192xf16>, %v : tensor<2048x8192xf16>)
    -> tensor<512x8192xf32> {
  %a = compute.grid (%i, %j) {
    %0 = arith.constant 0 : index
    %1 = compute.load %x[%0, %i, %j] : tensor<1x512x2048xf16>
    compute.yield %1 : f16
  } : tensor<512x2048xf16>
  %gate = graph.matmul %a, %w : (tensor<512x2048xf16>, tensor<2048x8192xf16>) -> tensor<512x8192xf32>
  %b = compute.grid (%i, %j) {
    %0 = arith.constant 0 : index
    %1 = compute.load %x[%0, %i, %j] : tensor<1x512x2048xf16>
    compute.yield %1 : f16
  } : tensor<512x2048xf16>
  %up = graph.matmul %b, %v : (tensor<512x2048xf16>, tensor<2048x8192xf16>) -> tensor<512x8192xf32>
  %y = compute.grid (%i, %j) {
    %0 = compute.load %gate[%i, %j] : tensor<512x8192xf32>
    %1 = compute.load %up[%i, %j] : tensor<512x8192xf32>
    %2 = arith.mulf %0, %1 : f32
    compute.yield %2 : f32
  } : tensor<512x8192xf32>
  func.return %y : tensor<512x8192xf32>
}

// -----

// Where the rows are few, weights are all that takes time; and another left factor is none to share.

// CHECK-LABEL: func.func @strangers
// CHECK-COUNT-4: compute.fusion
func.func @strangers(%x : tensor<1x2048xf16>, %u : tensor<512x2048xf16>, %z : tensor<512x2048xf16>, %w : tensor<2048x512xf16>, %v : tensor<2048x512xf16>)
    -> (tensor<1x512xf32>, tensor<1x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>) {
  %p = graph.matmul %x, %w : (tensor<1x2048xf16>, tensor<2048x512xf16>) -> tensor<1x512xf32>
  %q = graph.matmul %x, %v : (tensor<1x2048xf16>, tensor<2048x512xf16>) -> tensor<1x512xf32>
  %r = graph.matmul %u, %w : (tensor<512x2048xf16>, tensor<2048x512xf16>) -> tensor<512x512xf32>
  %s = graph.matmul %z, %v : (tensor<512x2048xf16>, tensor<2048x512xf16>) -> tensor<512x512xf32>
  func.return %p, %q, %r, %s : tensor<1x512xf32>, tensor<1x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>
}

// -----

// What an epilogue reads is computed ahead of the anchor, though the program computes it after that;
// not if it needs the anchor.

// CHECK-LABEL: func.func @moved_ahead
// CHECK-NEXT:    %bias = compute.fusion (%{{.*}} = %t : tensor<1x8xf32>, %{{.*}} = %v : tensor<8x6xf32>)
// CHECK:         %y = compute.fusion (%{{.*}} = %x : tensor<4x8xf32>, %{{.*}} = %w : tensor<8x6xf32>, %{{.*}} = %bias : tensor<1x6xf32>)
// CHECK-NEXT:      %p = graph.matmul
// CHECK:         %again = compute.fusion
// CHECK:         %z = compute.fusion (%{{.*}} = %y : tensor<4x6xf32>, %{{.*}} = %again : tensor<1x6xf32>)
// CHECK-NEXT:      %z_1 = compute.grid
// CHECK-NOT:     compute.fusion
func.func @moved_ahead(%x : tensor<4x8xf32>, %w : tensor<8x6xf32>, %t : tensor<1x8xf32>, %v : tensor<8x6xf32>, %u : tensor<6x6xf32>) -> tensor<4x6xf32> {
  %p = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %bias = graph.matmul %t, %v : (tensor<1x8xf32>, tensor<8x6xf32>) -> tensor<1x6xf32>
  %y = compute.grid (%i, %j) {
    %a = compute.load %p[%i, %j] : tensor<4x6xf32>
    %zero = arith.constant 0 : index
    %b = compute.load %bias[%zero, %j] : tensor<1x6xf32>
    %s = arith.addf %a, %b : f32
    compute.yield %s : f32
  } : tensor<4x6xf32>
  %few = compute.grid (%i, %k) {
    %r = compute.reduce add [4] (%m) {
      %j = arith.addi %k, %i : index
      %a = compute.load %y[%m, %j] : tensor<4x6xf32>
      compute.yield %a : f32
    } : f32
    compute.yield %r : f32
  } : tensor<1x6xf32>
  %again = graph.matmul %few, %u : (tensor<1x6xf32>, tensor<6x6xf32>) -> tensor<1x6xf32>
  %z = compute.grid (%i, %j) {
    %a = compute.load %y[%i, %j] : tensor<4x6xf32>
    %zero = arith.constant 0 : index
    %b = compute.load %again[%zero, %j] : tensor<1x6xf32>
    %s = arith.mulf %a, %b : f32
    compute.yield %s : f32
  } : tensor<4x6xf32>
  func.return %z : tensor<4x6xf32>
}

// -----

// The anchor moves, not what its epilogue reads: other kernels stay where they are.

// CHECK-LABEL: func.func @moved_behind
// CHECK-NEXT:    %side = compute.fusion
// CHECK:         %bias = compute.fusion
// CHECK:         %y = compute.fusion (%{{.*}} = %x : tensor<4x8xf32>, %{{.*}} = %w : tensor<8x6xf32>, %{{.*}} = %bias : tensor<1x6xf32>)
// CHECK-NOT:     compute.fusion
func.func @moved_behind(%x : tensor<4x8xf32>, %w : tensor<8x6xf32>, %t : tensor<1x8xf32>, %v : tensor<8x6xf32>) -> (tensor<4x6xf32>, tensor<1x8xf32>) {
  %p = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %side = compute.grid (%i, %j) {
    %a = compute.load %t[%i, %j] : tensor<1x8xf32>
    %e = math.exp %a : f32
    compute.yield %e : f32
  } : tensor<1x8xf32>
  %bias = graph.matmul %t, %v : (tensor<1x8xf32>, tensor<8x6xf32>) -> tensor<1x6xf32>
  %y = compute.grid (%i, %j) {
    %a = compute.load %p[%i, %j] : tensor<4x6xf32>
    %zero = arith.constant 0 : index
    %b = compute.load %bias[%zero, %j] : tensor<1x6xf32>
    %s = arith.addf %a, %b : f32
    compute.yield %s : f32
  } : tensor<4x6xf32>
  func.return %y, %side : tensor<4x6xf32>, tensor<1x8xf32>
}
