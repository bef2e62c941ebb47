// RUN: hidet-opt %s -p 'raise-attention' --split-input-file | filecheck %s
// RUN: hidet-opt %s -p 'raise-attention{arch=cpu}' --split-input-file | filecheck %s --check-prefix=CPU

// Products around a softmax are attention, with a scale, and with what is added to scores. Casts
// between them, which only say how exact they are, go. On a CPU no template would compute it.

// CPU-NOT: graph.scaled_dot_product_attention

// CHECK-LABEL: func.func @added
// CHECK-NEXT:    %{{.*}} = graph.permute
// CHECK:         %y = graph.scaled_dot_product_attention %q, %k, %v, %m {scale = 2.500000e-01 : f64}
// CHECK-SAME:    (tensor<2x4x32x16xf16>, tensor<2x4x40x16xf16>, tensor<2x4x40x8xf16>, tensor<2x1x32x40xf16>) -> tensor<2x4x32x8xf16>
// CHECK-NEXT:    return
func.func @added(%q: tensor<2x4x32x16xf16>, %k: tensor<2x4x40x16xf16>, %v: tensor<2x4x40x8xf16>, %m: tensor<2x1x32x40xf16>) -> tensor<2x4x32x8xf16> {
  %t = graph.permute %k {dims = array<i64: 0, 1, 3, 2>} : (tensor<2x4x40x16xf16>) -> tensor<2x4x16x40xf16>
  %p = graph.matmul %q, %t : (tensor<2x4x32x16xf16>, tensor<2x4x16x40xf16>) -> tensor<2x4x32x40xf16>
  %c = graph.fill 4.0 : f16 : tensor<f16>
  %s = graph.div %p, %c : (tensor<2x4x32x40xf16>, tensor<f16>) -> tensor<2x4x32x40xf16>
  %a = graph.add %m, %s : (tensor<2x1x32x40xf16>, tensor<2x4x32x40xf16>) -> tensor<2x4x32x40xf16>
  %f = graph.cast %a : (tensor<2x4x32x40xf16>) -> tensor<2x4x32x40xf32>
  %w = graph.softmax %f {axis = 3 : i64} : tensor<2x4x32x40xf32>
  %h = graph.cast %w : (tensor<2x4x32x40xf32>) -> tensor<2x4x32x40xf16>
  %y = graph.matmul %h, %v : (tensor<2x4x32x40xf16>, tensor<2x4x40x8xf16>) -> tensor<2x4x32x8xf16>
  func.return %y : tensor<2x4x32x8xf16>
}

// -----

// A condition that puts -inf in the place of scores hides them. Keys that lie transposed are a view.

// CHECK-LABEL: func.func @hidden
// CHECK:         %[[K:.*]] = graph.permute %k {dims = array<i64: 0, 2, 1>}
// CHECK-NEXT:    %[[M:.*]] = graph.bitwise_not %m
// CHECK-NEXT:    graph.scaled_dot_product_attention %q, %[[K]], %v, %[[M]] {scale = 1.000000e+00 : f64}
func.func @hidden(%q: tensor<4x32x16xbf16>, %k: tensor<4x16x32xbf16>, %v: tensor<4x32x16xbf16>, %m: tensor<32x32xi1>) -> tensor<4x32x16xbf16> {
  %p = graph.matmul %q, %k : (tensor<4x32x16xbf16>, tensor<4x16x32xbf16>) -> tensor<4x32x32xbf16>
  %i = graph.fill 0xff80 : bf16 : tensor<bf16>
  %a = graph.where %m, %i, %p : (tensor<32x32xi1>, tensor<bf16>, tensor<4x32x32xbf16>) -> tensor<4x32x32xbf16>
  %w = graph.softmax %a {axis = 2 : i64} : tensor<4x32x32xbf16>
  %y = graph.matmul %w, %v : (tensor<4x32x32xbf16>, tensor<4x32x16xbf16>) -> tensor<4x32x16xbf16>
  func.return %y : tensor<4x32x16xbf16>
}

