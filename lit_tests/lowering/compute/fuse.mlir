// RUN: hidet-opt %s -p 'fuse' --split-input-file | filecheck %s

// Elements go on element by element: one kernel, one grid, nothing stored in between. The fusion
// lists what it reads.

// CHECK-LABEL: func.func @chain
// CHECK-NEXT:    %z = compute.fusion (%x_1 = %x : tensor<4x8xf32>, %b_1 = %b : tensor<8xf32>) -> (tensor<4x8xf32>) {
// CHECK-NEXT:      %z_1 = compute.grid (%i, %j) {
// CHECK-NEXT:        %v = compute.load %x_1[%i, %j] : tensor<4x8xf32>
// CHECK-NEXT:        %w = compute.load %b_1[%j] : tensor<8xf32>
// CHECK-NEXT:        %s = arith.addf %v, %w : f32
// CHECK-NEXT:        %e = math.exp %s : f32
// CHECK-NEXT:        compute.yield %e : f32
// CHECK-NEXT:      } : tensor<4x8xf32>
// CHECK-NEXT:      compute.yield %z_1 : tensor<4x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %z : tensor<4x8xf32>
func.func @chain(%x : tensor<4x8xf32>, %b : tensor<8xf32>) -> tensor<4x8xf32> {
  %y = compute.grid (%i, %j) {
    %v = compute.load %x[%i, %j] : tensor<4x8xf32>
    %w = compute.load %b[%j] : tensor<8xf32>
    %s = arith.addf %v, %w : f32
    compute.yield %s : f32
  } : tensor<4x8xf32>
  %z = compute.grid (%i, %j) {
    %v = compute.load %y[%i, %j] : tensor<4x8xf32>
    %e = math.exp %v : f32
    compute.yield %e : f32
  } : tensor<4x8xf32>
  func.return %z : tensor<4x8xf32>
}

// -----

// Several results, of several shapes, in one kernel: the number of an element counts, not its
// indices. What is no result is inlined into its readers.

// CHECK-LABEL: func.func @several
// CHECK-NEXT:    %y, %z = compute.fusion (%x_1 = %x : tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<32xf32>) {
// CHECK-NEXT:      %y_1 = compute.grid (%i, %j) {
// CHECK-NEXT:        %{{.*}} = compute.load %x_1[%i, %j]
// CHECK-NEXT:        %{{.*}} = math.exp
// CHECK-NEXT:        %{{.*}} = arith.negf
// CHECK:           %z_1 = compute.grid (%i_1) {
// CHECK:             %{{.*}} = compute.load %x_1[%q, %r]
// CHECK-NEXT:        %{{.*}} = math.exp
// CHECK-NEXT:        %{{.*}} = math.tanh
// CHECK:           compute.yield %y_1, %z_1
// CHECK-NOT:     compute.fusion
func.func @several(%x : tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<32xf32>) {
  %e = compute.grid (%i, %j) {
    %v = compute.load %x[%i, %j] : tensor<4x8xf32>
    %w = math.exp %v : f32
    compute.yield %w : f32
  } : tensor<4x8xf32>
  %y = compute.grid (%i, %j) {
    %v = compute.load %e[%i, %j] : tensor<4x8xf32>
    %w = arith.negf %v : f32
    compute.yield %w : f32
  } : tensor<4x8xf32>
  %z = compute.grid (%i) {
    %c8 = arith.constant 8 : index
    %q = arith.divsi %i, %c8 : index
    %r = arith.remsi %i, %c8 : index
    %v = compute.load %e[%q, %r] : tensor<4x8xf32>
    %w = math.tanh %v : f32
    compute.yield %w : f32
  } : tensor<32xf32>
  func.return %y, %z : tensor<4x8xf32>, tensor<32xf32>
}

// -----

// What has nothing in common stays apart.

