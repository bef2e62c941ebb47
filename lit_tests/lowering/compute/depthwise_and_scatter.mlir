// RUN: hidet-opt %s -p graph-pipeline,compute-pipeline --split-input-file | filecheck %s

// A thread of a depthwise convolution stores its own channels: another order is another kernel's.

// CHECK-LABEL: func.func @depthwise
// CHECK:         %r = compute.fusion ({{.*}}) -> (tensor<8x64x64x64xf16>) {
// CHECK:           graph.grouped_conv2d
// CHECK:           arith.maximumf
// CHECK:         %r_1 = compute.fusion (%r_2 = %r : tensor<8x64x64x64xf16>) -> (tensor<8x64x64x64xf16>) {
// CHECK:         func.return %r_1
func.func @depthwise(%x : tensor<8x64x64x64xf16>, %w : tensor<64x1x5x5xf16>) -> tensor<8x64x64x64xf16> {
  %y = graph.conv2d %x, %w {groups = 64 : i64, padding = array<i64: 2, 2>} : (tensor<8x64x64x64xf16>, tensor<64x1x5x5xf16>) -> tensor<8x64x64x64xf16>
  %r = graph.relu %y : tensor<8x64x64x64xf16>
  func.return %r : tensor<8x64x64x64xf16>
}

// -----

// Each thread of a large scatter has four elements, whose positions it computes itself.

// CHECK-LABEL: func.func @scatter
// CHECK-NEXT:    %{{.*}} = compute.fusion (%x_1 = %x : tensor<1048576xf32>)
// CHECK-NOT:     compute.fusion
// CHECK:         graph.call_kernel
// CHECK:         cuda.kernel {{.*}} grid(1024) block(256) {
// CHECK:           task.foreach {{.*}} repeat(4)
func.func @scatter(%x : tensor<1048576xf32>, %p : tensor<1048576xi64>, %s : tensor<1048576x1xf32>) -> tensor<1048576xf32> {
  %c = graph.checked_positions %p {size = 4096 : i64, operator = "aten.scatter_add"} : tensor<1048576xi64>
  %k = graph.fill 256 : i64 : tensor<i64>
  %q = graph.mul %c, %k : (tensor<1048576xi64>, tensor<i64>) -> tensor<1048576xi64>
  %y = graph.scatter %x, %q, %s {accumulate = true} : (tensor<1048576xf32>, tensor<1048576xi64>, tensor<1048576x1xf32>) -> tensor<1048576xf32>
  func.return %y : tensor<1048576xf32>
}
