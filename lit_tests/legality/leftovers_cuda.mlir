// RUN: hidet-opt %s -p 'verify-level{level=cuda after=demote-scf-values}' --verify-diagnostics --split-input-file | filecheck %s

// Kernels after lower-task and the passes on memory and values.

// CHECK: compute.grid is left in a kernel
// CHECK-NEXT: at: compute.grid in @view
// CHECK-NEXT: hint: inline-compute should have lowered it
cuda.kernel @view() grid(1) block(32) {
  %g = compute.grid () {
    %one = arith.constant 1.0 : f32
    compute.yield %one : f32
  } : tensor<f32>
}

// -----

// CHECK: compute.sink is left in a kernel
// CHECK-NEXT: at: compute.sink in @sink
cuda.kernel @sink() grid(1) block(32) {
  %g = compute.sink (%v : f32) {
  } : tensor<f32>
}

// -----

// CHECK: task.foreach is left in a kernel
// CHECK-NEXT: at: task.foreach in @foreach
// CHECK-NEXT: hint: lower-task should have lowered it
cuda.kernel @foreach() grid(1) block(32) {
  %t = cuda.thread_id x
  task.foreach (%i) in #task.map<spatial(32)> on %t {
  }
}

// -----

// CHECK: compute.load is left in a kernel
// CHECK-NEXT: at: compute.load in @load
// CHECK-NEXT: hint: lower-task should have lowered it
cuda.kernel @load(%x : memref<32xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %one = arith.constant 1 : index
  scf.for %i = %t to %one step %one {
    %v = compute.load %x[%t] : memref<32xf32>
  }
}

// -----

// CHECK: a register tile is left
// CHECK-NEXT: at: memref.alloca in @tile
// CHECK-NEXT: hint: lower-task should have lowered it
cuda.kernel @tile() grid(1) block(32) {
  %c = memref.alloca() : memref<32xf32, #task.map<spatial(32)>, #cuda.space<register>>
}

// -----

// CHECK: an argument that is not flat is left
// CHECK-NEXT: at: cuda.kernel in @flat
// CHECK-NEXT: hint: flatten-memrefs should have lowered it
cuda.kernel @flat(%x : memref<4x8xf32>) grid(1) block(32) {
}

// -----

// CHECK: a loop with values is left
// CHECK-NEXT: at: scf.for in @values
// CHECK-NEXT: hint: demote-scf-values should have lowered it
cuda.kernel @values(%x : memref<32xf32>) grid(1) block(32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %one step %one iter_args(%a = %zero) -> (index) {
    scf.yield %a : index
  }
}

// -----

// CHECK: graph.constant is not legal in a kernel
// CHECK-NEXT: at: graph.constant in @tensor
// CHECK-NEXT: hint: legal are arith, math, scf, memref.alloca
cuda.kernel @tensor() grid(1) block(32) {
  %x = graph.constant "p0" : tensor<4xf32>
}

// -----

// CHECK: compute.fusion is left in a host function
// CHECK-NEXT: at: compute.fusion in @forward
// CHECK-NEXT: hint: schedule should have lowered it
func.func @forward() {
  compute.fusion () -> () {
    compute.yield
  }
  func.return
}

// -----

// CHECK: cuda.buffer is in a host function too early
// CHECK-NEXT: at: cuda.buffer in @forward
// CHECK-NEXT: hint: plan-memory creates it
func.func @forward() {
  %b = cuda.buffer arena offset 0 : memref<4xf32>
  func.return
}

// -----

// CHECK: cuda.thread_id is not legal in a host function
func.func @forward() {
  %thread = cuda.thread_id x
  func.return
}

// -----

// CHECK: test.op is not legal in the module
"test.op"() : () -> ()

// -----

// What is left is legal.

// CHECK: func.func @forward
// CHECK: cuda.kernel @copy
func.func @forward(%x : tensor<32xf32>) -> tensor<32xf32> {
  %w = graph.constant "p0" : tensor<32xf32>
  %y = cuda.launch @copy(%x) : (tensor<32xf32>) -> tensor<32xf32>
  func.return %y : tensor<32xf32>
}
cuda.kernel @copy(%x : memref<32xf32>, %out : memref<32xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %buffer = memref.alloca() : memref<f32, #cuda.space<local>>
  %v = memref.load %x[%t] : memref<32xf32>
  %e = math.exp %v : f32
  memref.store %e, %buffer[] : memref<f32, #cuda.space<local>>
  memref.store %e, %out[%t] : memref<32xf32>
}
