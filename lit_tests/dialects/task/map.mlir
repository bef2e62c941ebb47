// RUN: HIDET_ROUNDTRIP
// RUN: hidet-opt %s --split-input-file | hidet-opt --split-input-file | filecheck %s

// The task map: a product of factors, kept and printed in canonical form.

// CHECK: a = #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>
// CHECK-SAME: b = #task.map<spatial(16, 1)>
// CHECK-SAME: c = #task.map<repeat(4)>
// CHECK-SAME: d = #task.map<spatial(4) * replicate(8)>
// CHECK-SAME: e = #task.map<replicate(2)>
// CHECK-SAME: f = #task.map<?>
"test.op"() {
  a = #task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>,
  b = #task.map<spatial(2, 1) * spatial(8, 1) * repeat(1, 1)>,
  c = #task.map< repeat ( 4 ) >,
  d = #task.map<spatial(4) * replicate(2) * replicate(4)>,
  e = #task.map<replicate(2)>,
  f = #task.map<?>
} : () -> ()

// -----

// As the layout of a register tile it says who owns an element; `?` is still to be chosen.

// CHECK:      memref<16x8xf32, #task.map<spatial(8, 4) * repeat(2, 2)>, #cuda.space<register>>
// CHECK-NEXT: memref<16x8xf32, #task.map<?>, #cuda.space<register>>
%0 = "test.op"() : () -> memref<16x8xf32, #task.map<spatial(8, 4) * repeat(2, 2)>, #cuda.space<register>>
%1 = "test.op"() : () -> memref<16x8xf32, #task.map<?>, #cuda.space<register>>
