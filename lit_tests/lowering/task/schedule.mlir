// RUN: hidet-opt %s -p 'schedule' --split-input-file | filecheck %s
// RUN: hidet-opt %s -p 'schedule{arch="cpu"}' --split-input-file | filecheck %s --check-prefix CPU

// Template elementwise: each thread takes the element of one number and stores it to every result.
// The grids become views; what is loaded and stored is memory.

// CHECK-LABEL: cuda.kernel @s_h_kernel(%x_ : memref<64x33xf32>, %b_ : memref<33xf32>, %out0 : memref<64x33xf32>, %out1 : memref<2112xf16>) grid(17) block(128)
// CHECK-SAME:    config = {template = "elementwise", threads = 128 : i64, vector = 1 : i64}
// CHECK-NEXT:    %[[T:.*]] = cuda.thread_id x
// CHECK-NEXT:    %[[B:.*]] = cuda.block_id x
// CHECK-NEXT:    %s = compute.grid (%i, %j) {
// CHECK-NEXT:      %v = compute.load %x_[%i, %j] : memref<64x33xf32>
// CHECK:         %h = compute.grid
// CHECK:           compute.load %s[%q, %r] : tensor<64x33xf32>
// CHECK:         task.foreach (%[[N:.*]]) in #task.map<spatial(2176)> on %worker bound [2112] {
// CHECK:           %[[S:.*]] = compute.load %s[
// CHECK-NEXT:      %[[H:.*]] = compute.load %h[%[[N]]]
// CHECK-NEXT:      memref.store %[[S]], %out0[
// CHECK-NEXT:      memref.store %[[H]], %out1[%[[N]]]
// CHECK:       func.func @elements
// CHECK-NEXT:    %y, %z = cuda.launch @s_h_kernel(%x, %b) : (tensor<64x33xf32>, tensor<33xf32>) -> (tensor<64x33xf32>, tensor<2112xf16>)
// CHECK-NEXT:    func.return %y, %z
func.func @elements(%x : tensor<64x33xf32>, %b : tensor<33xf32>) -> (tensor<64x33xf32>, tensor<2112xf16>) {
  %y, %z = compute.fusion (%x_ = %x : tensor<64x33xf32>, %b_ = %b : tensor<33xf32>) -> (tensor<64x33xf32>, tensor<2112xf16>) {
    %s = compute.grid (%i, %j) {
      %v = compute.load %x_[%i, %j] : tensor<64x33xf32>
      %c = compute.load %b_[%j] : tensor<33xf32>
      %a = arith.addf %v, %c : f32
      compute.yield %a : f32
    } : tensor<64x33xf32>
    %h = compute.grid (%i) {
      %c33 = arith.constant 33 : index
      %q = arith.divsi %i, %c33 : index
      %r = arith.remsi %i, %c33 : index
      %v = compute.load %s[%q, %r] : tensor<64x33xf32>
      %n = arith.truncf %v : f32 to f16
      compute.yield %n : f16
    } : tensor<2112xf16>
    compute.yield %s, %h : tensor<64x33xf32>, tensor<2112xf16>
  }
  func.return %y, %z : tensor<64x33xf32>, tensor<2112xf16>
}

// -----

// Where elements are plenty, a thread takes as many neighbours as fit a 16-byte access; what is
// plenty depends on the machine.

// CHECK-LABEL: cuda.kernel @e_kernel
// CHECK-SAME:    grid(1024) block(256) attributes {config = {template = "elementwise", threads = 256 : i64, vector = 8 : i64}, work = {
// CHECK:         task.foreach (%{{.*}}) in #task.map<spatial(262144) * repeat(8)> on %worker bound [2097152] {

// CPU-LABEL:   cuda.kernel @e_kernel
// CPU-SAME:      vector = 8 : i64
func.func @many(%x : tensor<2097152xf16>) -> tensor<2097152xf16> {
  %y = compute.fusion (%x_ = %x : tensor<2097152xf16>) -> (tensor<2097152xf16>) {
    %e = compute.grid (%i) {
      %v = compute.load %x_[%i] : tensor<2097152xf16>
      %u = math.exp %v : f16
      compute.yield %u : f16
    } : tensor<2097152xf16>
    compute.yield %e : tensor<2097152xf16>
  }
  func.return %y : tensor<2097152xf16>
}

// -----

// CHECK-LABEL: cuda.kernel @e_kernel
// CHECK-SAME:    threads = 256 : i64, vector = 1 : i64

