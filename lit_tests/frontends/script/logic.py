# RUN: hidet script %s --filecheck

"""Conditions: `and`, `or`, `not`, `a if c else b`."""

import hidet
from hidet.lang import attrs, f32, i32

with hidet.script_module() as module:
    # What is cheap is computed in any case.

    # IR-LABEL:     cuda.kernel @cheap
    # SOURCE-LABEL: cheap(
    @hidet.script
    def cheap(y: i32[8], n: i32, a: f32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # IR:     arith.andi %{{.*}}, %{{.*}} : i1
        # SOURCE: y[0] = hidet::cast<int>(n > 0 && a > 0.0f);
        y[0] = n > 0 and a > 0
        # IR:     arith.ori %{{.*}}, %{{.*}} : i1
        # SOURCE: y[1] = hidet::cast<int>(n > 1 || a > 1.0f);
        y[1] = n > 1 or a > 1
        # IR:     %[[TRUE:.*]] = arith.constant true
        # IR:     arith.xori %{{.*}}, %[[TRUE]] : i1
        # SOURCE: y[2] = hidet::cast<int>(!(a > 2.0f));
        y[2] = not a > 2
        # IR:     arith.select %{{.*}}, %n, %{{.*}} : i32
        # SOURCE: y[3] = a > 3.0f ? n : 7;
        y[3] = n if a > 3 else 7

    # A load is not: the index may be out of range on the other side.

    # IR-LABEL:     cuda.kernel @guarded
    # SOURCE-LABEL: guarded(
    @hidet.script
    def guarded(x: f32[8], y: i32[8], n: i32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # TASK:   scf.if %{{.*}} -> (i1) {
        # CUDA:   scf.if %{{.*}} -> (i1) {
        # FINAL:  scf.if
        # IR:       memref.load %x
        # SOURCE: y[0] = hidet::cast<int>(n < 8 ? x[n] > 0.0f : false);
        y[0] = n < 8 and x[n] > 0
        # TASK:   scf.if %{{.*}} -> (f32) {
        # CUDA:   scf.if %{{.*}} -> (f32) {
        # FINAL:  scf.if
        # IR:       memref.load %x
        # SOURCE: y[1] = hidet::cast<int>(n < 6 ? x[n] : 0.5f);
        y[1] = int(x[n] if n < 6 else 0.5)
