# RUN: hidet script %s --filecheck

"""Loops that Python runs through: lists, tuples, comprehensions; functions and text of Python."""

import hidet
from hidet.lang import attrs, f32, i32, meta, printf

with hidet.script_module() as module:
    # IR-LABEL:     cuda.kernel @unrolled
    # SOURCE-LABEL: unrolled(
    @hidet.script
    def unrolled(x: f32[32], n: i32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # IR-NOT: scf.for
        # SOURCE-NOT: for
        for a in [1.0, 2.0]:
            # IR:          arith.constant 1.{{0*}}e+00 : f32
            # IR:          arith.constant 2.{{0*}}e+00 : f32
            # SOURCE:      x[0] *= 1.0f;
            # SOURCE-NEXT: x[0] *= 2.0f;
            x[0] *= a
        # IR:          arith.constant 5.{{0*}}e+00 : f32
        # IR:          arith.constant 7.{{0*}}e+00 : f32
        # SOURCE-NEXT: x[1] *= 5.0f;
        # SOURCE-NEXT: x[2] *= 7.0f;
        for a, k in meta.each([(5.0, 1), (7.0, 2)]):
            x[k] *= a
        # IR:          arith.constant 6 : index
        # IR:          arith.constant 8 : index
        # SOURCE-NEXT: x[6] = 0.0f;
        # SOURCE-NEXT: x[8] = 0.0f;
        for k in meta.range(6, 10, 2):
            x[k] = 0.0
        # IR:          arith.muli %n, %{{.*}} : i32
        # SOURCE:      x[9] = hidet::cast<float>(hidet::cast<int>(0 + n * 1 + n * 2u));
        x[9] = sum([n * k for k in (1, 2)])
        # IR:          arith.constant 1.{{0*}}e+01 : f32
        # SOURCE:      x[10] = 10.0f;
        x[10] = sum(k for k in [1, 2, 3, 4])
        # IR:          arith.ori
        # SOURCE-NEXT: x[11] = hidet::cast<float>(n > 1 || n < -5);
        x[11] = any([n > 1, n < -5])
        # IR:          arith.andi
        # SOURCE-NEXT: x[12] = hidet::cast<float>(n > 2 && n > 3);
        x[12] = all(n > k for k in (2, 3))
        # IR:          arith.constant 3.{{0*}}e+00 : f32
        # SOURCE:      x[11] = 3.0f;
        x[11] = [1, 2, 3, 4][1:3][-1]
        # IR:          math.exp
        # SOURCE:      x[12] = hidet::exp(x[13]);
        x[12] = {"exp": hidet.lang.math.exp}["exp"](x[13])
        # IR:          arith.mulf
        # SOURCE:      x[14] = x_value * x_value;
        x[14] = (lambda v: v * v)(x[15])
        # IR:          arith.constant 1.4{{0*}}e+01 : f32
        # SOURCE:      x[16] = 14.0f;
        x[16] = len({1, 2}) + sum({k: 2 * k for k in (1, 2)}.values()) + sum({k * 6 for k in (1,)})
        # IR:          cuda.printf "size 32: %d"(%n : i32)
        # SOURCE:      printf("size 32: %d", n);
        printf(f"size {32}: %d", n)
