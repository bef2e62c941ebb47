// RUN: hidet-opt %s -p 'insert-barriers' --split-input-file | filecheck %s

// What one thread has written to shared memory another may read after a barrier.

#threads = #task.map<spatial(128)>
!tile = memref<128xf32, #cuda.space<shared>>

// CHECK-LABEL: cuda.kernel @exchange
// CHECK:         task.copy %x[%zero] to %s[]
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    task.foreach (%i)
// CHECK-NOT:     cuda.sync_threads
cuda.kernel @exchange(%x : memref<128xf32>, %y : memref<128xf32>) grid(1) block(128) {
  %t = cuda.thread_id x
  %zero = arith.constant 0 : index
  %s = memref.alloca() : !tile
  task.copy %x[%zero] to %s[] in #threads on %t : memref<128xf32> to !tile
  task.foreach (%i) in #threads on %t {
    %c127 = arith.constant 127 : index
    %k = arith.subi %c127, %i : index
    %v = memref.load %s[%k] : !tile
    memref.store %v, %y[%i] : memref<128xf32>
  }
}

// -----

// No barrier is due to registers or global memory, between two reads, or between different tiles.

#threads = #task.map<spatial(128)>
!tile = memref<128xf32, #cuda.space<shared>>
!registers = memref<128xf32, #threads, #cuda.space<register>>

// CHECK-LABEL: cuda.kernel @none
// CHECK-NOT:     cuda.sync_threads
// CHECK:         task.copy %b[] to %y[%zero]
// CHECK-NOT:     cuda.sync_threads
cuda.kernel @none(%x : memref<128xf32>, %y : memref<128xf32>, %s : !tile) grid(1) block(128) {
  %t = cuda.thread_id x
  %zero = arith.constant 0 : index
  %a = memref.alloca() : !registers
  %b = memref.alloca() : !registers
  %other = memref.alloca() : !tile
  task.copy %x[%zero] to %a[] on %t : memref<128xf32> to !registers
  task.copy %s[] to %y[%zero] in #threads on %t : !tile to memref<128xf32>
  task.copy %a[] to %y[%zero] on %t : !registers to memref<128xf32>
  task.copy %x[%zero] to %other[] in #threads on %t : memref<128xf32> to !tile
  task.copy %s[] to %y[%zero] in #threads on %t : !tile to memref<128xf32>
  task.copy %b[] to %y[%zero] on %t : !registers to memref<128xf32>
}

// -----

// One barrier orders all that is before it; a tile is overwritten only when all have read it.

#threads = #task.map<spatial(128)>
!tile = memref<128xf32, #cuda.space<shared>>

// CHECK-LABEL: cuda.kernel @shared_barrier
// CHECK:         task.copy %x[%zero] to %a[]
// CHECK-NEXT:    task.copy %x[%zero] to %b[]
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    task.copy %a[] to %y[%zero]
// CHECK-NEXT:    task.copy %b[] to %y[%zero]
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    task.copy %y[%zero] to %a[]
// CHECK-NEXT:  }
cuda.kernel @shared_barrier(%x : memref<128xf32>, %y : memref<128xf32>) grid(1) block(128) {
  %t = cuda.thread_id x
  %zero = arith.constant 0 : index
  %a = memref.alloca() : !tile
  %b = memref.alloca() : !tile
  task.copy %x[%zero] to %a[] in #threads on %t : memref<128xf32> to !tile
  task.copy %x[%zero] to %b[] in #threads on %t : memref<128xf32> to !tile
  task.copy %a[] to %y[%zero] in #threads on %t : !tile to memref<128xf32>
  task.copy %b[] to %y[%zero] in #threads on %t : !tile to memref<128xf32>
  task.copy %y[%zero] to %a[] in #threads on %t : memref<128xf32> to !tile
}

// -----

// The next round of a loop overwrites what this one reads: the loop waits at its head too.

#threads = #task.map<spatial(128)>
!tile = memref<128xf32, #cuda.space<shared>>

