// RUN: hidet-opt %s -p 'schedule{arch=sm_90a}' | filecheck %s

// In a softmax the exponentials are read twice: they are computed once, and kept in registers.

// CHECK-LABEL: cuda.kernel @max_e_sum_softmax_kernel
// CHECK:         task.combine max
// CHECK:         %e = memref.alloca() : memref<{{.*}}xf32, #{{.*}}, #cuda.space<register>>
// CHECK-NEXT:    task.foreach ({{.*}}) of %e on %worker
// CHECK:           math.exp
// CHECK:           memref.store %{{.*}}, %e[
// CHECK:         compute.grid
// CHECK:           memref.load %e[
// CHECK-NOT:     math.exp
func.func @softmax(%x : tensor<128x512xf32>) -> tensor<128x512xf32> {
  %y = compute.fusion (%a = %x : tensor<128x512xf32>) -> (tensor<128x512xf32>) {
    %max = compute.grid (%i) {
      %s = compute.reduce max [512] (%j) {
        %v = compute.load %a[%i, %j] : tensor<128x512xf32>
        compute.yield %v : f32
      } : f32
      compute.yield %s : f32
    } : tensor<128xf32>
    %e = compute.grid (%i, %j) {
      %v = compute.load %a[%i, %j] : tensor<128x512xf32>
      %m = compute.load %max[%i] : tensor<128xf32>
      %d = arith.subf %v, %m : f32
      %w = math.exp %d : f32
      compute.yield %w : f32
    } : tensor<128x512xf32>
    %sum = compute.grid (%i) {
      %s = compute.reduce add [512] (%j) {
        %v = compute.load %e[%i, %j] : tensor<128x512xf32>
        compute.yield %v : f32
      } : f32
      compute.yield %s : f32
    } : tensor<128xf32>
    %softmax = compute.grid (%i, %j) {
      %v = compute.load %e[%i, %j] : tensor<128x512xf32>
      %s = compute.load %sum[%i] : tensor<128xf32>
      %q = arith.divf %v, %s : f32
      compute.yield %q : f32
    } : tensor<128x512xf32>
    compute.yield %softmax : tensor<128x512xf32>
  }
  func.return %y : tensor<128x512xf32>
}

// A sum over columns: a block has 16 adjacent ones, a lane 4, so that accesses are contiguous.

// CHECK-LABEL: cuda.kernel @columns_kernel
// CHECK-SAME:    grid(48) block(512) attributes {config = {template = "row", threads = 512 : i64, lanes = 128 : i64, vector = 4 : i64, across = 4 : i64}
// CHECK:         task.foreach (%row_1, %element) in #task.map<repeat(1, 32) * spatial(48, 128) * spatial(4, 1) * repeat(4, 1)>
// CHECK:         task.combine add
func.func @sum(%x : tensor<4096x768xf32>) -> tensor<768xf32> {
  %y = compute.fusion (%a = %x : tensor<4096x768xf32>) -> (tensor<768xf32>) {
    %columns = compute.grid (%i) {
      %s = compute.reduce add [4096] (%j) {
        %v = compute.load %a[%j, %i] : tensor<4096x768xf32>
        compute.yield %v : f32
      } : f32
      compute.yield %s : f32
    } : tensor<768xf32>
    compute.yield %columns : tensor<768xf32>
  }
  func.return %y : tensor<768xf32>
}

// Windows that do not overlap are rows; those that slide are reduced by one thread each.