// CHECK-LABEL: func.func @apart
// CHECK-COUNT-2: compute.fusion
// CHECK-NOT:     compute.fusion
func.func @apart(%x : tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = compute.grid (%i) {
    %v = compute.load %x[%i] : tensor<8xf32>
    %e = math.exp %v : f32
    compute.yield %e : f32
  } : tensor<8xf32>
  %z = compute.grid (%i) {
    %v = compute.load %x[%i] : tensor<8xf32>
    %e = math.tanh %v : f32
    compute.yield %e : f32
  } : tensor<8xf32>
  func.return %y, %z : tensor<8xf32>, tensor<8xf32>
}

// -----

// Nothing expensive is evaluated twice: an outer product would take the tanh of %x six times.

// CHECK-LABEL: func.func @expensive
// CHECK-NEXT:    %t = compute.fusion
// CHECK:         %y = compute.fusion (%t_1 = %t : tensor<8xf32>, %w_1 = %w : tensor<6xf32>)
// CHECK-NOT:       math.tanh
func.func @expensive(%x : tensor<8xf32>, %w : tensor<6xf32>) -> tensor<8x6xf32> {
  %t = compute.grid (%i) {
    %v = compute.load %x[%i] : tensor<8xf32>
    %e = math.tanh %v : f32
    compute.yield %e : f32
  } : tensor<8xf32>
  %y = compute.grid (%i, %j) {
    %v = compute.load %t[%i] : tensor<8xf32>
    %u = compute.load %w[%j] : tensor<6xf32>
    %p = arith.mulf %v, %u : f32
    compute.yield %p : f32
  } : tensor<8x6xf32>
  func.return %y : tensor<8x6xf32>
}

// -----

// A few additions cost less than to store and load them.

// CHECK-LABEL: func.func @cheap
// CHECK-NEXT:    %y = compute.fusion (%x_1 = %x : tensor<8xf32>, %w_1 = %w : tensor<6xf32>)
// CHECK-NOT:     compute.fusion
func.func @cheap(%x : tensor<8xf32>, %w : tensor<6xf32>) -> tensor<8x6xf32> {
  %t = compute.grid (%i) {
    %v = compute.load %x[%i] : tensor<8xf32>
    %e = arith.addf %v, %v : f32
    compute.yield %e : f32
  } : tensor<8xf32>
  %y = compute.grid (%i, %j) {
    %v = compute.load %t[%i] : tensor<8xf32>
    %u = compute.load %w[%j] : tensor<6xf32>
    %p = arith.mulf %v, %u : f32
    compute.yield %p : f32
  } : tensor<8x6xf32>
  func.return %y : tensor<8x6xf32>
}

// -----

// Every element is read once, at another place: nothing is evaluated twice, so it moves.

// CHECK-LABEL: func.func @moved
// CHECK-COUNT-1: compute.fusion
// CHECK-NOT:     compute.fusion
func.func @moved(%x : tensor<8x6xf32>, %w : tensor<8xf32>) -> tensor<6x8xf32> {
  %t = compute.grid (%i, %j) {
    %v = compute.load %x[%i, %j] : tensor<8x6xf32>
    %e = math.tanh %v : f32
    compute.yield %e : f32
  } : tensor<8x6xf32>
  %y = compute.grid (%i, %j) {
    %v = compute.load %t[%j, %i] : tensor<8x6xf32>
    %u = compute.load %w[%j] : tensor<8xf32>
    %p = arith.mulf %v, %u : f32
    compute.yield %p : f32
  } : tensor<6x8xf32>
  func.return %y : tensor<6x8xf32>
}

// -----

// Read at two places, every element would be evaluated twice.

