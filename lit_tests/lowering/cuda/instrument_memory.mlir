// RUN: hidet-opt %s -p 'instrument-memory' --split-input-file | filecheck %s
// RUN: hidet-opt %s -p 'instrument-memory{owners=true}' --split-input-file | filecheck %s --check-prefix OWNER

#shared = #cuda.space<shared>
#local = #cuda.space<local>

// Bounds are checked of all memory; what was written, and by whom, of the kernel's own arrays.
// CHECK-LABEL: cuda.kernel @own
// CHECK-SAME:    attributes {cuda.instrumented}
// CHECK:         %sa = memref.alloca() : memref<8x16xf32, #cuda.space<shared>>
// CHECK-NEXT:    cuda.track %sa "sa" : memref<8x16xf32, #cuda.space<shared>>
// CHECK:         %v = memref.alloca() : memref<4xf32, #cuda.space<local>>
// CHECK-NEXT:    cuda.track %v "v" : memref<4xf32, #cuda.space<local>>
// CHECK:         %variable = memref.alloca() : memref<f32, #cuda.space<local>>
// CHECK-NOT:     cuda.track
// CHECK:         cuda.check_bounds "x"[%i, %j] in [8, 16] width 1
// CHECK-NEXT:    %[[V:.*]] = memref.load %x[%i, %j]
// CHECK-NEXT:    memref.store %[[V]], %variable[]
// CHECK-NEXT:    cuda.check_bounds "sa"[%i, %j] in [8, 16] width 1
// CHECK-NEXT:    cuda.check_access write %sa[%i, %j] width 1 : memref<8x16xf32, #cuda.space<shared>>
// CHECK-NEXT:    memref.store %[[V]], %sa[%i, %j]
// CHECK-NEXT:    cuda.sync_threads
// CHECK:         cuda.check_bounds "sa"[%j, %c0] in [8, 16] width 1
// CHECK-NEXT:    cuda.check_bounds "sa"[%{{.*}}] in [128] width 4
// CHECK-NEXT:    cuda.check_access read %sa[%j, %c0] width 4
// CHECK-NEXT:    cuda.check_access write %v[%c0] width 4
// CHECK-NEXT:    cuda.copy_vector %sa[%j, %c0] to %v[%c0] width 4
// CHECK-NEXT:    cuda.check_bounds "sa"[%i, %j] in [8, 16] width 1
// CHECK-NEXT:    cuda.check_access atomic %sa[%i, %j] width 1
// CHECK-NEXT:    cuda.atomic add
cuda.kernel @own(%x : memref<8x16xf32>) grid(1) block(8, 16) {
  %i = cuda.thread_id x
  %j = cuda.thread_id y
  %c0 = arith.constant 0 : index
  %sa = memref.alloca() : memref<8x16xf32, #shared>
  %v = memref.alloca() : memref<4xf32, #local>
  %variable = memref.alloca() : memref<f32, #local>
  %0 = memref.load %x[%i, %j] : memref<8x16xf32>
  memref.store %0, %variable[] : memref<f32, #local>
  memref.store %0, %sa[%i, %j] : memref<8x16xf32, #shared>
  cuda.sync_threads
  cuda.copy_vector %sa[%j, %c0] to %v[%c0] width 4 : memref<8x16xf32, #shared> to memref<4xf32, #local>
  %1 = cuda.atomic add %0, %sa[%i, %j] : memref<8x16xf32, #shared>
}

// -----

// The extent behind a pointer is what the caller passes.
// CHECK-LABEL: cuda.kernel @pointer
// CHECK:         cuda.check_bounds "p"[%i] in [-1] width 1 of %p : memref<?xf32>
// CHECK-NEXT:    %0 = memref.load %p[%i]
cuda.kernel @pointer(%p : memref<?xf32>, %y : memref<128xf32>) grid(1) block(128) {
  %i = cuda.thread_id x
  %0 = memref.load %p[%i] : memref<?xf32>
  memref.store %0, %y[%i] : memref<128xf32>
}

// -----

#shared = #cuda.space<shared>
#local = #cuda.space<local>

