# RUN: hidet script %s --filecheck

"""Assignments to names and elements."""

import hidet
from hidet.lang import attrs, f16, f32, f64, i32, i64, u32

with hidet.script_module() as module:
    # IR-LABEL:     cuda.kernel @names
    # SOURCE-LABEL: names(
    @hidet.script
    def names(x: f32[8, 4], y: f16[8], n: i32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # A name that is assigned once is the value itself.
        # IR:     %{{.*}} = arith.addi %n, %n : i32
        # SOURCE: hidet::cast<unsigned>(n) + n
        twice = n + n
        x[twice, twice] = 1.0
        # One that is assigned again is a variable, with the type of its first value.
        # IR:     memref.store %n, %count
        # SOURCE: int count = n;
        count = n
        # IR:     arith.fptosi
        # SOURCE: count = hidet::cast<int>(x[0]);
        count = x[0, 0]
        # IR:     arith.addi
        # SOURCE: count += 2u;
        count += 2
        # IR:     arith.extf
        # SOURCE: x[28] = hidet::cast<float>(hidet::cast<double>(x[4]) * 2.0);
        wide: f64 = x[1, 0]
        x[7, 0] = wide * 2
        # IR:     memref.load %x
        # IR:     memref.load %x
        # SOURCE: x[16] = x[8] + x[12] + hidet::cast<float>(count);
        a, b = x[2, 0], x[3, 0]
        x[4, 0] = a + b + count
        # IR:     %{{.*}} = arith.muli %n, %n : i32
        # SOURCE: const int square = hidet::cast<unsigned>(n) * n;
        # SOURCE: x[20] = hidet::cast<float>(hidet::cast<int>(hidet::cast<unsigned>(square) + hidet::floormod(square, 7)));
        x[5, 0] = (square := n * n) + square % 7
        # A store converts to the type of the elements.
        # IR:     arith.truncf
        # IR:     memref.store %{{.*}}, %y
        # SOURCE: y[0] = hidet::cast<hidet::half>(x[20]);
        y[0] = x[5, 0]
        # IR:     memref.load %x
        # IR:     memref.store %{{.*}}, %x
        # SOURCE: x[24] *= 2.0f;
        x[6, 0] *= 2

    # IR-LABEL:     cuda.kernel @sums
    # SOURCE-LABEL: sums(
    @hidet.script
    def sums(x: f32[8], y: i64[8], z: u32[8], n: i64[2]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # A number of Python has the type of what is added to it, of unsigned numbers too.
        # TASK:   memref.alloca() : memref<f32, #cuda.space<local>>
        # SOURCE: float s = 0.0f;
        s = 0
        # SOURCE: long long wide = 0LL;
        wide = 0
        # TASK:   memref.alloca() {cuda.unsigned} : memref<i32, #cuda.space<local>>
        # SOURCE: unsigned word = 1;
        word = 1
        for i in range(8):
            # SOURCE: s += x_vector[i];
            s += x[i]
            # SOURCE: wide = hidet::maximum(wide, y_vector[i]);
            wide = max(wide, y[i])
            # SOURCE: word = word * 31 + z_vector[i];
            word = word * 31 + z[i]
        x[0] = s
        n[0], n[1] = wide, word
