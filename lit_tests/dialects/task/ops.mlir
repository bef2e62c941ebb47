// RUN: HIDET_ROUNDTRIP
// RUN: hidet-opt %s --split-input-file | hidet-opt --split-input-file | filecheck %s
// RUN: hidet-opt %s --split-input-file --print-op-generic | filecheck %s --check-prefix GENERIC

// task.foreach over a map of its own: the tasks of a worker in order, those outside of the bound
// left out.

func.func @foreach_in(%worker : index) {
  task.foreach (%i) in #task.map<spatial(32) * repeat(4)> on %worker bound [100] {
    "test.op"(%i) : (index) -> ()
  }
  task.foreach (%i, %j) in #task.map<repeat(2, 3)> on %worker {
  }
  func.return
}
// CHECK-LABEL: func.func @foreach_in
// CHECK-NEXT:    task.foreach (%i) in #task.map<spatial(32) * repeat(4)> on %worker bound [100] {
// CHECK-NEXT:      "test.op"(%i) : (index) -> ()
// CHECK-NEXT:    }
// CHECK-NEXT:    task.foreach (%{{.*}}, %{{.*}}) in #task.map<repeat(2, 3)> on %worker {
// CHECK-NEXT:    }

// GENERIC-LABEL: sym_name = "foreach_in"
// GENERIC:       "task.foreach"(%worker) <{map = #task.map<spatial(32) * repeat(4)>, bound = [#builtin.int<100>]}> ({
// GENERIC-NEXT:  ^bb0(%i: index):

// -----

// task.foreach of a register tile: the elements that the worker owns. The map may be unknown.

func.func @foreach_of(
    %tile : memref<4x8xf32, #task.map<spatial(4, 8)>, #cuda.space<register>>,
    %later : memref<16x8xf32, #task.map<?>, #cuda.space<register>>, %worker : index) {
  task.foreach (%i, %j) of %tile on %worker : memref<4x8xf32, #task.map<spatial(4, 8)>, #cuda.space<register>> bound [4, 7] unroll [-1, 4] {
    %v = compute.load %tile[%i, %j] : memref<4x8xf32, #task.map<spatial(4, 8)>, #cuda.space<register>>
  }
  task.foreach (%i, %j) of %later on %worker : memref<16x8xf32, #task.map<?>, #cuda.space<register>> {
  }
  func.return
}
// CHECK-LABEL: func.func @foreach_of
// CHECK-NEXT:    task.foreach (%i, %j) of %tile on %worker : memref<4x8xf32, #task.map<spatial(4, 8)>, #cuda.space<register>> bound [4, 7] unroll [-1, 4] {
// CHECK-NEXT:      %v = compute.load %tile[%i, %j] : memref<4x8xf32, #task.map<spatial(4, 8)>, #cuda.space<register>>
// CHECK-NEXT:    }
// CHECK-NEXT:    task.foreach (%{{.*}}, %{{.*}}) of %later on %worker : memref<16x8xf32, #task.map<?>, #cuda.space<register>> {

// GENERIC-LABEL: sym_name = "foreach_of"
// GENERIC:       "task.foreach"(%worker, %tile) <{bound = [#builtin.int<4>, #builtin.int<7>], unroll = [#builtin.int<-1>, #builtin.int<4>]}> ({

// -----

// task.copy: into a tile and out of it, between shared memory or registers and a buffer or a view.
// The tile's dimensions are the last ones of the other side.

#spread = #task.map<spatial(4, 8)>
!registers = memref<4x8xf32, #spread, #cuda.space<register>>

func.func @copy(%x : memref<2x64x64xf32>, %view : tensor<64x64xf32>,
    %shared : memref<4x8xf32, #cuda.space<shared>>, %tile : !registers, %i : index, %worker : index) {
  task.copy %x[%i, %i, %i] to %shared[] in #spread on %worker : memref<2x64x64xf32> to memref<4x8xf32, #cuda.space<shared>>
  task.copy %shared[] to %view[%i, %i] in #spread on %worker : memref<4x8xf32, #cuda.space<shared>> to tensor<64x64xf32>
  task.copy %view[%i, %i] to %tile[] on %worker : tensor<64x64xf32> to !registers
  task.copy %tile[] to %x[%i, %i, %i] on %worker : !registers to memref<2x64x64xf32>
  func.return
}
// CHECK-LABEL: func.func @copy
// CHECK-NEXT:    task.copy %x[%i, %i, %i] to %shared[] in #task.map<spatial(4, 8)> on %worker : memref<2x64x64xf32> to memref<4x8xf32, #cuda.space<shared>>
// CHECK-NEXT:    task.copy %shared[] to %view[%i, %i] in #task.map<spatial(4, 8)> on %worker : memref<4x8xf32, #cuda.space<shared>> to tensor<64x64xf32>
// CHECK-NEXT:    task.copy %view[%i, %i] to %tile[] on %worker : tensor<64x64xf32> to memref<4x8xf32, #task.map<spatial(4, 8)>, #cuda.space<register>>
// CHECK-NEXT:    task.copy %tile[] to %x[%i, %i, %i] on %worker : memref<4x8xf32, #task.map<spatial(4, 8)>, #cuda.space<register>> to memref<2x64x64xf32>

