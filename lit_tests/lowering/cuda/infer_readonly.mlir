// RUN: hidet-opt %s -p 'infer-readonly' --split-input-file | filecheck %s

// An argument that is only loaded from is marked; one that is stored to is not, nor is a scalar.

// CHECK-LABEL: cuda.kernel @scale
// CHECK-SAME: (%x : memref<64xf32> {cuda.readonly}, %a : f32, %out : memref<64xf32>, %unused : memref<64xf32> {cuda.readonly})
cuda.kernel @scale(%x : memref<64xf32>, %a : f32, %out : memref<64xf32>, %unused : memref<64xf32>) grid(1) block(64) {
  %tid = cuda.thread_id x
  %v = memref.load %x[%tid] : memref<64xf32>
  memref.store %v, %out[%tid] : memref<64xf32>
}

// -----

// A vector copy reads its source and writes its target.

// CHECK-LABEL: cuda.kernel @copy
// CHECK-SAME: (%x : memref<64xf32> {cuda.readonly}, %out : memref<64xf32>, %both : memref<64xf32>)
cuda.kernel @copy(%x : memref<64xf32>, %out : memref<64xf32>, %both : memref<64xf32>) grid(1) block(16) {
  %tid = cuda.thread_id x
  cuda.copy_vector %x[%tid] to %out[%tid] width 4 : memref<64xf32> to memref<64xf32>
  cuda.copy_vector %both[%tid] to %both[%tid] width 4 : memref<64xf32> to memref<64xf32>
}

// -----

// An operation that is not known may write. A store in a loop is a store; other attributes stay,
// and a mark that is wrong goes.

// CHECK-LABEL: cuda.kernel @careful
// CHECK-SAME: (%x : memref<64xf32>, %y : memref<64xf32> {test.mine})
cuda.kernel @careful(%x : memref<64xf32>, %y : memref<64xf32> {test.mine, cuda.readonly}) grid(1) block(64) {
  %tid = cuda.thread_id x
  "test.op"(%x) : (memref<64xf32>) -> ()
  %v = arith.constant 1.0 : f32
  %c1 = arith.constant 1 : index
  scf.for %i = %tid to %tid step %c1 {
    memref.store %v, %y[%i] : memref<64xf32>
  }
}

// -----

// Of an instruction the table says what it writes.

// CHECK-LABEL: cuda.kernel @instruction
// CHECK-SAME: (%x : memref<64xf32> {cuda.readonly})
cuda.kernel @instruction(%x : memref<64xf32>) grid(1) block(64) {
  %tid = cuda.thread_id x
  %s = memref.alloca() : memref<64xf32, #cuda.space<shared>>
  cuda.cp_async ca %x[%tid] to %s[%tid] width 1 : memref<64xf32> to memref<64xf32, #cuda.space<shared>>
}

// -----

// A tensor map is read where its tensor is: boxes are loaded, and none is stored.

// CHECK-LABEL: cuda.kernel @boxes(%a : !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128> {cuda.readonly}, %b : !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>, %n : i32)
cuda.kernel @boxes(%a : !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>, %b : !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>, %n : i32) grid(1) block(32) {
  %0 = arith.constant 0 : index
  %s = memref.alloca() : memref<64xf16, #cuda.space<shared>>
  %bar = memref.alloca() : memref<1xi64, #cuda.space<shared>>
  cuda.tma_load %a(%n) to %s[%0] barrier %bar[%0] : memref<64xf16, #cuda.space<shared>>, memref<1xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>
  cuda.tma_load %b(%n) to %s[%0] barrier %bar[%0] : memref<64xf16, #cuda.space<shared>>, memref<1xi64, #cuda.space<shared>>, !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>
  cuda.tma_store %s[%0] to %b(%n) : memref<64xf16, #cuda.space<shared>>, !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>
}

// -----

// What is written through a view is written; an address that is looked at is not.

// CHECK-LABEL: cuda.kernel @views
// CHECK-SAME: (%x : memref<64xf32> {cuda.readonly}, %out : memref<64xf32>)
cuda.kernel @views(%x : memref<64xf32>, %out : memref<64xf32>) grid(1) block(64) {
  %tid = cuda.thread_id x
  %a = cuda.view %x[%tid] : memref<64xf32> to memref<?xi16>
  %b = cuda.view %out[%tid] : memref<64xf32> to memref<?xi16>
  %c = cuda.address_of %x[%tid] : memref<64xf32>
  %v = memref.load %a[%tid] : memref<?xi16>
  memref.store %v, %b[%tid] : memref<?xi16>
}
