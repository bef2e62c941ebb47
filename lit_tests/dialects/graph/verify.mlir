// RUN: HIDET_VERIFY

// What does not fit is named, with the types concerned.

// CHECK: Expected one of bf16, f16, f32, f64, i1, i16, i32, i64, i8, but got ui8
func.func @elements(%x : tensor<2xui8>) {
  %0 = graph.abs %x : tensor<2xui8>
  func.return
}

// -----

// CHECK: graph.ceil: shapes must be static, got tensor<?xf32>
func.func @static(%x : tensor<?xf32>) {
  %0 = graph.ceil %x : tensor<?xf32>
  func.return
}

// -----

// CHECK: graph.add: the result should be tensor<2x3xf32>, but is tensor<2x3xf16>
func.func @inferred(%x : tensor<2x3xf32>) {
  %0 = graph.add %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf16>
  func.return
}

// -----

// CHECK: graph.add: shapes [2, 3] and [2] do not broadcast
func.func @broadcast(%x : tensor<2x3xf32>, %y : tensor<2xf32>) {
  %0 = graph.add %x, %y : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: graph.mul: operands must have one element type, got tensor<2xf32>, tensor<2xf16>
func.func @same_element(%x : tensor<2xf32>, %y : tensor<2xf16>) {
  %0 = graph.mul %x, %y : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: graph.exp: needs floating-point elements, got tensor<2xi64>
func.func @floats(%x : tensor<2xi64>) {
  %0 = graph.exp %x : tensor<2xi64>
  func.return
}

// -----

// CHECK: graph.bitcast: f32 and i16 differ in width
func.func @width(%x : tensor<2xf32>) {
  %0 = graph.bitcast %x : (tensor<2xf32>) -> tensor<2xi16>
  func.return
}

// -----

// CHECK: graph.div: needs floating-point elements, got tensor<2xi64>
func.func @float_division(%x : tensor<2xi64>) {
  %0 = graph.div %x, %x : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  func.return
}

// -----

// CHECK: graph.neg: needs elements that are numbers, got tensor<2xi1>
func.func @numbers(%x : tensor<2xi1>) {
  %0 = graph.neg %x : tensor<2xi1>
  func.return
}

// -----

// CHECK: graph.sub: needs elements that are numbers, got tensor<2xi1>
func.func @arithmetic(%x : tensor<2xi1>) {
  %0 = graph.sub %x, %x : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  func.return
}

// -----

// CHECK: graph.bitwise_and: needs integer or i1 elements, got tensor<2xf32>
func.func @bits(%x : tensor<2xf32>) {
  %0 = graph.bitwise_and %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: graph.ceil: needs floating-point elements, got tensor<2xi64>
func.func @predicate(%x : tensor<2xi64>) {
  %0 = graph.ceil %x : tensor<2xi64>
  func.return
}

// -----

// CHECK: graph.gelu: approximate must be "none" or "tanh", got "erf"
func.func @gelu(%x : tensor<2xf32>) {
  %0 = graph.gelu %x {approximate = "erf"} : tensor<2xf32>
  func.return
}

// -----

// CHECK: graph.where: the condition must have i1 elements, got tensor<2xf32>
func.func @where(%x : tensor<2xf32>) {
  %0 = graph.where %x, %x, %x : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: graph.fill: the result should be tensor<2xf32>, but is tensor<2xf16>
func.func @fill() {
  %0 = graph.fill 1.0 : f32 : tensor<2xf16>
  func.return
}

// -----

// CHECK: graph.iota: a range of i64 cannot go from 5.000000e-01 : f64 by 1 : i64
func.func @iota() {
  %0 = graph.iota {start = 0.5 : f64, step = 1 : i64} : tensor<4xi64>
  func.return
}

// -----

// CHECK: axes [1] must be different and in [0, 1) for a tensor of rank 1
func.func @iota_dim() {
  %0 = graph.iota {dim = 1 : i64, start = 0 : i64, step = 1 : i64} : tensor<4xi64>
  func.return
}

// -----

// CHECK: graph.reshape: tensor<6xf32> has no room in the shape [4, 2]
func.func @reshape(%x : tensor<6xf32>) {
  %0 = graph.reshape %x : (tensor<6xf32>) -> tensor<4x2xf32>
  func.return
}

// -----

// CHECK: graph.permute: [0, 0] is no permutation of the dimensions of tensor<2x3xf32>
func.func @permute(%x : tensor<2x3xf32>) {
  %0 = graph.permute %x {dims = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  func.return
}

// -----

// CHECK: graph.expand: tensor<3xf32> does not broadcast to the shape [3, 2]
func.func @expand(%x : tensor<3xf32>) {
  %0 = graph.expand %x : (tensor<3xf32>) -> tensor<3x2xf32>
  func.return
}

// -----

// CHECK: graph.slice: 2:5:1 is outside a dimension of size 4 of tensor<4xf32>
func.func @slice(%x : tensor<4xf32>) {
  %0 = graph.slice %x {starts = array<i64: 2>, steps = array<i64: 1>, stops = array<i64: 5>} : (tensor<4xf32>) -> tensor<3xf32>
  func.return
}

// -----

// CHECK: graph.resample: size, step and repeat must be positive
func.func @resample_step(%x : tensor<4xf32>) {
  %0 = graph.resample %x {axis = 0 : i64, size = 2 : i64, step = 0 : i64, offset = 0 : i64, repeat = 1 : i64, low = 0 : i64, high = 3 : i64} : (tensor<4xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: graph.resample: its places do not fit 64 bits
func.func @resample_far(%x : tensor<4xf32>) {
  %0 = graph.resample %x {axis = 0 : i64, size = 4 : i64, step = 4611686018427387904 : i64, offset = 0 : i64, repeat = 1 : i64, low = 0 : i64, high = 3 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: graph.resample: low and high must be places along axis 0 of tensor<4xf32>
func.func @resample_limit(%x : tensor<4xf32>) {
  %0 = graph.resample %x {axis = 0 : i64, size = 2 : i64, step = 1 : i64, offset = 0 : i64, repeat = 1 : i64, low = 0 : i64, high = 4 : i64} : (tensor<4xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: graph.slice: needs a start, a stop and a step a dimension of tensor<4x4xf32>
func.func @slice_rank(%x : tensor<4x4xf32>) {
  %0 = graph.slice %x {starts = array<i64: 2>, steps = array<i64: 1>, stops = array<i64: 4>} : (tensor<4x4xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

// CHECK: graph.as_strided: shape [4] with strides [2] from 1 on leaves the storage tensor<7xf32>
func.func @as_strided(%x : tensor<7xf32>) {
  %0 = graph.as_strided %x {offset = 1 : i64, strides = array<i64: 2>} : (tensor<7xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: graph.as_strided: needs a storage of rank 1 and a stride a dimension, got tensor<2x4xf32>, shape [4] and strides [1]
func.func @as_strided_rank(%x : tensor<2x4xf32>) {
  %0 = graph.as_strided %x {strides = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: graph.concat: shapes [2, 3] and [2, 4] differ outside axis 0
func.func @concat(%x : tensor<2x3xf32>, %y : tensor<2x4xf32>) {
  %0 = graph.concat %x, %y {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  func.return
}

// -----

// CHECK: graph.concat: needs at least one operand
func.func @concat_nothing() {
  %0 = graph.concat {axis = 0 : i64} : () -> tensor<4x3xf32>
  func.return
}

// -----

// CHECK: graph.pad: low [-1] and high [0] must have a number >= 0 a dimension of tensor<4xf32>
func.func @pad(%x : tensor<4xf32>) {
  %0 = graph.pad %x {high = array<i64: 0>, low = array<i64: -1>, value = 0.0 : f32} : (tensor<4xf32>) -> tensor<3xf32>
  func.return
}

// -----

// CHECK: graph.pad: the value 0 : i64 does not fit tensor<4xf32>
func.func @pad_value(%x : tensor<4xf32>) {
  %0 = graph.pad %x {high = array<i64: 0>, low = array<i64: 1>, value = 0 : i64} : (tensor<4xf32>) -> tensor<5xf32>
  func.return
}

// -----

// CHECK: graph.gather: positions must be integers, got tensor<2x3xf32>
func.func @positions(%x : tensor<4x3xf32>, %i : tensor<2x3xf32>) {
  %0 = graph.gather %x, %i {axis = 0 : i64} : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: graph.gather: positions tensor<3x2xi64> must have the rank of tensor<2x4xf32> and fit in it outside axis 1
func.func @gather(%x : tensor<2x4xf32>, %i : tensor<3x2xi64>) {
  %0 = graph.gather %x, %i {axis = 1 : i64} : (tensor<2x4xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
  func.return
}

// -----

// CHECK: axes [1, 1] must be different and in [0, 2) for a tensor of rank 2
func.func @sum_axes(%x : tensor<2x4xf32>) {
  %0 = graph.sum %x {axes = array<i64: 1, 1>} : (tensor<2x4xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: graph.sum: the result should be tensor<2x1xf32>, but is tensor<2xf32>
func.func @sum_keepdims(%x : tensor<2x4xf32>) {
  %0 = graph.sum %x {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: graph.sum: needs elements that are numbers, got tensor<2xi1>
func.func @sum_truth(%x : tensor<2xi1>) {
  %0 = graph.sum %x {axes = array<i64: 0>} : (tensor<2xi1>) -> tensor<i1>
  func.return
}

// -----

// CHECK: graph.mean: needs floating-point elements, got tensor<2xi64>
func.func @mean(%x : tensor<2xi64>) {
  %0 = graph.mean %x {axes = array<i64: 0>} : (tensor<2xi64>) -> tensor<i64>
  func.return
}

// -----

// CHECK: graph.max: tensor<2x0xf32> has no elements along the axes [1]
func.func @max_of_nothing(%x : tensor<2x0xf32>) {
  %0 = graph.max %x {axes = array<i64: 1>} : (tensor<2x0xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: graph.softmax: needs floating-point elements, got tensor<2xi64>
func.func @softmax(%x : tensor<2xi64>) {
  %0 = graph.softmax %x {axis = 0 : i64} : tensor<2xi64>
  func.return
}

// -----

// CHECK: graph.layer_norm: cannot normalise 3 dimensions of tensor<2x4xf32>
func.func @layer_norm_rank(%x : tensor<2x4xf32>) {
  %0 = graph.layer_norm %x {normalized_rank = 3 : i64} : tensor<2x4xf32>
  func.return
}

// -----

// CHECK: graph.matmul: needs operands [..., M, K] and [..., K, N], got tensor<2x3xf32> and tensor<2x3xf32>
func.func @matmul(%x : tensor<2x3xf32>) {
  %0 = graph.matmul %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: graph.matmul: f16 cannot hold a sum of products of tensor<2x2xf32>
func.func @matmul_narrow(%x : tensor<2x2xf32>) {
  %0 = graph.matmul %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf16>
  func.return
}

// -----

// CHECK: graph.matmul: precision must be one of ieee, tf32, f16, fma, got "fast"
func.func @precision(%x : tensor<2x2xf32>) {
  %0 = graph.matmul %x, %x {precision = "fast"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return
}

// -----

// CHECK: graph.grouped_matmul: needs [M, K], [G, K, N] and [G], got tensor<2x3xf32>, tensor<4x3x5xf32> and tensor<3xi32>
func.func @grouped(%x : tensor<2x3xf32>, %w : tensor<4x3x5xf32>, %e : tensor<3xi32>) {
  %0 = graph.grouped_matmul %x, %w, %e : (tensor<2x3xf32>, tensor<4x3x5xf32>, tensor<3xi32>) -> tensor<2x5xf32>
  func.return
}

// -----

// CHECK: graph.grouped_matmul: needs integers, got tensor<4xf32>
func.func @grouped_by_floats(%x : tensor<2x3xf32>, %w : tensor<4x3x5xf32>, %e : tensor<4xf32>) {
  %0 = graph.grouped_matmul %x, %w, %e : (tensor<2x3xf32>, tensor<4x3x5xf32>, tensor<4xf32>) -> tensor<2x5xf32>
  func.return
}

// -----

// CHECK: graph.linear: needs x [..., I] and weight [O, I], got tensor<2x3xf32> and tensor<3x5xf32>
func.func @linear(%x : tensor<2x3xf32>, %w : tensor<3x5xf32>) {
  %0 = graph.linear %x, %w : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  func.return
}

// -----

// CHECK: graph.linear: the bias of weight tensor<5x3xf32> cannot be tensor<3xf32>
func.func @linear_bias(%x : tensor<2x3xf32>, %w : tensor<5x3xf32>, %b : tensor<3xf32>) {
  %0 = graph.linear %x, %w, %b : (tensor<2x3xf32>, tensor<5x3xf32>, tensor<3xf32>) -> tensor<2x5xf32>
  func.return
}

// -----

// CHECK: graph.scaled_dot_product_attention: needs query [..., L, E], key [..., S, E] and value [..., S, V], got tensor<4x8xf32>, tensor<4x7xf32> and tensor<4x8xf32>
func.func @attention(%q : tensor<4x8xf32>, %k : tensor<4x7xf32>) {
  %0 = graph.scaled_dot_product_attention %q, %k, %q : (tensor<4x8xf32>, tensor<4x7xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

// CHECK: graph.scaled_dot_product_attention: tensor<2x4x4xi1> does not broadcast to scores [4, 4]
func.func @attention_mask(%q : tensor<4x8xf32>, %m : tensor<2x4x4xi1>) {
  %0 = graph.scaled_dot_product_attention %q, %q, %q, %m : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<2x4x4xi1>) -> tensor<4x8xf32>
  func.return
}

// -----

// CHECK: graph.scaled_dot_product_attention: the mask must be of i1 or of f32
func.func @attention_mask_element(%q : tensor<4x8xf32>, %m : tensor<4x4xf16>) {
  %0 = graph.scaled_dot_product_attention %q, %q, %q, %m : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x4xf16>) -> tensor<4x8xf32>
  func.return
}

// -----

// CHECK: graph.attention_logsumexp: needs query [..., L, E] and key [..., S, E], got tensor<4x8xf32> and tensor<4x7xf32>
func.func @logsumexp(%q : tensor<4x8xf32>, %k : tensor<4x7xf32>) {
  %0 = graph.attention_logsumexp %q, %k : (tensor<4x8xf32>, tensor<4x7xf32>) -> tensor<4x1xf32>
  func.return
}

// -----

// CHECK: graph.attention_query_gradient: needs key, value, gradient, logsumexp and delta of tensor<4x8xf16>, tensor<4x6xf16>, tensor<4x6xf16>, tensor<4x1xf32>, tensor<4x1xf32>, got tensor<4x8xf16>, tensor<4x6xf16>, tensor<4x8xf16>, tensor<4x1xf32>, tensor<4x1xf32>
func.func @gradient(%q : tensor<4x8xf16>, %v : tensor<4x6xf16>, %s : tensor<4x1xf32>) {
  %0 = graph.attention_query_gradient %q, %q, %v, %q, %s, %s : (tensor<4x8xf16>, tensor<4x8xf16>, tensor<4x6xf16>, tensor<4x8xf16>, tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x8xf16>
  func.return
}

// -----

// CHECK: graph.attention_key_value_gradients: needs keys and values of one type, got tensor<4x8xf16>, tensor<4x6xf16>
func.func @gradients(%q : tensor<4x8xf16>, %v : tensor<4x6xf16>, %s : tensor<4x1xf32>) {
  %0 = graph.attention_key_value_gradients %q, %q, %v, %v, %s, %s : (tensor<4x8xf16>, tensor<4x8xf16>, tensor<4x6xf16>, tensor<4x6xf16>, tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<2x4x8xf16>
  func.return
}

// -----

// CHECK: graph.conv2d: input and weight must have rank 4, got tensor<3x8x8xf32> and tensor<4x3x3x3xf32>
func.func @conv_rank(%x : tensor<3x8x8xf32>, %w : tensor<4x3x3x3xf32>) {
  %0 = graph.conv2d %x, %w : (tensor<3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<4x6x6xf32>
  func.return
}

// -----

// CHECK: graph.conv2d: 2 groups do not fit input tensor<1x3x8x8xf32> and weight tensor<4x3x3x3xf32>
func.func @conv_groups(%x : tensor<1x3x8x8xf32>, %w : tensor<4x3x3x3xf32>) {
  %0 = graph.conv2d %x, %w {groups = 2 : i64} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  func.return
}

// -----

// CHECK: graph.conv2d: the bias of weight tensor<4x3x3x3xf32> cannot be tensor<3xf32>
func.func @conv_bias(%x : tensor<1x3x8x8xf32>, %w : tensor<4x3x3x3xf32>, %b : tensor<3xf32>) {
  %0 = graph.conv2d %x, %w, %b : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<3xf32>) -> tensor<1x4x6x6xf32>
  func.return
}

// -----

// CHECK: graph.conv2d: a window of 3 with dilation 4 is larger than 8 elements with padding 0
func.func @conv_window(%x : tensor<1x3x8x8xf32>, %w : tensor<4x3x3x3xf32>) {
  %0 = graph.conv2d %x, %w {dilation = array<i64: 4, 4>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  func.return
}

// -----

// CHECK: graph.conv2d: kernel 3, stride 0 and dilation 1 must be at least 1, and padding 0 not negative
func.func @conv_stride(%x : tensor<1x3x8x8xf32>, %w : tensor<4x3x3x3xf32>) {
  %0 = graph.conv2d %x, %w {stride = array<i64: 0, 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  func.return
}

// -----

// CHECK: graph.conv2d: kernel [3, 3], stride [1], padding [0, 0] and dilation [1, 1] must have 2 numbers each
func.func @conv_numbers(%x : tensor<1x3x8x8xf32>, %w : tensor<4x3x3x3xf32>) {
  %0 = graph.conv2d %x, %w {stride = array<i64: 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  func.return
}

// -----

// CHECK: graph.grouped_conv2d: input and weight must have rank 4, got tensor<1x8x8x4xf32> and tensor<3x3x4xf32>
func.func @grouped_rank(%x : tensor<1x8x8x4xf32>, %w : tensor<3x3x4xf32>) {
  %0 = graph.grouped_conv2d %x, %w : (tensor<1x8x8x4xf32>, tensor<3x3x4xf32>) -> tensor<1x6x6x4xf32>
  func.return
}

// -----

// CHECK: graph.grouped_conv2d: groups of 2 channels do not fit input tensor<1x8x8x4xf32>, weight tensor<3x3x2x3xf32>
func.func @grouped_channels(%x : tensor<1x8x8x4xf32>, %w : tensor<3x3x2x3xf32>) {
  %0 = graph.grouped_conv2d %x, %w : (tensor<1x8x8x4xf32>, tensor<3x3x2x3xf32>) -> tensor<1x6x6x3xf32>
  func.return
}

// -----

// CHECK: graph.grouped_filter_gradient: the gradient of input tensor<1x8x8x4xf32> must have shape (1, 6, 6, 4), got tensor<1x6x5x4xf32>
func.func @grouped_filter_shape(%x : tensor<1x8x8x4xf32>, %g : tensor<1x6x5x4xf32>) {
  %0 = graph.grouped_filter_gradient %x, %g {kernel = array<i64: 3, 3>, groups = 4 : i64} : (tensor<1x8x8x4xf32>, tensor<1x6x5x4xf32>) -> tensor<1x3x3x1x4xf32>
  func.return
}

// -----

// CHECK: graph.grouped_filter_gradient: parts must be at least 1, got 0
func.func @grouped_filter_parts(%x : tensor<1x8x8x4xf32>, %g : tensor<1x6x6x4xf32>) {
  %0 = graph.grouped_filter_gradient %x, %g {kernel = array<i64: 3, 3>, groups = 4 : i64, parts = 0 : i64} : (tensor<1x8x8x4xf32>, tensor<1x6x6x4xf32>) -> tensor<0x3x3x1x4xf32>
  func.return
}

// -----

// CHECK: graph.conv2d_filter_gradient: 3 groups do not fit input tensor<1x4x8x8xf32> and gradient tensor<1x6x6x6xf32>
func.func @filter_groups(%x : tensor<1x4x8x8xf32>, %g : tensor<1x6x6x6xf32>) {
  %0 = graph.conv2d_filter_gradient %x, %g {kernel = array<i64: 3, 3>, groups = 3 : i64} : (tensor<1x4x8x8xf32>, tensor<1x6x6x6xf32>) -> tensor<6x1x3x3xf32>
  func.return
}

// -----

// CHECK: graph.conv2d_filter_gradient: the gradient of input tensor<1x4x8x8xf32> must have shape (1, 6, 6, 6), got tensor<1x6x7x6xf32>
func.func @filter_shape(%x : tensor<1x4x8x8xf32>, %g : tensor<1x6x7x6xf32>) {
  %0 = graph.conv2d_filter_gradient %x, %g {kernel = array<i64: 3, 3>} : (tensor<1x4x8x8xf32>, tensor<1x6x7x6xf32>) -> tensor<6x4x3x3xf32>
  func.return
}

// -----

// CHECK: graph.windows: needs images [..., H, W], got tensor<8xf32>
func.func @windows_rank(%x : tensor<8xf32>) {
  %0 = graph.windows %x {kernel = array<i64: 2, 2>, outside = 0.0 : f32} : (tensor<8xf32>) -> tensor<7x2xf32>
  func.return
}

// -----

// CHECK: graph.windows: the value 0 : i64 does not fit tensor<8x8xf32>
func.func @windows_value(%x : tensor<8x8xf32>) {
  %0 = graph.windows %x {kernel = array<i64: 2, 2>, outside = 0 : i64} : (tensor<8x8xf32>) -> tensor<7x7x2x2xf32>
  func.return
}

// -----

// CHECK: graph.call_kernel: inits [1, 0] with 2 operands and 2 results
func.func @order_of_inits(%x : tensor<8xf32>) {
  %0, %1 = graph.call_kernel @f(%x, %x) {inits = array<i64: 1, 0>} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  func.return
}

// -----

// CHECK: graph.call_kernel: inits [0] with 0 operands and 1 results
func.func @missing_init() {
  %0 = graph.call_kernel @f() {inits = array<i64: 0>} : () -> tensor<8xf32>
  func.return
}

// -----

// CHECK: graph.call_kernel: result 0 is tensor<8xf32>, but holds tensor<4xf32> at first
func.func @type_of_init(%x : tensor<4xf32>) {
  %0 = graph.call_kernel @f(%x) {inits = array<i64: 0>} : (tensor<4xf32>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: graph.checked_positions: nothing has a position below 0
func.func @no_positions(%x : tensor<4xi64>) {
  %0 = graph.checked_positions %x {size = 0 : i64, operator = "aten.index"} : tensor<4xi64>
  func.return
}

// -----

// CHECK: graph.checked_divisor: needs integers, got tensor<4xf32>
func.func @real_divisor(%x : tensor<4xf32>) {
  %0 = graph.checked_divisor %x {operator = "aten.div"} : tensor<4xf32>
  func.return
}

// -----

// CHECK: graph.scatter: needs [M], [M, D] and rows of D, got tensor<3xi64>, tensor<2x2xf32> and tensor<4x2xf32>
func.func @scatter(%x : tensor<4x2xf32>, %i : tensor<3xi64>, %s : tensor<2x2xf32>) {
  %0 = graph.scatter %x, %i, %s : (tensor<4x2xf32>, tensor<3xi64>, tensor<2x2xf32>) -> tensor<4x2xf32>
  func.return
}

// -----

// CHECK: graph.scatter: elements of tensor<4x2xf16> are not added up, cast them first
func.func @scatter_halves(%x : tensor<4x2xf16>, %i : tensor<3xi64>, %s : tensor<3x2xf16>) {
  %0 = graph.scatter %x, %i, %s {accumulate = true} : (tensor<4x2xf16>, tensor<3xi64>, tensor<3x2xf16>) -> tensor<4x2xf16>
  func.return
}

// -----

// CHECK: graph.random: seeds are pairs of i32, not tensor<4x2xi64>
func.func @seeds(%seeds : tensor<4x2xi64>) {
  %0 = graph.random %seeds {number = 0 : i64, distribution = "bits"} : (tensor<4x2xi64>) -> tensor<8xi64>
  func.return
}

// -----

// CHECK: graph.random: there is no seed 4 among 4
func.func @seed(%seeds : tensor<4x2xi32>) {
  %0 = graph.random %seeds {number = 4 : i64, distribution = "bits"} : (tensor<4x2xi32>) -> tensor<8xi64>
  func.return
}

// -----

// CHECK: graph.random: no elements of f16 are "uniform"
func.func @distribution(%seeds : tensor<4x2xi32>) {
  %0 = graph.random %seeds {number = 0 : i64, distribution = "uniform"} : (tensor<4x2xi32>) -> tensor<8xf16>
  func.return
}