// -----

// CHECK-LABEL: func.func @shown
// CHECK:         graph.scaled_dot_product_attention %q, %{{.*}}, %v, %m
func.func @shown(%q: tensor<4x32x16xf16>, %k: tensor<4x16x32xf16>, %v: tensor<4x32x16xf16>, %m: tensor<32x32xi1>) -> tensor<4x32x16xf16> {
  %p = graph.matmul %q, %k : (tensor<4x32x16xf16>, tensor<4x16x32xf16>) -> tensor<4x32x32xf16>
  %i = graph.fill 0xfc00 : f16 : tensor<f16>
  %a = graph.where %m, %p, %i : (tensor<32x32xi1>, tensor<4x32x32xf16>, tensor<f16>) -> tensor<4x32x32xf16>
  %w = graph.softmax %a {axis = 2 : i64} : tensor<4x32x32xf16>
  %y = graph.matmul %w, %v : (tensor<4x32x32xf16>, tensor<4x32x16xf16>) -> tensor<4x32x16xf16>
  func.return %y : tensor<4x32x16xf16>
}

// -----

// As torch exports it to ONNX: query and key have a root of the scale each, and zeros replace NaN. A
// mask of zeros goes.

// CHECK-LABEL: func.func @exported
// CHECK:         %[[K:.*]] = graph.permute %k {dims = array<i64: 0, 2, 1>}
// CHECK-NEXT:    graph.scaled_dot_product_attention %q, %[[K]], %v {scale = 2.500000e-01 : f64}
// CHECK-NEXT:    return
func.func @exported(%q: tensor<4x32x16xf16>, %k: tensor<4x16x32xf16>, %v: tensor<4x32x16xf16>) -> tensor<4x32x16xf16> {
  %c = graph.fill 0.5 : f16 : tensor<f16>
  %0 = graph.mul %q, %c : (tensor<4x32x16xf16>, tensor<f16>) -> tensor<4x32x16xf16>
  %1 = graph.mul %k, %c : (tensor<4x16x32xf16>, tensor<f16>) -> tensor<4x16x32xf16>
  %p = graph.matmul %0, %1 : (tensor<4x32x16xf16>, tensor<4x16x32xf16>) -> tensor<4x32x32xf16>
  %m = graph.fill 0.0 : f16 : tensor<1x32x32xf16>
  %a = graph.add %p, %m : (tensor<4x32x32xf16>, tensor<1x32x32xf16>) -> tensor<4x32x32xf16>
  %w = graph.softmax %a {axis = 2 : i64} : tensor<4x32x32xf16>
  %t = graph.ne %w, %w : (tensor<4x32x32xf16>, tensor<4x32x32xf16>) -> tensor<4x32x32xi1>
  %z = graph.fill 0.0 : f16 : tensor<f16>
  %f = graph.where %t, %z, %w : (tensor<4x32x32xi1>, tensor<f16>, tensor<4x32x32xf16>) -> tensor<4x32x32xf16>
  %y = graph.matmul %f, %v : (tensor<4x32x32xf16>, tensor<4x32x16xf16>) -> tensor<4x32x16xf16>
  func.return %y : tensor<4x32x16xf16>
}

// -----

// Masks add up to one, those that are added and those that hide, with the scale that follows them.

