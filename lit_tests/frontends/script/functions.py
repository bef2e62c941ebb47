# RUN: hidet script %s --filecheck

"""Calls: functions of the script and of Python become a part of the kernel."""

import hidet
from hidet.lang import attrs, f32, i32


def twice(value):
    return value + value


with hidet.script_module() as module:

    @hidet.script
    def clamp(value: f32, low: f32) -> f32:
        # IR:          arith.cmpf olt, %a
        # SOURCE:      x[0] = a < 0.5f
        if value < low:
            # TASK:        scf.yield %low : f32
            # CUDA:        scf.yield %low : f32
            # FINAL:       scf.yield %{{.*}} : f32
            # SOURCE-SAME: ? 0.5f
            return low
        # TASK:        scf.yield %a : f32
        # CUDA:        scf.yield %a : f32
        # FINAL:       scf.yield %a : f32
        # SOURCE-SAME: : a;
        return value

    @hidet.script
    def fill(pointer: ~f32, index: i32, value):
        # IR:          memref.store %{{.*}}, %x
        # SOURCE-NEXT: x[8] = a + a;
        pointer[index] = value

    @hidet.script
    def kernel(x: f32[32], a: f32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        x[0] = clamp(a, 0.5)
        fill(~x[5], 3, twice(a))

        # A function of a function sees the names around it.
        # IR:          arith.mulf %a, %{{.*}} : f32
        # IR:          memref.store %{{.*}}, %x
        # SOURCE-NEXT: x[9] = a * 3.0f;
        def scaled(factor=3.0):
            return a * factor

        x[9] = scaled()
