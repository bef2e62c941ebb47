// RUN: HIDET_ROUNDTRIP
// RUN: hidet-opt %s --split-input-file | hidet-opt --split-input-file | filecheck %s
// RUN: hidet-opt %s --split-input-file --print-op-generic | filecheck %s --check-prefix GENERIC

// A grid says what an element is; it loads from tensors and buffers alike.

func.func @grid(%x : tensor<4x8xf32>, %b : memref<8xf32>) {
  %sum = compute.grid (%i, %j) {
    %v = compute.load %x[%i, %j] : tensor<4x8xf32>
    %c = compute.load %b[%j] : memref<8xf32>
    %s = arith.addf %v, %c : f32
    compute.yield %s : f32
  } : tensor<4x8xf32>
  func.return
}
// CHECK-LABEL: func.func @grid
// CHECK-NEXT:    %sum = compute.grid (%i, %j) {
// CHECK-NEXT:      %v = compute.load %x[%i, %j] : tensor<4x8xf32>
// CHECK-NEXT:      %c = compute.load %b[%j] : memref<8xf32>
// CHECK-NEXT:      %s = arith.addf %v, %c : f32
// CHECK-NEXT:      compute.yield %s : f32
// CHECK-NEXT:    } : tensor<4x8xf32>

// GENERIC-LABEL: sym_name = "grid"
// GENERIC:       "compute.grid"() ({
// GENERIC-NEXT:  ^bb0(%i: index, %j: index):
// GENERIC-NEXT:    %v = "compute.load"(%x, %i, %j) : (tensor<4x8xf32>, index, index) -> f32
// GENERIC-NEXT:    %c = "compute.load"(%b, %j) : (memref<8xf32>, index) -> f32
// GENERIC:         "compute.yield"(%s) : (f32) -> ()
// GENERIC-NEXT:  }) : () -> tensor<4x8xf32>

// -----

// Rank 0: a scalar is a tensor too. Extents may be 0.

func.func @ranks() {
  %scalar = compute.grid () {
    %one = arith.constant 1.0 : f16
    compute.yield %one : f16
  } : tensor<f16>
  %value = compute.load %scalar[] : tensor<f16>
  %empty = compute.grid (%i, %j) {
    %true = arith.constant true
    compute.yield %true : i1
  } : tensor<0x3xi1>
  func.return
}
// CHECK-LABEL: func.func @ranks
// CHECK-NEXT:    %scalar = compute.grid () {
// CHECK:         } : tensor<f16>
// CHECK-NEXT:    %value = compute.load %scalar[] : tensor<f16>
// CHECK-NEXT:    %empty = compute.grid (%i, %j) {
// CHECK:         } : tensor<0x3xi1>

// -----

// A reduction combines what its body yields, over any number of extents.

func.func @reduce(%x : tensor<4x3x3xf32>, %n : tensor<4xi32>) {
  %pooled = compute.grid (%i) {
    %largest = compute.reduce max [3, 3] (%r, %s) {
      %v = compute.load %x[%i, %r, %s] : tensor<4x3x3xf32>
      compute.yield %v : f32
    } : f32
    compute.yield %largest : f32
  } : tensor<4xf32>
  %counted = compute.grid () {
    %sum = compute.reduce add [4] (%i) {
      %v = compute.load %n[%i] : tensor<4xi32>
      compute.yield %v : i32
    } : i32
    %product = compute.reduce mul [2] (%i) {
      compute.yield %sum : i32
    } : i32
    %smallest = compute.reduce min [] () {
      compute.yield %product : i32
    } : i32
    compute.yield %smallest : i32
  } : tensor<i32>
  func.return
}
// CHECK-LABEL: func.func @reduce
// CHECK:           %largest = compute.reduce max [3, 3] (%r, %s) {
// CHECK-NEXT:        %v = compute.load %x[%i, %r, %s] : tensor<4x3x3xf32>
// CHECK-NEXT:        compute.yield %v : f32
// CHECK-NEXT:      } : f32
// CHECK:           %sum = compute.reduce add [4] (%[[I:.*]]) {
// CHECK:           %product = compute.reduce mul [2] (%{{.*}}) {
// CHECK:           %smallest = compute.reduce min [] () {

// GENERIC-LABEL: sym_name = "reduce"
// GENERIC:       "compute.reduce"() <{kind = #compute<kind max>, extents = array<i64: 3, 3>}> ({
// GENERIC:       "compute.reduce"() <{kind = #compute<kind add>
// GENERIC:       "compute.reduce"() <{kind = #compute<kind mul>
// GENERIC:       "compute.reduce"() <{kind = #compute<kind min>, extents = array<i64>}> ({

