// RUN: hidet-opt %s -p plan-memory --split-input-file | filecheck %s

// A chain: %a dies where %b is written, so %c takes its place; the last result is the output.

cuda.kernel @f(%x : memref<64xf32> {cuda.readonly}, %y : memref<64xf32>) grid(1) block(64) {
  %0 = arith.constant 0 : index
}
func.func @forward(%x : tensor<64xf32>) -> tensor<64xf32> {
  %a = cuda.launch @f(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %b = cuda.launch @f(%a) : (tensor<64xf32>) -> tensor<64xf32>
  %c = cuda.launch @f(%b) : (tensor<64xf32>) -> tensor<64xf32>
  %d = cuda.launch @f(%c) : (tensor<64xf32>) -> tensor<64xf32>
  func.return %d : tensor<64xf32>
}

// CHECK:      func.func @forward(%x: memref<64xf32>, %out0: memref<64xf32>)
// CHECK-SAME:   attributes {outputs = 1 : i64, arena_bytes = 512 : i64, prepared_bytes = 0 : i64}
// CHECK-NEXT:   %a = cuda.buffer arena offset 0 : memref<64xf32>
// CHECK-NEXT:   cuda.launch @f(%x, %a) : (memref<64xf32>, memref<64xf32>) -> ()
// CHECK-NEXT:   %b = cuda.buffer arena offset 256 : memref<64xf32>
// CHECK-NEXT:   cuda.launch @f(%a, %b) : (memref<64xf32>, memref<64xf32>) -> ()
// CHECK-NEXT:   %c = cuda.buffer arena offset 0 : memref<64xf32>
// CHECK-NEXT:   cuda.launch @f(%b, %c) : (memref<64xf32>, memref<64xf32>) -> ()
// CHECK-NEXT:   cuda.launch @f(%c, %out0) : (memref<64xf32>, memref<64xf32>) -> ()
// CHECK-NEXT:   func.return

// -----

// Weights go by name, what @prepare returns by its offset; a result that it returns twice has one
// place, and what it hands through stays a weight.

cuda.kernel @g(%x : memref<65xf32> {cuda.readonly}, %y : memref<65xf32>) grid(1) block(64) {
  %0 = arith.constant 0 : index
}
func.func @prepare() -> (tensor<65xf32>, tensor<65xf32>, tensor<65xf32>, tensor<65xf32>) {
  %p = graph.constant "p0" : tensor<65xf32>
  %a = cuda.launch @g(%p) : (tensor<65xf32>) -> tensor<65xf32>
  %b = cuda.launch @g(%a) : (tensor<65xf32>) -> tensor<65xf32>
  func.return %a, %b, %a, %p : tensor<65xf32>, tensor<65xf32>, tensor<65xf32>, tensor<65xf32>
}
func.func @forward() -> tensor<65xf32> {
  %w = graph.constant "prepared1" : tensor<65xf32>
  %v = graph.constant "prepared2" : tensor<65xf32>
  %u = graph.constant "prepared3" : tensor<65xf32>
  %a = cuda.launch @g(%w) : (tensor<65xf32>) -> tensor<65xf32>
  %b = cuda.launch @g(%v) : (tensor<65xf32>) -> tensor<65xf32>
  %c = cuda.launch @g(%u) : (tensor<65xf32>) -> tensor<65xf32>
  func.return %c : tensor<65xf32>
}

// CHECK:      func.func @prepare()
// CHECK-SAME:   attributes {outputs = 0 : i64, arena_bytes = 0 : i64, prepared_bytes = 1024 : i64}
// CHECK-NEXT:   %p = cuda.buffer constant "p0" : memref<65xf32>
// CHECK-NEXT:   %a = cuda.buffer prepared offset 0 : memref<65xf32>
// CHECK-NEXT:   %b = cuda.buffer prepared offset 512 : memref<65xf32>
// CHECK-NEXT:   cuda.launch @g(%p, %a)
// CHECK-NEXT:   cuda.launch @g(%a, %b)
// CHECK-NEXT:   func.return
// CHECK:      func.func @forward(%out0: memref<65xf32>)
// CHECK-NEXT:   %w = cuda.buffer prepared offset 512 : memref<65xf32>
// CHECK-NEXT:   %v = cuda.buffer prepared offset 0 : memref<65xf32>
// CHECK-NEXT:   %u = cuda.buffer constant "p0" : memref<65xf32>
// CHECK-NEXT:   %a = cuda.buffer arena offset 0 : memref<65xf32>
// CHECK-NEXT:   cuda.launch @g(%w, %a)
// CHECK-NEXT:   %b = cuda.buffer arena offset 0 : memref<65xf32>
// CHECK-NEXT:   cuda.launch @g(%v, %b)
// CHECK-NEXT:   cuda.launch @g(%u, %out0)

// -----

// An output is never an input, a weight, or another output; empty tensors take no memory.

cuda.kernel @h(%x : memref<0xf32>) grid(0) block(64) {
  %0 = arith.constant 0 : index
}
func.func @forward(%x : tensor<2xi1>) -> (tensor<2xi1>, tensor<4xbf16>, tensor<0xf32>, tensor<0xf32>) {
  %p = graph.constant "p0" : tensor<4xbf16>
  %a = cuda.launch @h() : () -> tensor<0xf32>
  %b = cuda.launch @h() : () -> tensor<0xf32>
  func.return %x, %p, %a, %a : tensor<2xi1>, tensor<4xbf16>, tensor<0xf32>, tensor<0xf32>
}

// CHECK:      func.func @forward(%x: memref<2xi1>, %out0: memref<2xi1>, %out1: memref<4xbf16>,
// CHECK-SAME:   %out2: memref<0xf32>, %out3: memref<0xf32>)
// CHECK-SAME:   arena_bytes = 0 : i64
// CHECK-NEXT:   %p = cuda.buffer constant "p0" : memref<4xbf16>
// CHECK-NEXT:   cuda.launch @h(%out2)
// CHECK-NEXT:   %b = cuda.buffer arena offset 0 : memref<0xf32>
// CHECK-NEXT:   cuda.launch @h(%b)
// CHECK-NEXT:   "memref.copy"(%x, %out0)
// CHECK-NEXT:   "memref.copy"(%p, %out1)
// CHECK-NEXT:   "memref.copy"(%out2, %out3)
// CHECK-NEXT:   func.return

// -----

// What a result holds at first lies where the result does, through several launches.

cuda.kernel @f(%x : memref<64xf32>) grid(1) block(64) {
  %0 = arith.constant 0 : index
}
cuda.kernel @g(%x : memref<64xf32> {cuda.readonly}, %y : memref<64xf32>) grid(1) block(64) {
  %0 = arith.constant 0 : index
}
func.func @forward(%x : tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %a = cuda.launch @f() : () -> tensor<64xf32>
  %b = cuda.launch @f() : () -> tensor<64xf32>
  %c = cuda.launch @g(%x, %a) {inits = array<i64: 0>} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %d = cuda.launch @g(%b, %c) {inits = array<i64: 0>} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %e = cuda.launch @g(%d) : (tensor<64xf32>) -> tensor<64xf32>
  %f = cuda.launch @g(%x, %e) {inits = array<i64: 0>} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  func.return %f, %f : tensor<64xf32>, tensor<64xf32>
}

// CHECK:      func.func @forward
// CHECK-SAME:   arena_bytes = 512 : i64
// CHECK-NEXT:   %d = cuda.buffer arena offset 0
// CHECK-NEXT:   cuda.launch @f(%d) : (memref<64xf32>) -> ()
// CHECK-NEXT:   %b = cuda.buffer arena offset 256
// CHECK-NEXT:   cuda.launch @f(%b) : (memref<64xf32>) -> ()
// CHECK-NEXT:   cuda.launch @g(%x, %d) : (memref<64xf32>, memref<64xf32>) -> ()
// CHECK-NEXT:   cuda.launch @g(%b, %d) : (memref<64xf32>, memref<64xf32>) -> ()
// CHECK-NEXT:   cuda.launch @g(%d, %out0) : (memref<64xf32>, memref<64xf32>) -> ()
// CHECK-NEXT:   cuda.launch @g(%x, %out0) : (memref<64xf32>, memref<64xf32>) -> ()
// CHECK-NEXT:   "memref.copy"(%out0, %out1)

// -----

// Numbers are passed as they are.

cuda.kernel @f(%x : memref<64xf32> {cuda.readonly}, %n : i32, %y : memref<64xf32>) grid(1) block(64) {
  %0 = arith.constant 0 : index
}
func.func @forward(%x : tensor<64xf32>) -> tensor<64xf32> {
  %n = arith.constant 7 : i32
  %a = cuda.launch @f(%x, %n) : (tensor<64xf32>, i32) -> tensor<64xf32>
  func.return %a : tensor<64xf32>
}

// CHECK:      func.func @forward(%x: memref<64xf32>, %out0: memref<64xf32>)
// CHECK-NEXT:   %n = arith.constant 7 : i32
// CHECK-NEXT:   cuda.launch @f(%x, %n, %out0) : (memref<64xf32>, i32, memref<64xf32>) -> ()
// CHECK-NEXT:   func.return

// -----

// The new content of an argument lies where the argument does: %a, and %b over it. What is returned
// besides is copied: the old content ahead of the launches, the new one after them.

cuda.kernel @f(%x : memref<64xf32> {cuda.readonly}, %y : memref<64xf32>) grid(1) block(64) {
  %0 = arith.constant 0 : index
}
func.func @forward(%x : tensor<64xf32>, %k : tensor<64xf32>, %o : tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) attributes {updates = array<i64: 2, 0>} {
  %a = cuda.launch @f(%k, %x) {inits = array<i64: 0>} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %b = cuda.launch @f(%k, %a) {inits = array<i64: 0>} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %c = cuda.launch @f(%b) : (tensor<64xf32>) -> tensor<64xf32>
  func.return %o, %b, %c, %b : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// CHECK:      func.func @forward(%x: memref<64xf32>, %k: memref<64xf32>, %o: memref<64xf32>, %out0: memref<64xf32>, %out1: memref<64xf32>)
// CHECK-SAME:   attributes {updates = array<i64: 2, 0>, outputs = 2 : i64, arena_bytes = 0 : i64
// CHECK-NEXT:   "memref.copy"(%o, %out0)
// CHECK-NEXT:   cuda.launch @f(%k, %x)
// CHECK-NEXT:   cuda.launch @f(%k, %x)
// CHECK-NEXT:   cuda.launch @f(%x, %o)
// CHECK-NEXT:   "memref.copy"(%x, %out1)
// CHECK-NEXT:   func.return

// -----

// A launch reads the old content while or after the new one is written: it is copied at the end.

cuda.kernel @g(%x : memref<64xf32> {cuda.readonly}, %y : memref<64xf32>) grid(1) block(64) {
  %0 = arith.constant 0 : index
}
func.func @forward(%x : tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {updates = array<i64: 0>} {
  %a = cuda.launch @g(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %b = cuda.launch @g(%a) : (tensor<64xf32>) -> tensor<64xf32>
  func.return %b, %a : tensor<64xf32>, tensor<64xf32>
}

// CHECK:      func.func @forward(%x: memref<64xf32>, %out0: memref<64xf32>)
// CHECK-NEXT:   %a = cuda.buffer arena offset 0 : memref<64xf32>
// CHECK-NEXT:   cuda.launch @g(%x, %a)
// CHECK-NEXT:   cuda.launch @g(%a, %out0)
// CHECK-NEXT:   "memref.copy"(%a, %x)
// CHECK-NEXT:   func.return
