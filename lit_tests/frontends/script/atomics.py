# RUN: hidet script %s --filecheck

"""Atomic operations on addresses."""

import hidet
from hidet.lang import attrs, f32, i32, shared_tensor
from hidet.lang.cuda import (
    atomic_add,
    atomic_cas,
    atomic_exchange,
    atomic_max,
    atomic_min,
    atomic_sub,
    threadIdx,
)

with hidet.script_module() as module:
    # IR-LABEL:     cuda.kernel @atomics
    # SOURCE-LABEL: atomics(
    @hidet.script
    def atomics(x: f32[32], p: ~i32, a: f32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        tile = shared_tensor("i32", [32])
        # IR:     cuda.atomic add
        # SOURCE: hidet::atomic_add(&x[3], a);
        atomic_add(~x[3], a)
        # IR:     cuda.atomic max
        # SOURCE: hidet::atomic_max(&tile[tid], 4);
        atomic_max(~tile[threadIdx.x], 4)
        # IR:     cuda.atomic min
        # SOURCE: hidet::atomic_min(&p[5], 6);
        atomic_min(p + 5, 6)
        # IR:     cuda.atomic add
        # SOURCE: hidet::atomic_add(&x[7], 0.0f - a);
        atomic_sub(~x[7], a)
        # IR:     cuda.atomic exchange
        # SOURCE: hidet::atomic_exchange(&x[4], a);
        atomic_exchange(~x[4], a)
        # IR:     cuda.atomic cas %{{.*}} if
        # SOURCE: hidet::atomic_cas(&p[2], 8, 9);
        atomic_cas(p + 2, 8, 9)
