// RUN: hidet-opt %s -t cuda | filecheck %s

// CHECK-LABEL: // accesses
cuda.kernel @accesses(%x : memref<256xf32>, %n : memref<8xi32>) grid(1) block(1) attributes {cuda.formed} {
  %0 = arith.constant 0 : index
  %4 = arith.constant 4 : index
  %v = memref.alloca() : memref<4xf32, #cuda.space<local>>
  // CHECK: hidet::load_nc<4>(v, &x[4]);
  cuda.hinted_copy nc %x[%4] to %v[%0] width 4 : memref<256xf32> to memref<4xf32, #cuda.space<local>>
  // CHECK-NEXT: hidet::store_cs<2>(x, v);
  cuda.hinted_copy cs %v[%0] to %x[%0] width 2 : memref<4xf32, #cuda.space<local>> to memref<256xf32>
  // CHECK-NEXT: const int a = hidet::load_acquire_gpu(&n[4]);
  %a = cuda.ordered_load acquire gpu %n[%4] : memref<8xi32>
  // CHECK-NEXT: hidet::store_relaxed_sys(n, a);
  cuda.ordered_store relaxed sys %a, %n[%0] : memref<8xi32>
}