// CHECK-LABEL: cuda.kernel @loop
// CHECK:         scf.for %k
// CHECK-NEXT:      cuda.sync_threads
// CHECK-NEXT:      task.copy %x[%k, %zero] to %s[]
// CHECK-NEXT:      cuda.sync_threads
// CHECK-NEXT:      task.copy %s[] to %y[%k, %zero]
// CHECK-NEXT:    }
cuda.kernel @loop(%x : memref<4x128xf32>, %y : memref<4x128xf32>) grid(1) block(128) {
  %t = cuda.thread_id x
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %s = memref.alloca() : !tile
  scf.for %k = %zero to %four step %one {
    task.copy %x[%k, %zero] to %s[] in #threads on %t : memref<4x128xf32> to !tile
    task.copy %s[] to %y[%k, %zero] in #threads on %t : !tile to memref<4x128xf32>
  }
}

// -----

// A loop that only reads waits once, ahead of itself; so does what overwrites the tile after it.

#threads = #task.map<spatial(128)>
!tile = memref<128xf32, #cuda.space<shared>>

// CHECK-LABEL: cuda.kernel @around_loop
// CHECK:         task.copy %x[%zero, %zero] to %s[]
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    scf.for %k
// CHECK-NEXT:      task.copy %s[] to %y[%k, %zero]
// CHECK-NEXT:    }
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    task.copy %x[%one, %zero] to %s[]
cuda.kernel @around_loop(%x : memref<4x128xf32>, %y : memref<4x128xf32>) grid(1) block(128) {
  %t = cuda.thread_id x
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %s = memref.alloca() : !tile
  task.copy %x[%zero, %zero] to %s[] in #threads on %t : memref<4x128xf32> to !tile
  scf.for %k = %zero to %four step %one {
    task.copy %s[] to %y[%k, %zero] in #threads on %t : !tile to memref<4x128xf32>
  }
  task.copy %x[%one, %zero] to %s[] in #threads on %t : memref<4x128xf32> to !tile
}

// -----

// The back edge of an outer loop leads through the inner one: the inner loop's first round meets
// what the outer one has written, the outer one's next round what the inner has read.

#threads = #task.map<spatial(128)>
!tile = memref<128xf32, #cuda.space<shared>>

// CHECK-LABEL: cuda.kernel @nested
// CHECK:         scf.for %k
// CHECK-NEXT:      cuda.sync_threads
// CHECK-NEXT:      task.copy %x[%k, %zero] to %s[]
// CHECK-NEXT:      cuda.sync_threads
// CHECK-NEXT:      scf.for %l
// CHECK-NEXT:        task.copy %s[] to %y[%l, %zero]
// CHECK-NEXT:      }
// CHECK-NEXT:    }
cuda.kernel @nested(%x : memref<4x128xf32>, %y : memref<4x128xf32>) grid(1) block(128) {
  %t = cuda.thread_id x
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %s = memref.alloca() : !tile
  scf.for %k = %zero to %four step %one {
    task.copy %x[%k, %zero] to %s[] in #threads on %t : memref<4x128xf32> to !tile
    scf.for %l = %zero to %four step %one {
      task.copy %s[] to %y[%l, %zero] in #threads on %t : !tile to memref<4x128xf32>
    }
  }
}

// -----

// A product of tiles reads both of them.

#threads = #task.map<spatial(4, 4)>
!tile = memref<4x4xf32, #cuda.space<shared>>

// CHECK-LABEL: cuda.kernel @matmul
// CHECK:         task.copy %x[%zero, %zero] to %b[]
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    task.matmul %a, %b
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    task.copy %x[%zero, %zero] to %b[]
cuda.kernel @matmul(%x : memref<4x4xf32>) grid(1) block(16) {
  %t = cuda.thread_id x
  %zero = arith.constant 0 : index
  %a = memref.alloca() : !tile
  %b = memref.alloca() : !tile
  %c = memref.alloca() : memref<4x4xf32, #threads, #cuda.space<register>>
  task.copy %x[%zero, %zero] to %b[] in #threads on %t : memref<4x4xf32> to !tile
  task.matmul %a, %b to %c on %t : !tile, !tile to memref<4x4xf32, #threads, #cuda.space<register>>
  task.copy %x[%zero, %zero] to %b[] in #threads on %t : memref<4x4xf32> to !tile
}

// -----

// Barriers that someone wrote stay, needed or not, and count.

#threads = #task.map<spatial(128)>
!tile = memref<128xf32, #cuda.space<shared>>

