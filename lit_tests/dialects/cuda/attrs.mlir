// RUN: HIDET_ROUNDTRIP

// CHECK: memref<4xf32, #cuda.space<shared>>
%0 = "test.op"() : () -> memref<4xf32, #cuda.space<shared>>
// CHECK: memref<4xf32, #cuda.space<register>>
%1 = "test.op"() : () -> memref<4xf32, #cuda.space<register>>
// CHECK: memref<f32, #cuda.space<local>>
%2 = "test.op"() : () -> memref<f32, #cuda.space<local>>
// CHECK: memref<4xf32, #cuda.space<global>>
%3 = "test.op"() : () -> memref<4xf32, #cuda.space<global>>
// CHECK: a = #cuda<dimension y>
"test.op"() {a = #cuda<dimension y>} : () -> ()
// CHECK: a = #cuda<shuffle down>
"test.op"() {a = #cuda<shuffle down>} : () -> ()
// CHECK: a = #cuda<buffer_kind prepared>
"test.op"() {a = #cuda<buffer_kind prepared>} : () -> ()
