# RUN: hidet script %s --filecheck

"""Operators and comparisons."""

import hidet
from hidet.lang import attrs, f32, i32, u32

with hidet.script_module() as module:
    # IR-LABEL:     cuda.kernel @arithmetic
    # SOURCE-LABEL: arithmetic(
    @hidet.script
    def arithmetic(x: f32[8], y: i32[16], a: f32, n: i32, u: u32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # IR:     arith.addf %a, %{{.*}} : f32
        # SOURCE: x[0] = a + 1.0f;
        x[0] = a + 1
        # IR:     arith.subf %{{.*}}, %a : f32
        # SOURCE: x[1] = 1.0f - a;
        x[1] = 1 - a
        # IR:     arith.mulf %a, %{{.*}} : f32
        # SOURCE: x[2] = a * 0.5f;
        x[2] = a * 0.5
        # IR:     arith.divf %a, %{{.*}} : f32
        # SOURCE: x[3] = a / 3.0f;
        x[3] = a / 3
        # IR:     math.powf %a, %{{.*}} : f32
        # SOURCE: x[4] = hidet::pow(a, 3.0f);
        x[4] = a**3
        # IR:     arith.floordivsi %n, %{{.*}} : i32
        # SOURCE: y[0] = hidet::floordiv(n, 3);
        y[0] = n // 3
        # IR:     arith.divui %u, %{{.*}} : i32
        # SOURCE: y[1] = u / 3;
        y[1] = u // 3
        # IR:     cuda.floormodsi %n, %{{.*}} : i32
        # SOURCE: y[2] = hidet::floormod(n, 3);
        y[2] = n % 3
        # IR:     arith.shli %n, %{{.*}} : i32
        # SOURCE: y[3] = n << 3;
        y[3] = n << 3
        # IR:     arith.shrsi %n, %{{.*}} : i32
        # SOURCE: y[4] = n >> 3;
        y[4] = n >> 3
        # IR:     arith.andi %n, %{{.*}} : i32
        # SOURCE: y[5] = n & 3;
        y[5] = n & 3
        # IR:     arith.ori %n, %{{.*}} : i32
        # SOURCE: y[6] = n | 3;
        y[6] = n | 3
        # IR:     arith.xori %n, %{{.*}} : i32
        # SOURCE: y[7] = n ^ 3;
        y[7] = n ^ 3
        # IR:     arith.subi %{{.*}}, %n : i32
        # SOURCE: y[8] = 0u - n;
        y[8] = -n
        # IR:     arith.xori %n, %{{.*}} : i32
        # SOURCE: y[9] = ~n;
        y[9] = ~n
        # IR:     memref.store %n, %y
        # SOURCE: y[10] = n;
        y[10] = +n

    # IR-LABEL:     cuda.kernel @comparisons
    # SOURCE-LABEL: comparisons(
    @hidet.script
    def comparisons(y: i32[16], a: f32, n: i32, u: u32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # IR:     arith.cmpi eq, %n, %{{.*}} : i32
        # SOURCE: y[0] = hidet::cast<int>(n == 3);
        y[0] = n == 3
        # IR:     arith.cmpf une, %a, %{{.*}} : f32
        # SOURCE: y[1] = hidet::cast<int>(a != 3.0f);
        y[1] = a != 3
        # IR:     arith.cmpi slt, %n, %{{.*}} : i32
        # SOURCE: y[2] = hidet::cast<int>(n < 3);
        y[2] = n < 3
        # IR:     arith.cmpi ule, %u, %{{.*}} : i32
        # SOURCE: y[3] = hidet::cast<int>(u <= 3);
        y[3] = u <= 3
        # IR:     arith.cmpf ogt, %a, %{{.*}} : f32
        # SOURCE: y[4] = hidet::cast<int>(a > 3.0f);
        y[4] = a > 3
        # IR:     arith.cmpi sge, %n, %{{.*}} : i32
        # SOURCE: y[5] = hidet::cast<int>(n >= 3);
        y[5] = n >= 3
        # IR:     %[[L:.*]] = arith.cmpi sgt, %n, %{{.*}} : i32
        # IR:     %[[R:.*]] = arith.cmpi slt, %n, %{{.*}} : i32
        # IR:     arith.andi %[[L]], %[[R]] : i1
        # SOURCE: y[6] = hidet::cast<int>(n > 0 && n < 8);
        y[6] = 0 < n < 8

    # Compile-time conditions take one branch.

    SIZES = (1, 2, None)

    # IR-LABEL:     cuda.kernel @known
    # SOURCE-LABEL: known(
    @hidet.script
    def known(y: i32[16]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # Compile-time assertions emit nothing.
        # IR-NEXT:     arith.constant 1 : i32
        # SOURCE-NOT:  one
        assert SIZES[0] == 1, "the size is one"
        # IR:     memref.store
        # SOURCE: y[0] = 1;
        y[0] = 1 if SIZES[2] is None else 2
        # IR:     arith.constant 2 : i32
        # SOURCE: y[1] = 2;
        y[1] = 1 if SIZES[0] is not SIZES[0] else 2
        # IR:     arith.constant 3 : i32
        # SOURCE: y[2] = 3;
        y[2] = 3 if 2 in SIZES else 4
        # IR:     arith.constant 4 : i32
        # SOURCE: y[3] = 4;
        y[3] = 3 if 2 not in SIZES else 4
