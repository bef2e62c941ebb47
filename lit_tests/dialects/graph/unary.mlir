// RUN: HIDET_ROUNDTRIP
// RUN: hidet-opt %s | hidet-opt | filecheck %s

// Functions of one element print one type, all others the types of operands and result.

func.func @unary(%x : tensor<2x3xf32>, %n : tensor<4xi64>) {
  %0 = graph.abs %x : tensor<2x3xf32>
  %1 = graph.acos %x : tensor<2x3xf32>
  %2 = graph.asin %x : tensor<2x3xf32>
  %3 = graph.atan %x : tensor<2x3xf32>
  %4 = graph.bitwise_not %n : tensor<4xi64>
  %5 = graph.cast %x : (tensor<2x3xf32>) -> tensor<2x3xf16>
  %6 = graph.cast %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %7 = graph.ceil %x : tensor<2x3xf32>
  %8 = graph.cos %x : tensor<2x3xf32>
  %9 = graph.cosh %x : tensor<2x3xf32>
  %10 = graph.erf %x : tensor<2x3xf32>
  %11 = graph.erfc %x : tensor<2x3xf32>
  %12 = graph.exp2 %x : tensor<2x3xf32>
  %13 = graph.exp %x : tensor<2x3xf32>
  %14 = graph.expm1 %x : tensor<2x3xf32>
  %15 = graph.floor %x : tensor<2x3xf32>
  %16 = graph.gelu %x : tensor<2x3xf32>
  %17 = graph.gelu %x {approximate = "tanh"} : tensor<2x3xf32>
  %18 = graph.log10 %x : tensor<2x3xf32>
  %19 = graph.log1p %x : tensor<2x3xf32>
  %20 = graph.log2 %x : tensor<2x3xf32>
  %21 = graph.log %x : tensor<2x3xf32>
  %22 = graph.neg %x : tensor<2x3xf32>
  %23 = graph.reciprocal %x : tensor<2x3xf32>
  %24 = graph.relu %x : tensor<2x3xf32>
  %25 = graph.round %x : tensor<2x3xf32>
  %26 = graph.rsqrt %x : tensor<2x3xf32>
  %27 = graph.sigmoid %x : tensor<2x3xf32>
  %28 = graph.sign %x : tensor<2x3xf32>
  %29 = graph.silu %x : tensor<2x3xf32>
  %30 = graph.sin %x : tensor<2x3xf32>
  %31 = graph.sinh %x : tensor<2x3xf32>
  %32 = graph.sqrt %x : tensor<2x3xf32>
  %33 = graph.tan %x : tensor<2x3xf32>
  %34 = graph.tanh %x : tensor<2x3xf32>
  %35 = graph.trunc %x : tensor<2x3xf32>
  %36 = graph.bitcast %x : (tensor<2x3xf32>) -> tensor<2x3xi32>
  func.return
}

// CHECK-LABEL: func.func @unary
// CHECK-NEXT:    %0 = graph.abs %x : tensor<2x3xf32>
// CHECK-NEXT:    %1 = graph.acos %x : tensor<2x3xf32>
// CHECK-NEXT:    %2 = graph.asin %x : tensor<2x3xf32>
// CHECK-NEXT:    %3 = graph.atan %x : tensor<2x3xf32>
// CHECK-NEXT:    %4 = graph.bitwise_not %n : tensor<4xi64>
// CHECK-NEXT:    %5 = graph.cast %x : (tensor<2x3xf32>) -> tensor<2x3xf16>
// CHECK-NEXT:    %6 = graph.cast %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
// CHECK-NEXT:    %7 = graph.ceil %x : tensor<2x3xf32>
// CHECK-NEXT:    %8 = graph.cos %x : tensor<2x3xf32>
// CHECK-NEXT:    %9 = graph.cosh %x : tensor<2x3xf32>
// CHECK-NEXT:    %10 = graph.erf %x : tensor<2x3xf32>
// CHECK-NEXT:    %11 = graph.erfc %x : tensor<2x3xf32>
// CHECK-NEXT:    %12 = graph.exp2 %x : tensor<2x3xf32>
// CHECK-NEXT:    %13 = graph.exp %x : tensor<2x3xf32>
// CHECK-NEXT:    %14 = graph.expm1 %x : tensor<2x3xf32>
// CHECK-NEXT:    %15 = graph.floor %x : tensor<2x3xf32>
// CHECK-NEXT:    %16 = graph.gelu %x : tensor<2x3xf32>
// CHECK-NEXT:    %17 = graph.gelu %x {approximate = "tanh"} : tensor<2x3xf32>
// CHECK-NEXT:    %18 = graph.log10 %x : tensor<2x3xf32>
// CHECK-NEXT:    %19 = graph.log1p %x : tensor<2x3xf32>
// CHECK-NEXT:    %20 = graph.log2 %x : tensor<2x3xf32>
// CHECK-NEXT:    %21 = graph.log %x : tensor<2x3xf32>
// CHECK-NEXT:    %22 = graph.neg %x : tensor<2x3xf32>
// CHECK-NEXT:    %23 = graph.reciprocal %x : tensor<2x3xf32>
// CHECK-NEXT:    %24 = graph.relu %x : tensor<2x3xf32>
// CHECK-NEXT:    %25 = graph.round %x : tensor<2x3xf32>
// CHECK-NEXT:    %26 = graph.rsqrt %x : tensor<2x3xf32>
// CHECK-NEXT:    %27 = graph.sigmoid %x : tensor<2x3xf32>
// CHECK-NEXT:    %28 = graph.sign %x : tensor<2x3xf32>
// CHECK-NEXT:    %29 = graph.silu %x : tensor<2x3xf32>
// CHECK-NEXT:    %30 = graph.sin %x : tensor<2x3xf32>
// CHECK-NEXT:    %31 = graph.sinh %x : tensor<2x3xf32>
// CHECK-NEXT:    %32 = graph.sqrt %x : tensor<2x3xf32>
// CHECK-NEXT:    %33 = graph.tan %x : tensor<2x3xf32>
// CHECK-NEXT:    %34 = graph.tanh %x : tensor<2x3xf32>
// CHECK-NEXT:    %35 = graph.trunc %x : tensor<2x3xf32>
// CHECK-NEXT:    %36 = graph.bitcast %x : (tensor<2x3xf32>) -> tensor<2x3xi32>