// Of instructions the bounds are checked: of a copy those of the elements that it reads, and of
// ldmatrix with less than four matrices none, since not all lanes have a row.
// CHECK-LABEL: cuda.kernel @instructions
// CHECK:         cuda.check_bounds "s"[%i] in [256] width 8
// CHECK-NEXT:    cuda.check_bounds "x"[%i] in [256] width 8 valid %n
// CHECK-NEXT:    cuda.cp_async
// CHECK-NEXT:    cuda.ldmatrix
// CHECK-NEXT:    cuda.check_bounds "s"[%i] in [256] width 8
// CHECK-NEXT:    cuda.ldmatrix
cuda.kernel @instructions(%x : memref<256xf16>, %n0 : i32) grid(1) block(32) {
  %i = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %n = arith.index_cast %n0 : i32 to index
  %s = memref.alloca() : memref<256xf16, #shared>
  %r = memref.alloca() : memref<8xf16, #local>
  cuda.cp_async cg %x[%i] to %s[%i] width 8 valid %n : memref<256xf16> to memref<256xf16, #shared>
  cuda.ldmatrix %s[%i] to %r[%c0] count 2 : memref<256xf16, #shared> to memref<8xf16, #local>
  cuda.ldmatrix %s[%i] to %r[%c0] count 4 : memref<256xf16, #shared> to memref<8xf16, #local>
}

// -----

#tile = #task.map<spatial(4, 8) * repeat(2, 1)>
#space = #cuda.space<register>

// A thread may access those elements of a register tile that the layout gives to it.
// OWNER-LABEL: cuda.kernel @tile
// OWNER:         %[[T:.*]] = cuda.thread_id x
// OWNER:         %[[W:.*]] = arith.divsi %[[T]]
// OWNER:         %[[R:.*]] = arith.divsi %i
// OWNER:         arith.cmpi eq
// OWNER:         %[[L:.*]] = arith.remsi %[[T]]
// OWNER:         %[[C:.*]] = arith.remsi %j
// OWNER:         arith.cmpi eq, %[[L]], %[[C]]
// OWNER:         cuda.check_owner "tile" %{{.*}}
// OWNER-NEXT:    memref.store
cuda.kernel @tile(%i0 : i32, %j0 : i32) grid(1) block(32) {
  %i = arith.index_cast %i0 : i32 to index
  %j = arith.index_cast %j0 : i32 to index
  %zero = arith.constant 0.0 : f32
  %tile = memref.alloca() : memref<8x8xf32, #tile, #space>
  memref.store %zero, %tile[%i, %j] : memref<8x8xf32, #tile, #space>
}

// -----

#accumulator = #task.map<spatial(4, 1) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>
#space = #cuda.space<register>

// A fence names the registers of the thread by the first element of the tile, which may be that of
// another thread.
// OWNER-LABEL: cuda.kernel @fence
// OWNER-NOT:     cuda.check_owner
// OWNER:         cuda.wgmma_fence_operand
cuda.kernel @fence() grid(1) block(128) {
  %zero = arith.constant 0 : index
  %d = memref.alloca() : memref<64x8xf32, #accumulator, #space>
  cuda.wgmma_fence_operand %d[%zero, %zero] count 4 : memref<64x8xf32, #accumulator, #space>
}

// -----

#tile = #task.map<spatial(4, 8) * repeat(2, 1)>
#space = #cuda.space<register>

// Where threads have other numbers as workers it is not known who owns what.
// OWNER-LABEL: cuda.kernel @renumbered
// OWNER-NOT:     cuda.check_owner
cuda.kernel @renumbered() grid(1) block(32) {
  %last = arith.constant 31 : index
  %zero = arith.constant 0.0 : f32
  %t = cuda.thread_id x
  %w = arith.subi %last, %t : index
  %tile = memref.alloca() : memref<8x8xf32, #tile, #space>
  task.foreach (%i, %j) of %tile on %w : memref<8x8xf32, #tile, #space> {
    memref.store %zero, %tile[%i, %j] : memref<8x8xf32, #tile, #space>
  }
}