// CPU-LABEL:   cuda.kernel @e_kernel
// CPU-SAME:      threads = 256 : i64, vector = 4 : i64
func.func @plenty_for_the_cpu(%x : tensor<65536xf32>) -> tensor<65536xf32> {
  %y = compute.fusion (%x_ = %x : tensor<65536xf32>) -> (tensor<65536xf32>) {
    %e = compute.grid (%i) {
      %v = compute.load %x_[%i] : tensor<65536xf32>
      %u = math.exp %v : f32
      compute.yield %u : f32
    } : tensor<65536xf32>
    compute.yield %e : tensor<65536xf32>
  }
  func.return %y : tensor<65536xf32>
}

// -----

// Template row: the lanes of a warp share a row. A reduction starts from its neutral element, takes
// in the elements of each worker, and is combined; grids over elements are views that read it. A
// value of a row is stored by the first lane.

// CHECK-DAG:   #[[VALUES:.*]] = #task.map<spatial(8) * replicate(32)>
// CHECK-DAG:   #[[ELEMENTS:.*]] = #task.map<repeat(1, 2) * spatial(8, 32) * repeat(1, 2)>
// CHECK:       cuda.kernel @m_d_kernel{{.*}} grid(2) block(128)
// CHECK-SAME:    config = {template = "row", threads = 128 : i64, lanes = 32 : i64, vector = 2 : i64}
// CHECK:         %m = memref.alloca() : memref<8xf32, #[[VALUES]], #cuda.space<register>>
// CHECK-NEXT:    task.foreach (%[[R:.*]]) of %m on %worker
// CHECK-NEXT:      %[[LOW:.*]] = arith.constant 0xff800000 : f32
// CHECK-NEXT:      memref.store %[[LOW]], %m[%[[R]]]
// CHECK:         task.foreach (%[[I:.*]], %[[J:.*]]) in #[[ELEMENTS]] on %worker bound [6, 70] {
// CHECK-NEXT:      %[[V:.*]] = compute.load %x_[%[[I]], %[[J]]]
// CHECK-NEXT:      %[[SO_FAR:.*]] = memref.load %m[%[[I]]]
// CHECK-NEXT:      %[[MAX:.*]] = arith.maximumf %[[SO_FAR]], %[[V]] : f32
// CHECK-NEXT:      memref.store %[[MAX]], %m[%[[I]]]
// CHECK:         task.combine max %m on %worker
// CHECK-NEXT:    %[[VIEW:.*]] = compute.grid
// CHECK-NEXT:      memref.load %m[
// CHECK:         %d = compute.grid
// CHECK:           compute.load %[[VIEW]][
// CHECK:         task.foreach (%{{.*}}, %{{.*}}) in #[[ELEMENTS]] on %worker bound [6, 70] {
// CHECK:           %[[D:.*]] = compute.load %d[
// CHECK-NEXT:      memref.store %[[D]], %out0[
// CHECK:         task.foreach
// CHECK-SAME:      bound [6] {
// CHECK:           scf.if
// CHECK-NEXT:        %[[M:.*]] = compute.load %[[VIEW]][
// CHECK-NEXT:        memref.store %[[M]], %out1[
func.func @rows(%x : tensor<6x70xf32>) -> (tensor<6x70xf32>, tensor<6xf32>) {
  %y, %z = compute.fusion (%x_ = %x : tensor<6x70xf32>) -> (tensor<6x70xf32>, tensor<6xf32>) {
    %m = compute.grid (%i) {
      %r = compute.reduce max [70] (%k) {
        %v = compute.load %x_[%i, %k] : tensor<6x70xf32>
        compute.yield %v : f32
      } : f32
      compute.yield %r : f32
    } : tensor<6xf32>
    %d = compute.grid (%i, %j) {
      %v = compute.load %x_[%i, %j] : tensor<6x70xf32>
      %c = compute.load %m[%i] : tensor<6xf32>
      %a = arith.subf %v, %c : f32
      compute.yield %a : f32
    } : tensor<6x70xf32>
    compute.yield %d, %m : tensor<6x70xf32>, tensor<6xf32>
  }
  func.return %y, %z : tensor<6x70xf32>, tensor<6xf32>
}

// -----

// A short reduction is the work of one thread: template elementwise takes it.

