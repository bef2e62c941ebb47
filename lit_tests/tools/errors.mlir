// Errors are told without a traceback; the exit status is 1.

// RUN: not hidet-opt %s -p 'no-such-pass' 2>&1 | filecheck %s --check-prefix PASS
// RUN: not hidet-opt %s -p 'canonicalize{speed=3}' 2>&1 | filecheck %s --check-prefix OPTION
// RUN: not hidet-opt %s -t 'mlir{speed=3}' 2>&1 | filecheck %s --check-prefix TARGET

// PASS-NOT: Traceback
// PASS: hidet-opt: Unrecognized passes: ['no-such-pass']
// PASS-NEXT: at: pipeline 'no-such-pass'
// PASS-NEXT: hint: a pipeline is

// OPTION-NOT: Traceback
// OPTION: "speed"
// OPTION: at: pipeline 'canonicalize{speed=3}'

// TARGET: "speed"
// TARGET: at: target 'mlir{speed=3}'

builtin.module {
}
