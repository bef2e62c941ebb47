// RUN: hidet-opt %s -p 'fold-casts' | filecheck %s

// What was narrowed is taken wide where it is widened again, once for each reader.

// CHECK-LABEL: func.func @fold
// CHECK-NEXT:    %h = arith.truncf %x : f32 to f16
// CHECK-NEXT:    %{{.*}} = math.exp %x : f32
// CHECK-NEXT:    %{{.*}} = math.tanh %x : f32
// CHECK-NEXT:    func.return %h
func.func @fold(%x : f32) -> f16 {
  %h = arith.truncf %x : f32 to f16
  %a = arith.extf %h : f16 to f32
  %e = math.exp %a : f32
  %b = arith.extf %h : f16 to f32
  %t = math.tanh %b : f32
  func.return %h : f16
}

// A chain of f16 operators computes in f32 from its first load to its last store.

// CHECK-LABEL: func.func @chain
// CHECK:           %[[V:.*]] = compute.load %x[%i] : tensor<4xbf16>
// CHECK-NEXT:      %[[W:.*]] = arith.extf %[[V]] : bf16 to f32
// CHECK-NEXT:      %[[S:.*]] = arith.addf %[[W]], %[[W]] : f32
// CHECK-NOT:       arith.extf
// CHECK:           %[[E:.*]] = math.exp %[[S]] : f32
// CHECK-NOT:       arith.extf
// CHECK:           %[[N:.*]] = arith.negf %[[E]] : f32
// CHECK-NEXT:      %[[R:.*]] = arith.truncf %[[N]] : f32 to bf16
// CHECK-NEXT:      compute.yield %[[R]] : bf16
func.func @chain(%x : tensor<4xbf16>) {
  %y = compute.grid (%i) {
    %v = compute.load %x[%i] : tensor<4xbf16>
    %w = arith.extf %v : bf16 to f32
    %s = arith.addf %w, %w : f32
    %s_ = arith.truncf %s : f32 to bf16
    %t = arith.extf %s_ : bf16 to f32
    %e = math.exp %t : f32
    %e_ = arith.truncf %e : f32 to bf16
    %u = arith.extf %e_ : bf16 to f32
    %n = arith.negf %u : f32
    %r = arith.truncf %n : f32 to bf16
    compute.yield %r : bf16
  } : tensor<4xbf16>
  func.return
}

// A branch yields what one of its arms narrowed; the other arm widens what it loads. Where both load,
// or others read the result too, the branch is left alone.

// CHECK-LABEL: func.func @branch
// CHECK-NEXT:    %a = scf.if %p -> (f32) {
// CHECK:           scf.yield %x : f32
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %[[V:.*]] = memref.load %m[] : memref<f16>
// CHECK-NEXT:      %[[W:.*]] = arith.extf %[[V]] : f16 to f32
// CHECK-NEXT:      scf.yield %[[W]] : f32
// CHECK-NEXT:    }
// CHECK:         %c = scf.if %p -> (f16) {
// CHECK:         %d = arith.extf %c : f16 to f32
// CHECK:         %e = scf.if %p -> (f16) {
// CHECK:         %f = arith.extf %e : f16 to f32
// CHECK-NEXT:    func.return %a, %d, %e, %f
func.func @branch(%p : i1, %x : f32, %m : memref<f16>) -> (f32, f32, f16, f32) {
  %a = scf.if %p -> (f16) {
    %h = arith.truncf %x : f32 to f16
    scf.yield %h : f16
  } else {
    %v = memref.load %m[] : memref<f16>
    scf.yield %v : f16
  }
  %b = arith.extf %a : f16 to f32
  %c = scf.if %p -> (f16) {
    %v = memref.load %m[] : memref<f16>
    scf.yield %v : f16
  } else {
    %w = memref.load %m[] : memref<f16>
    scf.yield %w : f16
  }
  %d = arith.extf %c : f16 to f32
  %e = scf.if %p -> (f16) {
    %h = arith.truncf %x : f32 to f16
    scf.yield %h : f16
  } else {
    %v = memref.load %m[] : memref<f16>
    scf.yield %v : f16
  }
  %f = arith.extf %e : f16 to f32
  func.return %b, %d, %e, %f : f32, f32, f16, f32
}