// -----

// A sink says what storing to it does: several buffers, one of them in another order, or nothing.

func.func @sink(%out : memref<4x8xf32>, %copy : memref<8x4xf16>, %v : f32, %i : index) {
  %y = compute.sink (%r, %c, %value : f32) {
    compute.store %value, %out[%r, %c] : memref<4x8xf32>
    %half = arith.truncf %value : f32 to f16
    compute.store %half, %copy[%c, %r] : memref<8x4xf16>
  } : tensor<4x8xf32>
  compute.store %v, %y[%i, %i] : tensor<4x8xf32>
  %nowhere = compute.sink (%value : f32) {
  } : tensor<f32>
  compute.store %v, %nowhere[] : tensor<f32>
  func.return
}
// CHECK-LABEL: func.func @sink
// CHECK-NEXT:    %y = compute.sink (%r, %c, %value : f32) {
// CHECK-NEXT:      compute.store %value, %out[%r, %c] : memref<4x8xf32>
// CHECK-NEXT:      %half = arith.truncf %value : f32 to f16
// CHECK-NEXT:      compute.store %half, %copy[%c, %r] : memref<8x4xf16>
// CHECK-NEXT:    } : tensor<4x8xf32>
// CHECK-NEXT:    compute.store %v, %y[%i, %i] : tensor<4x8xf32>
// CHECK-NEXT:    %nowhere = compute.sink (%{{.*}} : f32) {
// CHECK-NEXT:    } : tensor<f32>
// CHECK-NEXT:    compute.store %v, %nowhere[] : tensor<f32>

// GENERIC-LABEL: sym_name = "sink"
// GENERIC:       ^bb0(%r: index, %c: index, %value: f32):
// GENERIC:       "compute.store"(%v, %y, %i, %i) : (f32, tensor<4x8xf32>, index, index) -> ()

// -----

// A fusion lists what it reads. It has any number of results, and the config of its template.

func.func @fusion(%x : tensor<4xf32>, %y : tensor<2xi64>) {
  %a, %b = compute.fusion (%x_ = %x : tensor<4xf32>, %y_ = %y : tensor<2xi64>) -> (tensor<4xf32>, tensor<2xi64>) config {threads = 128 : i64} {
    compute.yield %x_, %y_ : tensor<4xf32>, tensor<2xi64>
  }
  compute.fusion () -> () {
    compute.yield
  }
  func.return
}
// CHECK-LABEL: func.func @fusion
// CHECK-NEXT:    %a, %b = compute.fusion (%x_ = %x : tensor<4xf32>, %y_ = %y : tensor<2xi64>) -> (tensor<4xf32>, tensor<2xi64>) config {threads = 128 : i64} {
// CHECK-NEXT:      compute.yield %x_, %y_ : tensor<4xf32>, tensor<2xi64>
// CHECK-NEXT:    }
// CHECK-NEXT:    compute.fusion () -> () {
// CHECK-NEXT:      compute.yield
// CHECK-NEXT:    }

// GENERIC-LABEL: sym_name = "fusion"
// GENERIC:       "compute.fusion"(%x, %y) <{config = {threads = 128 : i64}}> ({
// GENERIC-NEXT:  ^bb0(%x_: tensor<4xf32>, %y_: tensor<2xi64>):

// -----

// Every op keeps attributes that it does not know.

func.func @attributes(%x : tensor<4xf32>, %out : memref<4xf32>) {
  compute.fusion (%x_ = %x : tensor<4xf32>) -> () attributes {a} {
    compute.yield {b}
  }
  %g = compute.grid (%i) {
    %r = compute.reduce add [2] (%j) {
      %v = compute.load %x[%i] {c} : tensor<4xf32>
      compute.yield %v : f32
    } {d} : f32
    compute.yield {e} %r : f32
  } {f} : tensor<4xf32>
  %y = compute.sink (%i, %v : f32) {
    compute.store %v, %out[%i] {g} : memref<4xf32>
  } {h} : tensor<4xf32>
  func.return
}
// CHECK-LABEL: func.func @attributes
// CHECK:         -> () attributes {a} {
// CHECK-NEXT:      compute.yield {b}
// CHECK:           compute.load %x[%i] {c} : tensor<4xf32>
// CHECK:           } {d} : f32
// CHECK-NEXT:      compute.yield {e} %r : f32
// CHECK-NEXT:    } {f} : tensor<4xf32>
// CHECK:           compute.store %v{{.*}}] {g} : memref<4xf32>
// CHECK-NEXT:    } {h} : tensor<4xf32>