// CHECK-LABEL: func.func @masked_twice
// CHECK:         %[[SUM:.*]] = graph.add %n, %m
// CHECK-NEXT:    graph.scaled_dot_product_attention %q, %{{.*}}, %v, %[[SUM]] {scale = 1.000000e+00 : f64}
func.func @masked_twice(%q: tensor<4x32x16xf16>, %k: tensor<4x16x32xf16>, %v: tensor<4x32x16xf16>, %n: tensor<4x32x32xf16>, %m: tensor<1x32xf16>) -> tensor<4x32x16xf16> {
  %p = graph.matmul %q, %k : (tensor<4x32x16xf16>, tensor<4x16x32xf16>) -> tensor<4x32x32xf16>
  %a = graph.add %p, %n : (tensor<4x32x32xf16>, tensor<4x32x32xf16>) -> tensor<4x32x32xf16>
  %s = graph.add %a, %m : (tensor<4x32x32xf16>, tensor<1x32xf16>) -> tensor<4x32x32xf16>
  %w = graph.softmax %s {axis = 2 : i64} : tensor<4x32x32xf16>
  %y = graph.matmul %w, %v : (tensor<4x32x32xf16>, tensor<4x32x16xf16>) -> tensor<4x32x16xf16>
  func.return %y : tensor<4x32x16xf16>
}

// -----

// CHECK-LABEL: func.func @scaled_late
// CHECK:         %[[ADDED:.*]] = graph.mul %m, %{{.*}}
// CHECK-NEXT:    %[[INF:.*]] = graph.fill 0xfc00
// CHECK-NEXT:    %[[MASK:.*]] = graph.where %h, %[[ADDED]], %[[INF]]
// CHECK-NEXT:    graph.scaled_dot_product_attention %q, %{{.*}}, %v, %[[MASK]] {scale = 5.000000e-01 : f64}
func.func @scaled_late(%q: tensor<4x32x16xf16>, %k: tensor<4x16x32xf16>, %v: tensor<4x32x16xf16>, %m: tensor<32x32xf16>, %h: tensor<32x32xi1>) -> tensor<4x32x16xf16> {
  %p = graph.matmul %q, %k : (tensor<4x32x16xf16>, tensor<4x16x32xf16>) -> tensor<4x32x32xf16>
  %a = graph.add %p, %m : (tensor<4x32x32xf16>, tensor<32x32xf16>) -> tensor<4x32x32xf16>
  %i = graph.fill 0xfc00 : f16 : tensor<f16>
  %b = graph.where %h, %a, %i : (tensor<32x32xi1>, tensor<4x32x32xf16>, tensor<f16>) -> tensor<4x32x32xf16>
  %c = graph.fill 0.5 : f16 : tensor<f16>
  %s = graph.mul %b, %c : (tensor<4x32x32xf16>, tensor<f16>) -> tensor<4x32x32xf16>
  %w = graph.softmax %s {axis = 2 : i64} : tensor<4x32x32xf16>
  %y = graph.matmul %w, %v : (tensor<4x32x32xf16>, tensor<4x32x16xf16>) -> tensor<4x32x16xf16>
  func.return %y : tensor<4x32x16xf16>
}

// -----

// Scores of f32 whose operands have been widened, as in GPT-J, and batches that are reshaped between
// the steps, as in BLOOM: matrices and masks follow the scores.

