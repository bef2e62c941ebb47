// RUN: HIDET_ROUNDTRIP
// RUN: hidet-opt %s | filecheck %s --check-prefix ONCE

// A mapping that is used more than once is printed once, under a short name.

// CHECK: #m0 = #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>
// CHECK-NOT: repeat
// CHECK: memref<16x8xf32, #m0>
// CHECK: memref<16x8xf16, #m0>

// ONCE-COUNT-1: #task.map<repeat(2, 1)
// ONCE-NOT: #task.map<repeat(2, 1)

#accumulator = #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>

%0 = "test.op"() : () -> memref<16x8xf32, #accumulator>
%1 = "test.op"() : () -> memref<16x8xf16, #accumulator>

// One that is short or used once stays where it is.

// CHECK: memref<8x8xf32, #task.map<spatial(4, 2) * repeat(2, 4)>>

%2 = "test.op"() : () -> memref<8x8xf32, #task.map<spatial(4, 2) * repeat(2, 4)>>

// CHECK: memref<4x2xf32, #task.map<spatial(4, 2)>>
// CHECK: memref<4x2xf16, #task.map<spatial(4, 2)>>

%3 = "test.op"() : () -> memref<4x2xf32, #task.map<spatial(4, 2)>>
%4 = "test.op"() : () -> memref<4x2xf16, #task.map<spatial(4, 2)>>