// CHECK-LABEL: cuda.kernel @m_kernel
// CHECK-SAME:    template = "elementwise"
// CHECK:           compute.reduce max [8]
func.func @window(%x : tensor<6x8xf32>) -> tensor<6xf32> {
  %y = compute.fusion (%x_ = %x : tensor<6x8xf32>) -> (tensor<6xf32>) {
    %m = compute.grid (%i) {
      %r = compute.reduce max [8] (%k) {
        %v = compute.load %x_[%i, %k] : tensor<6x8xf32>
        compute.yield %v : f32
      } : f32
      compute.yield %r : f32
    } : tensor<6xf32>
    compute.yield %m : tensor<6xf32>
  }
  func.return %y : tensor<6xf32>
}

// -----

// So is a window that slides along what it reads, where there are plenty: neighbours read the same
// elements. Vectors are of a length at which threads are many.

// CHECK-LABEL: cuda.kernel @m_kernel
// CHECK-SAME:    template = "elementwise", threads = 256 : i64, vector = 2 : i64
// CHECK:           compute.reduce add [7, 7]
func.func @sliding_window(%x : tensor<30x30x64xf16>) -> tensor<24x24x64xf16> {
  %y = compute.fusion (%x_ = %x : tensor<30x30x64xf16>) -> (tensor<24x24x64xf16>) {
    %m = compute.grid (%h, %w, %c) {
      %t = compute.reduce add [7, 7] (%r, %s) {
        %a = arith.addi %h, %r : index
        %b = arith.addi %w, %s : index
        %v = compute.load %x_[%a, %b, %c] : tensor<30x30x64xf16>
        compute.yield %v : f16
      } : f16
      compute.yield %t : f16
    } : tensor<24x24x64xf16>
    compute.yield %m : tensor<24x24x64xf16>
  }
  func.return %y : tensor<24x24x64xf16>
}

// -----

// So is whether many elements are one of the same 64: a thread compares two vectors of its own. Fewer
// elements have a warp each.

// CHECK-LABEL: cuda.kernel @m_kernel
// CHECK-SAME:    template = "elementwise", threads = 256 : i64, vector = 4 : i64
// CHECK-LABEL: cuda.kernel @few_kernel
// CHECK-SAME:    template = "row"
func.func @search(%x : tensor<262144xi64>, %t : tensor<64xi64>) -> (tensor<262144xi1>, tensor<1024xi1>) {
  %y = compute.fusion (%x_ = %x : tensor<262144xi64>, %t_ = %t : tensor<64xi64>) -> (tensor<262144xi1>) {
    %m = compute.grid (%i) {
      %r = compute.reduce max [64] (%k) {
        %v = compute.load %x_[%i] : tensor<262144xi64>
        %w = compute.load %t_[%k] : tensor<64xi64>
        %e = arith.cmpi eq, %v, %w : i64
        compute.yield %e : i1
      } : i1
      compute.yield %r : i1
    } : tensor<262144xi1>
    compute.yield %m : tensor<262144xi1>
  }
  %z = compute.fusion (%x_ = %x : tensor<262144xi64>, %t_ = %t : tensor<64xi64>) -> (tensor<1024xi1>) {
    %few = compute.grid (%i) {
      %r = compute.reduce max [64] (%k) {
        %v = compute.load %x_[%i] : tensor<262144xi64>
        %w = compute.load %t_[%k] : tensor<64xi64>
        %e = arith.cmpi eq, %v, %w : i64
        compute.yield %e : i1
      } : i1
      compute.yield %r : i1
    } : tensor<1024xi1>
    compute.yield %few : tensor<1024xi1>
  }
  func.return %y, %z : tensor<262144xi1>, tensor<1024xi1>
}

// -----

// Vectors are of what a thread stores, unless it would read more than 32 adjacent bytes for one.