// CHECK-LABEL: func.func @widened
// CHECK-DAG:     %[[K:.*]] = graph.reshape %k : (tensor<8x40x16xf16>) -> tensor<2x4x40x16xf16>
// CHECK-DAG:     %[[Q:.*]] = graph.reshape %q : (tensor<8x32x16xf16>) -> tensor<2x4x32x16xf16>
// CHECK-DAG:     %[[V:.*]] = graph.reshape %v : (tensor<8x40x8xf16>) -> tensor<2x4x40x8xf16>
// CHECK-DAG:     %[[A:.*]] = graph.reshape %a : (tensor<8x1x40xf16>) -> tensor<2x4x1x40xf16>
// CHECK-DAG:     %[[B:.*]] = graph.reshape %b : (tensor<1x32x40xf16>) -> tensor<1x1x32x40xf16>
// CHECK:         %[[BA:.*]] = graph.add %[[A]], %[[B]]
// CHECK-NEXT:    %[[MASK:.*]] = graph.add %[[BA]], %m
// CHECK-NEXT:    %[[Y:.*]] = graph.scaled_dot_product_attention %[[Q]], %[[K]], %[[V]], %[[MASK]] {scale = 2.500000e-01 : f64}
// CHECK-NEXT:    graph.reshape %[[Y]] : (tensor<2x4x32x8xf16>) -> tensor<8x32x8xf16>
func.func @widened(%q: tensor<8x32x16xf16>, %k: tensor<8x40x16xf16>, %v: tensor<8x40x8xf16>, %a: tensor<8x1x40xf16>, %b: tensor<1x32x40xf16>, %m: tensor<2x1x32x40xf16>) -> tensor<8x32x8xf16> {
  %t = graph.permute %k {dims = array<i64: 0, 2, 1>} : (tensor<8x40x16xf16>) -> tensor<8x16x40xf16>
  %qw = graph.cast %q : (tensor<8x32x16xf16>) -> tensor<8x32x16xf32>
  %kw = graph.cast %t : (tensor<8x16x40xf16>) -> tensor<8x16x40xf32>
  %p = graph.matmul %qw, %kw : (tensor<8x32x16xf32>, tensor<8x16x40xf32>) -> tensor<8x32x40xf32>
  %c = graph.fill 4.0 : f32 : tensor<f32>
  %s = graph.div %p, %c : (tensor<8x32x40xf32>, tensor<f32>) -> tensor<8x32x40xf32>
  %aw = graph.cast %a : (tensor<8x1x40xf16>) -> tensor<8x1x40xf32>
  %0 = graph.add %aw, %s : (tensor<8x1x40xf32>, tensor<8x32x40xf32>) -> tensor<8x32x40xf32>
  %h = graph.cast %0 : (tensor<8x32x40xf32>) -> tensor<8x32x40xf16>
  %1 = graph.add %h, %b : (tensor<8x32x40xf16>, tensor<1x32x40xf16>) -> tensor<8x32x40xf16>
  %2 = graph.reshape %1 : (tensor<8x32x40xf16>) -> tensor<2x4x32x40xf16>
  %3 = graph.add %2, %m : (tensor<2x4x32x40xf16>, tensor<2x1x32x40xf16>) -> tensor<2x4x32x40xf16>
  %w = graph.softmax %3 {axis = 3 : i64} : tensor<2x4x32x40xf16>
  %r = graph.reshape %w : (tensor<2x4x32x40xf16>) -> tensor<8x32x40xf16>
  %y = graph.matmul %r, %v : (tensor<8x32x40xf16>, tensor<8x40x8xf16>) -> tensor<8x32x8xf16>
  func.return %y : tensor<8x32x8xf16>
}

// -----

// A mask for each window, as in Swin: dimensions that are merged are those of the mask, too. If the
// same windows of all images have one mask, it says what the batch is.

// CHECK-LABEL: func.func @windows
// CHECK:         %[[M:.*]] = graph.reshape %m : (tensor<1x8x1x32x32xf16>) -> tensor<8x1x32x32xf16>
// CHECK-NEXT:    %[[MASK:.*]] = graph.add %n, %[[M]]
// CHECK-NEXT:    graph.scaled_dot_product_attention %q, %{{.*}}, %v, %[[MASK]]
func.func @windows(%q: tensor<8x4x32x16xf16>, %k: tensor<8x4x16x32xf16>, %v: tensor<8x4x32x16xf16>, %n: tensor<1x4x32x32xf16>, %m: tensor<1x8x1x32x32xf16>) -> tensor<8x4x32x16xf16> {
  %p = graph.matmul %q, %k : (tensor<8x4x32x16xf16>, tensor<8x4x16x32xf16>) -> tensor<8x4x32x32xf16>
  %a = graph.add %p, %n : (tensor<8x4x32x32xf16>, tensor<1x4x32x32xf16>) -> tensor<8x4x32x32xf16>
  %r = graph.reshape %a : (tensor<8x4x32x32xf16>) -> tensor<1x8x4x32x32xf16>
  %b = graph.add %r, %m : (tensor<1x8x4x32x32xf16>, tensor<1x8x1x32x32xf16>) -> tensor<1x8x4x32x32xf16>
  %s = graph.reshape %b : (tensor<1x8x4x32x32xf16>) -> tensor<8x4x32x32xf16>
  %w = graph.softmax %s {axis = 3 : i64} : tensor<8x4x32x32xf16>
  %y = graph.matmul %w, %v : (tensor<8x4x32x32xf16>, tensor<8x4x32x16xf16>) -> tensor<8x4x32x16xf16>
  func.return %y : tensor<8x4x32x16xf16>
}

