// RUN: hidet-opt %s -p lower-graph-to-compute | filecheck %s
// RUN: hidet-opt %s -p 'lower-graph-to-compute{arch=cpu}' | filecheck %s --check-prefix CPU

// Operands are broadcast, halves are computed in f32; a fill is a constant in its user.
func.func @elementwise(%x : tensor<4x8xf16>, %b : tensor<8xf16>) -> tensor<4x8xf16> {
  %two = graph.fill 2.0 : f16 : tensor<f16>
  %y = graph.mul %b, %two : (tensor<8xf16>, tensor<f16>) -> tensor<8xf16>
  %z = graph.add %x, %y : (tensor<4x8xf16>, tensor<8xf16>) -> tensor<4x8xf16>
  func.return %z : tensor<4x8xf16>
}

// CHECK-LABEL: func.func @elementwise(%x: tensor<4x8xf16>, %b: tensor<8xf16>) -> tensor<4x8xf16> {
// CHECK-NEXT:    %y = compute.grid (%i) {
// CHECK-NEXT:      %[[V0:\d+]] = compute.load %b[%i] : tensor<8xf16>
// CHECK-NEXT:      %[[V1:\d+]] = arith.extf %[[V0]] : f16 to f32
// CHECK-NEXT:      %[[V2:\d+]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT:      %[[V3:\d+]] = arith.mulf %[[V1]], %[[V2]] : f32
// CHECK-NEXT:      %[[V4:\d+]] = arith.truncf %[[V3]] : f32 to f16
// CHECK-NEXT:      compute.yield %[[V4]] : f16
// CHECK-NEXT:    } : tensor<8xf16>
// CHECK-NEXT:    %z = compute.grid (%i_1, %j) {
// CHECK-NEXT:      %[[V5:\d+]] = compute.load %x[%i_1, %j] : tensor<4x8xf16>
// CHECK-NEXT:      %[[V6:\d+]] = arith.extf %[[V5]] : f16 to f32
// CHECK-NEXT:      %[[V7:\d+]] = compute.load %y[%j] : tensor<8xf16>
// CHECK-NEXT:      %[[V8:\d+]] = arith.extf %[[V7]] : f16 to f32
// CHECK-NEXT:      %[[V9:\d+]] = arith.addf %[[V6]], %[[V8]] : f32
// CHECK-NEXT:      %[[V10:\d+]] = arith.truncf %[[V9]] : f32 to f16
// CHECK-NEXT:      compute.yield %[[V10]] : f16
// CHECK-NEXT:    } : tensor<4x8xf16>
// CHECK-NEXT:    func.return %z : tensor<4x8xf16>

// A count that is no place of a bit leaves nothing, or the sign alone, as `shli` and `shrsi` do here.
func.func @shifts(%x : tensor<4xi64>, %n : tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>) {
  %l = graph.bitwise_left_shift %x, %n : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %r = graph.bitwise_right_shift %x, %n : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  func.return %l, %r : tensor<4xi64>, tensor<4xi64>
}

// CHECK-LABEL: func.func @shifts
// CHECK: %[[X:\d+]] = compute.load %x[%i] : tensor<4xi64>
// CHECK-NEXT: %[[N:\d+]] = compute.load %n[%i] : tensor<4xi64>
// CHECK-NEXT: %{{\d+}} = arith.shli %[[X]], %[[N]] : i64
// CHECK: arith.shrsi