// CHECK-LABEL: cuda.kernel @narrow_kernel
// CHECK-SAME:    template = "elementwise", threads = 256 : i64, vector = 8 : i64
// CHECK-LABEL: cuda.kernel @alike_kernel
// CHECK-SAME:    template = "elementwise", threads = 256 : i64, vector = 16 : i64
func.func @narrow(%x : tensor<1048576xf32>, %s : tensor<1048576xf16>) -> (tensor<1048576xi1>, tensor<1048576xi1>) {
  %y = compute.fusion (%x_ = %x : tensor<1048576xf32>) -> (tensor<1048576xi1>) {
    %narrow = compute.grid (%i) {
      %v = compute.load %x_[%i] : tensor<1048576xf32>
      %e = arith.cmpf oeq, %v, %v : f32
      compute.yield %e : i1
    } : tensor<1048576xi1>
    compute.yield %narrow : tensor<1048576xi1>
  }
  %z = compute.fusion (%s_ = %s : tensor<1048576xf16>) -> (tensor<1048576xi1>) {
    %alike = compute.grid (%i) {
      %v = compute.load %s_[%i] : tensor<1048576xf16>
      %e = arith.cmpf oeq, %v, %v : f16
      compute.yield %e : i1
    } : tensor<1048576xi1>
    compute.yield %alike : tensor<1048576xi1>
  }
  func.return %y, %z : tensor<1048576xi1>, tensor<1048576xi1>
}

// -----

// Halves of rows that read each other: a thread computes both, each without a branch. Halves of different
// tensors have threads of their own, and so do those of few elements.

// CHECK-LABEL: cuda.kernel @rotated_kernel
// CHECK-SAME:    grid(1024) block(256)
// CHECK-SAME:    template = "elementwise", threads = 256 : i64, vector = 8 : i64, parts = 2 : i64
// CHECK:         task.foreach (%[[N:.*]]) in #task.map<spatial(262144) * repeat(8)> on %worker bound [2097152] {
// CHECK-COUNT-2:   compute.load %rotated[
// CHECK-LABEL: cuda.kernel @joined_kernel
// CHECK-SAME:    template = "elementwise", threads = 256 : i64, vector = 8 : i64}
func.func @halves(%x : tensor<32768x128xf16>, %s : tensor<32768x64xf16>) -> (tensor<32768x128xf16>, tensor<32768x128xf16>) {
  %y = compute.fusion (%x_ = %x : tensor<32768x128xf16>) -> (tensor<32768x128xf16>) {
    %rotated = compute.grid (%i, %j) {
      %half = arith.constant 64 : index
      %p = arith.cmpi slt, %j, %half : index
      %r = scf.if %p -> (f16) {
        %k = arith.addi %j, %half : index
        %v = compute.load %x_[%i, %k] : tensor<32768x128xf16>
        %n = arith.negf %v : f16
        scf.yield %n : f16
      } else {
        %k = arith.subi %j, %half : index
        %v = compute.load %x_[%i, %k] : tensor<32768x128xf16>
        scf.yield %v : f16
      }
      compute.yield %r : f16
    } : tensor<32768x128xf16>
    compute.yield %rotated : tensor<32768x128xf16>
  }
  %z = compute.fusion (%x_ = %x : tensor<32768x128xf16>, %s_ = %s : tensor<32768x64xf16>) -> (tensor<32768x128xf16>) {
    %joined = compute.grid (%i, %j) {
      %half = arith.constant 64 : index
      %p = arith.cmpi slt, %j, %half : index
      %r = scf.if %p -> (f16) {
        %v = compute.load %x_[%i, %j] : tensor<32768x128xf16>
        scf.yield %v : f16
      } else {
        %k = arith.subi %j, %half : index
        %v = compute.load %s_[%i, %k] : tensor<32768x64xf16>
        scf.yield %v : f16
      }
      compute.yield %r : f16
    } : tensor<32768x128xf16>
    compute.yield %joined : tensor<32768x128xf16>
  }
  func.return %y, %z : tensor<32768x128xf16>, tensor<32768x128xf16>
}

// -----

// Windows along rows are not aligned: a thread has two neighbours of 16 bits, whose index arithmetic and
// filters it shares; one where the windows are apart.

