// RUN: HIDET_ROUNDTRIP

// CHECK: a = #cuda<access read>
"test.op"() {a = #cuda<access read>} : () -> ()

// CHECK-LABEL: cuda.kernel @checked
cuda.kernel @checked(%p : memref<?xf16>, %i : index, %j : index, %c : i1) grid(1) block(32) {
  %s = memref.alloca() : memref<8x32xf16, #cuda.space<shared>>
  // CHECK: cuda.track %s "s" : memref<8x32xf16, #cuda.space<shared>>
  cuda.track %s "s" : memref<8x32xf16, #cuda.space<shared>>
  // CHECK-NEXT: cuda.check_bounds "s"[%i, %j] in [8, 32] width 4
  cuda.check_bounds "s"[%i, %j] in [8, 32] width 4
  // CHECK-NEXT: cuda.check_bounds "p"[%i] in [-1] width 8 valid %j of %p : memref<?xf16>
  cuda.check_bounds "p"[%i] in [-1] width 8 valid %j of %p : memref<?xf16>
  // CHECK-NEXT: cuda.check_access write %s[%i, %j] width 4 : memref<8x32xf16, #cuda.space<shared>>
  cuda.check_access write %s[%i, %j] width 4 : memref<8x32xf16, #cuda.space<shared>>
  // CHECK-NEXT: cuda.check_access atomic %s[%i, %j] width 1 : memref<8x32xf16, #cuda.space<shared>>
  cuda.check_access atomic %s[%i, %j] width 1 : memref<8x32xf16, #cuda.space<shared>>
  // CHECK-NEXT: cuda.check_owner "acc" %c
  cuda.check_owner "acc" %c
}
