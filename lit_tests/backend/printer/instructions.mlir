// RUN: hidet-opt %s -t cuda | filecheck %s

// Instructions of the table are calls: first what is written, then what is read, then numbers.

#shared = #cuda.space<shared>
#local = #cuda.space<local>

// CHECK-LABEL: // tensor_core
cuda.kernel @tensor_core() grid(1) block(32) attributes {cuda.formed} {
  %tid = cuda.thread_id x
  %0 = arith.constant 0 : index
  %4 = arith.constant 4 : index
  %s = memref.alloca() : memref<32x8xf16, #shared>
  %a = memref.alloca() : memref<2x8xf16, #local>
  %b = memref.alloca() : memref<8xf16, #local>
  %c = memref.alloca() : memref<4xf32, #local>
  %d = memref.alloca() : memref<4xf16, #local>
  %e = memref.alloca() : memref<4xf32, #local>
  %f = memref.alloca() : memref<8xbf16, #local>
  // CHECK:      hidet::ldmatrix_x1(b, &s[tid][0]);
  cuda.ldmatrix %s[%tid, %0] to %b[%0] count 1 : memref<32x8xf16, #shared> to memref<8xf16, #local>
  // CHECK-NEXT: hidet::ldmatrix_x2_trans(&b[4], &s[tid][0]);
  cuda.ldmatrix %s[%tid, %0] to %b[%4] count 2 trans : memref<32x8xf16, #shared> to memref<8xf16, #local>
  // CHECK-NEXT: hidet::ldmatrix_x4(&a[0][0], &s[tid][0]);
  cuda.ldmatrix %s[%tid, %0] to %a[%0, %0] count 4 : memref<32x8xf16, #shared> to memref<2x8xf16, #local>
  // CHECK-NEXT: hidet::mma_m16n8k16(c, &a[0][0], &b[4]);
  cuda.mma_sync "m16n8k16_f16_f32" %a[%0, %0], %b[%4], %c[%0] : memref<2x8xf16, #local>, memref<8xf16, #local>, memref<4xf32, #local>
  // CHECK-NEXT: hidet::mma_m16n8k16(d, &a[0][0], b);
  cuda.mma_sync "m16n8k16_f16_f16" %a[%0, %0], %b[%0], %d[%0] : memref<2x8xf16, #local>, memref<8xf16, #local>, memref<4xf16, #local>
  // CHECK-NEXT: hidet::mma_m16n8k8(c, f, f);
  cuda.mma_sync "m16n8k8_bf16_f32" %f[%0], %f[%0], %c[%0] : memref<8xbf16, #local>, memref<8xbf16, #local>, memref<4xf32, #local>
  // CHECK-NEXT: hidet::mma_m16n8k8(c, e, e);
  cuda.mma_sync "m16n8k8_tf32_f32" %e[%0], %e[%0], %c[%0] : memref<4xf32, #local>, memref<4xf32, #local>, memref<4xf32, #local>
  // CHECK-NEXT: hidet::mma_m16n8k4(c, e, e);
  cuda.mma_sync "m16n8k4_tf32_f32" %e[%0], %e[%0], %c[%0] : memref<4xf32, #local>, memref<4xf32, #local>, memref<4xf32, #local>
}
// CHECK: HIDET_KERNEL(tensor_core, 32, 1, 1, HIDET_COLLECTIVE)

// CHECK-LABEL: // copy_async
cuda.kernel @copy_async(%x : memref<512xf16>, %n : index) grid(1) block(32) attributes {cuda.formed} {
  %tid = cuda.thread_id x
  %0 = arith.constant 0 : index
  %s = memref.alloca() : memref<32x8xf16, #shared>
  // CHECK:      hidet::cp_async_ca<4>(&s[tid][0], &x[tid]);
  cuda.cp_async ca %x[%tid] to %s[%tid, %0] width 4 : memref<512xf16> to memref<32x8xf16, #shared>
  // CHECK-NEXT: hidet::cp_async_cg<8>(&s[tid][0], x, n);
  cuda.cp_async cg %x[%0] to %s[%tid, %0] width 8 valid %n : memref<512xf16> to memref<32x8xf16, #shared>
  // CHECK-NEXT: hidet::cp_async_commit();
  cuda.cp_async_commit
  // CHECK-NEXT: hidet::cp_async_wait<2>();
  cuda.cp_async_wait 2
}
