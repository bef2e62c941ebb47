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

// -----

// Of windows that slide, each thread takes one, so they lie as the image does; filters, be they larger
// than it, do not count.

// CHECK-LABEL: func.func @slides
// CHECK:         compute.grid (%h, %w, %c) {
// CHECK:         } : tensor<16x16x32xf16>
func.func @slides(%x : tensor<16x16x32xf16>, %f : tensor<32x31x31xf16>) -> tensor<32x16x16xf16> {
  %y = compute.grid (%c, %h, %w) {
    %m = compute.reduce add [31, 31] (%r, %s) {
      %a = arith.addi %h, %r : index
      %b = arith.addi %w, %s : index
      %c16 = arith.constant 16 : index
      %a_in = arith.cmpi slt, %a, %c16 : index
      %b_in = arith.cmpi slt, %b, %c16 : index
      %in = arith.andi %a_in, %b_in : i1
      %p = scf.if %in -> (f16) {
        %v = compute.load %x[%a, %b, %c] : tensor<16x16x32xf16>
        scf.yield %v : f16
      } else {
        %zero = arith.constant 0.0 : f16
        scf.yield %zero : f16
      }
      %g = compute.load %f[%c, %r, %s] : tensor<32x31x31xf16>
      %q = arith.mulf %p, %g : f16
      compute.yield %q : f16
    } : f16
    compute.yield %m : f16
  } : tensor<32x16x16xf16>
  func.return %y : tensor<32x16x16xf16>
}

// -----

// transpose_matmul: what is reduced along its columns becomes its transpose, of transposed factors; what is
// computed of it is stored as it is read again. One with few columns stays.

// CHECK-LABEL: func.func @turned
// CHECK-NEXT:    %[[BT:.*]] = compute.grid (%i, %j) {
// CHECK-NEXT:      %{{.*}} = compute.load %b[%j, %i] : tensor<32x64xf16>
// CHECK:         } : tensor<64x32xf16>
// CHECK-NEXT:    %[[AT:.*]] = compute.grid (%i_1, %j_1) {
// CHECK-NEXT:      %{{.*}} = compute.load %a[%j_1, %i_1] : tensor<96x32xf16>
// CHECK:         } : tensor<32x96xf16>
// CHECK-NEXT:    %y = graph.matmul %[[BT]], %[[AT]] : (tensor<64x32xf16>, tensor<32x96xf16>) -> tensor<64x96xf32>
// CHECK-NEXT:    %e = compute.grid (%j_2, %i_2) {
// CHECK-NEXT:      %{{.*}} = compute.load %y[%j_2, %i_2] : tensor<64x96xf32>
// CHECK:         } : tensor<64x96xf32>
// CHECK-NEXT:    %z = compute.grid (%j_3, %i_3) {
// CHECK-NEXT:      %{{.*}} = compute.load %e[%j_3, %i_3] : tensor<64x96xf32>
// CHECK-LABEL: func.func @few
// CHECK-NEXT:    graph.matmul %a, %b
func.func @turned(%a : tensor<96x32xf16>, %b : tensor<32x64xf16>, %r : tensor<64x96xf32>) -> tensor<64xf32> {
  %y = graph.matmul %a, %b : (tensor<96x32xf16>, tensor<32x64xf16>) -> tensor<96x64xf32>
  %e = compute.grid (%i, %j) {
    %v = compute.load %y[%i, %j] : tensor<96x64xf32>
    %u = math.exp %v : f32
    compute.yield %u : f32
  } : tensor<96x64xf32>
  %z = compute.grid (%j, %i) {
    %v = compute.load %e[%i, %j] : tensor<96x64xf32>
    %w = compute.load %r[%j, %i] : tensor<64x96xf32>
    %u = arith.addf %v, %w : f32
    compute.yield %u : f32
  } : tensor<64x96xf32>
  %s = compute.grid (%j) {
    %u = compute.reduce add [96] (%i) {
      %v = compute.load %z[%j, %i] : tensor<64x96xf32>
      compute.yield %v : f32
    } : f32
    compute.yield %u : f32
  } : tensor<64xf32>
  func.return %s : tensor<64xf32>
}
func.func @few(%a : tensor<96x32xf16>, %b : tensor<32x8xf16>, %r : tensor<8x96xf32>) -> tensor<8xf32> {
  %y = graph.matmul %a, %b : (tensor<96x32xf16>, tensor<32x8xf16>) -> tensor<96x8xf32>
  %e = compute.grid (%i, %j) {
    %v = compute.load %y[%i, %j] : tensor<96x8xf32>
    %u = math.exp %v : f32
    compute.yield %u : f32
  } : tensor<96x8xf32>
  %z = compute.grid (%j, %i) {
    %v = compute.load %e[%i, %j] : tensor<96x8xf32>
    %w = compute.load %r[%j, %i] : tensor<8x96xf32>
    %u = arith.addf %v, %w : f32
    compute.yield %u : f32
  } : tensor<8x96xf32>
  %s = compute.grid (%j) {
    %u = compute.reduce add [96] (%i) {
      %v = compute.load %z[%j, %i] : tensor<8x96xf32>
      compute.yield %v : f32
    } : f32
    compute.yield %u : f32
  } : tensor<8xf32>
  func.return %s : tensor<8xf32>
}

