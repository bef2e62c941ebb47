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
func.func @apart(%x : tensor<256xf32>) -> (tensor<256xf32>, tensor<256xf32>) {
  %y = compute.grid (%i) {
    %v = compute.load %x[%i] : tensor<256xf32>
    %e = math.exp %v : f32
    compute.yield %e : f32
  } : tensor<256xf32>
  %z = compute.grid (%i) {
    %v = compute.load %x[%i] : tensor<256xf32>
    %e = math.tanh %v : f32
    compute.yield %e : f32
  } : tensor<256xf32>
  func.return %y, %z : tensor<256xf32>, tensor<256xf32>
}

// -----

// Both moments of Adam and the parameter that is computed of them are one kernel.

// CHECK-LABEL: func.func @moments
// CHECK-NEXT:    %m, %v, %p = compute.fusion (
// CHECK-NOT:     compute.fusion
// CHECK:         func.return %p, %m, %v
func.func @moments(%p0 : tensor<8xf32>, %m0 : tensor<8xf32>, %v0 : tensor<8xf32>, %g : tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %m = compute.grid (%i) {
    %a = compute.load %m0[%i] : tensor<8xf32>
    %b = compute.load %g[%i] : tensor<8xf32>
    %c = arith.addf %a, %b : f32
    compute.yield %c : f32
  } : tensor<8xf32>
  %v = compute.grid (%i) {
    %a = compute.load %v0[%i] : tensor<8xf32>
    %b = compute.load %g[%i] : tensor<8xf32>
    %s = arith.mulf %b, %b : f32
    %c = arith.addf %a, %s : f32
    compute.yield %c : f32
  } : tensor<8xf32>
  %p = compute.grid (%i) {
    %a = compute.load %m[%i] : tensor<8xf32>
    %b = compute.load %v[%i] : tensor<8xf32>
    %d = arith.divf %a, %b : f32
    %q = compute.load %p0[%i] : tensor<8xf32>
    %c = arith.subf %q, %d : f32
    compute.yield %c : f32
  } : tensor<8xf32>
  func.return %p, %m, %v : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// A group does not move behind one that reads it.

// CHECK-LABEL: func.func @between
// CHECK-NEXT:    %a = compute.fusion
// CHECK:         %b = compute.fusion (%a_1 = %a : tensor<8xf32>)
// CHECK:         %c = compute.fusion (%a_1 = %a : tensor<8xf32>, %b_1 = %b : tensor<4xf32>)
func.func @between(%x : tensor<8xf32>) -> (tensor<8xf32>, tensor<4xf32>, tensor<8xf32>) {
  %a = compute.grid (%i) {
    %v = compute.load %x[%i] : tensor<8xf32>
    %e = math.exp %v : f32
    compute.yield %e : f32
  } : tensor<8xf32>
  %b = compute.grid (%i) {
    %c2 = arith.constant 2 : index
    %j = arith.muli %i, %c2 : index
    %v = compute.load %a[%j] : tensor<8xf32>
    %e = math.tanh %v : f32
    compute.yield %e : f32
  } : tensor<4xf32>
  %c = compute.grid (%i) {
    %c2 = arith.constant 2 : index
    %j = arith.divsi %i, %c2 : index
    %v = compute.load %a[%i] : tensor<8xf32>
    %w = compute.load %b[%j] : tensor<4xf32>
    %e = arith.addf %v, %w : f32
    compute.yield %e : f32
  } : tensor<8xf32>
  func.return %a, %b, %c : tensor<8xf32>, tensor<4xf32>, tensor<8xf32>
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

// What several grids of one kernel read in order is evaluated once: linear interpolation.

// CHECK-LABEL: func.func @interpolated
// CHECK-COUNT-1: compute.fusion
// CHECK-COUNT-2: compute.load %x
// CHECK-NOT:     compute.fusion
func.func @interpolated(%x : tensor<8xf32>, %low : tensor<16xi64>, %high : tensor<16xi64>, %share : tensor<16xf32>) -> tensor<16xf32> {
  %a = compute.grid (%i) {
    %k = compute.load %low[%i] : tensor<16xi64>
    %at = arith.index_cast %k : i64 to index
    %v = compute.load %x[%at] : tensor<8xf32>
    compute.yield %v : f32
  } : tensor<16xf32>
  %b = compute.grid (%i) {
    %k = compute.load %high[%i] : tensor<16xi64>
    %at = arith.index_cast %k : i64 to index
    %v = compute.load %x[%at] : tensor<8xf32>
    compute.yield %v : f32
  } : tensor<16xf32>
  %d = compute.grid (%i) {
    %u = compute.load %a[%i] : tensor<16xf32>
    %v = compute.load %b[%i] : tensor<16xf32>
    %s = compute.load %share[%i] : tensor<16xf32>
    %w = arith.subf %v, %u : f32
    %p = arith.mulf %w, %s : f32
    compute.yield %p : f32
  } : tensor<16xf32>
  %y = compute.grid (%i) {
    %u = compute.load %a[%i] : tensor<16xf32>
    %v = compute.load %d[%i] : tensor<16xf32>
    %p = arith.addf %u, %v : f32
    compute.yield %p : f32
  } : tensor<16xf32>
  func.return %y : tensor<16xf32>
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

// Weights stay outside, and are returned as they are; what reads nothing is a kernel if it is a
// result; what nobody reads is dropped.

// CHECK-LABEL: func.func @constants
// CHECK-NEXT:    %w = graph.constant "w" : tensor<256xf32>
// CHECK-NEXT:    %f = compute.fusion () -> (tensor<256xf32>) {
// CHECK:         %y = compute.fusion (%w_1 = %w : tensor<256xf32>) -> (tensor<256xf32>) {
// CHECK-NOT:     math.tanh
// CHECK:         func.return %f, %w, %y
func.func @constants() -> (tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) {
  %w = graph.constant "w" : tensor<256xf32>
  %f = compute.grid (%i) {
    %one = arith.constant 1.0 : f32
    compute.yield %one : f32
  } : tensor<256xf32>
  %u = compute.grid (%i) {
    %v = compute.load %w[%i] : tensor<256xf32>
    %e = math.tanh %v : f32
    compute.yield %e : f32
  } : tensor<256xf32>
  %y = compute.grid (%i) {
    %v = compute.load %w[%i] : tensor<256xf32>
    %e = math.exp %v : f32
    compute.yield %e : f32
  } : tensor<256xf32>
  func.return %f, %w, %y : tensor<256xf32>, tensor<256xf32>, tensor<256xf32>
}

// -----

// Nothing is copied too often: of four sums of neighbours each reads three elements of the one
// before, so the last would add 81 elements. Halfway there a sum is stored.

// CHECK-LABEL: func.func @neighbours
// CHECK-COUNT-2: compute.fusion
// CHECK-NOT:     compute.fusion
func.func @neighbours(%x : tensor<16xf32>) -> tensor<8xf32> {
  %a = compute.grid (%i) {
    %two = arith.constant 2 : index
    %k = arith.addi %i, %two : index
    %one = arith.constant 1 : index
    %j = arith.addi %i, %one : index
    %u = compute.load %x[%i] : tensor<16xf32>
    %t = compute.load %x[%j] : tensor<16xf32>
    %w = compute.load %x[%k] : tensor<16xf32>
    %v = arith.addf %u, %t : f32
    %r = arith.addf %v, %w : f32
    compute.yield %r : f32
  } : tensor<14xf32>
  %b = compute.grid (%i) {
    %two = arith.constant 2 : index
    %k = arith.addi %i, %two : index
    %one = arith.constant 1 : index
    %j = arith.addi %i, %one : index
    %u = compute.load %a[%i] : tensor<14xf32>
    %t = compute.load %a[%j] : tensor<14xf32>
    %w = compute.load %a[%k] : tensor<14xf32>
    %v = arith.addf %u, %t : f32
    %r = arith.addf %v, %w : f32
    compute.yield %r : f32
  } : tensor<12xf32>
  %c = compute.grid (%i) {
    %two = arith.constant 2 : index
    %k = arith.addi %i, %two : index
    %one = arith.constant 1 : index
    %j = arith.addi %i, %one : index
    %u = compute.load %b[%i] : tensor<12xf32>
    %t = compute.load %b[%j] : tensor<12xf32>
    %w = compute.load %b[%k] : tensor<12xf32>
    %v = arith.addf %u, %t : f32
    %r = arith.addf %v, %w : f32
    compute.yield %r : f32
  } : tensor<10xf32>
  %d = compute.grid (%i) {
    %two = arith.constant 2 : index
    %k = arith.addi %i, %two : index
    %one = arith.constant 1 : index
    %j = arith.addi %i, %one : index
    %u = compute.load %c[%i] : tensor<10xf32>
    %t = compute.load %c[%j] : tensor<10xf32>
    %w = compute.load %c[%k] : tensor<10xf32>
    %v = arith.addf %u, %t : f32
    %r = arith.addf %v, %w : f32
    compute.yield %r : f32
  } : tensor<8xf32>
  func.return %d : tensor<8xf32>
}

// -----

// Windows that slide are a kernel of their own, in which threads take vectors of channels: rows would
// be read by lanes, element by element.

// CHECK-LABEL: func.func @windows_ahead_of_rows
// CHECK-COUNT-2: compute.fusion
func.func @windows_ahead_of_rows(%x : tensor<22x22x64xf16>) -> tensor<16x16xf16> {
  %windows = compute.grid (%h, %w, %c) {
    %t = compute.reduce add [7, 7] (%r, %s) {
      %a = arith.addi %h, %r : index
      %b = arith.addi %w, %s : index
      %v = compute.load %x[%a, %b, %c] : tensor<22x22x64xf16>
      compute.yield %v : f16
    } : f16
    compute.yield %t : f16
  } : tensor<16x16x64xf16>
  %y = compute.grid (%h, %w) {
    %t = compute.reduce add [64] (%c) {
      %v = compute.load %windows[%h, %w, %c] : tensor<16x16x64xf16>
      compute.yield %v : f16
    } : f16
    compute.yield %t : f16
  } : tensor<16x16xf16>
  func.return %y : tensor<16x16xf16>
}

// -----

// Elements that are compared with all of the same others take a thread each: what they are compared
// by, in a grid of its own, is no row of theirs.

// CHECK-LABEL: func.func @searched
// CHECK:         compute.grid
// CHECK-NEXT:      compute.reduce max [64]
// CHECK-NOT:     compute.grid
func.func @searched(%x : tensor<65536xi64>, %t : tensor<64xi64>) -> tensor<65536xi1> {
  %e = compute.grid (%i, %k) {
    %v = compute.load %x[%i] : tensor<65536xi64>
    %w = compute.load %t[%k] : tensor<64xi64>
    %e = arith.cmpi eq, %v, %w : i64
    compute.yield %e : i1
  } : tensor<65536x64xi1>
  %y = compute.grid (%i) {
    %r = compute.reduce max [64] (%k) {
      %v = compute.load %e[%i, %k] : tensor<65536x64xi1>
      compute.yield %v : i1
    } : i1
    compute.yield %r : i1
  } : tensor<65536xi1>
  func.return %y : tensor<65536xi1>
}

// -----

// Elements of a row are its own, whatever the place where they are found is computed from.

// CHECK-LABEL: func.func @looked_up
// CHECK:         %s = compute.grid (%i, %k)
// CHECK:         compute.load %s[
func.func @looked_up(%x : tensor<512x64xf32>, %ids : tensor<65536xi32>) -> tensor<65536xf32> {
  %s = compute.grid (%i, %k) {
    %n = compute.load %ids[%i] : tensor<65536xi32>
    %at = arith.index_cast %n : i32 to index
    %v = compute.load %x[%at, %k] : tensor<512x64xf32>
    %s = arith.mulf %v, %v : f32
    compute.yield %s : f32
  } : tensor<65536x64xf32>
  %y = compute.grid (%i) {
    %r = compute.reduce add [64] (%k) {
      %v = compute.load %s[%i, %k] : tensor<65536x64xf32>
      compute.yield %v : f32
    } : f32
    compute.yield %r : f32
  } : tensor<65536xf32>
  func.return %y : tensor<65536xf32>
}

// -----

// Each element of the result evaluates one of the two, which cost too much to be evaluated again:
// one kernel.

// CHECK-LABEL: func.func @joined
// CHECK-COUNT-1: compute.fusion
// CHECK-NOT:     compute.fusion
func.func @joined(%x : tensor<8x4xf32>, %z : tensor<8x4xf32>) -> tensor<8x2x4xf32> {
  %a = compute.grid (%i, %j) {
    %v = compute.load %x[%i, %j] : tensor<8x4xf32>
    %e = math.exp %v : f32
    compute.yield %e : f32
  } : tensor<8x4xf32>
  %b = compute.grid (%i, %j) {
    %v = compute.load %z[%i, %j] : tensor<8x4xf32>
    %e = math.tanh %v : f32
    compute.yield %e : f32
  } : tensor<8x4xf32>
  %y = compute.grid (%i, %k, %j) {
    %one = arith.constant 1 : index
    %first = arith.cmpi slt, %k, %one : index
    %r = scf.if %first -> (f32) {
      %v = compute.load %a[%i, %j] : tensor<8x4xf32>
      scf.yield %v : f32
    } else {
      %v = compute.load %b[%i, %j] : tensor<8x4xf32>
      scf.yield %v : f32
    }
    compute.yield %r : f32
  } : tensor<8x2x4xf32>
  func.return %y : tensor<8x2x4xf32>
}

// -----

// Rows of a tensor are reduced by one kernel, though no sum reads another; columns are not rows.

// CHECK-LABEL: func.func @rows_of_one
// CHECK-NEXT:    %sum, %largest = compute.fusion (%{{.*}} = %x : tensor<64x64xf32>)
// CHECK:         %columns = compute.fusion (%{{.*}} = %x : tensor<64x64xf32>)
// CHECK-NOT:     compute.fusion
func.func @rows_of_one(%x : tensor<64x64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %sum = compute.grid (%i) {
    %r = compute.reduce add [64] (%k) {
      %v = compute.load %x[%i, %k] : tensor<64x64xf32>
      compute.yield %v : f32
    } : f32
    compute.yield %r : f32
  } : tensor<64xf32>
  %largest = compute.grid (%i) {
    %r = compute.reduce max [64] (%k) {
      %v = compute.load %x[%i, %k] : tensor<64x64xf32>
      compute.yield %v : f32
    } : f32
    compute.yield %r : f32
  } : tensor<64xf32>
  %columns = compute.grid (%i) {
    %r = compute.reduce add [64] (%k) {
      %v = compute.load %x[%k, %i] : tensor<64x64xf32>
      compute.yield %v : f32
    } : f32
    compute.yield %r : f32
  } : tensor<64xf32>
  func.return %sum, %largest, %columns : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// -----

// Positions are computed where they are read, and not stored, by all that reads them.

// CHECK-LABEL: func.func @positions
// CHECK:         %y = compute.fusion (%x_1 = %x : tensor<4x256xi64>) -> (tensor<4x256xi64>) {
// CHECK:         %z = compute.fusion (%y_1 = %y : tensor<4x256xi64>) -> (tensor<256x4xi64>) {
// CHECK-NOT:     compute.fusion
func.func @positions(%x : tensor<4x256xi64>) -> (tensor<4x256xi64>, tensor<256x4xi64>) {
  %n = compute.grid (%i) {
    %p = arith.index_cast %i : index to i64
    compute.yield %p : i64
  } : tensor<256xi64>
  %y = compute.grid (%i, %j) {
    %v = compute.load %x[%i, %j] : tensor<4x256xi64>
    %p = compute.load %n[%j] : tensor<256xi64>
    %s = arith.addi %v, %p : i64
    compute.yield %s : i64
  } : tensor<4x256xi64>
  %z = compute.grid (%j, %i) {
    %v = compute.load %y[%i, %j] : tensor<4x256xi64>
    %p = compute.load %n[%j] : tensor<256xi64>
    %s = arith.muli %v, %p : i64
    compute.yield %s : i64
  } : tensor<256x4xi64>
  func.return %y, %z : tensor<4x256xi64>, tensor<256x4xi64>
}
