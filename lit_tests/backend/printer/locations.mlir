// RUN: hidet-opt %s -t cuda | filecheck %s

// The lines that a kernel came from, or its operations, stand above it.

// CHECK:      // relu
// CHECK-NEXT: //   from model.py:12
// CHECK-NEXT: extern
cuda.kernel @relu() grid(1) block(1) attributes {cuda.formed} {
} loc("model.py":12:3)
