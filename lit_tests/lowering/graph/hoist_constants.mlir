// RUN: hidet-opt %s -p hoist-constants --split-input-file | filecheck %s

// What takes a reduction of weights goes to @prepare; a view of what is prepared stays.

func.func @forward(%x : tensor<2x4x3xf32>) -> tensor<2x4x3xf32> {
  %w = graph.constant "p0" : tensor<4x5xf32>
  %sum = graph.sum %w {axes = array<i64: 1>} : (tensor<4x5xf32>) -> tensor<4xf32>
  %scale = graph.rsqrt %sum : tensor<4xf32>
  %column = graph.reshape %scale : (tensor<4xf32>) -> tensor<4x1xf32>
  %y = graph.mul %x, %column : (tensor<2x4x3xf32>, tensor<4x1xf32>) -> tensor<2x4x3xf32>
  func.return %y : tensor<2x4x3xf32>
}

// CHECK-LABEL: func.func @prepare() -> tensor<4xf32> {
// CHECK-NEXT:    %w = graph.constant "p0" : tensor<4x5xf32>
// CHECK-NEXT:    %sum = graph.sum %w {axes = array<i64: 1>} : (tensor<4x5xf32>) -> tensor<4xf32>
// CHECK-NEXT:    %scale = graph.rsqrt %sum : tensor<4xf32>
// CHECK-NEXT:    func.return %scale : tensor<4xf32>
// CHECK-LABEL: func.func @forward(%x: tensor<2x4x3xf32>) -> tensor<2x4x3xf32> {
// CHECK-NEXT:    %scale = graph.constant "prepared0" : tensor<4xf32>
// CHECK-NEXT:    %column = graph.reshape %scale : (tensor<4xf32>) -> tensor<4x1xf32>
// CHECK-NEXT:    %y = graph.mul %x, %column : (tensor<2x4x3xf32>, tensor<4x1xf32>) -> tensor<2x4x3xf32>
// CHECK-NEXT:    func.return %y : tensor<2x4x3xf32>

// -----

// A vector that takes one operation on weights follows them where it is used.

func.func @forward(%x : tensor<2x4x3xf32>) -> tensor<2x4x3xf32> {
  %var = graph.constant "p0" : tensor<4xf32>
  %scale = graph.rsqrt %var : tensor<4xf32>
  %column = graph.reshape %scale : (tensor<4xf32>) -> tensor<4x1xf32>
  %y = graph.mul %x, %column : (tensor<2x4x3xf32>, tensor<4x1xf32>) -> tensor<2x4x3xf32>
  func.return %y : tensor<2x4x3xf32>
}

// CHECK-NOT:   @prepare
// CHECK-LABEL: func.func @forward(%x: tensor<2x4x3xf32>) -> tensor<2x4x3xf32> {
// CHECK:         %var = graph.constant "p0" : tensor<4xf32>
// CHECK:         %scale = graph.rsqrt %var : tensor<4xf32>

// -----

// Two operations are worth it, as in the scale of a batch norm; and so is a packed weight.

