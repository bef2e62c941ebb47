// RUN: hidet-opt %s -p 'form-expressions' -t cuda | filecheck %s
// RUN: hidet-opt %s -p 'form-expressions' | filecheck %s --check-prefix IR

// What folds has no name, what is declared has one, and the kernel is marked.

// CHECK-LABEL: // basic
// CHECK:       const int b = blockIdx.x;
// CHECK-NEXT:  const int t = threadIdx.x;
// CHECK-NEXT:  out[b * 64 + t] = hidet::exp(x[b * 64 + t] + 1.0f);
// IR-LABEL: cuda.kernel @basic
// IR-SAME:  attributes {cuda.formed}
// IR-NEXT:    %b = cuda.block_id x
// IR-NEXT:    %t = cuda.thread_id x
// IR-NEXT:    %0 = arith.constant 64 : index
// IR-NEXT:    %1 = arith.muli %b, %0 : index
// IR:         %{{[0-9]+}} = memref.load %x
cuda.kernel @basic(%x : memref<4096xf32>, %out : memref<4096xf32>) grid(64) block(64) {
  %c64 = arith.constant 64 : index
  %b = cuda.block_id x
  %t = cuda.thread_id x
  %i = cuda.block_id x
  %0 = arith.muli %b, %c64 : index
  %1 = arith.addi %0, %t : index
  %v = memref.load %x[%1] : memref<4096xf32>
  %one = arith.constant 1.0 : f32
  %s = arith.addf %v, %one : f32
  %e = math.exp %s : f32
  %2 = arith.muli %i, %c64 : index
  %t2 = cuda.thread_id x
  %3 = arith.addi %2, %t2 : index
  memref.store %e, %out[%3] : memref<4096xf32>
}

// THE TRAP. The load folds into p and p into q, but q stands after the store: it is the statement in
// which the text of the load ends that counts.

// CHECK-LABEL: // trap
// CHECK:       const float l = a[0];
// CHECK-NEXT:  a[0] = 0.0f;
// CHECK-NEXT:  b[0] = l * 2.0f + 1.0f;
cuda.kernel @trap(%a : memref<1xf32>, %b : memref<1xf32>) grid(1) block(1) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %l = memref.load %a[%c0] : memref<1xf32>
  %p = arith.mulf %l, %two : f32
  memref.store %zero, %a[%c0] : memref<1xf32>
  %q = arith.addf %p, %one : f32
  memref.store %q, %b[%c0] : memref<1xf32>
}

// Arguments are not told apart; an array of the kernel is other memory.

// CHECK-LABEL: // aliasing
// CHECK:       const float l = x[0];
// CHECK-NEXT:  y[0] = 1.0f;
// CHECK-NEXT:  buf[0] = l;
// CHECK-NEXT:  y[0] = x[0] + buf[0];
cuda.kernel @aliasing(%x : memref<1xf32>, %y : memref<1xf32>) grid(1) block(1) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %buf = memref.alloca() : memref<4xf32, #cuda.space<shared>>
  %l = memref.load %x[%c0] : memref<1xf32>
  memref.store %one, %y[%c0] : memref<1xf32>
  %m = memref.load %x[%c0] : memref<1xf32>
  memref.store %l, %buf[%c0] : memref<4xf32, #cuda.space<shared>>
  %n = memref.load %buf[%c0] : memref<4xf32, #cuda.space<shared>>
  %s = arith.addf %m, %n : f32
  memref.store %s, %y[%c0] : memref<1xf32>
}

// A barrier is a write of the other threads, but not to a variable of this one.

// CHECK-LABEL: // barrier
// CHECK:       const float l = tile[0];
// CHECK-NEXT:  hidet::sync_threads();
// CHECK-NEXT:  tile[0] = l + mine[0];
cuda.kernel @barrier() grid(1) block(32) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %tile = memref.alloca() : memref<4xf32, #cuda.space<shared>>
  %mine = memref.alloca() : memref<4xf32, #cuda.space<local>>
  memref.store %one, %mine[%c0] : memref<4xf32, #cuda.space<local>>
  %l = memref.load %tile[%c0] : memref<4xf32, #cuda.space<shared>>
  %m = memref.load %mine[%c0] : memref<4xf32, #cuda.space<local>>
  cuda.sync_threads
  %s = arith.addf %l, %m : f32
  memref.store %s, %tile[%c0] : memref<4xf32, #cuda.space<shared>>
}