// -----

// CHECK-LABEL: func.func @images
// CHECK-DAG:     %[[N:.*]] = graph.reshape %n : (tensor<1x4x32x32xf16>) -> tensor<1x1x4x32x32xf16>
// CHECK-DAG:     %[[Q:.*]] = graph.reshape %q : (tensor<16x4x32x16xf16>) -> tensor<2x8x4x32x16xf16>
// CHECK:         %[[MASK:.*]] = graph.add %[[N]], %m
// CHECK-NEXT:    %[[Y:.*]] = graph.scaled_dot_product_attention %[[Q]], %{{.*}}, %{{.*}}, %[[MASK]]
// CHECK-NEXT:    graph.reshape %[[Y]] : (tensor<2x8x4x32x16xf16>) -> tensor<64x32x16xf16>
func.func @images(%q: tensor<16x4x32x16xf16>, %k: tensor<16x4x16x32xf16>, %v: tensor<64x32x16xf16>, %n: tensor<1x4x32x32xf16>, %m: tensor<1x8x1x32x32xf16>) -> tensor<64x32x16xf16> {
  %p = graph.matmul %q, %k : (tensor<16x4x32x16xf16>, tensor<16x4x16x32xf16>) -> tensor<16x4x32x32xf16>
  %a = graph.add %p, %n : (tensor<16x4x32x32xf16>, tensor<1x4x32x32xf16>) -> tensor<16x4x32x32xf16>
  %r = graph.reshape %a : (tensor<16x4x32x32xf16>) -> tensor<2x8x4x32x32xf16>
  %b = graph.add %r, %m : (tensor<2x8x4x32x32xf16>, tensor<1x8x1x32x32xf16>) -> tensor<2x8x4x32x32xf16>
  %s = graph.reshape %b : (tensor<2x8x4x32x32xf16>) -> tensor<16x4x32x32xf16>
  %w = graph.softmax %s {axis = 3 : i64} : tensor<16x4x32x32xf16>
  %t = graph.reshape %w : (tensor<16x4x32x32xf16>) -> tensor<64x32x32xf16>
  %y = graph.matmul %t, %v : (tensor<64x32x32xf16>, tensor<64x32x16xf16>) -> tensor<64x32x16xf16>
  func.return %y : tensor<64x32x16xf16>
}

// -----

// Other numbers than -inf in the place of scores, which leave a query without keys its weights.

// CHECK-LABEL: func.func @finite
// CHECK:         graph.scaled_dot_product_attention %q, %{{.*}}, %v, %m {scale = 5.000000e-01 : f64, fill = -5.000000e+03 : f64}
func.func @finite(%q: tensor<4x32x16xf16>, %k: tensor<4x16x32xf16>, %v: tensor<4x32x16xf16>, %m: tensor<32x32xi1>) -> tensor<4x32x16xf16> {
  %p = graph.matmul %q, %k : (tensor<4x32x16xf16>, tensor<4x16x32xf16>) -> tensor<4x32x32xf16>
  %i = graph.fill -1.0e4 : f16 : tensor<f16>
  %a = graph.where %m, %p, %i : (tensor<32x32xi1>, tensor<4x32x32xf16>, tensor<f16>) -> tensor<4x32x32xf16>
  %h = graph.fill 0.5 : f16 : tensor<f16>
  %s = graph.mul %a, %h : (tensor<4x32x32xf16>, tensor<f16>) -> tensor<4x32x32xf16>
  %w = graph.softmax %s {axis = 2 : i64} : tensor<4x32x32xf16>
  %y = graph.matmul %w, %v : (tensor<4x32x32xf16>, tensor<4x32x16xf16>) -> tensor<4x32x16xf16>
  func.return %y : tensor<4x32x16xf16>
}

