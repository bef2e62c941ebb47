// RUN: hidet-opt %s -p 'lower-task' --split-input-file | filecheck %s

// A foreach becomes a loop for each repeat digit of its map; the worker's number gives the first
// task. Only the dimension that may leave the bound is guarded.

// CHECK-LABEL: cuda.kernel @foreach
// CHECK:         %[[END:.*]] = arith.constant 63 : index
// CHECK:         %[[FIRST:.*]] = arith.muli %t, %{{.*}} : index
// CHECK:         scf.for %i =
// CHECK:           scf.for %[[C:.*]] =
// CHECK-NEXT:        %j = arith.addi %[[FIRST]], %[[C]] : index
// CHECK-NEXT:        %[[IN:.*]] = arith.cmpi slt, %j, %[[END]] : index
// CHECK-NEXT:        scf.if %[[IN]] {
// CHECK-NEXT:          %[[V:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:          memref.store %[[V]], %y[%i, %j]
// CHECK-NEXT:        }
// CHECK-NEXT:      } {cuda.unroll}
// CHECK-NEXT:    } {cuda.unroll}
cuda.kernel @foreach(%y : memref<2x64xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  task.foreach (%i, %j) in #task.map<repeat(2, 1) * spatial(1, 32) * repeat(1, 2)> on %t bound [2, 63] {
    %v = arith.constant 1.0 : f32
    compute.store %v, %y[%i, %j] : memref<2x64xf32>
  }
}

// -----

// Along a dimension with a hint loops are unrolled as it says, however long they are.

// CHECK-LABEL: cuda.kernel @hints
// CHECK:         scf.for %i =
// CHECK:           scf.for %j =
// CHECK:           } {cuda.unroll}
// CHECK:         } {cuda.unroll = 4 : i64}
cuda.kernel @hints(%y : memref<128x128xf32>) grid(1) block(1) {
  %t = cuda.thread_id x
  task.foreach (%i, %j) in #task.map<repeat(128, 128)> on %t unroll [4, -1] {
    %v = arith.constant 1.0 : f32
    compute.store %v, %y[%i, %j] : memref<128x128xf32>
  }
}

// -----

// Long loops are not unrolled; a map of one task is no loop.

// CHECK-LABEL: cuda.kernel @loops
// CHECK:         scf.for %i =
// CHECK:         }
// CHECK-NOT:     cuda.unroll
// CHECK:         memref.store %{{.*}}, %y[%t]
cuda.kernel @loops(%y : memref<128xf32>) grid(1) block(128) {
  %t = cuda.thread_id x
  %v = arith.constant 1.0 : f32
  task.foreach (%i) in #task.map<repeat(128)> on %t {
    compute.store %v, %y[%i] : memref<128xf32>
  }
  task.foreach (%i) in #task.map<spatial(128)> on %t {
    compute.store %v, %y[%i] : memref<128xf32>
  }
}

// -----

// One that stands in another one is lowered too.

// CHECK-LABEL: cuda.kernel @nested
// CHECK-NOT:   task.foreach
// CHECK:       scf.for %[[I:.*]] =
// CHECK:         scf.for %[[J:.*]] =
// CHECK-NOT:   task.foreach
// CHECK:       memref.store
cuda.kernel @nested(%y : memref<64x64xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  task.foreach (%i) in #task.map<repeat(2) * spatial(32)> on %t {
    task.foreach (%j) in #task.map<spatial(32) * repeat(2)> on %t {
      %one = arith.constant 1.0 : f32
      memref.store %one, %y[%i, %j] : memref<64x64xf32>
    }
  }
}

// -----

// A copy into a tile gives 0 where its source has no element; one out of a tile leaves out what its
// target does not have. Registers are an array with a dimension for each repeat digit.

!tile = memref<8x2xf32, #task.map<spatial(4, 2) * repeat(2, 1)>, #cuda.space<register>>

