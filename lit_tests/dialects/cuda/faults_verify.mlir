// RUN: HIDET_VERIFY

cuda.kernel @f(%i : index) grid(1) block(32) {
  // CHECK: no index is below 0
  %j = cuda.checked_index %i below 0 "aten.gather"
}

// -----

cuda.kernel @f(%i : index) grid(1) block(32) {
  // CHECK: indices from the end are not checked ahead of the kernel
  %j = cuda.checked_index %i from_end ahead below 5 "aten.index"
}
