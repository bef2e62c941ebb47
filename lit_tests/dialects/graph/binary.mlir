// RUN: HIDET_ROUNDTRIP
// RUN: hidet-opt %s | hidet-opt | filecheck %s

// Operands broadcast; comparisons give i1.

func.func @binary(%x : tensor<2x3xf32>, %y : tensor<f32>, %z : tensor<4x1x3xf32>, %m : tensor<3xi1>, %n : tensor<4xi64>) {
  %0 = graph.add %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %1 = graph.atan2 %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %2 = graph.bitwise_and %n, %n : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %3 = graph.bitwise_and %m, %m : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  %4 = graph.bitwise_or %n, %n : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %5 = graph.bitwise_or %m, %m : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  %6 = graph.bitwise_xor %n, %n : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %7 = graph.bitwise_xor %m, %m : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  %8 = graph.div %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %9 = graph.eq %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
  %10 = graph.floor_divide %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %11 = graph.fmod %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %12 = graph.ge %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
  %13 = graph.gt %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
  %14 = graph.le %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
  %15 = graph.lt %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
  %16 = graph.maximum %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %17 = graph.minimum %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %18 = graph.mul %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %19 = graph.ne %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
  %20 = graph.pow %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %21 = graph.remainder %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %22 = graph.sub %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %23 = graph.where %m, %x, %y : (tensor<3xi1>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %24 = graph.add %z, %x : (tensor<4x1x3xf32>, tensor<2x3xf32>) -> tensor<4x2x3xf32>
  %25 = graph.bitwise_left_shift %n, %n : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %26 = graph.bitwise_right_shift %n, %n : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  func.return
}

// CHECK-LABEL: func.func @binary
// CHECK-NEXT:    %0 = graph.add %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %1 = graph.atan2 %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %2 = graph.bitwise_and %n, %n : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
// CHECK-NEXT:    %3 = graph.bitwise_and %m, %m : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
// CHECK-NEXT:    %4 = graph.bitwise_or %n, %n : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
// CHECK-NEXT:    %5 = graph.bitwise_or %m, %m : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
// CHECK-NEXT:    %6 = graph.bitwise_xor %n, %n : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
// CHECK-NEXT:    %7 = graph.bitwise_xor %m, %m : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
// CHECK-NEXT:    %8 = graph.div %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %9 = graph.eq %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT:    %10 = graph.floor_divide %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %11 = graph.fmod %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %12 = graph.ge %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT:    %13 = graph.gt %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT:    %14 = graph.le %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT:    %15 = graph.lt %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT:    %16 = graph.maximum %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %17 = graph.minimum %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %18 = graph.mul %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %19 = graph.ne %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi1>
// CHECK-NEXT:    %20 = graph.pow %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %21 = graph.remainder %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %22 = graph.sub %x, %y : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %23 = graph.where %m, %x, %y : (tensor<3xi1>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT:    %24 = graph.add %z, %x : (tensor<4x1x3xf32>, tensor<2x3xf32>) -> tensor<4x2x3xf32>
// CHECK-NEXT:    %25 = graph.bitwise_left_shift %n, %n : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
// CHECK-NEXT:    %26 = graph.bitwise_right_shift %n, %n : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