// A load does not move over an operation that writes in its body, nor into a body. One that only
// reads may be passed. Arithmetic moves into bodies, but float arithmetic not into loops.

// CHECK-LABEL: // bodies
// CHECK:       const float a = x[0];
// CHECK-NEXT:  const float b = x[1];
// CHECK-NEXT:  const float c = a + b;
// CHECK-NEXT:  const float d = x[2];
// CHECK-NEXT:  for (int i = 0; i < n + 1; ++i) {
// CHECK-NEXT:    x[n * 2 + i] = c;
// CHECK-NEXT:    if (p) {
// CHECK-NEXT:      x[i] = a * b;
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  x[3] = d + x[4];
// CHECK-NEXT:  if (x[5] < 0.0f) {
cuda.kernel @bodies(%x : memref<4096xf32>, %p : i1) grid(1) block(8) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0.0 : f32
  %n = cuda.thread_id x
  %a = memref.load %x[%c0] : memref<4096xf32>
  %b = memref.load %x[%c1] : memref<4096xf32>
  %c = arith.addf %a, %b : f32
  %d = memref.load %x[%c2] : memref<4096xf32>
  %m = arith.addi %n, %c1 : index
  %twice = arith.muli %n, %c2 : index
  scf.for %i = %c0 to %m step %c1 {
    %place = arith.addi %twice, %i : index
    memref.store %c, %x[%place] : memref<4096xf32>
    %product = arith.mulf %a, %b : f32
    scf.if %p {
      memref.store %product, %x[%i] : memref<4096xf32>
    }
  }
  %e = memref.load %x[%c4] : memref<4096xf32>
  %f = arith.addf %d, %e : f32
  memref.store %f, %x[%c3] : memref<4096xf32>
  %g = memref.load %x[%c5] : memref<4096xf32>
  %negative = arith.cmpf olt, %g, %zero : f32
  scf.if %negative {
    memref.store %zero, %x[%c5] : memref<4096xf32>
  }
}

// The bounds of a loop are evaluated again and again: no load folds into them.

// CHECK-LABEL: // bounds
// CHECK:       const long long sizes_value = sizes[0];
// CHECK-NEXT:  for (int i = 0; i < hidet::cast<int>(sizes_value); ++i) {
cuda.kernel @bounds(%sizes : memref<1xi64>) grid(1) block(1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %0 = memref.load %sizes[%c0] : memref<1xi64>
  %1 = arith.trunci %0 : i64 to i32
  %2 = arith.index_cast %1 : i32 to index
  scf.for %i = %c0 to %2 step %c1 {
    memref.store %zero, %sizes[%i] : memref<1xi64>
  }
}

// A store to the element that the value is computed from is an update, and says so in the IR. What
// an update does not print does not count as a use: `i * 4` folds although two operations use it.

// CHECK-LABEL: // updates
// CHECK:       x[i * 4] += 1.0f;
// CHECK-NEXT:  x[i] *= 2.0f;
// CHECK-NEXT:  x[i] -= x[0] - 1.0f;
// CHECK-NEXT:  x[i] = 1.0f - x[i];
// CHECK-NEXT:  x[i] = x[i + 1] + 1.0f;
// CHECK-NEXT:  x[i] += x[i];
// CHECK-NEXT:  const float kept = x[i];
// CHECK-NEXT:  x[0] = 2.0f;
// CHECK-NEXT:  x[i] = kept + 1.0f;
// IR-LABEL: cuda.kernel @updates
// IR: memref.store %{{.*}}, %x[%{{.*}}] {cuda.update = 0 : i64}
// IR: memref.store %{{.*}}, %x[%{{.*}}] {cuda.update = 1 : i64}
// IR: memref.store %{{.*}}, %x[%{{.*}}] {cuda.update = 0 : i64}
cuda.kernel @updates(%x : memref<4096xf32>) grid(64) block(1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %i = cuda.block_id x
  %0 = arith.muli %i, %c4 : index
  %1 = memref.load %x[%0] : memref<4096xf32>
  %2 = arith.addf %1, %one : f32
  memref.store %2, %x[%0] : memref<4096xf32>
  %3 = memref.load %x[%i] : memref<4096xf32>
  %4 = arith.mulf %two, %3 : f32
  memref.store %4, %x[%i] : memref<4096xf32>
  %5 = memref.load %x[%i] : memref<4096xf32>
  %6 = memref.load %x[%c0] : memref<4096xf32>
  %7 = arith.subf %6, %one : f32
  %8 = arith.subf %5, %7 : f32
  memref.store %8, %x[%i] : memref<4096xf32>
  %9 = memref.load %x[%i] : memref<4096xf32>
  %10 = arith.subf %one, %9 : f32
  memref.store %10, %x[%i] : memref<4096xf32>
  %11 = arith.addi %i, %c1 : index
  %12 = memref.load %x[%11] : memref<4096xf32>
  %13 = arith.addf %12, %one : f32
  memref.store %13, %x[%i] : memref<4096xf32>
  %14 = memref.load %x[%i] : memref<4096xf32>
  %15 = memref.load %x[%i] : memref<4096xf32>
  %16 = arith.addf %14, %15 : f32
  memref.store %16, %x[%i] : memref<4096xf32>
  %kept = memref.load %x[%i] : memref<4096xf32>
  memref.store %two, %x[%c0] : memref<4096xf32>
  %17 = arith.addf %kept, %one : f32
  memref.store %17, %x[%i] : memref<4096xf32>
}

