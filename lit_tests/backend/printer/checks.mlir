// RUN: hidet-opt %s -t cuda | filecheck %s

// CHECK: void __launch_bounds__(32) instrumented(
cuda.kernel @instrumented(%p : memref<?xf16>, %n : index, %c : i1) grid(1) block(32) attributes {cuda.formed, cuda.instrumented} {
  // CHECK: const int tid = threadIdx.x;
  %tid = cuda.thread_id x
  // CHECK-NEXT: __shared__ hidet::half s[8][32];
  %s = memref.alloca() : memref<8x32xf16, #cuda.space<shared>>
  // CHECK-NEXT: hidet::track_shared(&s[0][0], "s", {8, 32});
  cuda.track %s "s" : memref<8x32xf16, #cuda.space<shared>> loc("script.py":3:4)
  // CHECK-NEXT: hidet::half v[4];
  %v = memref.alloca() : memref<4xf16, #cuda.space<local>>
  // CHECK-NEXT: hidet::track_local(&v[0], "a \"v\"", {4});
  cuda.track %v "a \"v\"" : memref<4xf16, #cuda.space<local>>
  // CHECK-NEXT: hidet::check_bounds("s", {{[{][{]}}tid, 8}, {tid, 32}}, 4);
  cuda.check_bounds "s"[%tid, %tid] in [8, 32] width 4 loc("script.py":5:4)
  // CHECK-NEXT: hidet::check_bounds("p", {{[{][{]}}tid, hidet::extent_of(p)}});
  cuda.check_bounds "p"[%tid] in [-1] width 1 of %p : memref<?xf16> loc("script.py":5:4)
  // CHECK-NEXT: hidet::check_bounds("p", {{[{][{]}}tid, 64}}, hidet::minimum(8, int(n)));
  cuda.check_bounds "p"[%tid] in [64] width 8 valid %n
  // CHECK-NEXT: hidet::check_write(&s[tid][tid], 4);
  cuda.check_access write %s[%tid, %tid] width 4 : memref<8x32xf16, #cuda.space<shared>>
  // CHECK-NEXT: hidet::check_read(&v[tid]);
  cuda.check_access read %v[%tid] width 1 : memref<4xf16, #cuda.space<local>>
  // CHECK-NEXT: hidet::check_atomic(&s[tid][tid]);
  cuda.check_access atomic %s[%tid, %tid] width 1 : memref<8x32xf16, #cuda.space<shared>>
  // CHECK-NEXT: hidet::check_owner("acc", c);
  cuda.check_owner "acc" %c
  // CHECK-NEXT: }
} loc("script.py":2:4)
// A thread that fails a check ends, which takes fibers.
// CHECK-NEXT: HIDET_KERNEL(instrumented, 32, 1, 1, HIDET_COLLECTIVE)
// What statements come from: those without a line of their own, from that of the kernel.
// CHECK-NEXT: HIDET_SOURCE_LINES(
// CHECK-NEXT: {9, "script.py:2"},
// CHECK-NEXT: {11, "script.py:3"},
// CHECK-NEXT: {12, "script.py:2"},
// CHECK-NEXT: {14, "script.py:5"},
// CHECK-NEXT: {16, "script.py:2"},
// CHECK-NEXT: {21, ""}
// CHECK-NEXT: )
