// Each pipeline takes over where the one before it ended; together they are hidet-pipeline.

// RUN: hidet-opt %s -p graph-pipeline | filecheck %s --check-prefix GRAPH
// RUN: hidet-opt %s -p 'graph-pipeline{verify=true}' \
// RUN:   | hidet-opt -p 'compute-pipeline{verify=true}' | filecheck %s --check-prefix COMPUTE
// RUN: hidet-opt %s -p graph-pipeline,compute-pipeline \
// RUN:   | hidet-opt -p 'task-pipeline{arch="sm_80" verify=true}' | filecheck %s --check-prefix TASK
// RUN: hidet-opt %s -p graph-pipeline,compute-pipeline,task-pipeline \
// RUN:   | hidet-opt -p 'cuda-pipeline{verify=true}' | filecheck %s --check-prefix CUDA
// RUN: hidet-opt %s -p 'hidet-pipeline{arch="cpu" verify=true}' | filecheck %s --check-prefix ALL
// RUN: hidet-opt %s -p graph-pipeline,compute-pipeline,schedule \
// RUN:   | hidet-opt -p 'script-to-cuda{verify=true}' | filecheck %s --check-prefix TASK
// RUN: hidet-opt %s -p graph-pipeline,compute-pipeline,schedule \
// RUN:   | hidet-opt -p 'script-pipeline{verify=true}' -t cuda | filecheck %s --check-prefix SOURCE
// RUN: hidet-opt %s -p graph-pipeline,compute-pipeline \
// RUN:   | hidet-opt -p 'kernels-pipeline{verify=true}' -t cuda | filecheck %s --check-prefix SOURCE
// RUN: hidet-opt %s -p schedule-pipeline | hidet-opt -p 'lowering-pipeline{verify=true}' \
// RUN:   | hidet-opt -p 'host-pipeline{verify=true}' -t cuda | filecheck %s --check-prefix SOURCE
// RUN: hidet-opt %s -p hidet-pipeline -t cuda | filecheck %s --check-prefix SOURCE

func.func @forward(%x : tensor<33x40xf32>) -> tensor<33x50xf32> {
  %w = graph.constant "p0" : tensor<50x40xf32>
  %b = graph.constant "p1" : tensor<50xf32>
  %y = graph.linear %x, %w, %b : (tensor<33x40xf32>, tensor<50x40xf32>, tensor<50xf32>) -> tensor<33x50xf32>
  %r = graph.relu %y : tensor<33x50xf32>
  func.return %r : tensor<33x50xf32>
}

// From operators to grids, of bias and ReLU together; matmuls stay.

// GRAPH-LABEL: func.func @forward
// GRAPH:         graph.matmul
// GRAPH-NOT:     graph.linear
// GRAPH-NEXT:    %r = compute.grid
// GRAPH-NOT:     compute.grid
// GRAPH-NOT:     graph.relu

// From grids to fusions: the transpose is read through, bias and ReLU are the epilogue.

// COMPUTE-LABEL: func.func @forward
// COMPUTE:         %r = compute.fusion
// COMPUTE-NEXT:      %[[T:.*]] = compute.grid
// COMPUTE:           graph.matmul %{{.*}}, %[[T]]
// COMPUTE-NEXT:      %r_1 = compute.grid
// COMPUTE-NOT:     compute.fusion
// COMPUTE:         func.return %r

// From fusions to what one thread does.

// TASK-LABEL: cuda.kernel @matmul_r_kernel
// TASK-SAME:    config = {template = "matmul"
// TASK:         %sa = memref.alloca() : memref<{{.*}}, #cuda.space<shared>>
// TASK:         scf.for %k0
// TASK:           cuda.sync_threads
// TASK-NOT:     {{ task\.}}
// TASK-NOT:     compute.
// TASK:       func.func @forward
// TASK:         %r = cuda.launch @matmul_r_kernel

// From one thread to what the printer prints: flat memory, constness, expressions.

// CUDA-LABEL: cuda.kernel @matmul_r_kernel(%w : memref<2000xf32> {cuda.constant, cuda.readonly}
// CUDA-SAME:    %out : memref<1650xf32>)
// CUDA-SAME:    cuda.formed
// CUDA:         %acc = memref.alloca() : memref<4x4xf32, #cuda.space<local>>
// CUDA:         cuda.cp_async
// CUDA:       func.func @forward
// CUDA:         %r = cuda.launch @matmul_r_kernel(%w, %x, %b)

// All of it, and the buffers of the launches.

// ALL-LABEL: cuda.kernel @matmul_r_kernel(%w : memref<2000xf32> {cuda.constant, cuda.readonly}
// ALL:         cuda.formed
// ALL:       func.func @forward(%x: memref<33x40xf32>, %out0: memref<33x50xf32>) attributes {outputs = 1 : i64, arena_bytes = 0 : i64, prepared_bytes = 0 : i64} {
// ALL-NEXT:    %w = cuda.buffer constant "p0" : memref<50x40xf32>
// ALL-NEXT:    %b = cuda.buffer constant "p1" : memref<50xf32>
// ALL-NEXT:    cuda.launch @matmul_r_kernel(%w, %x, %b, %out0)

// SOURCE:      extern "C" __global__ void __launch_bounds__(64, 8) matmul_r_kernel(
// SOURCE-NEXT:     const float* __restrict__ w,
// SOURCE:        __shared__ __align__(16) float sa{{.*}}[32][16];
// SOURCE:        for (int k0 = 0; k0 < 40; k0 += 16) {
// SOURCE:          hidet::sync_threads();
// SOURCE:            acc[i][j] += sa[
// SOURCE:        out[{{.*}}] = hidet::maximum(acc[i][j] + b[{{.*}}], 0.0f);