// CHECK-LABEL: cuda.kernel @explicit
// CHECK:         cuda.sync_threads
// CHECK-NEXT:    task.copy %x[%zero] to %s[]
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    task.copy %s[] to %y[%zero]
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:  }
cuda.kernel @explicit(%x : memref<128xf32>, %y : memref<128xf32>) grid(1) block(128) {
  %t = cuda.thread_id x
  %zero = arith.constant 0 : index
  %s = memref.alloca() : !tile
  cuda.sync_threads
  task.copy %x[%zero] to %s[] in #threads on %t : memref<128xf32> to !tile
  cuda.sync_threads
  task.copy %s[] to %y[%zero] in #threads on %t : !tile to memref<128xf32>
  cuda.sync_threads
}

// -----

// Threads take the arm of a uniform branch together and may meet in it; after it, either arm may
// have been taken: the tile that one of them left unread is waited for.

#threads = #task.map<spatial(128)>
!tile = memref<128xf32, #cuda.space<shared>>

// CHECK-LABEL: cuda.kernel @branch
// CHECK:         task.copy %x[%zero] to %s[]
// CHECK-NEXT:    scf.if %first {
// CHECK-NEXT:      cuda.sync_threads
// CHECK-NEXT:      task.copy %s[] to %y[%zero]
// CHECK-NEXT:    }
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    task.copy %s[] to %y[%zero]
cuda.kernel @branch(%x : memref<128xf32>, %y : memref<128xf32>) grid(1) block(128) {
  %t = cuda.thread_id x
  %b = cuda.block_id x
  %zero = arith.constant 0 : index
  %s = memref.alloca() : !tile
  %first = arith.cmpi eq, %b, %zero : index
  task.copy %x[%zero] to %s[] in #threads on %t : memref<128xf32> to !tile
  scf.if %first {
    task.copy %s[] to %y[%zero] in #threads on %t : !tile to memref<128xf32>
  }
  task.copy %s[] to %y[%zero] in #threads on %t : !tile to memref<128xf32>
}

// -----

// What one arm has written is waited for after the branch, though the other one has written nothing.

!tile = memref<128xf32, #cuda.space<shared>>
#threads = #task.map<spatial(128)>

// CHECK-LABEL: cuda.kernel @arm
// CHECK:         scf.if %first {
// CHECK-NEXT:      task.copy %x[%zero] to %s[]
// CHECK-NEXT:    }
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    task.copy %s[] to %y[%zero]
cuda.kernel @arm(%x : memref<128xf32>, %y : memref<128xf32>) grid(1) block(128) {
  %t = cuda.thread_id x
  %b = cuda.block_id x
  %zero = arith.constant 0 : index
  %s = memref.alloca() : !tile
  %first = arith.cmpi eq, %b, %zero : index
  scf.if %first {
    task.copy %x[%zero] to %s[] in #threads on %t : memref<128xf32> to !tile
  }
  task.copy %s[] to %y[%zero] in #threads on %t : !tile to memref<128xf32>
}

// -----

// A barrier in one arm at the head of a loop does not order what is before the loop: where the
// other arm is taken, nobody waits.

!tile = memref<128xf32, #cuda.space<shared>>
#threads = #task.map<spatial(128)>