// CHECK-LABEL: cuda.kernel @copy
// CHECK-DAG:     %[[TWO:.*]] = arith.constant 2 : index
// CHECK-DAG:     %[[SIX:.*]] = arith.constant 6 : index
// CHECK-DAG:     %[[SEVEN:.*]] = arith.constant 7 : index
// CHECK:         %r = memref.alloca() : memref<2xf32, #cuda.space<local>>
// CHECK:         scf.for %[[C:.*]] =
// CHECK-NEXT:      %[[ROW:.*]] = arith.addi %{{.*}}, %[[C]] : index
// CHECK:           arith.cmpi slt, %{{.*}}, %[[SIX]] : index
// CHECK:           %[[V:.*]] = scf.if %{{.*}} -> (f32) {
// CHECK-NEXT:        %[[W:.*]] = memref.load %x[
// CHECK-NEXT:        scf.yield %[[W]] : f32
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:        scf.yield %[[ZERO]] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      memref.store %[[V]], %r[%[[C]]]
// CHECK:         scf.for
// CHECK:           arith.cmpi slt, %{{.*}}, %[[SEVEN]] : index
// CHECK:           scf.if %{{.*}} {
// CHECK:             %[[U:.*]] = memref.load %r[
// CHECK-NEXT:        memref.store %[[U]], %y[
// CHECK-NEXT:      }
cuda.kernel @copy(%x : memref<6x2xf32>, %y : memref<7x2xf32>) grid(1) block(8) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %r = memref.alloca() : !tile
  task.copy %x[%c0, %c0] to %r[] on %t : memref<6x2xf32> to !tile
  task.copy %r[] to %y[%c0, %c0] on %t : !tile to memref<7x2xf32>
}

// -----

// A product multiplies and adds in the accumulator's type: k outside, the thread's own elements
// inside.

!tile = memref<4x4xf32, #task.map<spatial(2, 2) * repeat(2, 2)>, #cuda.space<register>>
!shared = memref<4x4xf16, #cuda.space<shared>>

// CHECK-LABEL: cuda.kernel @matmul
// CHECK:         %c = memref.alloca() : memref<2x2xf32, #cuda.space<local>>
// CHECK:         scf.for %k
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               %[[A:.*]] = memref.load %a[%[[I:.*]], %k]
// CHECK-NEXT:          %[[A32:.*]] = arith.extf %[[A]] : f16 to f32
// CHECK-NEXT:          %[[B:.*]] = memref.load %b[%k, %[[J:.*]]]
// CHECK-NEXT:          %[[B32:.*]] = arith.extf %[[B]] : f16 to f32
// CHECK-NEXT:          %[[P:.*]] = arith.mulf %[[A32]], %[[B32]] : f32
// CHECK:               %[[C:.*]] = memref.load %c[
// CHECK-NEXT:          %[[S:.*]] = arith.addf %[[C]], %[[P]] : f32
// CHECK:               memref.store %[[S]], %c[
cuda.kernel @matmul() grid(1) block(4) {
  %t = cuda.thread_id x
  %a = memref.alloca() : !shared
  %b = memref.alloca() : !shared
  %c = memref.alloca() : !tile
  task.matmul %a, %b to %c on %t : !shared, !shared to !tile
}

// -----

// A right tile that is transposed is read by column and k.

!tile = memref<4x4xf32, #task.map<spatial(2, 2) * repeat(2, 2)>, #cuda.space<register>>
!shared = memref<4x4xf16, #cuda.space<shared>>

// CHECK-LABEL: cuda.kernel @transposed
// CHECK:         scf.for %k
// CHECK:               memref.load %a[%{{.*}}, %k]
// CHECK:               memref.load %b[%{{.*}}, %k]
cuda.kernel @transposed() grid(1) block(4) {
  %t = cuda.thread_id x
  %a = memref.alloca() : !shared
  %b = memref.alloca() : !shared
  %c = memref.alloca() : !tile
  task.matmul %a, %b transposed to %c on %t : !shared, !shared to !tile
}

// -----

// Lanes that hold the same element combine by shuffles: here those whose numbers differ in the two
// lowest bits. No barrier is needed.

!tile = memref<2xf32, #task.map<spatial(2) * replicate(4)>, #cuda.space<register>>

// CHECK-LABEL: cuda.kernel @warp
// CHECK:         %[[V:.*]] = memref.load %r[]
// CHECK-NEXT:    %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-NEXT:    %[[W:.*]] = cuda.shfl xor %[[V]], %[[ONE]] : f32
// CHECK-NEXT:    %[[S:.*]] = arith.addf %[[V]], %[[W]] : f32
// CHECK-NEXT:    memref.store %[[S]], %r[]
// CHECK:         arith.constant 2 : i32
// CHECK-NEXT:    cuda.shfl xor
// CHECK-NOT:     cuda.shfl
// CHECK-NOT:     cuda.sync_threads
cuda.kernel @warp() grid(1) block(8) {
  %t = cuda.thread_id x
  %r = memref.alloca() : !tile
  task.combine add %r on %t : !tile
}