// -----

// A product that is read as a tensor of more dimensions stays as it is.

// CHECK-LABEL: func.func @of_three_dimensions
// CHECK-NEXT:    graph.matmul %a, %b
func.func @of_three_dimensions(%a : tensor<96x32xf16>, %b : tensor<32x64xf16>) -> tensor<64xf32> {
  %y = graph.matmul %a, %b : (tensor<96x32xf16>, tensor<32x64xf16>) -> tensor<96x64xf32>
  %e = compute.grid (%n, %i, %j) {
    %v = compute.load %y[%i, %j] : tensor<96x64xf32>
    %u = math.exp %v : f32
    compute.yield %u : f32
  } : tensor<1x96x64xf32>
  %z = compute.grid (%j, %i) {
    %zero = arith.constant 0 : index
    %v = compute.load %e[%zero, %i, %j] : tensor<1x96x64xf32>
    %u = math.sin %v : f32
    compute.yield %u : f32
  } : tensor<64x96xf32>
  %s = compute.grid (%j) {
    %u = compute.reduce add [96] (%i) {
      %v = compute.load %z[%j, %i] : tensor<64x96xf32>
      compute.yield %v : f32
    } : f32
    compute.yield %u : f32
  } : tensor<64xf32>
  func.return %s : tensor<64xf32>
}

// -----

// Images that a matmul reads as rows keep their order: channels last, the rows would have no stride.

// CHECK-LABEL: func.func @flattened
// CHECK:         %e = compute.grid (%n, %c, %h, %w) {
// CHECK:         } : tensor<4x32x7x7xf16>
func.func @flattened(%x : tensor<4x7x7x32xf16>, %b : tensor<1568x64xf16>) -> tensor<4x64xf32> {
  %e = compute.grid (%n, %c, %h, %w) {
    %v = compute.load %x[%n, %h, %w, %c] : tensor<4x7x7x32xf16>
    %u = arith.addf %v, %v : f16
    compute.yield %u : f16
  } : tensor<4x32x7x7xf16>
  %rows = compute.grid (%i, %k) {
    %c49 = arith.constant 49 : index
    %c7 = arith.constant 7 : index
    %c = arith.divsi %k, %c49 : index
    %kh = arith.divsi %k, %c7 : index
    %h = arith.remsi %kh, %c7 : index
    %w = arith.remsi %k, %c7 : index
    %v = compute.load %e[%i, %c, %h, %w] : tensor<4x32x7x7xf16>
    compute.yield %v : f16
  } : tensor<4x1568xf16>
  %y = graph.matmul %rows, %b : (tensor<4x1568xf16>, tensor<1568x64xf16>) -> tensor<4x64xf32>
  func.return %y : tensor<4x64xf32>
}

// -----

// What reads the mean of other rows than its own is ordered as its source: a group norm's result.

// CHECK-LABEL: func.func @of_other_rows
// CHECK:         %y = compute.grid (%h, %c) {
// CHECK:         } : tensor<64x32xf32>
func.func @of_other_rows(%x : tensor<64x32xf32>, %m : tensor<40xf32>) -> tensor<32x64xf32> {
  %mean = compute.grid (%g) {
    %s = compute.reduce add [40] (%r) {
      %v = compute.load %m[%r] : tensor<40xf32>
      compute.yield %v : f32
    } : f32
    compute.yield %s : f32
  } : tensor<1xf32>
  %y = compute.grid (%c, %h) {
    %zero = arith.constant 0 : index
    %v = compute.load %x[%h, %c] : tensor<64x32xf32>
    %u = compute.load %mean[%zero] : tensor<1xf32>
    %d = arith.subf %v, %u : f32
    compute.yield %d : f32
  } : tensor<32x64xf32>
  func.return %y : tensor<32x64xf32>
}

// -----

// Norms of transposed heads: the rows that are reduced, their values and their elements take the
// order of the heads in memory, so that they are one kernel.

// CHECK-LABEL: func.func @heads
// CHECK:         %sum = compute.grid (%s, %h) {
// CHECK:         } : tensor<128x8xf32>
// CHECK:         %y = compute.grid (%s_1, %h_1, %e) {
// CHECK:         } : tensor<128x8x64xf32>
func.func @heads(%x : tensor<128x8x64xf32>) -> tensor<8x128x64xf32> {
  %sum = compute.grid (%h, %s) {
    %r = compute.reduce add [64] (%k) {
      %v = compute.load %x[%s, %h, %k] : tensor<128x8x64xf32>
      compute.yield %v : f32
    } : f32
    compute.yield %r : f32
  } : tensor<8x128xf32>
  %y = compute.grid (%h, %s, %e) {
    %v = compute.load %x[%s, %h, %e] : tensor<128x8x64xf32>
    %u = compute.load %sum[%h, %s] : tensor<8x128xf32>
    %d = arith.divf %v, %u : f32
    compute.yield %d : f32
  } : tensor<8x128x64xf32>
  func.return %y : tensor<8x128x64xf32>
}
