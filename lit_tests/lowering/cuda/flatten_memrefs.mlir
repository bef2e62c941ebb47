// RUN: hidet-opt %s -p 'flatten-memrefs' --split-input-file --verify-diagnostics | filecheck %s

// Indices become one, row-major; a dimension of extent 1 has no part in it.

// CHECK-LABEL: cuda.kernel @copy(%x : memref<4096xf32>, %y : memref<4096xf32>) grid(8) block(32) {
cuda.kernel @copy(%x : memref<8x1x16x32xf32>, %y : memref<4096xf32>) grid(8) block(32) {
  %c0 = arith.constant 0 : index
  %i = cuda.block_id x
  %j = cuda.thread_id x
  // CHECK-DAG:  %[[C512:.*]] = arith.constant 512 : index
  // CHECK-DAG:  %[[C32:.*]] = arith.constant 32 : index
  // CHECK:      %[[A:.*]] = arith.muli %i, %[[C512]] : index
  // CHECK-NEXT: %[[B:.*]] = arith.muli %j, %[[C32]] : index
  // CHECK-NEXT: %[[C:.*]] = arith.addi %[[A]], %[[B]] : index
  // CHECK-NEXT: %[[D:.*]] = arith.addi %[[C]], %i : index
  // CHECK-NEXT: %v = memref.load %x[%[[D]]] : memref<4096xf32>
  %v = memref.load %x[%i, %c0, %j, %i] : memref<8x1x16x32xf32>
  // An argument that is flat stays as it is.
  // CHECK-NEXT: memref.store %v, %y[%i] : memref<4096xf32>
  memref.store %v, %y[%i] : memref<4096xf32>
}

// -----

// A constant index goes into the offset; rank 0 is one element.

// CHECK-LABEL: cuda.kernel @constants(%x : memref<128xf32>, %out : memref<1xf32>) grid(1) block(1) {
cuda.kernel @constants(%x : memref<8x16xf32>, %out : memref<f32>) grid(1) block(1) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  // CHECK-DAG:  %[[PLACE:.*]] = arith.constant 35 : index
  // CHECK-DAG:  %[[ZERO:.*]] = arith.constant 0 : index
  // CHECK:      memref.load %x[%[[PLACE]]] : memref<128xf32>
  %v = memref.load %x[%c2, %c3] : memref<8x16xf32>
  // CHECK-NEXT: memref.store %v, %out[%[[ZERO]]] : memref<1xf32>
  memref.store %v, %out[] : memref<f32>
}

// -----

// Strides and offset of a layout are followed.

// CHECK-LABEL: cuda.kernel @strided(%x : memref<258xf32>) grid(8) block(16) {
cuda.kernel @strided(%x : memref<8x16xf32, strided<[32, 2], offset: 3>>) grid(8) block(16) {
  %i = cuda.block_id x
  %j = cuda.thread_id x
  // CHECK-DAG:  %[[OUTER:.*]] = arith.constant 32 : index
  // CHECK-DAG:  %[[INNER:.*]] = arith.constant 2 : index
  // CHECK-DAG:  %[[OFFSET:.*]] = arith.constant 3 : index
  // CHECK:      %[[A:.*]] = arith.muli %i, %[[OUTER]] : index
  // CHECK-NEXT: %[[B:.*]] = arith.muli %j, %[[INNER]] : index
  // CHECK-NEXT: %[[C:.*]] = arith.addi %[[A]], %[[B]] : index
  // CHECK-NEXT: %[[D:.*]] = arith.addi %[[C]], %[[OFFSET]] : index
  // CHECK-NEXT: memref.load %x[%[[D]]] : memref<258xf32>
  %v = memref.load %x[%i, %j] : memref<8x16xf32, strided<[32, 2], offset: 3>>
  memref.store %v, %x[%i, %j] : memref<8x16xf32, strided<[32, 2], offset: 3>>
}

// -----

// Vector copies too; shared and local arrays keep their shape, and marks of the copy stay.

