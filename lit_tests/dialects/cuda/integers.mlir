// RUN: HIDET_ROUNDTRIP

// Memory of unsigned integers is marked; integers themselves have no sign.
// CHECK-LABEL: cuda.kernel @integers(%x : memref<32xi32> {cuda.unsigned}, %n : i32)
cuda.kernel @integers(%x : memref<32xi32> {cuda.unsigned}, %n : i32) grid(1) block(32) {
  // CHECK: %tile = memref.alloca() {cuda.unsigned} : memref<4xi8, #cuda.space<local>>
  %tile = memref.alloca() {cuda.unsigned} : memref<4xi8, #cuda.space<local>>
  // CHECK-NEXT: %i = cuda.thread_id x
  %i = cuda.thread_id x
  %v = memref.load %x[%i] : memref<32xi32>
  // CHECK:      %rest = cuda.floormodsi %v, %n : i32
  %rest = cuda.floormodsi %v, %n : i32
  memref.store %rest, %x[%i] : memref<32xi32>
  // CHECK:      cuda.floormodsi %i, %i : index
  %j = cuda.floormodsi %i, %i : index
  memref.store %v, %x[%j] : memref<32xi32>
}
