// RUN: hidet-opt %s -p 'verify-level{level=task}' | filecheck %s
// RUN: hidet-opt %s -p 'inline-compute,verify-level{level=task after=inline-compute},insert-barriers,verify-level{level=task after=insert-barriers}' | filecheck %s --check-prefix INLINED
// RUN: hidet-opt %s -p 'task-pipeline{verify=true}' | filecheck %s --check-prefix LOWERED
// RUN: not hidet-opt %s -p 'verify-level{level=cuda}' 2>&1 | filecheck %s --check-prefix ERROR
// RUN: not hidet-opt %s -p 'verify-level{level=task after=supper}' 2>&1 | filecheck %s --check-prefix OPTION

// A legal program stays as it is, on its way down too. The single checks have their tests in
// `legality/`.

// CHECK:         func.func @forward
// CHECK-NEXT:      %y = cuda.launch @scale(%x) : (tensor<4x32xf32>) -> tensor<4x32xf32>
// CHECK:         cuda.kernel @scale
// CHECK:           %twice = compute.grid
// CHECK:           task.copy %twice[%{{.*}}, %{{.*}}] to %tile[] in #m0 on %thread

// INLINED-NOT:   compute.grid
// INLINED:       task.foreach
// INLINED:       cuda.sync_threads
// INLINED-NEXT:  task.copy

// LOWERED:       cuda.kernel @scale
// LOWERED-NOT:   task.foreach

// An error names the op, its place, and the pass to blame.

// ERROR:         compute.grid is left in a kernel
// ERROR-NEXT:      at: compute.grid in @scale
// ERROR-NEXT:      hint: inline-compute should have lowered it

// OPTION:        verify-level cannot follow the unknown pass 'supper'
// OPTION-NEXT:     at: option 'after' of verify-level
// OPTION-NEXT:     hint: the passes are raise-attention, group-heads, {{.*}}schedule

func.func @forward(%x : tensor<4x32xf32>) -> tensor<4x32xf32> {
  %y = cuda.launch @scale(%x) : (tensor<4x32xf32>) -> tensor<4x32xf32>
  func.return %y : tensor<4x32xf32>
}

cuda.kernel @scale(%x : memref<4x32xf32>, %out : memref<4x32xf32>) grid(2) block(64) {
  %twice = compute.grid (%i, %j) {
    %v = compute.load %x[%i, %j] : memref<4x32xf32>
    %s = arith.addf %v, %v : f32
    compute.yield %s : f32
  } : tensor<4x32xf32>
  %block = cuda.block_id x
  %thread = cuda.thread_id x
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %row = arith.muli %block, %two : index
  %tile = memref.alloca() : memref<2x32xf32, #cuda.space<shared>>
  task.copy %twice[%row, %zero] to %tile[] in #task.map<spatial(2, 32)> on %thread : tensor<4x32xf32> to memref<2x32xf32, #cuda.space<shared>>
  task.copy %tile[] to %out[%row, %zero] in #task.map<spatial(2, 32)> on %thread : memref<2x32xf32, #cuda.space<shared>> to memref<4x32xf32>
}