// A local boolean is updated, too, and `|=` computes its right side in any case. A byte of other memory
// may be no 0 or 1.

// CHECK-LABEL: // truths
// CHECK:       any |= x[i] > 0.0f;
// CHECK-NEXT:  all &= x[i] > 0.0f;
// CHECK-NEXT:  y[i] = hidet::truth(&y[i]) || x[i] > 0.0f;
cuda.kernel @truths(%x : memref<64xf32>, %y : memref<64xi1>, %z : memref<2xi1>) grid(1) block(1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %false = arith.constant false
  %true = arith.constant true
  %any = memref.alloca() : memref<i1, #cuda.space<local>>
  %all = memref.alloca() : memref<i1, #cuda.space<local>>
  memref.store %false, %any[] : memref<i1, #cuda.space<local>>
  memref.store %true, %all[] : memref<i1, #cuda.space<local>>
  scf.for %i = %c0 to %c64 step %c1 {
    %v = memref.load %x[%i] : memref<64xf32>
    %a = arith.cmpf ogt, %v, %zero : f32
    %b = memref.load %any[] : memref<i1, #cuda.space<local>>
    %c = arith.ori %b, %a : i1
    memref.store %c, %any[] : memref<i1, #cuda.space<local>>
    %w = memref.load %x[%i] : memref<64xf32>
    %d = arith.cmpf ogt, %w, %zero : f32
    %e = memref.load %all[] : memref<i1, #cuda.space<local>>
    %f = arith.andi %e, %d : i1
    memref.store %f, %all[] : memref<i1, #cuda.space<local>>
    %u = memref.load %x[%i] : memref<64xf32>
    %g = arith.cmpf ogt, %u, %zero : f32
    %h = memref.load %y[%i] : memref<64xi1>
    %k = arith.ori %h, %g : i1
    memref.store %k, %y[%i] : memref<64xi1>
  }
  %p = memref.load %any[] : memref<i1, #cuda.space<local>>
  memref.store %p, %z[%c0] : memref<2xi1>
  %q = memref.load %all[] : memref<i1, #cuda.space<local>>
  memref.store %q, %z[%c1] : memref<2xi1>
}

// The values of loops are variables, declared by their first store where that is possible; values
// that change places are kept in between.

// CHECK-LABEL: // variables
// CHECK:       float a = 0.0f;
// CHECK-NEXT:  float b = 1.0f;
// CHECK-NEXT:  for (int i = 0; i < 8; ++i) {
// CHECK-NEXT:    const float a1 = a;
// CHECK-NEXT:    a += b;
// CHECK-NEXT:    b = a1;
// CHECK-NEXT:  }
// CHECK-NEXT:  x[0] = a + b;
// CHECK-NEXT:  float x_value;
// CHECK-NEXT:  if (p) {
// CHECK-NEXT:    x_value = 1.0f;
// CHECK-NEXT:  }
cuda.kernel @variables(%x : memref<64xf32>, %p : i1) grid(1) block(1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %ra, %rb = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero, %b = %one) -> (f32, f32) {
    %s = arith.addf %b, %a : f32
    scf.yield %s, %a : f32, f32
  }
  %t = arith.addf %ra, %rb : f32
  memref.store %t, %x[%c0] : memref<64xf32>
  %0 = memref.alloca() : memref<f32, #cuda.space<local>>
  scf.if %p {
    memref.store %one, %0[] : memref<f32, #cuda.space<local>>
  }
  %1 = memref.load %0[] : memref<f32, #cuda.space<local>>
  memref.store %1, %x[%c1] : memref<64xf32>
}

