// RUN: hidet-opt %s -p 'verify-level{level=task}' --verify-diagnostics --split-input-file | filecheck %s

// Task ops and barriers need all threads of the block.

// CHECK: task.foreach is collective, but under divergent control flow: scf.if around it depends on cuda.thread_id
// CHECK-NEXT: at: task.foreach in @branch
// CHECK-NEXT: hint: move it out, or make the condition uniform
cuda.kernel @branch() grid(4) block(64) {
  %t = cuda.thread_id x
  %seven = arith.constant 7 : index
  %first = arith.cmpi slt, %t, %seven : index
  scf.if %first {
    task.foreach (%i) in #task.map<spatial(7)> on %t {
    }
  }
}

// -----

// CHECK: cuda.sync_threads is collective, but under divergent control flow: scf.for around it
// CHECK-NEXT: at: cuda.sync_threads in @loop
cuda.kernel @loop(%c : i1) grid(4) block(64) {
  %t = cuda.thread_id x
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %count = arith.addi %t, %one : index
  scf.for %i = %zero to %count step %one {
    scf.if %c {
      cuda.sync_threads
    }
  }
}

// -----

// What a thread keeps in memory of its own differs, too; so does what it selects or carries.

// CHECK: cuda.sync_threads is collective, but under divergent control flow: scf.if around it
cuda.kernel @memory() grid(4) block(64) {
  %flag = memref.alloca() : memref<i1, #cuda.space<local>>
  %c = memref.load %flag[] : memref<i1, #cuda.space<local>>
  scf.if %c {
    cuda.sync_threads
  }
}

// -----

// CHECK: cuda.sync_threads is collective, but under divergent control flow: scf.if around it
// CHECK-NEXT: at: cuda.sync_threads in @carried
cuda.kernel @carried(%c : i1) grid(4) block(64) {
  %t = cuda.thread_id x
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %one step %one iter_args(%a = %zero) -> (index) {
    %before = arith.cmpi eq, %a, %zero : index
    scf.if %before {
      cuda.sync_threads
    }
    %next = scf.if %c -> (index) {
      scf.yield %t : index
    } else {
      scf.yield %a : index
    }
    scf.yield %next : index
  }
}

// -----

// CHECK: task.combine is collective, but under divergent control flow: task.foreach around it
// CHECK-NEXT: at: task.combine in @bound
cuda.kernel @bound() grid(1) block(64) {
  %t = cuda.thread_id x
  %c = memref.alloca() : memref<2xf32, #task.map<spatial(2) * replicate(32)>, #cuda.space<register>>
  task.foreach (%i) in #task.map<spatial(64)> on %t bound [60] {
    task.combine add %c on %t : memref<2xf32, #task.map<spatial(2) * replicate(32)>, #cuda.space<register>>
  }
}

// -----

// Conditions on blocks, loops with fixed bounds, data of the whole block, tasks of equal number.

// CHECK: cuda.kernel @legal
cuda.kernel @legal(%n : memref<4xindex>, %c : i1) grid(4) block(64) {
  %t = cuda.thread_id x
  %b = cuda.block_id x
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %first = arith.cmpi eq, %b, %zero : index
  scf.if %first {
    cuda.sync_threads
  }
  %count = memref.load %n[%b] : memref<4xindex>
  scf.for %i = %zero to %count step %one {
    scf.if %c {
      task.foreach (%j) in #task.map<spatial(64) * repeat(2)> on %t {
        cuda.sync_threads
      }
    }
  }
}

// -----

// A loop over tasks that all workers have is one of a thread.

// CHECK: cuda.kernel @private
cuda.kernel @private() grid(4) block(64) {
  %t = cuda.thread_id x
  %seven = arith.constant 7 : index
  %first = arith.cmpi slt, %t, %seven : index
  scf.if %first {
    task.foreach (%i) in #task.map<repeat(7) * replicate(64)> on %t {
    }
  }
}

// -----

// Shuffles and barriers of a warp need its lanes only.

// CHECK: cuda.kernel @warps
cuda.kernel @warps(%v : f32) grid(4) block(64) {
  %t = cuda.thread_id x
  %one = arith.constant 1 : index
  %warp = arith.constant 32 : index
  %lane = arith.constant 1 : i32
  %number = arith.divsi %t, %warp : index
  %second = arith.cmpi eq, %number, %one : index
  scf.if %second {
    cuda.sync_warp
  }
  %first = arith.cmpi slt, %t, %warp : index
  scf.if %first {
    %w = cuda.shfl xor %v, %lane : f32
  }
}

// -----

// CHECK: cuda.sync_threads is collective, but under divergent control flow: scf.if around it
// CHECK-NEXT: at: cuda.sync_threads in @warps_of_block
cuda.kernel @warps_of_block() grid(4) block(64) {
  %t = cuda.thread_id x
  %warp = arith.constant 32 : index
  %first = arith.cmpi slt, %t, %warp : index
  scf.if %first {
    cuda.sync_threads
  }
}