// Another width than before is a conversion of its own, and what was loaded narrow is widened.

// CHECK-LABEL: func.func @other_width
// CHECK-NEXT:    %h = arith.truncf %x : f64 to f16
// CHECK-NEXT:    %w = arith.extf %h : f16 to f32
// CHECK-NEXT:    %v = memref.load
// CHECK-NEXT:    %u = arith.extf %v : f16 to f32
func.func @other_width(%x : f64, %m : memref<f16>) -> (f32, f32) {
  %h = arith.truncf %x : f64 to f16
  %w = arith.extf %h : f16 to f32
  %v = memref.load %m[] : memref<f16>
  %u = arith.extf %v : f16 to f32
  func.return %w, %u : f32, f32
}

// Narrowing what was widened is exact; it is left alone. So are conversions of integers.

// CHECK-LABEL: func.func @others
// CHECK-NEXT:    arith.extf
// CHECK-NEXT:    arith.truncf
// CHECK-NEXT:    arith.trunci
// CHECK-NEXT:    arith.extsi
func.func @others(%x : f16, %n : i32) -> (f16, i32) {
  %w = arith.extf %x : f16 to f32
  %h = arith.truncf %w : f32 to f16
  %i = arith.trunci %n : i32 to i8
  %k = arith.extsi %i : i8 to i32
  func.return %h, %k : f16, i32
}

// A quotient that is rounded to 16 bits is an approximate one. One that others read, or in f32, is not.

// CHECK-LABEL: func.func @quotients
// CHECK:         %[[Q:.*]] = cuda.function "fast_divide"(%x, %y) : (f32, f32) -> f32
// CHECK-NEXT:    %a = arith.truncf %[[Q]] : f32 to bf16
// CHECK-NEXT:    %q = arith.divf %x, %y : f32
// CHECK-NEXT:    %b = arith.truncf %q : f32 to bf16
// CHECK-NEXT:    %d = arith.divf %z, %z : f64
// CHECK-NEXT:    %c = arith.truncf %d : f64 to f16
// CHECK-NEXT:    func.return %a, %b, %q, %c
func.func @quotients(%x : f32, %y : f32, %z : f64) -> (bf16, bf16, f32, f16) {
  %p = arith.divf %x, %y : f32
  %a = arith.truncf %p : f32 to bf16
  %q = arith.divf %x, %y : f32
  %b = arith.truncf %q : f32 to bf16
  %d = arith.divf %z, %z : f64
  %c = arith.truncf %d : f64 to f16
  func.return %a, %b, %q, %c : bf16, bf16, f32, f16
}

// A constant divides by its inverse, unless that is no normal number.

// CHECK-LABEL: func.func @divided
// CHECK:         %[[I:.*]] = arith.constant 2.500000e-01 : f32
// CHECK-NEXT:    %[[P:.*]] = arith.mulf %x, %[[I]] : f32
// CHECK-NEXT:    %a = arith.truncf %[[P]] : f32 to f16
// CHECK:         cuda.function "fast_divide"(%x, %tiny)
// CHECK:         cuda.function "fast_divide"(%x, %zero)
func.func @divided(%x : f32) -> (f16, f16, f16) {
  %four = arith.constant 4.0 : f32
  %p = arith.divf %x, %four : f32
  %a = arith.truncf %p : f32 to f16
  %tiny = arith.constant 1.0e-38 : f32
  %q = arith.divf %x, %tiny : f32
  %b = arith.truncf %q : f32 to f16
  %zero = arith.constant 0.0 : f32
  %r = arith.divf %x, %zero : f32
  %c = arith.truncf %r : f32 to f16
  func.return %a, %b, %c : f16, f16, f16
}

// A kernel that is explicit about its rounding is left alone.

// CHECK-LABEL: cuda.kernel @explicit
// CHECK:         arith.truncf
// CHECK-NEXT:    %[[A:.*]] = arith.extf
// CHECK-NEXT:    math.exp %[[A]] : f32
cuda.kernel @explicit(%x : f32) grid(1) block(1) attributes {cuda.explicit} {
  %h = arith.truncf %x : f32 to f16
  %a = arith.extf %h : f16 to f32
  %e = math.exp %a : f32
}