// CHECK-LABEL: cuda.kernel @barrier_in_arm
// CHECK:         task.copy %x[%zero] to %s[]
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      scf.if %first {
// CHECK-NEXT:        cuda.sync_threads
// CHECK-NEXT:      }
// CHECK-NEXT:      task.copy %s[] to %y[%zero]
cuda.kernel @barrier_in_arm(%x : memref<128xf32>, %y : memref<128xf32>) grid(1) block(128) {
  %t = cuda.thread_id x
  %b = cuda.block_id x
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %s = memref.alloca() : !tile
  %first = arith.cmpi eq, %b, %zero : index
  task.copy %x[%zero] to %s[] in #threads on %t : memref<128xf32> to !tile
  scf.for %k = %zero to %four step %one {
    scf.if %first {
      cuda.sync_threads
    }
    task.copy %s[] to %y[%zero] in #threads on %t : !tile to memref<128xf32>
  }
}

// -----

// Threads may go different ways through a branch without task ops: the barrier is ahead of it, not
// in it.

!tile = memref<128xf32, #cuda.space<shared>>

// CHECK-LABEL: cuda.kernel @divergent
// CHECK:         memref.store %v, %s[%t]
// CHECK:         cuda.sync_threads
// CHECK-NEXT:    scf.if %mine {
// CHECK-NOT:     cuda.sync_threads
cuda.kernel @divergent(%x : memref<128xf32>, %y : memref<128xf32>) grid(1) block(128) {
  %t = cuda.thread_id x
  %c1 = arith.constant 1 : index
  %s = memref.alloca() : !tile
  %v = memref.load %x[%t] : memref<128xf32>
  memref.store %v, %s[%t] : !tile
  %mine = arith.cmpi slt, %t, %c1 : index
  scf.if %mine {
    %w = memref.load %s[%c1] : !tile
    memref.store %w, %y[%t] : memref<128xf32>
  }
}

// -----

// Instructions of a warp read what other threads have copied.

!tile = memref<128xf32, #cuda.space<shared>>
!fragment = memref<1xf32, #cuda.space<local>>

// CHECK-LABEL: cuda.kernel @instructions
// CHECK:         cuda.cp_async_wait 0
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    cuda.ldmatrix
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    cuda.cp_async ca
cuda.kernel @instructions(%x : memref<128xf32>) grid(1) block(128) {
  %t = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %s = memref.alloca() : !tile
  %r = memref.alloca() : !fragment
  cuda.cp_async ca %x[%t] to %s[%t] width 1 : memref<128xf32> to !tile
  cuda.cp_async_wait 0
  cuda.ldmatrix %s[%t] to %r[%c0] count 1 : !tile to !fragment
  cuda.cp_async ca %x[%t] to %s[%t] width 1 : memref<128xf32> to !tile
}

// -----

// A loop that goes on as long as a condition holds: all threads run it alike, so they can meet in
// it, before what the last iteration has left is overwritten.

#threads = #task.map<spatial(128)>
!tile = memref<128xf32, #cuda.space<shared>>

// CHECK-LABEL: cuda.kernel @while
// CHECK:         scf.while
// CHECK:         } do {
// CHECK-NEXT:      cuda.sync_threads
// CHECK-NEXT:      task.copy %x[%zero] to %s[]
// CHECK-NEXT:      cuda.sync_threads
// CHECK-NEXT:      task.copy %s[] to %y[%zero]
cuda.kernel @while(%x : memref<128xf32>, %y : memref<128xf32>, %n : memref<1xi32>) grid(1) block(128) {
  %t = cuda.thread_id x
  %zero = arith.constant 0 : index
  %0 = arith.constant 0 : i32
  %s = memref.alloca() : !tile
  scf.while () : () -> () {
    %v = memref.load %n[%zero] : memref<1xi32>
    %c = arith.cmpi eq, %v, %0 : i32
    scf.condition(%c)
  } do {
    task.copy %x[%zero] to %s[] in #threads on %t : memref<128xf32> to !tile
    task.copy %s[] to %y[%zero] in #threads on %t : !tile to memref<128xf32>
    scf.yield
  }
}

// -----

// Threads do not meet in a branch that only some of them take: what is in there is ordered as a
// whole. Atomics write.

#threads = #task.map<spatial(128)>
!tile = memref<128xf32, #cuda.space<shared>>

// CHECK-LABEL: cuda.kernel @divergent
// CHECK:         task.copy
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    scf.if %first {
// CHECK-NOT:       cuda.sync_threads
// CHECK:             memref.store %{{.*}}, %y[
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    %a = cuda.atomic
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    task.copy %s[]
cuda.kernel @divergent(%x : memref<128xf32>, %y : memref<128xf32>) grid(1) block(128) {
  %t = cuda.thread_id x
  %zero = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  %first = arith.cmpi slt, %t, %c32 : index
  %s = memref.alloca() : !tile
  task.copy %x[%zero] to %s[] in #threads on %t : memref<128xf32> to !tile
  scf.if %first {
    task.foreach (%i) in #task.map<spatial(32)> on %t {
      %v = memref.load %s[%i] : !tile
      memref.store %v, %s[%zero] : !tile
    }
    task.foreach (%i) in #task.map<spatial(32)> on %t {
      %v = memref.load %s[%zero] : !tile
      memref.store %v, %y[%i] : memref<128xf32>
    }
  }
  %a = cuda.atomic add %one, %s[%zero] : memref<128xf32, #cuda.space<shared>>
  task.copy %s[] to %y[%zero] in #threads on %t : !tile to memref<128xf32>
}

