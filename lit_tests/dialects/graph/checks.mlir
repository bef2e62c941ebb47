// RUN: HIDET_ROUNDTRIP
// RUN: hidet-opt %s | hidet-opt | filecheck %s

// The operators are those that an error names.

func.func @checks(%i : tensor<2x3xi64>, %d : tensor<3xi32>) {
  %0 = graph.checked_positions %i {size = 5 : i64, operator = "aten.gather"} : tensor<2x3xi64>
  %1 = graph.checked_positions %i {size = 5 : i64, from_end, operator = "aten.index"} : tensor<2x3xi64>
  %2 = graph.checked_divisor %d {operator = "aten.div"} : tensor<3xi32>
  func.return
}

// CHECK-LABEL: func.func @checks
// CHECK-NEXT:    %0 = graph.checked_positions %i {{[{].*[}]}} : tensor<2x3xi64>
// CHECK-NEXT:    %1 = graph.checked_positions %i {{[{].*}}from_end{{.*[}]}} : tensor<2x3xi64>
// CHECK-NEXT:    %2 = graph.checked_divisor %d {operator = "aten.div"} : tensor<3xi32>