// -----

// CHECK: cuda.shfl is collective, but under divergent control flow: scf.if around it
// CHECK-NEXT: at: cuda.shfl in @lanes
cuda.kernel @lanes(%v : f32) grid(4) block(64) {
  %t = cuda.thread_id x
  %half = arith.constant 16 : index
  %lane = arith.constant 1 : i32
  %first = arith.cmpi slt, %t, %half : index
  scf.if %first {
    %w = cuda.shfl xor %v, %lane : f32
  }
}

// -----

// Warps do not follow x where the rows of a block are shorter.

// CHECK: cuda.sync_warp is collective, but under divergent control flow: scf.if around it
cuda.kernel @short_rows() grid(4) block(16, 4) {
  %y = cuda.thread_id y
  %one = arith.constant 1 : index
  %second = arith.cmpi eq, %y, %one : index
  scf.if %second {
    cuda.sync_warp
  }
}

// -----

// A product of a warp is no matter of the other warps.

// CHECK: cuda.kernel @warps_multiply
cuda.kernel @warps_multiply() grid(4) block(64) {
  %t = cuda.thread_id x
  %0 = arith.constant 0 : index
  %warp = arith.constant 32 : index
  %a = memref.alloca() : memref<4xf32, #cuda.space<local>>
  %first = arith.cmpi slt, %t, %warp : index
  scf.if %first {
    cuda.mma_sync "m16n8k8_tf32_f32" %a[%0], %a[%0], %a[%0] : memref<4xf32, #cuda.space<local>>, memref<4xf32, #cuda.space<local>>, memref<4xf32, #cuda.space<local>>
  }
}

// -----

// CHECK: cuda.mma_sync is collective, but under divergent control flow: scf.if around it
// CHECK-NEXT: at: cuda.mma_sync in @lanes_multiply
cuda.kernel @lanes_multiply() grid(4) block(64) {
  %t = cuda.thread_id x
  %0 = arith.constant 0 : index
  %half = arith.constant 16 : index
  %a = memref.alloca() : memref<4xf32, #cuda.space<local>>
  %first = arith.cmpi slt, %t, %half : index
  scf.if %first {
    cuda.mma_sync "m16n8k8_tf32_f32" %a[%0], %a[%0], %a[%0] : memref<4xf32, #cuda.space<local>>, memref<4xf32, #cuda.space<local>>, memref<4xf32, #cuda.space<local>>
  }
}

// -----

// CHECK: cuda.ldmatrix is collective, but under divergent control flow: scf.if around it
cuda.kernel @lanes_load() grid(4) block(64) {
  %t = cuda.thread_id x
  %0 = arith.constant 0 : index
  %half = arith.constant 16 : index
  %s = memref.alloca() : memref<64x4xf32, #cuda.space<shared>>
  %a = memref.alloca() : memref<4xf32, #cuda.space<local>>
  %first = arith.cmpi slt, %t, %half : index
  scf.if %first {
    cuda.ldmatrix %s[%t, %0] to %a[%0] count 4 : memref<64x4xf32, #cuda.space<shared>> to memref<4xf32, #cuda.space<local>>
  }
}

// -----

// A variable is the same for all threads as long as they all give it the same.

// CHECK-LABEL: cuda.kernel @left_together
cuda.kernel @left_together(%x : memref<64xf32>, %n : index) grid(4) block(64) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %a = arith.constant 1.0 : f32
  %true = arith.constant true
  %running = memref.alloca() : memref<i1, #cuda.space<local>>
  memref.store %true, %running[] : memref<i1, #cuda.space<local>>
  scf.for %k = %0 to %n step %1 {
    %r = memref.load %running[] : memref<i1, #cuda.space<local>>
    scf.if %r {
      cuda.sync_threads
      %v = memref.load %x[%k] : memref<64xf32>
      %c = arith.cmpf ogt, %v, %a : f32
      scf.if %c {
        %false = arith.constant false
        memref.store %false, %running[] : memref<i1, #cuda.space<local>>
      }
    }
  }
}

// -----

// CHECK: cuda.sync_threads is collective, but under divergent control flow: scf.if around it
// CHECK-NEXT: at: cuda.sync_threads in @left_alone
cuda.kernel @left_alone(%x : memref<64xf32>, %n : index) grid(4) block(64) {
  %t = cuda.thread_id x
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %a = arith.constant 1.0 : f32
  %true = arith.constant true
  %running = memref.alloca() : memref<i1, #cuda.space<local>>
  memref.store %true, %running[] : memref<i1, #cuda.space<local>>
  scf.for %k = %0 to %n step %1 {
    %r = memref.load %running[] : memref<i1, #cuda.space<local>>
    scf.if %r {
      cuda.sync_threads
      %v = memref.load %x[%t] : memref<64xf32>
      %c = arith.cmpf ogt, %v, %a : f32
      scf.if %c {
        %false = arith.constant false
        memref.store %false, %running[] : memref<i1, #cuda.space<local>>
      }
    }
  }
}
