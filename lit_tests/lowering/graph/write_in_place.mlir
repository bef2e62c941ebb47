// RUN: hidet-opt %s -p write-in-place --split-input-file | filecheck %s

// A range of an argument that gets new elements is written, row by row; the result is what the
// argument holds afterwards.

func.func @forward(%x : tensor<2x8x4xf32>, %k : tensor<2x3x4xf32>) -> tensor<2x8x4xf32> attributes {updates = array<i64: 0>} {
  %a = graph.slice %x {starts = array<i64: 0, 0, 0>, stops = array<i64: 2, 1, 4>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x4xf32>) -> tensor<2x1x4xf32>
  %b = graph.slice %x {starts = array<i64: 0, 4, 0>, stops = array<i64: 2, 8, 4>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x4xf32>) -> tensor<2x4x4xf32>
  %y = graph.concat %a, %k, %b {axis = 1 : i64} : (tensor<2x1x4xf32>, tensor<2x3x4xf32>, tensor<2x4x4xf32>) -> tensor<2x8x4xf32>
  func.return %y : tensor<2x8x4xf32>
}

// CHECK:      func.func @forward(%x: tensor<2x8x4xf32>, %k: tensor<2x3x4xf32>) -> tensor<2x8x4xf32> attributes {updates = array<i64: 0>} {
// CHECK-NEXT:   %[[ROW:\d+]] = graph.iota {start = 1 : i64, step = 8 : i64} : tensor<2x3xi64>
// CHECK-NEXT:   %[[PLACE:\d+]] = graph.iota {start = 0 : i64, step = 1 : i64, dim = 1 : i64} : tensor<2x3xi64>
// CHECK-NEXT:   %[[SUM:\d+]] = graph.add %[[ROW]], %[[PLACE]] : (tensor<2x3xi64>, tensor<2x3xi64>) -> tensor<2x3xi64>
// CHECK-NEXT:   %[[IDS:\d+]] = graph.reshape %[[SUM]] : (tensor<2x3xi64>) -> tensor<6xi64>
// CHECK-NEXT:   %[[ROWS:\d+]] = graph.reshape %k : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT:   %y = graph.scatter %x, %[[IDS]], %[[ROWS]]
// CHECK-NEXT:   func.return %y

// -----

// A write to a part of a range becomes a write to the argument; who reads the range after it reads
// it from there.

func.func @forward(%x : tensor<3x8x4xf32>, %i : tensor<1xi64>, %k : tensor<1x4xf32>) -> (tensor<8x4xf32>, tensor<3x8x4xf32>) attributes {updates = array<i64: 0>} {
  %a = graph.slice %x {starts = array<i64: 0, 0, 0>, stops = array<i64: 2, 8, 4>, steps = array<i64: 1, 1, 1>} : (tensor<3x8x4xf32>) -> tensor<2x8x4xf32>
  %b = graph.slice %x {starts = array<i64: 2, 0, 0>, stops = array<i64: 3, 8, 4>, steps = array<i64: 1, 1, 1>} : (tensor<3x8x4xf32>) -> tensor<1x8x4xf32>
  %c = graph.reshape %b : (tensor<1x8x4xf32>) -> tensor<8x4xf32>
  %d = graph.scatter %c, %i, %k : (tensor<8x4xf32>, tensor<1xi64>, tensor<1x4xf32>) -> tensor<8x4xf32>
  %e = graph.reshape %d : (tensor<8x4xf32>) -> tensor<1x8x4xf32>
  %y = graph.concat %a, %e {axis = 0 : i64} : (tensor<2x8x4xf32>, tensor<1x8x4xf32>) -> tensor<3x8x4xf32>
  func.return %d, %y : tensor<8x4xf32>, tensor<3x8x4xf32>
}

// CHECK:      func.func @forward
// CHECK-NEXT:   %[[START:\d+]] = graph.fill 16 : i64 : tensor<i64>
// CHECK-NEXT:   %[[IDS:\d+]] = graph.add %i, %[[START]] : (tensor<1xi64>, tensor<i64>) -> tensor<1xi64>
// CHECK-NEXT:   %y = graph.scatter %x, %[[IDS]], %k : (tensor<3x8x4xf32>, tensor<1xi64>, tensor<1x4xf32>) -> tensor<3x8x4xf32>
// CHECK-NEXT:   %[[PART:\d+]] = graph.slice %y {starts = array<i64: 2, 0, 0>
// CHECK-NEXT:   %d = graph.reshape %[[PART]]
// CHECK-NEXT:   func.return %d, %y

// -----

// A range of a range that gets new elements is written to the argument, too.

func.func @forward(%x : tensor<4x4x4xf32>, %k : tensor<4x2x1xf32>) -> tensor<4x4x4xf32> attributes {updates = array<i64: 0>} {
  %a = graph.slice %x {starts = array<i64: 0, 0, 0>, stops = array<i64: 4, 2, 4>, steps = array<i64: 1, 1, 1>} : (tensor<4x4x4xf32>) -> tensor<4x2x4xf32>
  %b = graph.slice %a {starts = array<i64: 0, 0, 1>, stops = array<i64: 4, 2, 4>, steps = array<i64: 1, 1, 1>} : (tensor<4x2x4xf32>) -> tensor<4x2x3xf32>
  %c = graph.concat %k, %b {axis = 2 : i64} : (tensor<4x2x1xf32>, tensor<4x2x3xf32>) -> tensor<4x2x4xf32>
  %d = graph.slice %x {starts = array<i64: 0, 2, 0>, stops = array<i64: 4, 4, 4>, steps = array<i64: 1, 1, 1>} : (tensor<4x4x4xf32>) -> tensor<4x2x4xf32>
  %y = graph.concat %c, %d {axis = 1 : i64} : (tensor<4x2x4xf32>, tensor<4x2x4xf32>) -> tensor<4x4x4xf32>
  func.return %y : tensor<4x4x4xf32>
}

// CHECK:      func.func @forward
// CHECK-NOT:  graph.concat
// CHECK:      %y = graph.scatter %x, %{{\d+}}, %{{\d+}} : (tensor<4x4x4xf32>, tensor<8xi64>, tensor<8x1xf32>) -> tensor<4x4x4xf32>
// CHECK-NEXT: func.return %y

// -----

// What shifts an argument, and what is no new content of one, stays.

func.func @forward(%x : tensor<8xf32>, %k : tensor<1xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {updates = array<i64: 0>} {
  %a = graph.slice %x {starts = array<i64: 0>, stops = array<i64: 7>, steps = array<i64: 1>} : (tensor<8xf32>) -> tensor<7xf32>
  %b = graph.slice %x {starts = array<i64: 1>, stops = array<i64: 8>, steps = array<i64: 1>} : (tensor<8xf32>) -> tensor<7xf32>
  %y = graph.concat %a, %k {axis = 0 : i64} : (tensor<7xf32>, tensor<1xf32>) -> tensor<8xf32>
  %z = graph.concat %b, %k {axis = 0 : i64} : (tensor<7xf32>, tensor<1xf32>) -> tensor<8xf32>
  func.return %y, %z : tensor<8xf32>, tensor<8xf32>
}

// CHECK:     func.func @forward
// CHECK-NOT: graph.scatter
// CHECK:     func.return