// -----

// The replicas of an element may be apart: a factor inside shifts the bits.

!tile = memref<4xf32, #task.map<replicate(2) * spatial(4)>, #cuda.space<register>>

// CHECK-LABEL: cuda.kernel @apart
// CHECK:         arith.constant 4 : i32
// CHECK-NEXT:    cuda.shfl xor
// CHECK-NOT:     cuda.shfl
cuda.kernel @apart() grid(1) block(8) {
  %t = cuda.thread_id x
  %r = memref.alloca() : !tile
  task.combine add %r on %t : !tile
}

// -----

// A byte travels between lanes as an i32.

!tile = memref<1xi1, #task.map<repeat(1) * replicate(2)>, #cuda.space<register>>

// CHECK-LABEL: cuda.kernel @byte
// CHECK:         %[[V:.*]] = memref.load %r[]
// CHECK-NEXT:    %[[WIDE:.*]] = arith.extui %[[V]] : i1 to i32
// CHECK:         %[[OTHER:.*]] = cuda.shfl xor %[[WIDE]], %{{.*}} : i32
// CHECK-NEXT:    %[[W:.*]] = arith.trunci %[[OTHER]] : i32 to i1
// CHECK-NEXT:    arith.ori %[[V]], %[[W]] : i1
cuda.kernel @byte() grid(1) block(2) {
  %t = cuda.thread_id x
  %r = memref.alloca() : !tile
  task.combine add %r on %t : !tile
}

// -----

// Between warps the values go through shared memory, after the shuffles of each warp. Each lane reads
// that of one warp, thread l % 4 * 33, so that two more shuffles combine them.

!tile = memref<1xf32, #task.map<repeat(1) * replicate(128)>, #cuda.space<register>>

// CHECK-LABEL: cuda.kernel @block
// CHECK-COUNT-5: cuda.shfl xor
// CHECK-NOT:     cuda.shfl
// CHECK:         %[[SCRATCH:.*]] = memref.alloca() : memref<128xf32, #cuda.space<shared>>
// CHECK:         memref.store %{{.*}}, %[[SCRATCH]][
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    %[[V:.*]] = memref.load %[[SCRATCH]][
// CHECK-NEXT:    memref.store %[[V]], %r[]
// CHECK-COUNT-2: cuda.shfl xor
// CHECK-NOT:     cuda.shfl
// CHECK-NOT:     cuda.sync_threads
cuda.kernel @block() grid(1) block(128) {
  %t = cuda.thread_id x
  %r = memref.alloca() : !tile
  task.combine max %r on %t : !tile
}

// -----

// Lanes that hold different elements read the values of all warps. The registers of a tile share
// the barriers; in a loop the last one orders what the next iteration stores.

!tile = memref<64xf32, #task.map<replicate(4) * spatial(32) * repeat(2)>, #cuda.space<register>>

// CHECK-LABEL: cuda.kernel @columns
// CHECK-NOT:     cuda.shfl
// CHECK:         memref.alloca() : memref<2x128xf32, #cuda.space<shared>>
// CHECK:         cuda.sync_threads
// CHECK:         scf.for
// CHECK-COUNT-4:   memref.load %{{.*}} : memref<2x128xf32, #cuda.space<shared>>
// CHECK:         cuda.sync_threads
// CHECK-NOT:     cuda.sync_threads
cuda.kernel @columns() grid(1) block(128) {
  %t = cuda.thread_id x
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %8 = arith.constant 8 : index
  scf.for %i = %0 to %8 step %1 {
    %r = memref.alloca() : !tile
    task.combine add %r on %t : !tile
  }
}

// -----

// Memory that is no register tile keeps its type.

// CHECK-LABEL: cuda.kernel @others
// CHECK:         %s = memref.alloca() : memref<4xf32, #cuda.space<shared>>
// CHECK-NEXT:    %l = memref.alloca() : memref<4xf32, #cuda.space<local>>
// CHECK-NEXT:    %v = memref.load %l[%t]
// CHECK-NEXT:    memref.store %v, %s[%t]
cuda.kernel @others() grid(1) block(4) {
  %t = cuda.thread_id x
  %s = memref.alloca() : memref<4xf32, #cuda.space<shared>>
  %l = memref.alloca() : memref<4xf32, #cuda.space<local>>
  %v = compute.load %l[%t] : memref<4xf32, #cuda.space<local>>
  compute.store %v, %s[%t] : memref<4xf32, #cuda.space<shared>>
}

// -----

// A foreach inside of a loop inside of a foreach is lowered before its surroundings are copied.

// CHECK-LABEL: cuda.kernel @nested
// CHECK-NOT:     task.foreach
// CHECK:         scf.for
// CHECK:           memref.store
cuda.kernel @nested(%y : memref<2x4x8xf32>) grid(1) block(32) {
  %t = cuda.thread_id x
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %4 = arith.constant 4 : index
  %8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %w = arith.divsi %t, %8 : index
  %u = arith.remsi %t, %8 : index
  task.foreach (%i) in #task.map<spatial(4)> on %w {
    scf.for %k = %0 to %1 step %1 {
      task.foreach (%j) in #task.map<spatial(8)> on %u {
        memref.store %zero, %y[%k, %i, %j] : memref<2x4x8xf32>
      }
    }
  }
}