// CHECK-LABEL: func.func @mirrored
// CHECK-COUNT-2: compute.fusion
// CHECK-NOT:     compute.fusion
func.func @mirrored(%x : tensor<8xf32>) -> tensor<8xf32> {
  %t = compute.grid (%i) {
    %v = compute.load %x[%i] : tensor<8xf32>
    %e = math.tanh %v : f32
    compute.yield %e : f32
  } : tensor<8xf32>
  %y = compute.grid (%i) {
    %c7 = arith.constant 7 : index
    %k = arith.subi %c7, %i : index
    %v = compute.load %t[%i] : tensor<8xf32>
    %u = compute.load %t[%k] : tensor<8xf32>
    %p = arith.mulf %v, %u : f32
    compute.yield %p : f32
  } : tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// -----

// Only one arm of a branch is run: this evaluates each element once.

// CHECK-LABEL: func.func @arms
// CHECK-COUNT-1: compute.fusion
// CHECK-NOT:     compute.fusion
func.func @arms(%x : tensor<8xf32>) -> tensor<8xf32> {
  %t = compute.grid (%i) {
    %v = compute.load %x[%i] : tensor<8xf32>
    %e = math.tanh %v : f32
    compute.yield %e : f32
  } : tensor<8xf32>
  %y = compute.grid (%i) {
    %c4 = arith.constant 4 : index
    %left = arith.cmpi slt, %i, %c4 : index
    %p = scf.if %left -> (f32) {
      %k = arith.addi %i, %c4 : index
      %v = compute.load %t[%k] : tensor<8xf32>
      scf.yield %v : f32
    } else {
      %k = arith.subi %i, %c4 : index
      %v = compute.load %t[%k] : tensor<8xf32>
      %n = arith.negf %v : f32
      scf.yield %n : f32
    }
    compute.yield %p : f32
  } : tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// -----

// A product of a matrix and a vector reads the vector once a row.

// CHECK-LABEL: func.func @once_a_row
// CHECK-NEXT:    %t = compute.fusion
// CHECK:           math.tanh
// CHECK:         %y = compute.fusion
// CHECK-NOT:       math.tanh
func.func @once_a_row(%x : tensor<64x64xf32>, %w : tensor<64xf32>) -> tensor<64xf32> {
  %t = compute.grid (%i) {
    %v = compute.load %w[%i] : tensor<64xf32>
    %e = math.tanh %v : f32
    compute.yield %e : f32
  } : tensor<64xf32>
  %y = compute.grid (%i) {
    %s = compute.reduce add [64] (%k) {
      %v = compute.load %t[%k] : tensor<64xf32>
      %u = compute.load %x[%i, %k] : tensor<64x64xf32>
      %p = arith.mulf %u, %v : f32
      compute.yield %p : f32
    } : f32
    compute.yield %s : f32
  } : tensor<64xf32>
  func.return %y : tensor<64xf32>
}

// -----

// Softmax with what is in front of it is one fusion of rows: values of rows, and of elements, each
// a grid of its own.

// CHECK-LABEL: func.func @softmax
// CHECK-NEXT:    %y = compute.fusion (%x_1 = %x : tensor<4x64xf32>, %b_1 = %b : tensor<64xf32>) -> (tensor<4x64xf32>) {
// CHECK-NEXT:      %s = compute.grid
// CHECK:           %m = compute.grid
// CHECK-NEXT:        compute.reduce max [64]
// CHECK:           %e = compute.grid
// CHECK:           %t = compute.grid
// CHECK-NEXT:        compute.reduce add [64]
// CHECK:           %y_1 = compute.grid
// CHECK:           compute.yield %y_1 : tensor<4x64xf32>
// CHECK-NOT:     compute.fusion
func.func @softmax(%x : tensor<4x64xf32>, %b : tensor<64xf32>) -> tensor<4x64xf32> {
  %s = compute.grid (%i, %j) {
    %v = compute.load %x[%i, %j] : tensor<4x64xf32>
    %c = compute.load %b[%j] : tensor<64xf32>
    %a = arith.addf %v, %c : f32
    compute.yield %a : f32
  } : tensor<4x64xf32>
  %m = compute.grid (%i) {
    %r = compute.reduce max [64] (%k) {
      %v = compute.load %s[%i, %k] : tensor<4x64xf32>
      compute.yield %v : f32
    } : f32
    compute.yield %r : f32
  } : tensor<4xf32>
  %e = compute.grid (%i, %j) {
    %v = compute.load %s[%i, %j] : tensor<4x64xf32>
    %c = compute.load %m[%i] : tensor<4xf32>
    %d = arith.subf %v, %c : f32
    %a = math.exp %d : f32
    compute.yield %a : f32
  } : tensor<4x64xf32>
  %t = compute.grid (%i) {
    %r = compute.reduce add [64] (%k) {
      %v = compute.load %e[%i, %k] : tensor<4x64xf32>
      compute.yield %v : f32
    } : f32
    compute.yield %r : f32
  } : tensor<4xf32>
  %y = compute.grid (%i, %j) {
    %v = compute.load %e[%i, %j] : tensor<4x64xf32>
    %c = compute.load %t[%i] : tensor<4xf32>
    %d = arith.divf %v, %c : f32
    compute.yield %d : f32
  } : tensor<4x64xf32>
  func.return %y : tensor<4x64xf32>
}

// -----

// Values of rows are at hand for their own row only: what reduces columns, or reads the value of
// another row, is another kernel, though all sizes are equal.

// CHECK-LABEL: func.func @other_rows
// CHECK-NEXT:    %m = compute.fusion
// CHECK:         %n = compute.fusion
// CHECK:         %y = compute.fusion
func.func @other_rows(%x : tensor<64x64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>) {
  %m = compute.grid (%i) {
    %r = compute.reduce max [64] (%k) {
      %v = compute.load %x[%i, %k] : tensor<64x64xf32>
      compute.yield %v : f32
    } : f32
    compute.yield %r : f32
  } : tensor<64xf32>
  %n = compute.grid (%j) {
    %r = compute.reduce max [64] (%k) {
      %v = compute.load %x[%k, %j] : tensor<64x64xf32>
      %c = compute.load %m[%k] : tensor<64xf32>
      %d = arith.subf %v, %c : f32
      compute.yield %d : f32
    } : f32
    compute.yield %r : f32
  } : tensor<64xf32>
  %y = compute.grid (%i, %j) {
    %v = compute.load %x[%i, %j] : tensor<64x64xf32>
    %c = compute.load %m[%j] : tensor<64xf32>
    %d = arith.subf %v, %c : f32
    compute.yield %d : f32
  } : tensor<64x64xf32>
  func.return %m, %n, %y : tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
}

// -----

// A short reduction, as a window of a pooling, is the work of one thread: elements go on after it.

// CHECK-LABEL: func.func @window
// CHECK-NEXT:    %y = compute.fusion
// CHECK-NEXT:      %y_1 = compute.grid (%i) {
// CHECK-NEXT:        %[[R:.*]] = compute.reduce max [4]
// CHECK:             math.exp %[[R]] : f32
// CHECK-NOT:     compute.fusion
func.func @window(%x : tensor<8x4xf32>) -> tensor<8xf32> {
  %p = compute.grid (%i) {
    %r = compute.reduce max [4] (%k) {
      %v = compute.load %x[%i, %k] : tensor<8x4xf32>
      compute.yield %v : f32
    } : f32
    compute.yield %r : f32
  } : tensor<8xf32>
  %y = compute.grid (%i) {
    %v = compute.load %p[%i] : tensor<8xf32>
    %e = math.exp %v : f32
    compute.yield %e : f32
  } : tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// -----

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

// Weights stay outside, and are returned as they are; what reads nothing is a kernel if it is a
// result; what nobody reads is dropped.

// CHECK-LABEL: func.func @constants
// CHECK-NEXT:    %w = graph.constant "w" : tensor<8xf32>
// CHECK-NEXT:    %f = compute.fusion () -> (tensor<8xf32>) {
// CHECK:         %y = compute.fusion (%w_1 = %w : tensor<8xf32>) -> (tensor<8xf32>) {
// CHECK-NOT:     math.tanh
// CHECK:         func.return %f, %w, %y
func.func @constants() -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %w = graph.constant "w" : tensor<8xf32>
  %f = compute.grid (%i) {
    %one = arith.constant 1.0 : f32
    compute.yield %one : f32
  } : tensor<8xf32>
  %u = compute.grid (%i) {
    %v = compute.load %w[%i] : tensor<8xf32>
    %e = math.tanh %v : f32
    compute.yield %e : f32
  } : tensor<8xf32>
  %y = compute.grid (%i) {
    %v = compute.load %w[%i] : tensor<8xf32>
    %e = math.exp %v : f32
    compute.yield %e : f32
  } : tensor<8xf32>
  func.return %f, %w, %y : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
