// RUN: HIDET_VERIFY

cuda.kernel @f(%a : f16, %b : i16) grid(1) block(32) {
  // CHECK: f16, i16 cannot be joined to i32
  %r = cuda.join %a, %b : f16, i16 to i32
}

// -----

cuda.kernel @f(%a : f16) grid(1) block(32) {
  // CHECK: f16 cannot be joined to i32
  %r = cuda.join %a : f16 to i32
}

// -----

cuda.kernel @f(%a : f32) grid(1) block(32) {
  // CHECK: a pair is two f16 or two bf16, not vector<2xf32>
  %r = cuda.join %a, %a : f32, f32 to vector<2xf32>
}

// -----

cuda.kernel @f(%a : i1) grid(1) block(32) {
  // CHECK: a word has 8, 16, 32 or 64 bits, unlike i1
  %r = cuda.join %a : i1 to i1
}

// -----

cuda.kernel @f(%a : i32) grid(1) block(32) {
  // CHECK: i32 has no part 2 of f16
  %r = cuda.part 2 of %a : i32 to f16
}

// -----

cuda.kernel @f(%a : vector<2xf16>) grid(1) block(32) {
  // CHECK: 'fma' takes 3 pairs, not 2
  %r = cuda.packed fma %a, %a : vector<2xf16>
}

// -----

cuda.kernel @f(%x : memref<8xf32, #cuda.space<shared>>) grid(1) block(32) {
  %i = cuda.thread_id x
  // CHECK: are in different memory spaces
  %r = cuda.view %x[%i] : memref<8xf32, #cuda.space<shared>> to memref<?xf16>
}

// -----

cuda.kernel @f(%x : memref<8xf32>) grid(1) block(32) {
  %i = cuda.thread_id x
  // CHECK: elements of memref<?xindex> have no size
  %r = cuda.view %x[%i] : memref<8xf32> to memref<?xindex>
}

// -----

cuda.kernel @f(%x : memref<8xf32>) grid(1) block(32) {
  // CHECK: 0 indices for memref<8xf32>
  %r = cuda.address_of %x[] : memref<8xf32>
}

// -----

#tile = #task.map<spatial(8)>
cuda.kernel @f(%x : memref<8xf32, #tile, #cuda.space<register>>) grid(1) block(32) {
  %i = cuda.thread_id x
  // CHECK: register tiles have no addresses
  %r = cuda.address_of %x[%i] : memref<8xf32, #tile, #cuda.space<register>>
}