// -----

// What stays: weights that something else reads, a softmax over another dimension, numbers in the
// place of scores that are masked otherwise, too, -inf that a factor turns into inf, f32, also of the
// queries alone, masks for batches that differ, and scores that are whole numbers in between.

// CHECK-LABEL: func.func @read
// CHECK-NOT:     graph.scaled_dot_product_attention
func.func @read(%q: tensor<4x32x16xf16>, %k: tensor<4x16x32xf16>, %v: tensor<4x32x16xf16>) -> (tensor<4x32x16xf16>, tensor<4x32x32xf16>) {
  %p = graph.matmul %q, %k : (tensor<4x32x16xf16>, tensor<4x16x32xf16>) -> tensor<4x32x32xf16>
  %w = graph.softmax %p {axis = 2 : i64} : tensor<4x32x32xf16>
  %y = graph.matmul %w, %v : (tensor<4x32x32xf16>, tensor<4x32x16xf16>) -> tensor<4x32x16xf16>
  func.return %y, %w : tensor<4x32x16xf16>, tensor<4x32x32xf16>
}

// -----

// CHECK-LABEL: func.func @columns
// CHECK-NOT:     graph.scaled_dot_product_attention
func.func @columns(%q: tensor<4x32x16xf16>, %k: tensor<4x16x32xf16>, %v: tensor<4x32x16xf16>) -> tensor<4x32x16xf16> {
  %p = graph.matmul %q, %k : (tensor<4x32x16xf16>, tensor<4x16x32xf16>) -> tensor<4x32x32xf16>
  %w = graph.softmax %p {axis = 1 : i64} : tensor<4x32x32xf16>
  %y = graph.matmul %w, %v : (tensor<4x32x32xf16>, tensor<4x32x16xf16>) -> tensor<4x32x16xf16>
  func.return %y : tensor<4x32x16xf16>
}

// -----

// CHECK-LABEL: func.func @finite_and_added
// CHECK-NOT:     graph.scaled_dot_product_attention
func.func @finite_and_added(%q: tensor<4x32x16xf16>, %k: tensor<4x16x32xf16>, %v: tensor<4x32x16xf16>, %m: tensor<32x32xi1>, %n: tensor<32x32xf16>) -> tensor<4x32x16xf16> {
  %p = graph.matmul %q, %k : (tensor<4x32x16xf16>, tensor<4x16x32xf16>) -> tensor<4x32x32xf16>
  %s = graph.add %p, %n : (tensor<4x32x32xf16>, tensor<32x32xf16>) -> tensor<4x32x32xf16>
  %i = graph.fill -1.0e4 : f16 : tensor<f16>
  %a = graph.where %m, %s, %i : (tensor<32x32xi1>, tensor<4x32x32xf16>, tensor<f16>) -> tensor<4x32x32xf16>
  %w = graph.softmax %a {axis = 2 : i64} : tensor<4x32x32xf16>
  %y = graph.matmul %w, %v : (tensor<4x32x32xf16>, tensor<4x32x16xf16>) -> tensor<4x32x16xf16>
  func.return %y : tensor<4x32x16xf16>
}

// -----

