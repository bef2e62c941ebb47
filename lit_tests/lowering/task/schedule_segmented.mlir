// RUN: hidet-opt %s -p 'schedule' --split-input-file | filecheck %s

// Template segmented: a block finds its segment by bisection, and computes it as `elementwise` does. What
// is updated in place is one argument of the kernel, not two.

// CHECK-LABEL: cuda.kernel @a_b_c_kernel(%q : memref<4xf32>, %p : memref<300xf32>, %w : memref<4xf32>, %out2 : memref<5xf32>) grid(4) block(256)
// CHECK-SAME:    config = {template = "segmented", threads = 256 : i64, vector = 1 : i64}
// CHECK:         %[[FIRST:.*]] = arith.constant 2 : index
// CHECK-NEXT:    arith.cmpi slt, %block, %[[FIRST]]
// CHECK-NEXT:    scf.if
// CHECK:           task.foreach (%{{.*}}) in #task.map<spatial(512)> on %{{.*}} bound [300] {
// CHECK:             compute.load %a[
// CHECK:             memref.store %{{.*}}, %p[
// CHECK:         } else {
// CHECK:           scf.if
// CHECK:             task.foreach (%{{.*}}) in #task.map<spatial(256)> on %{{.*}} bound [4] {
// CHECK:               memref.store %{{.*}}, %w[
// CHECK:             task.foreach (%{{.*}}) in #task.map<spatial(256)> on %{{.*}} bound [5] {
// CHECK:               memref.store %{{.*}}, %out2[
// CHECK:       %{{.*}}, %{{.*}}, %{{.*}} = cuda.launch @a_b_c_kernel(%y, %x, %z) {inits = array<i64: 0, 1>}
func.func @segments(%x : tensor<300xf32>, %y : tensor<4xf32>, %z : tensor<4xf32>) -> (tensor<300xf32>, tensor<4xf32>, tensor<5xf32>) {
  %r0, %r1, %r2 = compute.fusion (%q = %y : tensor<4xf32>, %p = %x : tensor<300xf32>, %w = %z : tensor<4xf32>) -> (tensor<300xf32>, tensor<4xf32>, tensor<5xf32>) inits [0, 1] segments [1, 1, 1] {
    %a = compute.grid (%i) {
      %v = compute.load %p[%i] : tensor<300xf32>
      %e = math.exp %v : f32
      compute.yield %e : f32
    } : tensor<300xf32>
    %b = compute.grid (%i) {
      %v = compute.load %w[%i] : tensor<4xf32>
      %e = math.tanh %v : f32
      compute.yield %e : f32
    } : tensor<4xf32>
    %c = compute.grid (%i) {
      %c0 = arith.constant 0 : index
      %v = compute.load %q[%c0] : tensor<4xf32>
      compute.yield %v : f32
    } : tensor<5xf32>
    compute.yield %a, %b, %c : tensor<300xf32>, tensor<4xf32>, tensor<5xf32>
  }
  func.return %r0, %r1, %r2 : tensor<300xf32>, tensor<4xf32>, tensor<5xf32>
}

// -----

// Segments of many elements are computed by vectors, but for those whose size is no multiple.

// CHECK-LABEL: cuda.kernel @s_t_kernel
// CHECK-SAME:    grid(4101) block(256) attributes {config = {template = "segmented", threads = 256 : i64, vector = 4 : i64}
// CHECK:           task.foreach (%{{.*}}) in #task.map<spatial(1048576) * repeat(4)> on
// CHECK:           task.foreach (%{{.*}}) in #task.map<spatial(1280)> on %{{.*}} bound [1025] {
func.func @vectors(%x : tensor<4194304xf32>, %y : tensor<1025xf32>) -> (tensor<4194304xf32>, tensor<1025xf32>) {
  %r, %u = compute.fusion (%p = %x : tensor<4194304xf32>, %q = %y : tensor<1025xf32>) -> (tensor<4194304xf32>, tensor<1025xf32>) segments [1, 1] {
    %s = compute.grid (%i) {
      %v = compute.load %p[%i] : tensor<4194304xf32>
      %e = math.exp %v : f32
      compute.yield %e : f32
    } : tensor<4194304xf32>
    %t = compute.grid (%i) {
      %v = compute.load %q[%i] : tensor<1025xf32>
      %e = math.tanh %v : f32
      compute.yield %e : f32
    } : tensor<1025xf32>
    compute.yield %s, %t : tensor<4194304xf32>, tensor<1025xf32>
  }
  func.return %r, %u : tensor<4194304xf32>, tensor<1025xf32>
}
