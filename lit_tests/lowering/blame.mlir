// RUN: not hidet-opt %s -p 'schedule' 2>&1 | filecheck %s

// An error in a pass names the pass, the line that the op came from, and no line of Python.

// CHECK-NOT: Traceback
// CHECK:     the template 'star' of the config does not fit the fusion
// CHECK:     model.py:7
func.func @f(%x : tensor<8xf32>) -> tensor<8xf32> {
  %y = compute.fusion (%a = %x : tensor<8xf32>) -> (tensor<8xf32>) config {template = "star"} {
    %r = compute.grid (%i) {
      %v = compute.load %a[%i] : tensor<8xf32>
      compute.yield %v : f32
    } : tensor<8xf32>
    compute.yield %r : tensor<8xf32>
  } loc("model.py":7:0)
  func.return %y : tensor<8xf32>
}