// -----

// Where no verb is used barriers may be left to who wrote the kernel.

!tile = memref<128xf32, #cuda.space<shared>>

// CHECK-LABEL: cuda.kernel @threads
// CHECK:         memref.store %{{.*}}, %s[%t]
// CHECK-NEXT:    cuda.sync_threads

// VERBS-LABEL: cuda.kernel @exchange
// VERBS:         cuda.sync_threads
// VERBS-LABEL: cuda.kernel @threads
// VERBS-NOT:     cuda.sync_threads
cuda.kernel @threads(%y : memref<128xf32>) grid(1) block(128) {
  %t = cuda.thread_id x
  %zero = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %s = memref.alloca() : !tile
  memref.store %one, %s[%t] : !tile
  %v = memref.load %s[%zero] : !tile
  memref.store %v, %y[%t] : memref<128xf32>
}

// -----

// A kernel that is explicit about its barriers is left alone, unless it uses verbs.

#threads = #task.map<spatial(128)>
!tile = memref<128xf32, #cuda.space<shared>>

// CHECK-LABEL: cuda.kernel @explicit
// CHECK-NOT:     cuda.sync_threads
cuda.kernel @explicit(%x : memref<128xf32>, %y : memref<128xf32>) grid(1) block(128) attributes {cuda.explicit} {
  %t = cuda.thread_id x
  %s = memref.alloca() : !tile
  %v = memref.load %x[%t] : memref<128xf32>
  memref.store %v, %s[%t] : !tile
  %w = memref.load %s[%t] : !tile
  memref.store %w, %y[%t] : memref<128xf32>
}

// CHECK-LABEL: cuda.kernel @explicit_verbs
// CHECK:         cuda.sync_threads
cuda.kernel @explicit_verbs(%x : memref<128xf32>, %y : memref<128xf32>) grid(1) block(128) attributes {cuda.explicit} {
  %t = cuda.thread_id x
  %zero = arith.constant 0 : index
  %s = memref.alloca() : !tile
  task.copy %x[%zero] to %s[] in #threads on %t : memref<128xf32> to !tile
  task.copy %s[] to %y[%zero] in #threads on %t : !tile to memref<128xf32>
}

// -----

// A group waits for itself at a barrier of its own, and keeps it; numbers of the kernel are left to
// it. Other threads wait for what the group has done at one of the block.

#half = #task.map<spatial(64)>
!tile = memref<64xf32, #cuda.space<shared>>

// CHECK-LABEL: cuda.kernel @groups
// CHECK:         task.group first(0) count(64) barrier(14) (%w) {
// CHECK:           task.copy %x[%zero] to %a[]
// CHECK-NEXT:      %[[N:.*]] = arith.constant 14 : i32
// CHECK-NEXT:      cuda.barrier_sync %[[N]] count 64
// CHECK-NEXT:      task.copy %a[] to %y[%zero]
// CHECK-NOT:     cuda.sync_threads
// CHECK:         task.group first(64) count(64) (%{{.*}}) {
// CHECK-NEXT:      task.copy %x[%zero] to %a[]
// CHECK-NEXT:    }
// CHECK-NEXT:    task.group first(0) count(64) barrier(14) (%{{.*}}) {
// CHECK-NEXT:      %[[M:.*]] = arith.constant 14 : i32
// CHECK-NEXT:      cuda.barrier_sync %[[M]] count 64
// CHECK-NEXT:      task.copy %x[%zero] to %a[]
// CHECK-NEXT:    }
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    task.group first(32) count(64)
// CHECK-NEXT:      task.copy %x[%zero] to %a[]
// CHECK-NEXT:    }
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    task.copy %a[]
cuda.kernel @groups(%x : memref<64xf32>, %y : memref<64xf32>) grid(1) block(128) {
  %t = cuda.thread_id x
  %zero = arith.constant 0 : index
  %a = memref.alloca() : !tile
  %fifteen = arith.constant 15 : i32
  cuda.barrier_sync %fifteen count 64
  task.group first(0) count(64) (%w) {
    task.copy %x[%zero] to %a[] in #half on %w : memref<64xf32> to !tile
    task.copy %a[] to %y[%zero] in #half on %w : !tile to memref<64xf32>
  }
  task.group first(64) count(64) (%w) {
    task.copy %x[%zero] to %a[] in #half on %w : memref<64xf32> to !tile
  }
  task.group first(0) count(64) (%w) {
    task.copy %x[%zero] to %a[] in #half on %w : memref<64xf32> to !tile
  }
  task.group first(32) count(64) (%w) {
    task.copy %x[%zero] to %a[] in #half on %w : memref<64xf32> to !tile
  }
  task.copy %a[] to %y[%zero] in #task.map<spatial(64) * replicate(2)> on %t : !tile to memref<64xf32>
}