// CHECK-LABEL: cuda.kernel @along_kernel
// CHECK-SAME:    template = "elementwise", threads = 256 : i64, vector = 2 : i64
// CHECK-LABEL: cuda.kernel @apart_kernel
// CHECK-SAME:    template = "elementwise", threads = 256 : i64, vector = 1 : i64
func.func @windows_of_rows(%x : tensor<4096x66xf16>, %s : tensor<4096x130xf16>) -> (tensor<4096x64xf16>, tensor<4096x64xf16>) {
  %y = compute.fusion (%x_ = %x : tensor<4096x66xf16>) -> (tensor<4096x64xf16>) {
    %along = compute.grid (%i, %j) {
      %t = compute.reduce add [3] (%r) {
        %a = arith.addi %j, %r : index
        %v = compute.load %x_[%i, %a] : tensor<4096x66xf16>
        compute.yield %v : f16
      } : f16
      compute.yield %t : f16
    } : tensor<4096x64xf16>
    compute.yield %along : tensor<4096x64xf16>
  }
  %z = compute.fusion (%s_ = %s : tensor<4096x130xf16>) -> (tensor<4096x64xf16>) {
    %apart = compute.grid (%i, %j) {
      %two = arith.constant 2 : index
      %t = compute.reduce add [3] (%r) {
        %b = arith.muli %j, %two : index
        %a = arith.addi %b, %r : index
        %v = compute.load %s_[%i, %a] : tensor<4096x130xf16>
        compute.yield %v : f16
      } : f16
      compute.yield %t : f16
    } : tensor<4096x64xf16>
    compute.yield %apart : tensor<4096x64xf16>
  }
  func.return %y, %z : tensor<4096x64xf16>, tensor<4096x64xf16>
}

// -----

// Template matmul: tiles of both operands go through shared memory, the accumulator is in registers
// and leaves through a sink, which is the epilogue.

// CHECK-LABEL: cuda.kernel @p_r_kernel(%x_ : memref<33x40xf16>, %w_ : memref<40x50xf16>, %b_ : memref<50xf16>, %out : memref<33x50xf16>) grid(6) block(128)
// CHECK-SAME:    template = "matmul", instruction = "m16n8k16_f16_f32", block_m = 16 : i64, block_n = 32 : i64, block_k = 64 : i64, rows = 1 : i64, columns = 4 : i64, stages = 2 : i64
// CHECK:         %acc = memref.alloca() : memref<16x32xf32, #task.map<?>, #cuda.space<register>>
// CHECK-NEXT:    %sa = memref.alloca() : memref<16x64xf16, #cuda.space<shared>>
// CHECK-NEXT:    %sb = memref.alloca() : memref<64x32xf16, #cuda.space<shared>>
// CHECK:         task.foreach (%{{.*}}, %{{.*}}) of %acc
// CHECK:         scf.for %k0
// CHECK-NEXT:      task.copy %x_[%row, %k0] to %sa[] in #task.map<?> on %thread
// CHECK-NEXT:      task.copy %w_[%k0, %column] to %sb[]
// CHECK-NEXT:      task.matmul %sa, %sb to %acc
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[SINK:.*]] = compute.sink (%[[I:.*]], %[[J:.*]], %[[V:.*]] : f32) {
// CHECK-NEXT:      %c = compute.load %b_[%[[J]]]
// CHECK-NEXT:      %h = arith.truncf %[[V]] : f32 to f16
// CHECK-NEXT:      %a = arith.addf %h, %c : f16
// CHECK-NEXT:      compute.store %a, %out[%[[I]], %[[J]]]
// CHECK-NEXT:    } : tensor<33x50xf32>
// CHECK-NEXT:    task.copy %acc[] to %[[SINK]][%row, %column]
func.func @matmul(%x : tensor<33x40xf16>, %w : tensor<40x50xf16>, %b : tensor<50xf16>) -> tensor<33x50xf16> {
  %y = compute.fusion (%x_ = %x : tensor<33x40xf16>, %w_ = %w : tensor<40x50xf16>, %b_ = %b : tensor<50xf16>) -> (tensor<33x50xf16>) {
    %p = graph.matmul %x_, %w_ : (tensor<33x40xf16>, tensor<40x50xf16>) -> tensor<33x50xf32>
    %r = compute.grid (%i, %j) {
      %v = compute.load %p[%i, %j] : tensor<33x50xf32>
      %c = compute.load %b_[%j] : tensor<50xf16>
      %h = arith.truncf %v : f32 to f16
      %a = arith.addf %h, %c : f16
      compute.yield %a : f16
    } : tensor<33x50xf16>
    compute.yield %r : tensor<33x50xf16>
  }
  func.return %y : tensor<33x50xf16>
}

// -----

// A convolution is the same template: its right operand is the im2col view, and the epilogue sends
// element (channel, image * 25 + row * 5 + column) to its place.

// CHECK-LABEL: cuda.kernel @im2col_p_r_kernel(
// CHECK-SAME:    %out : memref<2x8x5x5xf32>)
// CHECK-SAME:    template = "matmul"
// CHECK:         %[[VIEW:.*]] = compute.grid (%{{.*}}, %{{.*}}) {
// CHECK:           scf.if
// CHECK-NEXT:        compute.load %x_[
// CHECK:         } : tensor<9x50xf32>
// CHECK:         scf.for %k0
// CHECK-NEXT:      task.copy %w_[%row, %k0] to %sa[]
// CHECK-NEXT:      task.copy %[[VIEW]][%k0, %column] to %sb[] {{.*}} : tensor<9x50xf32> to
// CHECK:         compute.sink (%[[C:.*]], %[[N:.*]], %[[V:.*]] : f32) {
// CHECK:           %[[PLUS:.*]] = arith.maximumf %[[V]]
// CHECK-NEXT:      compute.store %[[PLUS]], %out[%{{.*}}, %[[C]], %{{.*}}, %{{.*}}]
func.func @conv(%x : tensor<2x1x5x5xf32>, %w : tensor<8x9xf32>) -> tensor<2x8x5x5xf32> {
  %y = compute.fusion (%x_ = %x : tensor<2x1x5x5xf32>, %w_ = %w : tensor<8x9xf32>) -> (tensor<2x8x5x5xf32>) {
    %im2col = compute.grid (%r, %n) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c5 = arith.constant 5 : index
      %c25 = arith.constant 25 : index
      %dy = arith.divsi %r, %c3 : index
      %dx = arith.remsi %r, %c3 : index
      %image = arith.divsi %n, %c25 : index
      %line = arith.divsi %n, %c5 : index
      %oy = arith.remsi %line, %c5 : index
      %ox = arith.remsi %n, %c5 : index
      %sy = arith.addi %oy, %dy : index
      %sx = arith.addi %ox, %dx : index
      %iy = arith.subi %sy, %c1 : index
      %ix = arith.subi %sx, %c1 : index
      %top = arith.cmpi sge, %iy, %c0 : index
      %bottom = arith.cmpi slt, %iy, %c5 : index
      %left = arith.cmpi sge, %ix, %c0 : index
      %right = arith.cmpi slt, %ix, %c5 : index
      %v1 = arith.andi %top, %bottom : i1
      %v2 = arith.andi %v1, %left : i1
      %inside = arith.andi %v2, %right : i1
      %p = scf.if %inside -> (f32) {
        %v = compute.load %x_[%image, %c0, %iy, %ix] : tensor<2x1x5x5xf32>
        scf.yield %v : f32
      } else {
        %zero = arith.constant 0.0 : f32
        scf.yield %zero : f32
      }
      compute.yield %p : f32
    } : tensor<9x50xf32>
    %p = graph.matmul %w_, %im2col : (tensor<8x9xf32>, tensor<9x50xf32>) -> tensor<8x50xf32>
    %r = compute.grid (%b, %c, %i, %j) {
      %c5 = arith.constant 5 : index
      %l = arith.muli %b, %c5 : index
      %m = arith.addi %l, %i : index
      %n = arith.muli %m, %c5 : index
      %place = arith.addi %n, %j : index
      %v = compute.load %p[%c, %place] : tensor<8x50xf32>
      %zero = arith.constant 0.0 : f32
      %a = arith.maximumf %v, %zero : f32
      compute.yield %a : f32
    } : tensor<2x8x5x5xf32>
    compute.yield %r : tensor<2x8x5x5xf32>
  }
  func.return %y : tensor<2x8x5x5xf32>
}

