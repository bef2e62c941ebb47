// RUN: HIDET_VERIFY

// CHECK: a block of 2048 threads; 1 to 1024 are possible
cuda.kernel @f() grid(1) block(64, 32) {
}

// -----

// CHECK: a block of 0 threads; 1 to 1024 are possible
cuda.kernel @f() grid(1) block(0) {
}

// -----

// CHECK: a body next to the binary 'a1b2'
cuda.kernel @f() grid(1) block(64) attributes {cuda.binary = "a1b2"} {
  cuda.sync_threads
}

// -----

// CHECK: grid takes one to three extents that are not negative
cuda.kernel @f() grid(1, 1, 1, 1) block(32) {
}

// -----

// CHECK: grid takes one to three extents that are not negative
cuda.kernel @f() grid(-1) block(32) {
}

// -----

// CHECK: block takes one to three extents that are not negative
cuda.kernel @f() grid(1) block(-4, -4) {
}

// -----

// CHECK: 1 argument attributes for 0 arguments
"cuda.kernel"() <{sym_name = "f", grid = [#builtin.int<1>], block = [#builtin.int<1>], arg_attrs = [{}]}> ({
^bb0:
}) : () -> ()

// -----

cuda.kernel @f(%x : memref<8x8xf32>, %y : memref<8xf32>, %i : index) grid(1) block(32) {
  // CHECK: 1 indices for memref<8x8xf32>
  cuda.copy_vector %x[%i] to %y[%i] width 4 : memref<8x8xf32> to memref<8xf32>
}

// -----

cuda.kernel @f(%x : memref<8xf16>, %y : memref<8xf32>, %i : index) grid(1) block(32) {
  // CHECK: cannot copy elements of memref<8xf16> to memref<8xf32>
  cuda.copy_vector %x[%i] to %y[%i] width 4 : memref<8xf16> to memref<8xf32>
}

// -----

cuda.kernel @f(%x : memref<8xf32>, %y : memref<8xf32>, %i : index) grid(1) block(32) {
  // CHECK: 3 elements of f32 are 96 bits; a vector access has 16, 32, 64 or 128
  cuda.copy_vector %x[%i] to %y[%i] width 3 : memref<8xf32> to memref<8xf32>
}

// -----

cuda.kernel @f(%x : memref<8xindex>, %y : memref<8xindex>, %i : index) grid(1) block(32) {
  // CHECK: 2 elements of index are 0 bits; a vector access has 16, 32, 64 or 128
  cuda.copy_vector %x[%i] to %y[%i] width 2 : memref<8xindex> to memref<8xindex>
}

// -----

// CHECK: a buffer of kind constant takes a name
%0 = cuda.buffer constant offset 64 : memref<8xf32>

// -----

// CHECK: a buffer of kind arena takes an offset
%0 = cuda.buffer arena "p0" : memref<8xf32>

// -----

// CHECK: a block of 2048 threads; 1 to 1024 are possible
cuda.kernel @f() grid(1) block(?, 2048) {
}

// -----

// CHECK: 2 limits for 1 dynamic extents
cuda.kernel @f() grid(?) block(32) limits(4, 4) {
}

// -----

func.func @f(%x : memref<4x8xf32>, %i : index) {
  // CHECK: 1 indices for memref<4x8xf32>
  %y = cuda.view %x[%i] : memref<4x8xf32> to memref<?xf32>
  func.return
}

// -----

func.func @f(%v : f32, %lane : i32) {
  // CHECK: segments of 12 lanes; 2, 4, 8 or 16
  %y = cuda.shfl up %v, %lane width 12 : f32
  func.return
}

// -----

cuda.kernel @f(%p : i1) grid(1) block(32) {
  cuda.leave return
  scf.if %p {
    // CHECK: no loop around that 'break' could leave
    cuda.leave break
  }
}