// GENERIC-LABEL: sym_name = "copy"
// GENERIC:       "task.copy"(%x, %i, %i, %i, %shared, %worker) <{map = #task.map<spatial(4, 8)>, operandSegmentSizes = array<i32: 1, 3, 1, 0, 1, 0>}>

// -----

// A register tile is copied to and from a window of shared memory, too. Extents that are '?' are
// operands.

#own = #task.map<spatial(4, 8)>
!own = memref<4x8xf32, #own, #cuda.space<register>>

func.func @copy_window(%shared : memref<8x8xf32, #cuda.space<shared>>, %view : tensor<?x64x?xf32>,
    %tile : !own, %i : index, %m : index, %n : index) {
  task.copy %shared[%i, %i] to %tile[] on %i : memref<8x8xf32, #cuda.space<shared>> to !own
  task.copy %tile[] to %shared[%i, %i] on %i : !own to memref<8x8xf32, #cuda.space<shared>>
  task.copy %view[%i, %i, %i] to %tile[] sizes [%m, %n] on %i : tensor<?x64x?xf32> to !own
  func.return
}
// CHECK-LABEL: func.func @copy_window
// CHECK-NEXT:    task.copy %shared[%i, %i] to %tile[] on %i : memref<8x8xf32, #cuda.space<shared>> to memref<4x8xf32, #{{.*}}, #cuda.space<register>>
// CHECK-NEXT:    task.copy %tile[] to %shared[%i, %i] on %i
// CHECK-NEXT:    task.copy %view[%i, %i, %i] to %tile[] sizes[%m, %n] on %i : tensor<?x64x?xf32>

// -----

// task.matmul: two shared tiles, added to a register tile.

func.func @matmul(%a : memref<8x2xf16, #cuda.space<shared>>, %b : memref<2x4xf16, #cuda.space<shared>>,
    %c : memref<8x4xf32, #task.map<spatial(8, 4)>, #cuda.space<register>>, %worker : index) {
  task.matmul %a, %b to %c on %worker : memref<8x2xf16, #cuda.space<shared>>, memref<2x4xf16, #cuda.space<shared>> to memref<8x4xf32, #task.map<spatial(8, 4)>, #cuda.space<register>>
  func.return
}
// CHECK-LABEL: func.func @matmul
// CHECK-NEXT:    task.matmul %a, %b to %c on %worker : memref<8x2xf16, #cuda.space<shared>>, memref<2x4xf16, #cuda.space<shared>> to memref<8x4xf32, #task.map<spatial(8, 4)>, #cuda.space<register>>

// -----

// Tiles of a ring have leading offsets; a product may name its instruction or take its right tile
// transposed, a copy may be asynchronous. Shared tiles may have a layout.

