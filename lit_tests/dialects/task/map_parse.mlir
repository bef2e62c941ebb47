// RUN: hidet-opt %s --parsing-diagnostics --split-input-file | filecheck %s

// CHECK: unknown factor 'cyclic' of a task mapping
// CHECK: the factors are spatial, repeat, replicate
"test.op"() {map = #task.map<cyclic(4)>} : () -> ()

// -----

// CHECK: cannot compose spatial(4) of rank 1 with repeat(2, 2) of rank 2
"test.op"() {map = #task.map<spatial(4) * repeat(2, 2)>} : () -> ()

// -----

// CHECK: repeat(0) is not a valid factor of a task mapping
"test.op"() {map = #task.map<repeat(0)>} : () -> ()

// -----

// CHECK: replicate(2, 2) has 2 extents
"test.op"() {map = #task.map<replicate(2, 2)>} : () -> ()

// -----

// CHECK: identifier expected
"test.op"() {map = #task.map<spatial(4) * 2>} : () -> ()

// -----

// CHECK: '(' expected
"test.op"() {map = #task.map<spatial 4>} : () -> ()

// -----

// CHECK: '>' expected
"test.op"() {map = #task.map<? * spatial(4)>} : () -> ()