// CHECK-LABEL: func.func @turned
// CHECK-NOT:     graph.scaled_dot_product_attention
func.func @turned(%q: tensor<4x32x16xf16>, %k: tensor<4x16x32xf16>, %v: tensor<4x32x16xf16>, %m: tensor<32x32xi1>) -> tensor<4x32x16xf16> {
  %p = graph.matmul %q, %k : (tensor<4x32x16xf16>, tensor<4x16x32xf16>) -> tensor<4x32x32xf16>
  %i = graph.fill 0xfc00 : f16 : tensor<f16>
  %a = graph.where %m, %p, %i : (tensor<32x32xi1>, tensor<4x32x32xf16>, tensor<f16>) -> tensor<4x32x32xf16>
  %c = graph.fill -1.0 : f16 : tensor<f16>
  %s = graph.mul %a, %c : (tensor<4x32x32xf16>, tensor<f16>) -> tensor<4x32x32xf16>
  %w = graph.softmax %s {axis = 2 : i64} : tensor<4x32x32xf16>
  %y = graph.matmul %w, %v : (tensor<4x32x32xf16>, tensor<4x32x16xf16>) -> tensor<4x32x16xf16>
  func.return %y : tensor<4x32x16xf16>
}

// -----

// CHECK-LABEL: func.func @some_images
// CHECK-NOT:     graph.scaled_dot_product_attention
func.func @some_images(%q: tensor<2x4x32x16xf16>, %k: tensor<2x4x16x32xf16>, %v: tensor<2x4x32x16xf16>, %m: tensor<2x1x32x32xf16>, %n: tensor<1x2x32x32xf16>) -> tensor<2x4x32x16xf16> {
  %p = graph.matmul %q, %k : (tensor<2x4x32x16xf16>, tensor<2x4x16x32xf16>) -> tensor<2x4x32x32xf16>
  %a = graph.add %p, %m : (tensor<2x4x32x32xf16>, tensor<2x1x32x32xf16>) -> tensor<2x4x32x32xf16>
  %r = graph.reshape %a : (tensor<2x4x32x32xf16>) -> tensor<4x2x32x32xf16>
  %b = graph.add %r, %n : (tensor<4x2x32x32xf16>, tensor<1x2x32x32xf16>) -> tensor<4x2x32x32xf16>
  %s = graph.reshape %b : (tensor<4x2x32x32xf16>) -> tensor<2x4x32x32xf16>
  %w = graph.softmax %s {axis = 3 : i64} : tensor<2x4x32x32xf16>
  %y = graph.matmul %w, %v : (tensor<2x4x32x32xf16>, tensor<2x4x32x16xf16>) -> tensor<2x4x32x16xf16>
  func.return %y : tensor<2x4x32x16xf16>
}

// -----

// CHECK-LABEL: func.func @wide
// CHECK-NOT:     graph.scaled_dot_product_attention
func.func @wide(%q: tensor<4x32x16xf32>, %k: tensor<4x16x32xf32>, %v: tensor<4x32x16xf32>) -> tensor<4x32x16xf32> {
  %p = graph.matmul %q, %k : (tensor<4x32x16xf32>, tensor<4x16x32xf32>) -> tensor<4x32x32xf32>
  %w = graph.softmax %p {axis = 2 : i64} : tensor<4x32x32xf32>
  %y = graph.matmul %w, %v : (tensor<4x32x32xf32>, tensor<4x32x16xf32>) -> tensor<4x32x16xf32>
  func.return %y : tensor<4x32x16xf32>
}

// -----

// CHECK-LABEL: func.func @wide_queries
// CHECK-NOT:     graph.scaled_dot_product_attention
func.func @wide_queries(%q: tensor<4x32x16xf32>, %k: tensor<4x16x32xf32>, %v: tensor<4x32x16xf16>, %m: tensor<32x32xf32>) -> tensor<4x32x16xf16> {
  %p = graph.matmul %q, %k : (tensor<4x32x16xf32>, tensor<4x16x32xf32>) -> tensor<4x32x32xf32>
  %a = graph.add %p, %m : (tensor<4x32x32xf32>, tensor<32x32xf32>) -> tensor<4x32x32xf32>
  %w = graph.softmax %a {axis = 2 : i64} : tensor<4x32x32xf32>
  %h = graph.cast %w : (tensor<4x32x32xf32>) -> tensor<4x32x32xf16>
  %y = graph.matmul %h, %v : (tensor<4x32x32xf16>, tensor<4x32x16xf16>) -> tensor<4x32x16xf16>
  func.return %y : tensor<4x32x16xf16>
}