// An operand that occurs twice is loaded once.
func.func @square(%x : tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @square(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    %y = compute.grid (%i) {
// CHECK-NEXT:      %[[V0:\d+]] = compute.load %x[%i] : tensor<4xf32>
// CHECK-NEXT:      %[[V1:\d+]] = arith.mulf %[[V0]], %[[V0]] : f32
// CHECK-NEXT:      compute.yield %[[V1]] : f32
// CHECK-NEXT:    } : tensor<4xf32>
// CHECK-NEXT:    func.return %y : tensor<4xf32>

// NaN goes through relu.
func.func @relu(%x : tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.relu %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @relu(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    %y = compute.grid (%i) {
// CHECK-NEXT:      %[[V0:\d+]] = compute.load %x[%i] : tensor<4xf32>
// CHECK-NEXT:      %[[V1:\d+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      %[[V2:\d+]] = arith.maximumf %[[V0]], %[[V1]] : f32
// CHECK-NEXT:      compute.yield %[[V2]] : f32
// CHECK-NEXT:    } : tensor<4xf32>
// CHECK-NEXT:    func.return %y : tensor<4xf32>

// Views are index arithmetic.
func.func @views(%x : tensor<2x3x4xf32>) -> tensor<5x4x6xf32> {
  %p = graph.permute %x {dims = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %r = graph.reshape %p : (tensor<4x2x3xf32>) -> tensor<1x4x6xf32>
  %e = graph.expand %r : (tensor<1x4x6xf32>) -> tensor<5x4x6xf32>
  func.return %e : tensor<5x4x6xf32>
}

// CHECK-LABEL: func.func @views(%x: tensor<2x3x4xf32>) -> tensor<5x4x6xf32> {
// CHECK-NEXT:    %e = compute.grid (%i, %j, %k) {
// CHECK-NEXT:      %[[V1:\d+]] = arith.constant 3 : index
// CHECK-NEXT:      %[[V2:\d+]] = arith.divsi %k, %[[V1]] : index
// CHECK-NEXT:      %[[V3:\d+]] = arith.remsi %k, %[[V1]] : index
// CHECK-NEXT:      %[[V4:\d+]] = compute.load %x[%[[V2]], %[[V3]], %j] : tensor<2x3x4xf32>
// CHECK-NEXT:      compute.yield %[[V4]] : f32
// CHECK-NEXT:    } : tensor<5x4x6xf32>
// CHECK-NEXT:    func.return %e : tensor<5x4x6xf32>

// A view with two readers, and an elementwise operator whose reader reads another large tensor,
// are grids of their own. Others are computed where they are read, rounded to their type.
func.func @chains(%x : tensor<4x8xf16>, %b : tensor<8xf16>, %y : tensor<4x8xf16>) -> (tensor<4x8xf16>, tensor<4x8xf16>) {
  %a = graph.add %x, %b : (tensor<4x8xf16>, tensor<8xf16>) -> tensor<4x8xf16>
  %r = graph.relu %a : tensor<4x8xf16>
  %s = graph.add %r, %y : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4x8xf16>
  %v = graph.reshape %s : (tensor<4x8xf16>) -> tensor<32xf16>
  %w = graph.reshape %v : (tensor<32xf16>) -> tensor<4x8xf16>
  %n = graph.exp %w : tensor<4x8xf16>
  func.return %n, %s : tensor<4x8xf16>, tensor<4x8xf16>
}

// CHECK-LABEL: func.func @chains
// CHECK-NEXT:    %r = compute.grid (%i, %j) {
// CHECK:           compute.load %x[%i, %j]
// CHECK:           compute.load %b[%j]
// CHECK:           %a = arith.truncf %{{.*}} : f32 to f16
// CHECK-NEXT:      %{{.*}} = arith.extf %a : f16 to f32
// CHECK:           arith.maximumf
// CHECK:         %s = compute.grid
// CHECK:           compute.load %r[
// CHECK:           compute.load %y[
// CHECK:         %n = compute.grid (%i_2, %j_2) {
// CHECK:           compute.load %s[
// CHECK:           math.exp
// CHECK:         func.return %n, %s

// What is outside is not loaded.
func.func @pad(%x : tensor<4xf32>) -> tensor<7xf32> {
  %y = graph.pad %x {high = array<i64: 2>, low = array<i64: 1>, value = 0.0 : f32} : (tensor<4xf32>) -> tensor<7xf32>
  func.return %y : tensor<7xf32>
}

// CHECK-LABEL: func.func @pad(%x: tensor<4xf32>) -> tensor<7xf32> {
// CHECK-NEXT:    %y = compute.grid (%i) {
// CHECK-NEXT:      %[[V0:\d+]] = arith.constant 1 : index
// CHECK-NEXT:      %[[V1:\d+]] = arith.cmpi sge, %i, %[[V0]] : index
// CHECK-NEXT:      %[[V2:\d+]] = arith.constant 5 : index
// CHECK-NEXT:      %[[V3:\d+]] = arith.cmpi slt, %i, %[[V2]] : index
// CHECK-NEXT:      %[[V4:\d+]] = arith.andi %[[V1]], %[[V3]] : i1
// CHECK-NEXT:      %[[V5:\d+]] = scf.if %[[V4]] -> (f32) {
// CHECK-NEXT:        %[[V6:\d+]] = arith.constant 1 : index
// CHECK-NEXT:        %[[V7:\d+]] = arith.subi %i, %[[V6]] : index
// CHECK-NEXT:        %[[V8:\d+]] = compute.load %x[%[[V7]]] : tensor<4xf32>
// CHECK-NEXT:        scf.yield %[[V8]] : f32
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %[[V9:\d+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:        scf.yield %[[V9]] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      compute.yield %[[V5]] : f32
// CHECK-NEXT:    } : tensor<7xf32>
// CHECK-NEXT:    func.return %y : tensor<7xf32>

// Each part is loaded where it is.
func.func @concat(%x : tensor<4xf32>, %y : tensor<2xf32>) -> tensor<6xf32> {
  %z = graph.concat %x, %y {axis = 0 : i64} : (tensor<4xf32>, tensor<2xf32>) -> tensor<6xf32>
  func.return %z : tensor<6xf32>
}

// CHECK-LABEL: func.func @concat(%x: tensor<4xf32>, %y: tensor<2xf32>) -> tensor<6xf32> {
// CHECK-NEXT:    %z = compute.grid (%i) {
// CHECK-NEXT:      %[[V0:\d+]] = arith.constant 4 : index
// CHECK-NEXT:      %[[V1:\d+]] = arith.cmpi slt, %i, %[[V0]] : index
// CHECK-NEXT:      %[[V2:\d+]] = scf.if %[[V1]] -> (f32) {
// CHECK-NEXT:        %[[V3:\d+]] = compute.load %x[%i] : tensor<4xf32>
// CHECK-NEXT:        scf.yield %[[V3]] : f32
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %[[V4:\d+]] = arith.constant 4 : index
// CHECK-NEXT:        %[[V5:\d+]] = arith.subi %i, %[[V4]] : index
// CHECK-NEXT:        %[[V6:\d+]] = compute.load %y[%[[V5]]] : tensor<2xf32>
// CHECK-NEXT:        scf.yield %[[V6]] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      compute.yield %[[V2]] : f32
// CHECK-NEXT:    } : tensor<6xf32>
// CHECK-NEXT:    func.return %z : tensor<6xf32>

// A look-up loads an index, which has been checked.
func.func @gather(%t : tensor<10x4xf32>, %i : tensor<3x4xi64>) -> tensor<3x4xf32> {
  %y = graph.gather %t, %i {axis = 0 : i64} : (tensor<10x4xf32>, tensor<3x4xi64>) -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @gather(%t: tensor<10x4xf32>, %i: tensor<3x4xi64>) -> tensor<3x4xf32> {
// CHECK-NEXT:    %y = compute.grid (%i_1, %j) {
// CHECK-NEXT:      %[[V0:\d+]] = compute.load %i[%i_1, %j] : tensor<3x4xi64>
// CHECK-NEXT:      %[[V1:\d+]] = arith.index_cast %[[V0]] {cuda.below = 10 : i64} : i64 to index
// CHECK-NEXT:      %[[V2:\d+]] = compute.load %t[%[[V1]], %j] : tensor<10x4xf32>
// CHECK-NEXT:      compute.yield %[[V2]] : f32
// CHECK-NEXT:    } : tensor<3x4xf32>
// CHECK-NEXT:    func.return %y : tensor<3x4xf32>

// A reduction is one grid over what is left.
func.func @mean(%x : tensor<4x5x6xf32>) -> tensor<4x1x6xf32> {
  %y = graph.mean %x {axes = array<i64: 1>, keepdims = true} : (tensor<4x5x6xf32>) -> tensor<4x1x6xf32>
  func.return %y : tensor<4x1x6xf32>
}

// CHECK-LABEL: func.func @mean(%x: tensor<4x5x6xf32>) -> tensor<4x1x6xf32> {
// CHECK-NEXT:    %y = compute.grid (%i, %j, %k) {
// CHECK-NEXT:      %[[V0:\d+]] = compute.reduce add [5] (%r) {
// CHECK-NEXT:        %[[V1:\d+]] = compute.load %x[%i, %r, %k] : tensor<4x5x6xf32>
// CHECK-NEXT:        compute.yield %[[V1]] : f32
// CHECK-NEXT:      } : f32
// CHECK-NEXT:      %[[V2:\d+]] = arith.constant 2.000000e-01 : f32
// CHECK-NEXT:      %[[V3:\d+]] = arith.mulf %[[V0]], %[[V2]] : f32
// CHECK-NEXT:      compute.yield %[[V3]] : f32
// CHECK-NEXT:    } : tensor<4x1x6xf32>
// CHECK-NEXT:    func.return %y : tensor<4x1x6xf32>

// Between the grids of a variance everything is f32, without a dimension of size 1.
func.func @variance(%x : tensor<4x64xf16>) -> tensor<4x1xf16> {
  %y = graph.var %x {axes = array<i64: 1>, keepdims = true} : (tensor<4x64xf16>) -> tensor<4x1xf16>
  func.return %y : tensor<4x1xf16>
}

// CHECK-LABEL: func.func @variance(%x: tensor<4x64xf16>) -> tensor<4x1xf16> {
// CHECK-NEXT:    %[[V0:\d+]] = compute.grid (%i) {
// CHECK-NEXT:      %[[V1:\d+]] = compute.reduce add [64] (%r) {
// CHECK-NEXT:        %[[V2:\d+]] = compute.load %x[%i, %r] : tensor<4x64xf16>
// CHECK-NEXT:        %[[V3:\d+]] = arith.extf %[[V2]] : f16 to f32
// CHECK-NEXT:        compute.yield %[[V3]] : f32
// CHECK-NEXT:      } : f32
// CHECK-NEXT:      %[[V4:\d+]] = arith.constant 1.562500e-02 : f32
// CHECK-NEXT:      %[[V5:\d+]] = arith.mulf %[[V1]], %[[V4]] : f32
// CHECK-NEXT:      compute.yield %[[V5]] : f32
// CHECK-NEXT:    } : tensor<4xf32>
// CHECK-NEXT:    %y = compute.grid (%i_1, %j) {
// CHECK-NEXT:      %[[V6:\d+]] = compute.reduce add [64] (%r_1) {
// CHECK-NEXT:        %[[V7:\d+]] = compute.load %x[%i_1, %r_1] : tensor<4x64xf16>
// CHECK-NEXT:        %[[V8:\d+]] = arith.extf %[[V7]] : f16 to f32
// CHECK-NEXT:        %[[V9:\d+]] = compute.load %[[V0]][%i_1] : tensor<4xf32>
// CHECK-NEXT:        %[[V10:\d+]] = arith.subf %[[V8]], %[[V9]] : f32
// CHECK-NEXT:        %[[V11:\d+]] = arith.mulf %[[V10]], %[[V10]] : f32
// CHECK-NEXT:        compute.yield %[[V11]] : f32
// CHECK-NEXT:      } : f32
// CHECK-NEXT:      %[[V12:\d+]] = arith.constant 0.0158730168 : f32
// CHECK-NEXT:      %[[V13:\d+]] = arith.mulf %[[V6]], %[[V12]] : f32
// CHECK-NEXT:      %[[V14:\d+]] = arith.truncf %[[V13]] : f32 to f16
// CHECK-NEXT:      compute.yield %[[V14]] : f16
// CHECK-NEXT:    } : tensor<4x1xf16>
// CHECK-NEXT:    func.return %y : tensor<4x1xf16>

// Places are limited only where they could be outside; nothing negative is divided.
func.func @resample(%x : tensor<3x4xf32>) -> tensor<6x4xf32> {
  %y = graph.resample %x {axis = 0 : i64, size = 6 : i64, step = 1 : i64, offset = -1 : i64, repeat = 2 : i64, low = 0 : i64, high = 2 : i64} : (tensor<3x4xf32>) -> tensor<6x4xf32>
  func.return %y : tensor<6x4xf32>
}

// CHECK-LABEL: func.func @resample(%x: tensor<3x4xf32>) -> tensor<6x4xf32> {
// CHECK-NEXT:    %y = compute.grid (%i, %j) {
// CHECK-NEXT:      %[[C1:\d+]] = arith.constant 1 : index
// CHECK-NEXT:      %[[UP:\d+]] = arith.addi %i, %[[C1]] : index
// CHECK-NEXT:      %[[C2:\d+]] = arith.constant 2 : index
// CHECK-NEXT:      %[[HALF:\d+]] = arith.divsi %[[UP]], %[[C2]] : index
// CHECK-NEXT:      %[[CM1:-?\w+]] = arith.constant -1 : index
// CHECK-NEXT:      %[[PLACE:\d+]] = arith.addi %[[HALF]], %[[CM1]] : index
// CHECK-NEXT:      %[[C0:\d+]] = arith.constant 0 : index
// CHECK-NEXT:      %[[AT:\d+]] = arith.maxsi %[[PLACE]], %[[C0]] : index
// CHECK-NEXT:      %[[V:\d+]] = compute.load %x[%[[AT]], %j] : tensor<3x4xf32>
// CHECK-NEXT:      compute.yield %[[V]] : f32
// CHECK-NEXT:    } : tensor<6x4xf32>

// A mean before a variance is shared, if it is of the same rows, and not rounded.
func.func @shared_mean(%x : tensor<4x64xf32>, %h : tensor<4x64xf16>) -> (tensor<4x1xf32>, tensor<4xf32>, tensor<4xf16>, tensor<4xf16>) {
  %m = graph.mean %x {axes = array<i64: 1>, keepdims = true} : (tensor<4x64xf32>) -> tensor<4x1xf32>
  %v = graph.var %x {axes = array<i64: 1>} : (tensor<4x64xf32>) -> tensor<4xf32>
  %n = graph.mean %h {axes = array<i64: 1>} : (tensor<4x64xf16>) -> tensor<4xf16>
  %w = graph.var %h {axes = array<i64: 1>} : (tensor<4x64xf16>) -> tensor<4xf16>
  func.return %m, %v, %n, %w : tensor<4x1xf32>, tensor<4xf32>, tensor<4xf16>, tensor<4xf16>
}

// CHECK-LABEL: func.func @shared_mean(
// CHECK:         %m = compute.grid (%i, %j) {
// CHECK:         %v = compute.grid (%[[I:\w+]]) {
// CHECK:           compute.load %m[%[[I]], %{{.*}}] : tensor<4x1xf32>
// CHECK:         %n = compute.grid
// CHECK:         %[[N:\d+]] = compute.grid
// CHECK:         %w = compute.grid
// CHECK:           compute.load %[[N]][

// Each element of a short row reduces the row again, so that there is one grid.
func.func @short_softmax(%x : tensor<4x8xf16>) -> tensor<4x8xf16> {
  %y = graph.softmax %x {axis = 1 : i64} : tensor<4x8xf16>
  func.return %y : tensor<4x8xf16>
}

// CHECK-LABEL: func.func @short_softmax(
// CHECK-NEXT:    %y = compute.grid (%i, %j) {
// CHECK-NEXT:      %[[TOP:\d+]] = compute.reduce max [8] (%r) {
// CHECK-NEXT:        %[[X:\d+]] = compute.load %x[%i, %r] : tensor<4x8xf16>
// CHECK:           }
// CHECK-NEXT:      %[[SUM:\d+]] = compute.reduce add [8] (%r_1) {
// CHECK:             %[[D:\d+]] = arith.subf %{{.*}}, %[[TOP]] : f32
// CHECK-NEXT:        %[[E:\d+]] = math.exp %[[D]] : f32
// CHECK-NEXT:        compute.yield %[[E]] : f32
// CHECK-NEXT:      }
// CHECK:           arith.divf %{{.*}}, %[[SUM]] : f32
// CHECK:         } : tensor<4x8xf16>

// The logarithms of rows are a grid of their own.
func.func @log_softmax(%x : tensor<4x64xf32>) -> tensor<4x64xf32> {
  %y = graph.log_softmax %x {axis = 1 : i64} : tensor<4x64xf32>
  func.return %y : tensor<4x64xf32>
}

// CHECK-LABEL: func.func @log_softmax(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
// CHECK-NEXT:    %[[V0:\d+]] = compute.grid (%i) {
// CHECK-NEXT:      %[[V1:\d+]] = compute.reduce max [64] (%r) {
// CHECK-NEXT:        %[[V2:\d+]] = compute.load %x[%i, %r] : tensor<4x64xf32>
// CHECK-NEXT:        compute.yield %[[V2]] : f32
// CHECK-NEXT:      } : f32
// CHECK-NEXT:      compute.yield %[[V1]] : f32
// CHECK-NEXT:    } : tensor<4xf32>
// CHECK-NEXT:    %[[V3:\d+]] = compute.grid (%i_1) {
// CHECK-NEXT:      %[[V4:\d+]] = compute.reduce add [64] (%r_1) {
// CHECK-NEXT:        %[[V5:\d+]] = compute.load %x[%i_1, %r_1] : tensor<4x64xf32>
// CHECK-NEXT:        %[[V6:\d+]] = compute.load %[[V0]][%i_1] : tensor<4xf32>
// CHECK-NEXT:        %[[V7:\d+]] = arith.subf %[[V5]], %[[V6]] : f32
// CHECK-NEXT:        %[[V8:\d+]] = math.exp %[[V7]] : f32
// CHECK-NEXT:        compute.yield %[[V8]] : f32
// CHECK-NEXT:      } : f32
// CHECK-NEXT:      compute.yield %[[V4]] : f32
// CHECK-NEXT:    } : tensor<4xf32>
// CHECK-NEXT:    %[[V9:\d+]] = compute.grid (%i_2) {
// CHECK-NEXT:      %[[V10:\d+]] = compute.load %[[V3]][%i_2] : tensor<4xf32>
// CHECK-NEXT:      %[[V11:\d+]] = math.log %[[V10]] : f32
// CHECK-NEXT:      compute.yield %[[V11]] : f32
// CHECK-NEXT:    } : tensor<4xf32>
// CHECK-NEXT:    %y = compute.grid (%i_3, %j) {
// CHECK-NEXT:      %[[V12:\d+]] = compute.load %x[%i_3, %j] : tensor<4x64xf32>
// CHECK-NEXT:      %[[V13:\d+]] = compute.load %[[V0]][%i_3] : tensor<4xf32>
// CHECK-NEXT:      %[[V14:\d+]] = arith.subf %[[V12]], %[[V13]] : f32
// CHECK-NEXT:      %[[V15:\d+]] = compute.load %[[V9]][%i_3] : tensor<4xf32>
// CHECK-NEXT:      %[[V16:\d+]] = arith.subf %[[V14]], %[[V15]] : f32
// CHECK-NEXT:      compute.yield %[[V16]] : f32
// CHECK-NEXT:    } : tensor<4x64xf32>
// CHECK-NEXT:    func.return %y : tensor<4x64xf32>

// A depthwise convolution is a plain sum.
func.func @depthwise(%x : tensor<1x6x8x8xf32>, %w : tensor<6x1x3x3xf32>) -> tensor<1x6x6x6xf32> {
  %y = graph.conv2d %x, %w {groups = 6 : i64} : (tensor<1x6x8x8xf32>, tensor<6x1x3x3xf32>) -> tensor<1x6x6x6xf32>
  func.return %y : tensor<1x6x6x6xf32>
}

// CHECK-LABEL: func.func @depthwise(%x: tensor<1x6x8x8xf32>, %w: tensor<6x1x3x3xf32>) -> tensor<1x6x6x6xf32> {
// CHECK-NEXT:    %y = compute.grid (%i, %j, %k, %l) {
// CHECK-NEXT:      %[[V0:\w+]] = compute.reduce add [3, 3] (%r, %s) {
// CHECK-NEXT:        %[[V1:\w+]] = arith.addi %k, %r : index
// CHECK-NEXT:        %[[V2:\w+]] = arith.addi %l, %s : index
// CHECK-NEXT:        %[[V3:\w+]] = compute.load %x[%i, %j, %[[V1]], %[[V2]]] : tensor<1x6x8x8xf32>
// CHECK-NEXT:        %[[V4:\w+]] = arith.constant 0 : index
// CHECK-NEXT:        %[[V5:\w+]] = compute.load %w[%j, %[[V4]], %r, %s] : tensor<6x1x3x3xf32>
// CHECK-NEXT:        %[[V6:\w+]] = arith.mulf %[[V3]], %[[V5]] : f32
// CHECK-NEXT:        compute.yield %[[V6]] : f32
// CHECK-NEXT:      } : f32
// CHECK-NEXT:      compute.yield %[[V0]] : f32
// CHECK-NEXT:    } : tensor<1x6x6x6xf32>
// CHECK-NEXT:    func.return %y : tensor<1x6x6x6xf32>

// Only the border that can be crossed is checked: the last window ends with the image.
func.func @windows(%x : tensor<3x8x8xf32>) -> tensor<3x4x4x3x3xf32> {
  %y = graph.windows %x {kernel = array<i64: 3, 3>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>, outside = 0xff800000 : f32} : (tensor<3x8x8xf32>) -> tensor<3x4x4x3x3xf32>
  func.return %y : tensor<3x4x4x3x3xf32>
}

// CHECK-LABEL: func.func @windows(%x: tensor<3x8x8xf32>) -> tensor<3x4x4x3x3xf32> {
// CHECK-NEXT:    %y = compute.grid (%i, %j, %k, %l, %m) {
// CHECK-NEXT:      %[[V1:\w+]] = arith.constant 2 : index
// CHECK-NEXT:      %[[V2:\w+]] = arith.muli %j, %[[V1]] : index
// CHECK-NEXT:      %[[V3:\w+]] = arith.addi %[[V2]], %l : index
// CHECK-NEXT:      %[[V4:\w+]] = arith.constant 1 : index
// CHECK-NEXT:      %[[V5:\w+]] = arith.subi %[[V3]], %[[V4]] : index
// CHECK-NEXT:      %[[V6:\w+]] = arith.constant 0 : index
// CHECK-NEXT:      %[[V7:\w+]] = arith.cmpi sge, %[[V5]], %[[V6]] : index
// CHECK-NEXT:      %[[V8:\w+]] = arith.muli %k, %[[V1]] : index
// CHECK-NEXT:      %[[V9:\w+]] = arith.addi %[[V8]], %m : index
// CHECK-NEXT:      %[[V10:\w+]] = arith.subi %[[V9]], %[[V4]] : index
// CHECK-NEXT:      %[[V11:\w+]] = arith.cmpi sge, %[[V10]], %[[V6]] : index
// CHECK-NEXT:      %[[V12:\w+]] = arith.andi %[[V7]], %[[V11]] : i1
// CHECK-NEXT:      %[[V13:\w+]] = scf.if %[[V12]] -> (f32) {
// CHECK-NEXT:        %[[V14:\w+]] = compute.load %x[%i, %[[V5]], %[[V10]]] : tensor<3x8x8xf32>
// CHECK-NEXT:        scf.yield %[[V14]] : f32
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %[[V15:\w+]] = arith.constant 0xff800000 : f32
// CHECK-NEXT:        scf.yield %[[V15]] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      compute.yield %[[V13]] : f32
// CHECK-NEXT:    } : tensor<3x4x4x3x3xf32>
// CHECK-NEXT:    func.return %y : tensor<3x4x4x3x3xf32>

// Constants and products stay; a sum of nothing is 0.
func.func @matmul(%x : tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x4xf32>) {
  %w = graph.constant "p0" : tensor<8x2xf32>
  %y = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %v = graph.constant "p1" : tensor<4x0xf32>
  %u = graph.constant "p2" : tensor<0x4xf32>
  %z = graph.matmul %v, %u : (tensor<4x0xf32>, tensor<0x4xf32>) -> tensor<4x4xf32>
  func.return %y, %z : tensor<4x2xf32>, tensor<4x4xf32>
}

// CHECK-LABEL: func.func @matmul(%x: tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x4xf32>) {
// CHECK-NEXT:    %w = graph.constant "p0" : tensor<8x2xf32>
// CHECK-NEXT:    %y = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT:    %v = graph.constant "p1" : tensor<4x0xf32>
// CHECK-NEXT:    %u = graph.constant "p2" : tensor<0x4xf32>
// CHECK-NEXT:    %z = compute.grid (%i, %j) {
// CHECK-NEXT:      %[[V0:\w+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      compute.yield %[[V0]] : f32
// CHECK-NEXT:    } : tensor<4x4xf32>
// CHECK-NEXT:    func.return %y, %z : tensor<4x2xf32>, tensor<4x4xf32>

// A tensor without elements depends on nothing; what nothing uses is dropped.
func.func @empty(%x : tensor<4x0xf32>) -> tensor<0x4xf32> {
  %y = graph.permute %x {dims = array<i64: 1, 0>} : (tensor<4x0xf32>) -> tensor<0x4xf32>
  %unused = graph.exp %x : tensor<4x0xf32>
  func.return %y : tensor<0x4xf32>
}

// CHECK-LABEL: func.func @empty(%x: tensor<4x0xf32>) -> tensor<0x4xf32> {
// CHECK-NEXT:    %y = compute.grid (%i, %j) {
// CHECK-NEXT:      %[[V0:\w+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      compute.yield %[[V0]] : f32
// CHECK-NEXT:    } : tensor<0x4xf32>
// CHECK-NEXT:    func.return %y : tensor<0x4xf32>

// Calls of kernels stay. A kernel writes over what is computed for it alone, else over a copy.
func.func @calls(%x : tensor<8xf32>, %y : tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = graph.exp %x : tensor<8xf32>
  %a = graph.call_kernel @f(%x, %e) {inits = array<i64: 0>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b = graph.call_kernel @f(%x, %a) {inits = array<i64: 0>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %c = graph.call_kernel @f(%x, %y) {inits = array<i64: 0>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %b, %c : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @calls
// CHECK-NEXT:    %e = compute.grid
// CHECK:         %a = graph.call_kernel @f(%x, %e) {inits = array<i64: 0>}
// CHECK-NEXT:    %b = graph.call_kernel @f(%x, %a) {inits = array<i64: 0>}
// CHECK-NEXT:    %[[COPY:.*]] = compute.grid (%{{.*}}) {
// CHECK-NEXT:      compute.load %y
// CHECK:         %c = graph.call_kernel @f(%x, %[[COPY]]) {inits = array<i64: 0>}

// The counter is the number of the element, divided by four. Of 64 bits there are two in its words.
func.func @random(%seeds : tensor<4x2xi32>) -> (tensor<8x6xf32>, tensor<5xi64>) {
  %u = graph.random %seeds {number = 3, distribution = "uniform"} : (tensor<4x2xi32>) -> tensor<8x6xf32>
  %w = graph.random %seeds {number = 1, distribution = "bits"} : (tensor<4x2xi32>) -> tensor<5xi64>
  func.return %u, %w : tensor<8x6xf32>, tensor<5xi64>
}

// CHECK-LABEL: func.func @random
// CHECK: %u = compute.grid (%i, %j) {
// CHECK: %[[E:\d+]] = arith.addi %{{\d+}}, %j : index
// CHECK: %[[C:\d+]] = arith.divsi %[[E]], %[[FOUR:\d+]] : index
// CHECK: %[[K0:\d+]] = compute.load %seeds[%{{\d+}}, %{{\d+}}] : tensor<4x2xi32>
// CHECK: %[[K1:\d+]] = compute.load %seeds[%{{\d+}}, %{{\d+}}] : tensor<4x2xi32>
// CHECK: %[[C0:\d+]] = arith.index_cast %[[C]] : index to i32
// CHECK: %[[P:\d+]] = arith.remsi %[[E]], %[[FOUR]] : index
// CHECK: %[[N:\d+]] = arith.index_cast %[[P]] : index to i32
// CHECK: %[[W:\d+]] = cuda.function "philox"(%[[K0]], %[[K1]], %[[C0]], %{{\d+}}, %{{\d+}}, %{{\d+}}, %[[N]])
// CHECK: %[[U:\d+]] = arith.shrui %[[W]], %{{\d+}} : i32
// CHECK: %[[F:\d+]] = arith.sitofp %[[U]] : i32 to f32
// CHECK: %[[S:\d+]] = arith.constant 5.96046448e-08 : f32
// CHECK: arith.mulf %[[F]], %[[S]] : f32
// CHECK: %w = compute.grid
// CHECK: %[[LOW:\d+]] = cuda.function "philox"
// CHECK: %[[L:\d+]] = arith.extui %[[LOW]] : i32 to i64
// CHECK: %[[HIGH:\d+]] = cuda.function "philox"
// CHECK: %[[H:\d+]] = arith.extui %[[HIGH]] : i32 to i64
// CHECK: %[[UP:\d+]] = arith.shli %[[H]], %{{\d+}} : i64
// CHECK: arith.ori %[[UP]], %[[L]] : i64

// From 2^34 elements on the counter has a second word.
func.func @long(%seeds : tensor<1x2xi32>) -> tensor<17179869188xi32> {
  %r = graph.random %seeds {number = 0, distribution = "bits"} : (tensor<1x2xi32>) -> tensor<17179869188xi32>
  func.return %r : tensor<17179869188xi32>
}

// CHECK-LABEL: func.func @long
// CHECK: %[[C:\d+]] = arith.divsi %i, %{{\d+}} : index
// CHECK: %[[LIMIT:\d+]] = arith.constant 4294967296 : index
// CHECK: %[[H:\d+]] = arith.divsi %[[C]], %[[LIMIT]] : index
// CHECK: %[[C0:\d+]] = arith.index_cast %[[C]] : index to i32
// CHECK: %[[C1:\d+]] = arith.index_cast %[[H]] : index to i32
// CHECK: cuda.function "philox"(%{{\d+}}, %{{\d+}}, %[[C0]], %[[C1]], %{{\d+}}, %{{\d+}}, %{{\d+}})

// On the CPU a launch may check an argument ahead of the kernel, but not what kernels compute, nor
// positions from the end.
// CHECK-LABEL: func.func @positions(
// CHECK-NOT:     ahead
// CPU-LABEL: func.func @positions(
// CPU:         cuda.checked_index %{{.*}} ahead below 5 "given"
// CPU:         cuda.checked_index %{{.*}} below 5 "computed"
// CPU:         cuda.checked_index %{{.*}} from_end below 5 "from the end"
func.func @positions(%i : tensor<2x3xi64>) -> (tensor<6xi64>, tensor<2x3xi64>, tensor<2x3xi64>) {
  %flat = graph.reshape %i : (tensor<2x3xi64>) -> tensor<6xi64>
  %0 = graph.checked_positions %flat {size = 5 : i64, operator = "given"} : tensor<6xi64>
  %sum = graph.add %i, %i : (tensor<2x3xi64>, tensor<2x3xi64>) -> tensor<2x3xi64>
  %1 = graph.checked_positions %sum {size = 5 : i64, operator = "computed"} : tensor<2x3xi64>
  %2 = graph.checked_positions %i {size = 5 : i64, from_end, operator = "from the end"} : tensor<2x3xi64>
  func.return %0, %1, %2 : tensor<6xi64>, tensor<2x3xi64>, tensor<2x3xi64>
}

// A scatter writes over an argument whose new content it gives.
func.func @update(%x : tensor<9x4xf32>, %i : tensor<5xi64>, %s : tensor<5x4xf32>) -> tensor<9x4xf32> attributes {updates = array<i64: 0>} {
  %y = graph.scatter %x, %i, %s : (tensor<9x4xf32>, tensor<5xi64>, tensor<5x4xf32>) -> tensor<9x4xf32>
  func.return %y : tensor<9x4xf32>
}

// CHECK-LABEL: func.func @update(
// CHECK-NEXT:    %y = graph.call_kernel @scatter_i64_5_f32_5_4_f32_9_4(%i, %s, %x) {inits = array<i64: 0>}

// Something else reads it.
func.func @read(%x : tensor<9x4xf32>, %i : tensor<5xi64>, %s : tensor<5x4xf32>) -> (tensor<9xf32>, tensor<9x4xf32>) attributes {updates = array<i64: 0>} {
  %y = graph.scatter %x, %i, %s : (tensor<9x4xf32>, tensor<5xi64>, tensor<5x4xf32>) -> tensor<9x4xf32>
  %z = graph.sum %x {axes = array<i64: 1>} : (tensor<9x4xf32>) -> tensor<9xf32>
  func.return %z, %y : tensor<9xf32>, tensor<9x4xf32>
}

// CHECK-LABEL: func.func @read(
// CHECK:         %[[COPY:\d+]] = compute.grid
// CHECK:         %y = graph.call_kernel @scatter_i64_5_f32_5_4_f32_9_4(%i, %s, %[[COPY]]) {inits = array<i64: 0>}

// A scatter is the call of a kernel, which writes over a copy of what others read, too.
func.func @scatter(%x : tensor<9x4xf32>, %i : tensor<5xi64>, %s : tensor<5x4xf32>) -> tensor<9x4xf32> {
  %y = graph.scatter %x, %i, %s {accumulate = true} : (tensor<9x4xf32>, tensor<5xi64>, tensor<5x4xf32>) -> tensor<9x4xf32>
  func.return %y : tensor<9x4xf32>
}

// CHECK-LABEL: func.func @scatter(
// CHECK-NEXT:    %[[COPY:\d+]] = compute.grid
// CHECK:         %y = graph.call_kernel @scatter_add_i64_5_f32_5_4_f32_9_4(%i, %s, %[[COPY]]) {inits = array<i64: 0>}
// CHECK:       cuda.kernel @scatter_add_i64_5_f32_5_4_f32_9_4(%positions : memref<5xi64>, %source : memref<5x4xf32>, %out : memref<9x4xf32>) grid(1) block(256) {
// CHECK:         cuda.atomic

// On the CPU each thread adds the rows of its own positions, without atomics.
// CPU:       cuda.kernel @scatter_add_i64_5_f32_5_4_f32_9_4(%positions : memref<5xi64>, %source : memref<5x4xf32>, %out : memref<9x4xf32>) grid(1) block(1) {
// CPU-NOT:     cuda.atomic
// CPU:         memref.store
