// RUN: HIDET_ROUNDTRIP

// CHECK: a = #cuda<cache_hint lu>, b = #cuda<access_order release>, c = #cuda<access_scope sys>
"test.op"() {a = #cuda<cache_hint lu>, b = #cuda<access_order release>, c = #cuda<access_scope sys>} : () -> ()

// CHECK-LABEL: cuda.kernel @accesses
cuda.kernel @accesses(%x : memref<8x32xf32>, %n : memref<8xi32>, %i : index) grid(1) block(32) {
  %v = memref.alloca() : memref<4xf32, #cuda.space<local>>
  // CHECK:      cuda.hinted_copy cs %x[%i, %i] to %v[%i] width 4 : memref<8x32xf32> to memref<4xf32, #cuda.space<local>>
  cuda.hinted_copy cs %x[%i, %i] to %v[%i] width 4 : memref<8x32xf32> to memref<4xf32, #cuda.space<local>>
  // CHECK-NEXT: cuda.hinted_copy wt %v[%i] to %x[%i, %i] width 2 : memref<4xf32, #cuda.space<local>> to memref<8x32xf32>
  cuda.hinted_copy wt %v[%i] to %x[%i, %i] width 2 : memref<4xf32, #cuda.space<local>> to memref<8x32xf32>
  // CHECK-NEXT: %a = cuda.ordered_load acquire gpu %n[%i] : memref<8xi32>
  %a = cuda.ordered_load acquire gpu %n[%i] : memref<8xi32>
  // CHECK-NEXT: cuda.ordered_store release sys %a, %n[%i] : memref<8xi32>
  cuda.ordered_store release sys %a, %n[%i] : memref<8xi32>
}