// -----

// Loops over the registers of a large tile are unrolled too: without, it would be no registers.

// CHECK-LABEL: cuda.kernel @large
// CHECK:         scf.for
// CHECK:           memref.store %{{.*}}, %r[%{{.*}}] : memref<128xf32, #cuda.space<local>>
// CHECK-NEXT:    } {cuda.unroll}
cuda.kernel @large() grid(1) block(32) {
  %t = cuda.thread_id x
  %zero = arith.constant 0.0 : f32
  %r = memref.alloca() : memref<4096xf32, #task.map<repeat(128) * spatial(32)>, #cuda.space<register>>
  task.foreach (%i) in #task.map<repeat(128) * spatial(32)> on %t {
    memref.store %zero, %r[%i] : memref<4096xf32, #task.map<repeat(128) * spatial(32)>, #cuda.space<register>>
  }
}

// -----

// An instruction takes a part of a tile that is a fragment: the tile is an array in one dimension.

!tile = memref<32x16xf16, #task.map<repeat(2, 2) * repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>, #cuda.space<register>>

// CHECK-LABEL: cuda.kernel @fragments
// CHECK:         %c = memref.alloca() : memref<16xf16, #cuda.space<local>>
// CHECK:         %[[REGISTER:.*]] = arith.muli %9, %{{.*}} : index
// CHECK-NEXT:    cuda.mma_sync "m16n8k8_f16_f16" %a[%{{.*}}], %a[%{{.*}}], %c[%[[REGISTER]]] : {{.*}}, memref<16xf16, #cuda.space<local>>
cuda.kernel @fragments(%i : index) grid(1) block(32) {
  %0 = arith.constant 0 : index
  %16 = arith.constant 16 : index
  %row = arith.muli %i, %16 : index
  %a = memref.alloca() : memref<4xf16, #cuda.space<local>>
  %c = memref.alloca() : !tile
  cuda.mma_sync "m16n8k8_f16_f16" %a[%0], %a[%0], %c[%row, %0]
    : memref<4xf16, #cuda.space<local>>, memref<4xf16, #cuda.space<local>>, !tile
}

// -----

// A window of shared memory is guarded like one of global memory; extents that are '?' are those
// that the copy is given.

#own = #task.map<spatial(8)>
!own = memref<8xf32, #own, #cuda.space<register>>

// CHECK-LABEL: cuda.kernel @window
// CHECK:         %[[C8:.*]] = arith.constant 8 : index
// CHECK:         %[[P:.*]] = arith.addi %m, %{{.*}} : index
// CHECK:         arith.cmpi slt, %[[P]], %[[C8]] : index
// CHECK:         memref.load %s[%[[P]]]
// CHECK:         arith.cmpi slt, %{{.*}}, %m : index
// CHECK:         memref.store %{{.*}}, %y[
cuda.kernel @window(%y : memref<?xf32>, %m : index) grid(1) block(8) {
  %t = cuda.thread_id x
  %s = memref.alloca() : memref<8xf32, #cuda.space<shared>>
  %tile = memref.alloca() : !own
  task.copy %s[%m] to %tile[] on %t : memref<8xf32, #cuda.space<shared>> to !own
  task.copy %tile[] to %y[%t] sizes [%m] on %t : !own to memref<?xf32>
}

// -----

// A group becomes a branch that its threads take; the first ones and the last ones are compared with
// one number, all of the block with none. Between warps its values go through memory of its own size.

#sums = #task.map<spatial(1) * replicate(64)>
!sums = memref<1xf32, #sums, #cuda.space<register>>

