// RUN: hidet-opt %s --parsing-diagnostics --split-input-file | filecheck %s

// CHECK: Expected 'grid'
cuda.kernel @f() block(32) {
}

// -----

// CHECK: Expected 'block'
cuda.kernel @f() grid(1) {
}

// -----

// CHECK: Expected `idx`, `xor`, `up`, or `down`.
%0, %1 = "test.op"() : () -> (f32, i32)
%2 = cuda.shfl left %0, %1 : f32

// -----

// CHECK: Expected `global`, `shared`, `register`, or `local`.
%0 = "test.op"() : () -> memref<4xf32, #cuda.space<cache>>