// A branch that stopped being an expression, since two of its operations were merged, is demoted.

// CHECK-LABEL: // conditionals
// CHECK:       x[0] = p ? x[1] + l : 0.0f;
// CHECK-NEXT:  float r;
// CHECK-NEXT:  if (p) {
// CHECK-NEXT:    const float m = x[1];
// CHECK-NEXT:    r = m * m;
// CHECK-NEXT:  } else {
// CHECK-NEXT:    r = 0.0f;
// CHECK-NEXT:  }
// CHECK-NEXT:  x[0] = r;
cuda.kernel @conditionals(%x : memref<64xf32>, %l : f32, %p : i1) grid(1) block(1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %q = scf.if %p -> (f32) {
    %m = memref.load %x[%c1] : memref<64xf32>
    %s = arith.addf %m, %l : f32
    scf.yield %s : f32
  } else {
    scf.yield %zero : f32
  }
  memref.store %q, %x[%c0] : memref<64xf32>
  %r = scf.if %p -> (f32) {
    %m = memref.load %x[%c1] : memref<64xf32>
    %s = arith.mulf %m, %m : f32
    scf.yield %s : f32
  } else {
    scf.yield %zero : f32
  }
  memref.store %r, %x[%c0] : memref<64xf32>
}

// The loads of a conditional expression do not move past a store either.

// CHECK-LABEL: // conditional_trap
// CHECK:       const float q = p ? x[1] : 0.0f;
// CHECK-NEXT:  x[1] = 1.0f;
// CHECK-NEXT:  x[0] = q;
cuda.kernel @conditional_trap(%x : memref<64xf32>, %p : i1) grid(1) block(1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %q = scf.if %p -> (f32) {
    %m = memref.load %x[%c1] : memref<64xf32>
    scf.yield %m : f32
  } else {
    scf.yield %zero : f32
  }
  memref.store %one, %x[%c1] : memref<64xf32>
  memref.store %q, %x[%c0] : memref<64xf32>
}

// A shuffle folds, but neither into a branch nor behind a condition, nor over another meeting.

// CHECK-LABEL: // shuffles
// CHECK:       const float w = v + hidet::shfl_xor(v, 16);
// CHECK-NEXT:  const float o = hidet::shfl_xor(w, 8);
// CHECK-NEXT:  const float q = p ? o : w;
// CHECK-NEXT:  const float r = hidet::shfl_xor(q, 4);
// CHECK-NEXT:  hidet::sync_warp();
// CHECK-NEXT:  x[tid] = q + r;
// CHECK-NEXT:  const float s = hidet::shfl_xor(q, 2);
// CHECK-NEXT:  if (p) {
// CHECK-NEXT:    x[tid] = s;
// CHECK-NEXT:  }
cuda.kernel @shuffles(%x : memref<32xf32>, %p : i1) grid(1) block(32) {
  %tid = cuda.thread_id x
  %l2 = arith.constant 2 : i32
  %l4 = arith.constant 4 : i32
  %l8 = arith.constant 8 : i32
  %l16 = arith.constant 16 : i32
  %v = memref.load %x[%tid] : memref<32xf32>
  %n = cuda.shfl xor %v, %l16 : f32
  %w = arith.addf %v, %n : f32
  %o = cuda.shfl xor %w, %l8 : f32
  %q = arith.select %p, %o, %w : f32
  %r = cuda.shfl xor %q, %l4 : f32
  cuda.sync_warp
  %t = arith.addf %q, %r : f32
  memref.store %t, %x[%tid] : memref<32xf32>
  %s = cuda.shfl xor %q, %l2 : f32
  scf.if %p {
    memref.store %s, %x[%tid] : memref<32xf32>
  }
}

// A comparison that C++ prints twice has operands with names. Dead values go, one that is a meeting
// of threads stays.