// CHECK-LABEL: cuda.kernel @groups
// CHECK:         %[[T:.*]] = cuda.thread_id x
// CHECK:         arith.cmpi slt, %[[T]], %{{.*}} : index
// CHECK-NOT:     arith.cmpi
// CHECK:         scf.if
// CHECK:           memref.alloca() : memref<64xf32, #cuda.space<shared>>
// CHECK:           %[[B:.*]] = arith.constant 15 : i32
// CHECK-NEXT:      cuda.barrier_sync %[[B]] count 64
// CHECK:           cuda.barrier_sync %{{.*}} count 64
// CHECK:         %[[U:.*]] = cuda.thread_id x
// CHECK:         arith.cmpi slt, %[[U]]
// CHECK:         arith.cmpi sge, %[[U]]
// CHECK:         %[[W:w.*]] = arith.subi %[[U]], %{{.*}} : index
// CHECK:         scf.if
// CHECK-NEXT:      memref.store %{{.*}}, %y[%[[W]]]
// CHECK-NOT:     scf.if
// CHECK:         memref.store %{{.*}}, %y[%{{.*}}]
cuda.kernel @groups(%y : memref<128xf32>) grid(1) block(128) {
  %one = arith.constant 1.0 : f32
  task.group first(0) count(64) (%w) {
    %tile = memref.alloca() : !sums
    task.foreach (%i) of %tile on %w : !sums {
      memref.store %one, %tile[%i] : !sums
    }
    task.combine add %tile on %w : !sums
  }
  task.group first(64) count(32) (%w) {
    memref.store %one, %y[%w] : memref<128xf32>
  }
  task.group first(0) count(128) (%w) {
    memref.store %one, %y[%w] : memref<128xf32>
  }
}

// -----

// Copies of a group: a thread has a number in its copy, and each copy a named barrier, and its own
// place to exchange values in.

// CHECK-LABEL: cuda.kernel @copies
// CHECK-DAG:     %[[C128:.*]] = arith.constant 128 : index
// CHECK-DAG:     %[[T:.*]] = cuda.thread_id x
// CHECK:         arith.cmpi sge, %[[T]]
// CHECK:         %[[Q:.*]] = arith.divsi %[[T]], %[[C128]] : index
// CHECK-NEXT:    %[[COPY:.*]] = arith.subi %[[Q]], %{{.*}} : index
// CHECK-NEXT:    %[[W:.*]] = arith.remsi %[[T]], %[[C128]] : index
// CHECK:         scf.if
// CHECK:           %[[SCRATCH:.*]] = memref.alloca() : memref<2x128xf32, #cuda.space<shared>>
// CHECK:           memref.store %{{.*}}, %[[SCRATCH]][%[[COPY]], %
// CHECK:           %[[B:.*]] = arith.addi %[[COPY]], %{{.*}} : index
// CHECK-NEXT:      %[[N:.*]] = arith.index_cast %[[B]] : index to i32
// CHECK-NEXT:      cuda.barrier_sync %[[N]] count 128
// CHECK:           memref.load %[[SCRATCH]][%[[COPY]], %
// CHECK:           memref.store %{{.*}}, %y[%[[COPY]], %[[W]]]
!copied = memref<1xf32, #task.map<spatial(1) * replicate(128)>, #cuda.space<register>>
cuda.kernel @copies(%y : memref<2x128xf32>) grid(1) block(384) {
  %one = arith.constant 1.0 : f32
  task.group first(128) count(128) copies(2) (%w, %copy) {
    %tile = memref.alloca() : !copied
    task.foreach (%i) of %tile on %w : !copied {
      memref.store %one, %tile[%i] : !copied
    }
    task.combine add %tile on %w : !copied
    memref.store %one, %y[%copy, %w] : memref<2x128xf32>
  }
}

// -----

// In a block of several dimensions a group counts threads as CUDA does.

// CHECK-LABEL: cuda.kernel @dimensions
// CHECK:         %[[C:.*]] = arith.constant 16 : index
// CHECK:         %[[X:.*]] = cuda.thread_id x
// CHECK-NEXT:    %[[Y:.*]] = cuda.thread_id y
// CHECK-NEXT:    %[[R:.*]] = arith.muli %[[Y]], %[[C]] : index
// CHECK-NEXT:    %[[T:.*]] = arith.addi %[[R]], %[[X]] : index
// CHECK:         arith.cmpi slt, %[[T]]
cuda.kernel @dimensions() grid(1) block(16, 4) {
  task.group first(0) count(32) (%w) {
  }
}