// -----

// Where there is no element, there is no block, and nothing to do.

// CHECK-LABEL: cuda.kernel @e_kernel(%x_ : memref<4x0xf32>, %out : memref<4x0xf32>) grid(0) block(128)
// CHECK-NEXT:  }
func.func @empty(%x : tensor<4x0xf32>) -> tensor<4x0xf32> {
  %y = compute.fusion (%x_ = %x : tensor<4x0xf32>) -> (tensor<4x0xf32>) {
    %e = compute.grid (%i, %j) {
      %v = compute.load %x_[%i, %j] : tensor<4x0xf32>
      %u = math.exp %v : f32
      compute.yield %u : f32
    } : tensor<4x0xf32>
    compute.yield %e : tensor<4x0xf32>
  }
  func.return %y : tensor<4x0xf32>
}

// -----

// Equal fusions share a kernel, whatever their values are called; one that differs in an op, or in
// its config, has its own, and a name of its own. What a value is called may be a function of C.

// CHECK:       cuda.kernel @exp_kernel(
// CHECK:       cuda.kernel @exp_kernel1(
// CHECK:       cuda.kernel @exp_kernel2(
// CHECK-SAME:    threads = 64
// CHECK-NOT:   cuda.kernel
// CHECK:       %y = cuda.launch @exp_kernel(%x)
// CHECK-NEXT:  %z = cuda.launch @exp_kernel(%w)
// CHECK-NEXT:  %o = cuda.launch @exp_kernel1(%w)
// CHECK-NEXT:  %c = cuda.launch @exp_kernel2(%w)
func.func @equal(%x : tensor<64xf32>, %w : tensor<64xf32>)
    -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %y = compute.fusion (%a = %x : tensor<64xf32>) -> (tensor<64xf32>) {
    %exp = compute.grid (%i) {
      %v = compute.load %a[%i] : tensor<64xf32>
      %u = math.exp %v : f32
      compute.yield %u : f32
    } : tensor<64xf32>
    compute.yield %exp : tensor<64xf32>
  }
  %z = compute.fusion (%b = %w : tensor<64xf32>) -> (tensor<64xf32>) {
    %f = compute.grid (%k) {
      %v = compute.load %b[%k] : tensor<64xf32>
      %u = math.exp %v : f32
      compute.yield %u : f32
    } : tensor<64xf32>
    compute.yield %f : tensor<64xf32>
  }
  %o = compute.fusion (%b = %w : tensor<64xf32>) -> (tensor<64xf32>) {
    %exp = compute.grid (%k) {
      %v = compute.load %b[%k] : tensor<64xf32>
      %u = math.tanh %v : f32
      compute.yield %u : f32
    } : tensor<64xf32>
    compute.yield %exp : tensor<64xf32>
  }
  %c = compute.fusion (%b = %w : tensor<64xf32>) -> (tensor<64xf32>) config {template = "elementwise", threads = 64 : i64, vector = 1 : i64} {
    %exp = compute.grid (%k) {
      %v = compute.load %b[%k] : tensor<64xf32>
      %u = math.exp %v : f32
      compute.yield %u : f32
    } : tensor<64xf32>
    compute.yield %exp : tensor<64xf32>
  }
  func.return %y, %z, %o, %c : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// -----