// CHECK-LABEL: // twice
// CHECK:       const float x_value = x[tid];
// CHECK-NEXT:  const float v = x_value + 1.0f;
// CHECK-NEXT:  hidet::shfl_xor(x_value, 16);
// CHECK-NEXT:  out[tid] = v < 2.0f || v > 2.0f;
cuda.kernel @twice(%x : memref<32xf32>, %out : memref<32xi1>) grid(1) block(32) {
  %tid = cuda.thread_id x
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %l16 = arith.constant 16 : i32
  %0 = memref.load %x[%tid] : memref<32xf32>
  %1 = arith.addf %0, %one : f32
  %dead = memref.load %x[%tid] : memref<32xf32>
  %deader = arith.addf %dead, %0 : f32
  %met = cuda.shfl xor %0, %l16 : f32
  %2 = arith.cmpf one, %1, %two : f32
  memref.store %2, %out[%tid] : memref<32xi1>
}

// Names are unique where they are visible, valid in C++, and without a number after `_`.

// CHECK-LABEL: // names
// CHECK:       const int tx = threadIdx.x;
// CHECK-NEXT:  const int ty = threadIdx.y;
// CHECK-NEXT:  __shared__ float smem[4];
// CHECK-NEXT:  float float_[4];
// CHECK-NEXT:  float a_b[4];
// CHECK-NEXT:  const float x1_value = x1[tx];
// CHECK-NEXT:  const float x2 = x1[ty];
// CHECK-NEXT:  float_[0] = x1_value * x1_value + x2 * x2;
// CHECK-NEXT:  for (int i = 0; i < 4; ++i) {
// CHECK-NEXT:    for (int j = 0; j < 4; ++j) {
// CHECK-NEXT:      const float smem_value = smem[i];
// CHECK-NEXT:      a_b[j] = smem_value * smem_value;
// CHECK-NEXT:    }
// CHECK-NEXT:    for (int j = 0; j < 4; ++j) {
// CHECK-NEXT:      const float smem_value = smem[j];
// CHECK-NEXT:      x1[j] = smem_value * smem_value + x1_value;
// CHECK-NEXT:    }
// CHECK-NEXT:  }
cuda.kernel @names(%x1 : memref<64xf32>) grid(1) block(4, 4) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0 = cuda.thread_id x
  %1 = cuda.thread_id y
  %2 = memref.alloca() : memref<4xf32, #cuda.space<shared>>
  %float = memref.alloca() : memref<4xf32, #cuda.space<local>>
  %a.b = memref.alloca() : memref<4xf32, #cuda.space<local>>
  %3 = memref.load %x1[%0] : memref<64xf32>
  %x1_1 = memref.load %x1[%1] : memref<64xf32>
  %4 = arith.mulf %3, %3 : f32
  %5 = arith.mulf %x1_1, %x1_1 : f32
  %6 = arith.addf %4, %5 : f32
  memref.store %6, %float[%c0] : memref<4xf32, #cuda.space<local>>
  scf.for %7 = %c0 to %c4 step %c1 {
    scf.for %8 = %c0 to %c4 step %c1 {
      %9 = memref.load %2[%7] : memref<4xf32, #cuda.space<shared>>
      %10 = arith.mulf %9, %9 : f32
      memref.store %10, %a.b[%8] : memref<4xf32, #cuda.space<local>>
    }
    scf.for %8 = %c0 to %c4 step %c1 {
      %9 = memref.load %2[%8] : memref<4xf32, #cuda.space<shared>>
      %10 = arith.mulf %9, %9 : f32
      %11 = arith.addf %10, %3 : f32
      memref.store %11, %x1[%8] : memref<64xf32>
    }
  }
}

// The product of an index with a name and a number is written at each of its uses, a sum is not.

// CHECK-LABEL: // products
// CHECK:       x[i * 4] = 1.0f;
// CHECK-NEXT:  x[i * 4 + 1] = 1.0f;
// CHECK-NEXT:  const int offset = i + 7;
// CHECK-NEXT:  x[offset] = 1.0f;
// CHECK-NEXT:  y[offset] = 1.0f;
cuda.kernel @products(%x : memref<256xf32>, %y : memref<256xf32>) grid(32) block(1) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c7 = arith.constant 7 : index
  %one = arith.constant 1.0 : f32
  %i = cuda.block_id x
  %0 = arith.muli %i, %c4 : index
  memref.store %one, %x[%0] : memref<256xf32>
  %1 = arith.addi %0, %c1 : index
  memref.store %one, %x[%1] : memref<256xf32>
  %2 = arith.addi %i, %c7 : index
  memref.store %one, %x[%2] : memref<256xf32>
  memref.store %one, %y[%2] : memref<256xf32>
}