// CHECK-LABEL: cuda.kernel @vectors(%x : memref<128xf32>) grid(8) block(16) {
cuda.kernel @vectors(%x : memref<8x16xf32>) grid(8) block(16) {
  %i = cuda.block_id x
  %j = cuda.thread_id x
  %tile = memref.alloca() : memref<8x16xf32, #cuda.space<shared>>
  // CHECK: cuda.copy_vector %x[%[[A:.*]]] to %tile[%i, %j] width 4 {test.mark} : memref<128xf32> to memref<8x16xf32, #cuda.space<shared>>
  cuda.copy_vector %x[%i, %j] to %tile[%i, %j] width 4 {test.mark} : memref<8x16xf32> to memref<8x16xf32, #cuda.space<shared>>
  // CHECK: cuda.copy_vector %x[%[[A:.*]]] to %x[%[[B:.*]]] width 4 : memref<128xf32> to memref<128xf32>
  cuda.copy_vector %x[%i, %j] to %x[%j, %i] width 4 : memref<8x16xf32> to memref<8x16xf32>
}

// -----

// An atomic update.

// CHECK-LABEL: cuda.kernel @atomic(%x : memref<128xf32>, %v : f32)
cuda.kernel @atomic(%x : memref<8x16xf32>, %v : f32) grid(1) block(1) {
  %i = cuda.thread_id x
  // CHECK: %[[P:.*]] = arith.muli %i
  // CHECK-NEXT: %[[A:.*]] = arith.addi %[[P]], %i
  // CHECK-NEXT: cuda.atomic add %v, %x[%[[A]]] : memref<128xf32>
  %0 = cuda.atomic add %v, %x[%i, %i] : memref<8x16xf32>
}

// -----

// An empty tensor stays empty. Launches keep the types of their operands.

// CHECK-LABEL: cuda.kernel @empty(%x : memref<0xf32>) grid(0) block(16) {
cuda.kernel @empty(%x : memref<8x0x4xf32>) grid(0) block(16) {
}
// CHECK: cuda.launch @empty(%x) : (memref<8x0x4xf32>) -> ()
func.func @forward(%x : memref<8x0x4xf32>) {
  cuda.launch @empty(%x) : (memref<8x0x4xf32>) -> ()
  func.return
}

// -----

// CHECK: flatten-memrefs needs a static shape and strides, found memref<?x4xf32>
cuda.kernel @dynamic(%x : memref<?x4xf32>) grid(1) block(1) {
}

// -----

// CHECK: flatten-memrefs does not know how test.op uses a memref
cuda.kernel @unknown(%x : memref<4x4xf32>) grid(1) block(1) {
  "test.op"(%x) : (memref<4x4xf32>) -> ()
}

// -----

// An asynchronous copy keeps its other operands.

// CHECK-LABEL: cuda.kernel @asynchronous
// CHECK:         %[[row:.*]] = arith.muli %i, %{{.*}} : index
// CHECK-NEXT:    %[[at:.*]] = arith.addi %[[row]], %j : index
// CHECK-NEXT:    cuda.cp_async cg %x[%[[at]]] to %s[%j, %i] width 4 valid %j : memref<128xf32> to memref<8x16xf32, #cuda.space<shared>>
cuda.kernel @asynchronous(%x : memref<8x16xf32>, %i : index, %j : index) grid(1) block(1) {
  %s = memref.alloca() : memref<8x16xf32, #cuda.space<shared>>
  cuda.cp_async cg %x[%i, %j] to %s[%j, %i] width 4 valid %j : memref<8x16xf32> to memref<8x16xf32, #cuda.space<shared>>
}

// -----

// The address of an element has one index, too.

// CHECK-LABEL: cuda.kernel @views(%x : memref<32xf32>)
cuda.kernel @views(%x : memref<4x8xf32>) grid(1) block(32) {
  %i = cuda.thread_id x
  %c1 = arith.constant 1 : index
  // CHECK:      %[[I:.*]] = arith.addi %i, %{{.*}} : index
  // CHECK-NEXT: %v = cuda.view %x[%[[I]]] : memref<32xf32> to memref<?xf16>
  %v = cuda.view %x[%c1, %i] : memref<4x8xf32> to memref<?xf16>
  // CHECK:      %a = cuda.address_of %x[%{{.*}}] : memref<32xf32>
  %a = cuda.address_of %x[%c1, %i] : memref<4x8xf32>
  "test.op"(%v, %a) : (memref<?xf16>, i64) -> ()
}