// A config decides template and sizes: here a long row that the cost model would not leave to one
// thread, and a product with tiles of its own. What a kernel has to do stands beside it.

// CHECK-LABEL: cuda.kernel @m_kernel
// CHECK-SAME:    grid(2) block(64) attributes {config = {template = "elementwise", threads = 64 : i64, vector = 1 : i64}, work = {
// CHECK:           compute.reduce max [64]
// CHECK-LABEL: cuda.kernel @p_kernel
// CHECK-SAME:    grid(8) block(64) attributes {config = {template = "matmul", instruction = "fma", block_m = 16 : i64, block_n = 16 : i64, block_k = 8 : i64, rows = 8 : i64, columns = 8 : i64, stages = 1 : i64}, work = {operations = 262144 : i64, moved = 45056 : i64, kind = "f32"}} {
// CHECK:         %sa = memref.alloca() : memref<16x8xf32, #cuda.space<shared>>
func.func @config(%x : tensor<128x64xf32>, %w : tensor<64x16xf32>) -> (tensor<128xf32>, tensor<128x16xf32>) {
  %y = compute.fusion (%x_ = %x : tensor<128x64xf32>) -> (tensor<128xf32>) config {template = "elementwise", threads = 64 : i64, vector = 1 : i64} {
    %m = compute.grid (%i) {
      %r = compute.reduce max [64] (%k) {
        %v = compute.load %x_[%i, %k] : tensor<128x64xf32>
        compute.yield %v : f32
      } : f32
      compute.yield %r : f32
    } : tensor<128xf32>
    compute.yield %m : tensor<128xf32>
  }
  %z = compute.fusion (%x_ = %x : tensor<128x64xf32>, %w_ = %w : tensor<64x16xf32>) -> (tensor<128x16xf32>) config {template = "matmul", instruction = "fma", block_m = 16 : i64, block_n = 16 : i64, block_k = 8 : i64, rows = 8 : i64, columns = 8 : i64, stages = 1 : i64} {
    %p = graph.matmul %x_, %w_ : (tensor<128x64xf32>, tensor<64x16xf32>) -> tensor<128x16xf32>
    compute.yield %p : tensor<128x16xf32>
  }
  func.return %y, %z : tensor<128xf32>, tensor<128x16xf32>
}