// A variable is read wherever its value is needed; if it is written in between, a name keeps what
// it was.

// CHECK-LABEL: // reads
// CHECK:       acc += hidet::shfl_xor(acc, 1);
// CHECK-NEXT:  const float acc_value = acc;
// CHECK-NEXT:  acc = 0.0f;
// CHECK-NEXT:  x[0] = acc_value * acc_value;
// CHECK-NEXT:  x[1] = acc;
cuda.kernel @reads(%x : memref<64xf32>) grid(1) block(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %lane = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %acc = memref.alloca() : memref<f32, #cuda.space<local>>
  memref.store %one, %acc[] : memref<f32, #cuda.space<local>>
  %0 = memref.load %acc[] : memref<f32, #cuda.space<local>>
  %1 = cuda.shfl xor %0, %lane : f32
  %2 = arith.addf %0, %1 : f32
  memref.store %2, %acc[] : memref<f32, #cuda.space<local>>
  %3 = memref.load %acc[] : memref<f32, #cuda.space<local>>
  memref.store %zero, %acc[] : memref<f32, #cuda.space<local>>
  %4 = arith.mulf %3, %3 : f32
  memref.store %4, %x[%c0] : memref<64xf32>
  %5 = memref.load %acc[] : memref<f32, #cuda.space<local>>
  memref.store %5, %x[%c1] : memref<64xf32>
}

// A variable that is stored once is its value; one that a branch may store is not.

// CHECK-LABEL: // stored_once
// CHECK:       const float mean = x[0] * 2.0f;
// CHECK-NEXT:  x[1] = mean;
// CHECK-NEXT:  x[2] = mean;
// CHECK-NEXT:  float x_value;
// CHECK-NEXT:  if (p) {
// CHECK-NEXT:    x_value = 2.0f;
// CHECK-NEXT:  }
// CHECK-NEXT:  x[3] = x_value;
cuda.kernel @stored_once(%x : memref<64xf32>, %p : i1) grid(1) block(1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %two = arith.constant 2.0 : f32
  %mean = memref.alloca() : memref<f32, #cuda.space<local>>
  %0 = memref.load %x[%c0] : memref<64xf32>
  %1 = arith.mulf %0, %two : f32
  memref.store %1, %mean[] : memref<f32, #cuda.space<local>>
  %2 = memref.load %mean[] : memref<f32, #cuda.space<local>>
  memref.store %2, %x[%c1] : memref<64xf32>
  %3 = memref.load %mean[] : memref<f32, #cuda.space<local>>
  memref.store %3, %x[%c2] : memref<64xf32>
  %4 = memref.alloca() : memref<f32, #cuda.space<local>>
  scf.if %p {
    memref.store %two, %4[] : memref<f32, #cuda.space<local>>
  }
  %5 = memref.load %4[] : memref<f32, #cuda.space<local>>
  memref.store %5, %x[%c3] : memref<64xf32>
}

// A division stays ahead of the loop that needs its result, and is named for what it divides; a
// sum moves into the loop.

// CHECK-LABEL: // divisions
// CHECK:       const int t_mod16 = t % 16;
// CHECK-NEXT:  const int t_div32_mod3 = t / 32 % 3;
// CHECK-NEXT:  for (int i = 0; i < 4; ++i) {
// CHECK-NEXT:    x[t_mod16 + i] = 1.0f;
// CHECK-NEXT:    x[t_div32_mod3 + i] = 1.0f;
// CHECK-NEXT:    x[t + 5 + i] = 1.0f;
// CHECK-NEXT:  }
cuda.kernel @divisions(%x : memref<256xf32>) grid(1) block(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  %t = cuda.thread_id x
  %0 = arith.remsi %t, %c16 : index
  %1 = arith.divsi %t, %c32 : index
  %2 = arith.remsi %1, %c3 : index
  %3 = arith.addi %t, %c5 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %4 = arith.addi %0, %i : index
    memref.store %one, %x[%4] : memref<256xf32>
    %5 = arith.addi %2, %i : index
    memref.store %one, %x[%5] : memref<256xf32>
    %6 = arith.addi %3, %i : index
    memref.store %one, %x[%6] : memref<256xf32>
  }
}

// A condition is written as a whole, or named as a whole.