// -----

// A loop goes back to a group that has not waited for itself since: it does in the loop. What the
// whole block does in the loop waits for all. A barrier that is there already counts.

#half = #task.map<spatial(64)>
!tile = memref<64xf32, #cuda.space<shared>>

// CHECK-LABEL: cuda.kernel @group_in_loop
// CHECK:         scf.for
// CHECK-NEXT:      task.group first(0) count(64) barrier(15) (%w) {
// CHECK-NEXT:        arith.constant 15 : i32
// CHECK-NEXT:        cuda.barrier_sync
// CHECK-NEXT:        task.copy %x[%zero] to %a[]
// CHECK-NEXT:        cuda.barrier_sync %one
// CHECK-NEXT:        task.copy %a[] to %y[%zero]
// CHECK-NEXT:      }
// CHECK-NOT:     cuda.sync_threads
// CHECK:         scf.for
// CHECK-NEXT:      cuda.sync_threads
// CHECK-NEXT:      task.group first(0) count(64) (%{{.*}}) {
// CHECK-NEXT:        task.copy %x[%zero] to %b[]
// CHECK-NEXT:      }
// CHECK-NEXT:      cuda.sync_threads
// CHECK-NEXT:      task.copy %b[]
cuda.kernel @group_in_loop(%x : memref<64xf32>, %y : memref<64xf32>) grid(1) block(128) {
  %t = cuda.thread_id x
  %zero = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1 : i32
  %a = memref.alloca() : !tile
  %b = memref.alloca() : !tile
  scf.for %i = %zero to %c8 step %c1 {
    task.group first(0) count(64) (%w) {
      task.copy %x[%zero] to %a[] in #half on %w : memref<64xf32> to !tile
      cuda.barrier_sync %one count 64
      task.copy %a[] to %y[%zero] in #half on %w : !tile to memref<64xf32>
    }
  }
  scf.for %i = %zero to %c8 step %c1 {
    task.group first(0) count(64) (%w) {
      task.copy %x[%zero] to %b[] in #half on %w : memref<64xf32> to !tile
    }
    task.copy %b[] to %y[%zero] in #task.map<spatial(64) * replicate(2)> on %t : !tile to memref<64xf32>
  }
}

// -----

// What a group has done before a loop, which the same group needs in it, is waited for ahead of the
// loop.

#half = #task.map<spatial(64)>
!tile = memref<64xf32, #cuda.space<shared>>

// CHECK-LABEL: cuda.kernel @group_around_loop
// CHECK:           task.copy %x[%zero] to %a[]
// CHECK-NEXT:    }
// CHECK-NEXT:    cuda.sync_threads
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      task.group first(0) count(64) (%{{.*}}) {
// CHECK-NEXT:        task.copy %a[] to %y[%zero]
cuda.kernel @group_around_loop(%x : memref<64xf32>, %y : memref<64xf32>) grid(1) block(128) {
  %zero = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %a = memref.alloca() : !tile
  task.group first(0) count(64) (%w) {
    task.copy %x[%zero] to %a[] in #half on %w : memref<64xf32> to !tile
  }
  scf.for %i = %zero to %c8 step %c1 {
    task.group first(0) count(64) (%w) {
      task.copy %a[] to %y[%zero] in #half on %w : !tile to memref<64xf32>
    }
  }
}
