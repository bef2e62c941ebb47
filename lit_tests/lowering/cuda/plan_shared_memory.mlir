// RUN: hidet-opt %s -p 'plan-shared-memory' --split-input-file | filecheck %s

#shared = #cuda.space<shared>

// Up to 48 KiB arrays are declared.

// CHECK-LABEL: cuda.kernel @small() grid(1) block(128) {
// CHECK-NEXT:    %a = memref.alloca() : memref<12288xf32, #cuda.space<shared>>
cuda.kernel @small() grid(1) block(128) {
  %a = memref.alloca() : memref<12288xf32, #shared>
}

// -----

#shared = #cuda.space<shared>

// With more than that all of them get a place, each at a multiple of its alignment; a boolean takes
// a byte. Names and other spaces stay.

// CHECK-LABEL: cuda.kernel @large() grid(1) block(128) attributes {shared_bytes = 50240 : i64} {
// CHECK-NEXT:    %f = cuda.dynamic_shared offset 0 : memref<3xi1, #cuda.space<shared>>
// CHECK-NEXT:    %a = cuda.dynamic_shared offset 1024 : memref<12288xf32, #cuda.space<shared>>
// CHECK-NEXT:    %l = memref.alloca() : memref<64xf32, #cuda.space<local>>
// CHECK-NEXT:    %s = cuda.dynamic_shared offset 50176 : memref<8xi64, #cuda.space<shared>>
// CHECK-NEXT:    %i = arith.constant 0 : index
// CHECK-NEXT:    %v = memref.load %s[%i] : memref<8xi64, #cuda.space<shared>>
cuda.kernel @large() grid(1) block(128) {
  %f = memref.alloca() : memref<3xi1, #shared>
  %a = memref.alloca() {alignment = 1024 : i64} : memref<12288xf32, #shared>
  %l = memref.alloca() : memref<64xf32, #cuda.space<local>>
  %s = memref.alloca() : memref<8xi64, #shared>
  %i = arith.constant 0 : index
  %v = memref.load %s[%i] : memref<8xi64, #shared>
}

// -----

#shared = #cuda.space<shared>

// What the kernel has placed itself comes first.

// CHECK-LABEL: cuda.kernel @both() grid(1) block(128) attributes {shared_bytes = 49416 : i64} {
// CHECK-NEXT:    %a = cuda.dynamic_shared offset 0 : memref<50xf32, #cuda.space<shared>>
// CHECK-NEXT:    %b = cuda.dynamic_shared offset 208 : memref<12302xf32, #cuda.space<shared>>
cuda.kernel @both() grid(1) block(128) attributes {shared_bytes = 200 : i64} {
  %a = cuda.dynamic_shared offset 0 : memref<50xf32, #shared>
  %b = memref.alloca() {alignment = 16 : i64} : memref<12302xf32, #shared>
}

// -----

#shared = #cuda.space<shared>

// Those of a cluster are placed in any case.

// CHECK-LABEL: cuda.kernel @cluster
// CHECK-SAME:    shared_bytes = 16 : i64
// CHECK-NEXT:    %a = cuda.dynamic_shared offset 0 : memref<4xf32, #cuda.space<shared>>
cuda.kernel @cluster() grid(2) block(32) attributes {cuda.cluster = array<i64: 2, 1, 1>} {
  %a = memref.alloca() : memref<4xf32, #shared>
}