// CHECK-LABEL: // conditions
// CHECK:       y[0] = p && q ? 1.0f : 0.0f;
// CHECK-NEXT:  const bool cond = i * 3 >= 1 && i * 5 < 9 && i * 7 >= 1 && i * 9 < 9;
// CHECK-NEXT:  x[i + 1] = cond ? y[i + 2] * y[i + 3] + y[i + 4] : 0.0f;
cuda.kernel @conditions(%x : memref<64xf32>, %y : memref<64xf32>, %p : i1, %q : i1) grid(32) block(1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %i = cuda.block_id x
  %pq = arith.andi %p, %q : i1
  %0 = arith.select %pq, %one, %zero : f32
  memref.store %0, %y[%c0] : memref<64xf32>
  %m0 = arith.muli %i, %c3 : index
  %m1 = arith.muli %i, %c5 : index
  %m2 = arith.muli %i, %c7 : index
  %m3 = arith.muli %i, %c9 : index
  %d0 = arith.cmpi sge, %m0, %c1 : index
  %d1 = arith.cmpi slt, %m1, %c9 : index
  %d2 = arith.cmpi sge, %m2, %c1 : index
  %d3 = arith.cmpi slt, %m3, %c9 : index
  %d4 = arith.andi %d0, %d1 : i1
  %d5 = arith.andi %d4, %d2 : i1
  %2 = arith.andi %d5, %d3 : i1
  %at = arith.addi %i, %c1 : index
  %1 = scf.if %2 -> (f32) {
    %a2 = arith.addi %i, %c2 : index
    %v2 = memref.load %y[%a2] : memref<64xf32>
    %a3 = arith.addi %i, %c3 : index
    %v3 = memref.load %y[%a3] : memref<64xf32>
    %a4 = arith.addi %i, %c4 : index
    %v4 = memref.load %y[%a4] : memref<64xf32>
    %product = arith.mulf %v2, %v3 : f32
    %sum = arith.addf %product, %v4 : f32
    scf.yield %sum : f32
  } else {
    scf.yield %zero : f32
  }
  memref.store %1, %x[%at] : memref<64xf32>
}

// What is loaded does not move past an instruction that writes it, nor, from shared memory, past a
// wait for copies; a shuffle not past a product of the warp. All else folds.

// CHECK-LABEL: // instructions
// CHECK:      hidet::cp_async_ca<1>(&s[tid], &x[tid]);
// CHECK-NEXT: const float s_value = s[tid];
// CHECK-NEXT: const float c_value = c[1];
// CHECK-NEXT: hidet::cp_async_wait<0>();
// CHECK-NEXT: const float v = hidet::shfl_xor(s[tid], 1);
// CHECK-NEXT: hidet::mma_m16n8k8(c, a, b);
// CHECK-NEXT: x[tid] = s_value + c_value + v + a[0];
cuda.kernel @instructions(%x : memref<32xf32>) grid(1) block(32) {
  %tid = cuda.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %s = memref.alloca() : memref<32xf32, #cuda.space<shared>>
  %a = memref.alloca() : memref<4xf32, #cuda.space<local>>
  %b = memref.alloca() : memref<2xf32, #cuda.space<local>>
  %c = memref.alloca() : memref<4xf32, #cuda.space<local>>
  cuda.cp_async ca %x[%tid] to %s[%tid] width 1 : memref<32xf32> to memref<32xf32, #cuda.space<shared>>
  %0 = memref.load %s[%tid] : memref<32xf32, #cuda.space<shared>>
  %1 = memref.load %c[%c1] : memref<4xf32, #cuda.space<local>>
  cuda.cp_async_wait 0
  %2 = memref.load %s[%tid] : memref<32xf32, #cuda.space<shared>>
  %3 = cuda.shfl xor %2, %one : f32
  %4 = memref.load %a[%c0] : memref<4xf32, #cuda.space<local>>
  cuda.mma_sync "m16n8k8_tf32_f32" %a[%c0], %b[%c0], %c[%c0] : memref<4xf32, #cuda.space<local>>, memref<2xf32, #cuda.space<local>>, memref<4xf32, #cuda.space<local>>
  %5 = arith.addf %0, %1 : f32
  %6 = arith.addf %5, %3 : f32
  %7 = arith.addf %6, %4 : f32
  memref.store %7, %x[%tid] : memref<32xf32>
}
