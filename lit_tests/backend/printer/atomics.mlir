// RUN: hidet-opt %s -t cuda | filecheck %s

// CHECK: update(
cuda.kernel @update(%x : memref<32xf32>, %p : i1) grid(1) block(32) attributes {cuda.formed} {
  // CHECK: const int tid = threadIdx.x;
  %tid = cuda.thread_id x
  %v = arith.constant 1.000000e+00 : f32
  // CHECK-NEXT: const float old = hidet::atomic_add(&x[tid], 1.0f);
  %old = cuda.atomic add %v, %x[%tid] : memref<32xf32>
  // One whose old value nobody wants.
  // CHECK-NEXT: hidet::atomic_max(&x[tid], old);
  %0 = cuda.atomic max %old, %x[%tid] : memref<32xf32>
  // CHECK-NEXT: hidet::atomic_exchange(&x[tid], old);
  %9 = cuda.atomic exchange %old, %x[%tid] : memref<32xf32>
  // CHECK-NEXT: const bool some = hidet::any(p);
  %some = cuda.vote any %p : i1
  // CHECK-NEXT: const unsigned lanes = hidet::ballot(p);
  %lanes = cuda.vote ballot %p : i32
  // CHECK-NEXT: printf("%d \"%f\"\n", lanes, old);
  cuda.printf "%d \"%f\"\n" (%lanes, %old : i32, f32)
  // CHECK-NEXT: printf("done");
  cuda.printf "done"
}
// A vote is a meeting of threads.
// CHECK: HIDET_KERNEL(update, 32, 1, 1, HIDET_COLLECTIVE)

// A thread that fails a check stops all of its block.

// CHECK:      checked(
cuda.kernel @checked(%n : i32) grid(1) block(32) attributes {cuda.formed} {
  %zero = arith.constant 0 : i32
  %ok = arith.cmpi sgt, %n, %zero : i32
  // CHECK-NEXT: const bool ok = n > 0;
  // CHECK-NEXT: hidet::check(ok, "kernel.py:3: \"n\" is positive");
  cuda.assert %ok, "kernel.py:3: \"n\" is positive"
}
// CHECK: HIDET_KERNEL(checked, 32, 1, 1, HIDET_COLLECTIVE)