// CHECK-LABEL: cuda.kernel @parts_kernel
// CHECK-SAME:    template = "row"
// CHECK-LABEL: cuda.kernel @slides_kernel
// CHECK-SAME:    template = "elementwise"
func.func @windows(%x : tensor<65536x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %y = compute.fusion (%a = %x : tensor<65536x64xf32>) -> (tensor<64x64xf32>) {
    %parts = compute.grid (%s, %i) {
      %sum = compute.reduce add [1024] (%j) {
        %size = arith.constant 1024 : index
        %start = arith.muli %s, %size : index
        %k = arith.addi %start, %j : index
        %v = compute.load %a[%k, %i] : tensor<65536x64xf32>
        compute.yield %v : f32
      } : f32
      compute.yield %sum : f32
    } : tensor<64x64xf32>
    compute.yield %parts : tensor<64x64xf32>
  }
  %z = compute.fusion (%a = %x : tensor<65536x64xf32>) -> (tensor<64x64xf32>) {
    %slides = compute.grid (%s, %i) {
      %sum = compute.reduce add [1024] (%j) {
        %size = arith.constant 1023 : index
        %start = arith.muli %s, %size : index
        %k = arith.addi %start, %j : index
        %v = compute.load %a[%k, %i] : tensor<65536x64xf32>
        compute.yield %v : f32
      } : f32
      compute.yield %sum : f32
    } : tensor<64x64xf32>
    compute.yield %slides : tensor<64x64xf32>
  }
  func.return %y, %z : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// Reductions that do not depend on each other share the loop over the elements, whatever is computed
// from each afterwards, and many short rows have fewer lanes, which load whole vectors.

// CHECK-LABEL: cuda.kernel @one_two_kernel
// CHECK-SAME:    template = "row", threads = 128 : i64, lanes = 8 : i64, vector = 8 : i64
// CHECK:         task.foreach (%{{.*}}, %{{.*}}) in #task.map<{{.*}}> on %worker bound [65536, 64] {
// CHECK:           memref.store %{{.*}}, %row_add
// CHECK:           memref.store %{{.*}}, %two
// CHECK-NEXT:    }
// CHECK:         task.combine add %row_add on %worker
// CHECK:         task.combine max %two on %worker
// CHECK:         %double = arith.addf
// CHECK:         memref.store %double, %one
// CHECK:         compute.grid
func.func @together(%x : tensor<65536x64xf16>) -> (tensor<65536xf16>, tensor<65536xf16>) {
  %y, %z = compute.fusion (%a = %x : tensor<65536x64xf16>) -> (tensor<65536xf16>, tensor<65536xf16>) {
    %one = compute.grid (%i) {
      %sum = compute.reduce add [64] (%j) {
        %v = compute.load %a[%i, %j] : tensor<65536x64xf16>
        compute.yield %v : f16
      } : f16
      %double = arith.addf %sum, %sum : f16
      compute.yield %double : f16
    } : tensor<65536xf16>
    %two = compute.grid (%i) {
      %most = compute.reduce max [64] (%j) {
        %v = compute.load %a[%i, %j] : tensor<65536x64xf16>
        compute.yield %v : f16
      } : f16
      compute.yield %most : f16
    } : tensor<65536xf16>
    compute.yield %one, %two : tensor<65536xf16>, tensor<65536xf16>
  }
  func.return %y, %z : tensor<65536xf16>, tensor<65536xf16>
}

// -----

// Columns whose elements are stored beside their sums are kept, in vectors of 8 bytes.

// CHECK-LABEL: cuda.kernel @e_s_kernel
// CHECK-SAME:    template = "row", {{.*}}vector = 4 : i64, across = 8 : i64
func.func @kept_columns(%x : tensor<64x4096xf16>) -> (tensor<64x4096xf16>, tensor<4096xf32>) {
  %y, %z = compute.fusion (%a = %x : tensor<64x4096xf16>) -> (tensor<64x4096xf16>, tensor<4096xf32>) {
    %e = compute.grid (%i, %j) {
      %v = compute.load %a[%i, %j] : tensor<64x4096xf16>
      %n = arith.negf %v : f16
      compute.yield %n : f16
    } : tensor<64x4096xf16>
    %s = compute.grid (%j) {
      %sum = compute.reduce add [64] (%i) {
        %v = compute.load %e[%i, %j] : tensor<64x4096xf16>
        %w = arith.extf %v : f16 to f32
        compute.yield %w : f32
      } : f32
      compute.yield %sum : f32
    } : tensor<4096xf32>
    compute.yield %e, %s : tensor<64x4096xf16>, tensor<4096xf32>
  }
  func.return %y, %z : tensor<64x4096xf16>, tensor<4096xf32>
}