func.func @forward(%x : tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<3x4xf32>) {
  %eps = graph.fill 1.000000e-05 : f32 : tensor<f32>
  %var = graph.constant "p0" : tensor<4xf32>
  %shifted = graph.add %var, %eps : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %scale = graph.rsqrt %shifted : tensor<4xf32>
  %column = graph.reshape %scale : (tensor<4xf32>) -> tensor<4x1xf32>
  %y = graph.mul %x, %column : (tensor<2x4x3xf32>, tensor<4x1xf32>) -> tensor<2x4x3xf32>
  %w = graph.constant "p1" : tensor<4x3xf32>
  %packed = graph.pack %w {dims = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %z = graph.exp %packed : tensor<3x4xf32>
  %back = graph.permute %packed {dims = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %s = graph.add %y, %back : (tensor<2x4x3xf32>, tensor<4x3xf32>) -> tensor<2x4x3xf32>
  func.return %s, %z : tensor<2x4x3xf32>, tensor<3x4xf32>
}

// CHECK-LABEL: func.func @prepare() -> (tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
// CHECK:         %scale = graph.rsqrt %shifted : tensor<4xf32>
// CHECK:         %packed = graph.pack %w {dims = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-LABEL: func.func @forward
// CHECK-DAG:     %scale = graph.constant "prepared0" : tensor<4xf32>
// CHECK-DAG:     %packed = graph.constant "prepared2" : tensor<3x4xf32>
// CHECK:         %back = graph.permute %packed

// -----

// Two ranges and two operations are worth it; values that are computed alike are prepared once.

func.func @forward(%x : tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %i = graph.iota {start = 0 : i64, step = 1 : i64} : tensor<4xi64>
  %j = graph.iota {start = 0 : i64, step = 1 : i64} : tensor<4x1xi64>
  %before = graph.lt %i, %j : (tensor<4xi64>, tensor<4x1xi64>) -> tensor<4x4xi1>
  %mask = graph.bitwise_not %before : tensor<4x4xi1>
  %i2 = graph.iota {start = 0 : i64, step = 1 : i64} : tensor<4xi64>
  %before2 = graph.lt %i2, %j : (tensor<4xi64>, tensor<4x1xi64>) -> tensor<4x4xi1>
  %mask2 = graph.bitwise_not %before2 : tensor<4x4xi1>
  %zero = graph.fill 0.000000e+00 : f32 : tensor<f32>
  %a = graph.where %mask, %x, %zero : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %b = graph.where %mask2, %zero, %x : (tensor<4x4xi1>, tensor<f32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %a, %b : tensor<4x4xf32>, tensor<4x4xf32>
}

// CHECK-LABEL: func.func @prepare() -> tensor<4x4xi1> {
// CHECK-NEXT:    %j = graph.iota {start = 0 : i64, step = 1 : i64} : tensor<4x1xi64>
// CHECK-NEXT:    %i = graph.iota {start = 0 : i64, step = 1 : i64} : tensor<4xi64>
// CHECK-NEXT:    %before = graph.lt %i, %j : (tensor<4xi64>, tensor<4x1xi64>) -> tensor<4x4xi1>
// CHECK-NEXT:    %mask = graph.bitwise_not %before : tensor<4x4xi1>
// CHECK-NEXT:    func.return %mask : tensor<4x4xi1>
// CHECK-LABEL: func.func @forward(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
// CHECK-NEXT:    %mask = graph.constant "prepared0" : tensor<4x4xi1>
// CHECK-NEXT:    %zero = graph.fill 0.000000e+00 : f32 : tensor<f32>
// CHECK-NEXT:    %a = graph.where %mask, %x, %zero : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
// CHECK-NEXT:    %b = graph.where %mask, %zero, %x : (tensor<4x4xi1>, tensor<f32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT:    func.return %a, %b : tensor<4x4xf32>, tensor<4x4xf32>

// -----

// What is computed from a prepared value that something else reads is prepared from it.

func.func @forward(%x : tensor<4xf32>) -> tensor<4xf32> {
  %w = graph.constant "p0" : tensor<4xf32>
  %a = graph.softmax %w {axis = 0 : i64} : tensor<4xf32>
  %b = graph.neg %a : tensor<4xf32>
  %0 = graph.mul %x, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.add %0, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @prepare() -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:    %w = graph.constant "p0" : tensor<4xf32>
// CHECK-NEXT:    %a = graph.softmax %w {axis = 0 : i64} : tensor<4xf32>
// CHECK-NEXT:    %b = graph.neg %a : tensor<4xf32>
// CHECK-NEXT:    func.return %a, %b : tensor<4xf32>, tensor<4xf32>
// CHECK-LABEL: func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    %a = graph.constant "prepared0" : tensor<4xf32>
// CHECK-NEXT:    %b = graph.constant "prepared1" : tensor<4xf32>
// CHECK-NEXT:    %[[V0:\d+]] = graph.mul %x, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    %[[V1:\d+]] = graph.add %[[V0]], %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    func.return %[[V1]] : tensor<4xf32>

// -----

// Not worth it: one operation on ranges, anything on fills, a cast of a weight. There is nothing
// to prepare here.

func.func @forward(%x : tensor<4x4xf32>) -> tensor<4x4xf32> {
  %i = graph.iota {start = 0 : i64, step = 1 : i64} : tensor<4xi64>
  %j = graph.iota {start = 0 : i64, step = 1 : i64} : tensor<4x1xi64>
  %mask = graph.le %i, %j : (tensor<4xi64>, tensor<4x1xi64>) -> tensor<4x4xi1>
  %one = graph.fill 1.000000e+00 : f32 : tensor<f32>
  %two = graph.add %one, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %four = graph.mul %two, %two : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %a = graph.where %mask, %x, %four : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %w = graph.constant "p0" : tensor<4xf16>
  %wide = graph.cast %w : (tensor<4xf16>) -> tensor<4xf32>
  %y = graph.add %a, %wide : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @forward(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
// CHECK-NEXT:    %i = graph.iota {start = 0 : i64, step = 1 : i64} : tensor<4xi64>
// CHECK-NEXT:    %j = graph.iota {start = 0 : i64, step = 1 : i64} : tensor<4x1xi64>
// CHECK-NEXT:    %mask = graph.le %i, %j : (tensor<4xi64>, tensor<4x1xi64>) -> tensor<4x4xi1>
// CHECK-NEXT:    %one = graph.fill 1.000000e+00 : f32 : tensor<f32>
// CHECK-NEXT:    %two = graph.add %one, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT:    %four = graph.mul %two, %two : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT:    %a = graph.where %mask, %x, %four : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
// CHECK-NEXT:    %w = graph.constant "p0" : tensor<4xf16>
// CHECK-NEXT:    %wide = graph.cast %w : (tensor<4xf16>) -> tensor<4xf32>
// CHECK-NEXT:    %y = graph.add %a, %wide : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT:    func.return %y : tensor<4x4xf32>

// -----

// Other functions keep what they have.

func.func @other() -> tensor<4xf32> {
  %w = graph.constant "p0" : tensor<4xf32>
  %a = graph.exp %w : tensor<4xf32>
  func.return %a : tensor<4xf32>
}

// CHECK-LABEL: func.func @other() -> tensor<4xf32> {
// CHECK-NEXT:    %w = graph.constant "p0" : tensor<4xf32>
// CHECK-NEXT:    %a = graph.exp %w : tensor<4xf32>
// CHECK-NEXT:    func.return %a : tensor<4xf32>