// -----

// CHECK-LABEL: func.func @whole_numbers
// CHECK-NOT:     graph.scaled_dot_product_attention
func.func @whole_numbers(%q: tensor<4x32x16xf16>, %k: tensor<4x16x32xf16>, %v: tensor<4x32x16xf16>) -> tensor<4x32x16xf16> {
  %p = graph.matmul %q, %k : (tensor<4x32x16xf16>, tensor<4x16x32xf16>) -> tensor<4x32x32xf16>
  %i = graph.cast %p : (tensor<4x32x32xf16>) -> tensor<4x32x32xi32>
  %f = graph.cast %i : (tensor<4x32x32xi32>) -> tensor<4x32x32xf16>
  %w = graph.softmax %f {axis = 2 : i64} : tensor<4x32x32xf16>
  %y = graph.matmul %w, %v : (tensor<4x32x32xf16>, tensor<4x32x16xf16>) -> tensor<4x32x16xf16>
  func.return %y : tensor<4x32x16xf16>
}

// -----

// A test of something else, and numbers other than 0 for NaN.

// CHECK-LABEL: func.func @other_test
// CHECK-NOT:     graph.scaled_dot_product_attention
func.func @other_test(%q: tensor<4x32x16xf16>, %k: tensor<4x16x32xf16>, %v: tensor<4x32x16xf16>, %o: tensor<4x32x32xf16>) -> tensor<4x32x16xf16> {
  %p = graph.matmul %q, %k : (tensor<4x32x16xf16>, tensor<4x16x32xf16>) -> tensor<4x32x32xf16>
  %w = graph.softmax %p {axis = 2 : i64} : tensor<4x32x32xf16>
  %t = graph.ne %w, %o : (tensor<4x32x32xf16>, tensor<4x32x32xf16>) -> tensor<4x32x32xi1>
  %z = graph.fill 0.0 : f16 : tensor<f16>
  %f = graph.where %t, %z, %w : (tensor<4x32x32xi1>, tensor<f16>, tensor<4x32x32xf16>) -> tensor<4x32x32xf16>
  %y = graph.matmul %f, %v : (tensor<4x32x32xf16>, tensor<4x32x16xf16>) -> tensor<4x32x16xf16>
  func.return %y : tensor<4x32x16xf16>
}

// CHECK-LABEL: func.func @other_number
// CHECK-NOT:     graph.scaled_dot_product_attention
func.func @other_number(%q: tensor<4x32x16xf16>, %k: tensor<4x16x32xf16>, %v: tensor<4x32x16xf16>) -> tensor<4x32x16xf16> {
  %p = graph.matmul %q, %k : (tensor<4x32x16xf16>, tensor<4x16x32xf16>) -> tensor<4x32x32xf16>
  %w = graph.softmax %p {axis = 2 : i64} : tensor<4x32x32xf16>
  %t = graph.ne %w, %w : (tensor<4x32x32xf16>, tensor<4x32x32xf16>) -> tensor<4x32x32xi1>
  %z = graph.fill 1.0 : f16 : tensor<f16>
  %f = graph.where %t, %z, %w : (tensor<4x32x32xi1>, tensor<f16>, tensor<4x32x32xf16>) -> tensor<4x32x32xf16>
  %y = graph.matmul %f, %v : (tensor<4x32x32xf16>, tensor<4x32x16xf16>) -> tensor<4x32x16xf16>
  func.return %y : tensor<4x32x16xf16>
}
