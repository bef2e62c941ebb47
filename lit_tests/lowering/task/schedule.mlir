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
func.func @equal(%x : tensor<64xf32>, %w : tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %y = compute.fusion (%a = %x : tensor<64xf32>) -> (tensor<64xf32>) {
    %e = compute.grid (%i) {
      %v = compute.load %a[%i] : tensor<64xf32>
      %u = math.exp %v : f32
      compute.yield %u : f32
    } : tensor<64xf32>
    compute.yield %e : tensor<64xf32>
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
    %e = compute.grid (%k) {
      %v = compute.load %b[%k] : tensor<64xf32>
      %u = math.tanh %v : f32
      compute.yield %u : f32
    } : tensor<64xf32>
    compute.yield %e : tensor<64xf32>
  }
  func.return %y, %z, %o : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