func.func @ring(%x : memref<8x16xf16>, %a : memref<3x8x16xf16, #task.tile<row_major, swizzle 32>, #cuda.space<shared>>, %b : memref<3x16x8xf16, #task.tile<column_major>, #cuda.space<shared>>, %c : memref<8x8xf32, #task.map<?>, #cuda.space<register>>, %stage : index, %worker : index) {
  task.copy %x[%stage, %stage] to %a[%stage] in #task.map<?> on %worker async : memref<8x16xf16> to memref<3x8x16xf16, #task.tile<row_major, swizzle 32>, #cuda.space<shared>>
  task.matmul %a[%stage], %b[%stage] to %c on %worker via "m16n8k16_f16_f32" : memref<3x8x16xf16, #task.tile<row_major, swizzle 32>, #cuda.space<shared>>, memref<3x16x8xf16, #task.tile<column_major>, #cuda.space<shared>> to memref<8x8xf32, #task.map<?>, #cuda.space<register>>
  task.matmul %a[%stage], %a[%stage] transposed to %c on %worker : memref<3x8x16xf16, #task.tile<row_major, swizzle 32>, #cuda.space<shared>>, memref<3x8x16xf16, #task.tile<row_major, swizzle 32>, #cuda.space<shared>> to memref<8x8xf32, #task.map<?>, #cuda.space<register>>
  func.return
}
// CHECK-LABEL: func.func @ring
// CHECK-NEXT:    task.copy %x[%stage, %stage] to %a[%stage] in #task.map<?> on %worker async : memref<8x16xf16> to memref<3x8x16xf16, #task.tile<row_major, swizzle 32>, #cuda.space<shared>>
// CHECK-NEXT:    task.matmul %a[%stage], %b[%stage] to %c on %worker via "m16n8k16_f16_f32" : memref<3x8x16xf16, #task.tile<row_major, swizzle 32>, #cuda.space<shared>>, memref<3x16x8xf16, #task.tile<column_major>, #cuda.space<shared>> to memref<8x8xf32, #task.map<?>, #cuda.space<register>>
// CHECK-NEXT:    task.matmul %a[%stage], %a[%stage] transposed to %c on %worker : memref<3x8x16xf16, #task.tile<row_major, swizzle 32>, #cuda.space<shared>>, memref<3x8x16xf16, #task.tile<row_major, swizzle 32>, #cuda.space<shared>> to memref<8x8xf32, #task.map<?>, #cuda.space<register>>

// -----

// task.combine: the copies of each element become their combination.

func.func @combine(%c : memref<4xf32, #task.map<spatial(4) * replicate(8)>, #cuda.space<register>>, %worker : index) {
  task.combine add %c on %worker : memref<4xf32, #task.map<spatial(4) * replicate(8)>, #cuda.space<register>>
  task.combine max %c on %worker {last} : memref<4xf32, #task.map<spatial(4) * replicate(8)>, #cuda.space<register>>
  func.return
}
// CHECK-LABEL: func.func @combine
// CHECK-NEXT:    task.combine add %c on %worker : memref<4xf32, #m0, #cuda.space<register>>
// CHECK-NEXT:    task.combine max %c on %worker {last} : memref<4xf32, #m0, #cuda.space<register>>

// GENERIC-LABEL: sym_name = "combine"
// GENERIC:       "task.combine"(%c, %worker) <{kind = #compute<kind add>}>

// -----

// Attributes that are not known stay.

func.func @attributes(%worker : index, %x : memref<4xf32>, %s : memref<4xf32, #cuda.space<shared>>) {
  task.foreach (%i) in #task.map<spatial(4)> on %worker attributes {a} {
  }
  task.copy %x[%worker] to %s[] in #task.map<spatial(4)> on %worker {b} : memref<4xf32> to memref<4xf32, #cuda.space<shared>>
  func.return
}
// CHECK-LABEL: func.func @attributes
// CHECK-NEXT:    task.foreach (%i) in #task.map<spatial(4)> on %worker attributes {a} {
// CHECK-NEXT:    }
// CHECK-NEXT:    task.copy %x[%worker] to %s[] in #task.map<spatial(4)> on %worker {b} : memref<4xf32> to memref<4xf32, #cuda.space<shared>>

// -----

// task.group: some warps of the block, whose threads have numbers of their own.

cuda.kernel @group() grid(1) block(384) {
  task.group first(0) count(128) (%w) {
    task.foreach (%i) in #task.map<spatial(128)> on %w {
    }
  }
  task.group first(128) count(256) barrier(3) attributes {consumers} (%w) {
  }
  task.group first(128) count(128) copies(2) (%w, %copy) {
  }
}
// CHECK-LABEL: cuda.kernel @group
// CHECK-NEXT:    task.group first(0) count(128) (%w) {
// CHECK-NEXT:      task.foreach (%{{.*}}) in #task.map<spatial(128)> on %w {
// CHECK:         task.group first(128) count(256) barrier(3) attributes {consumers} (%{{.*}}) {
// CHECK:         task.group first(128) count(128) copies(2) (%{{.*}}, %copy) {

// GENERIC-LABEL: sym_name = "group"
// GENERIC:       "task.group"() <{first = 0 : i64, count = 128 : i64}> ({
// GENERIC-NEXT:  ^bb0(%w: index):
