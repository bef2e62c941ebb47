// RUN: hidet-opt %s --parsing-diagnostics --split-input-file | filecheck %s

// CHECK: 'grid' expected
cuda.kernel @f() block(32) {
}

// -----

// CHECK: 'block' expected
cuda.kernel @f() grid(1) {
}

// -----

// CHECK: Expected `xor`, `idx`, `up`, or `down`
%0, %1 = "test.op"() : () -> (f32, i32)
%2 = cuda.shfl left %0, %1 : f32

// -----

// CHECK: Expected `global`
%0 = "test.op"() : () -> memref<4xf32, #cuda.space<cache>>
