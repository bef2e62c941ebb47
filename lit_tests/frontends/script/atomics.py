# RUN: hidet script %s --filecheck

"""Atomic operations on addresses."""

import hidet
from hidet.lang import attrs, bf16, f16, f16x2, f32, i32, shared_tensor, u32
from hidet.lang.cuda import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_exchange,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_sub,
    atomic_xor,
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

    # Bits, short floats and pairs of them; orders and scopes.

    # IR-LABEL:     cuda.kernel @more
    # SOURCE-LABEL: more(
    @hidet.script
    def more(p: ~i32, u: ~u32, h: f16[32], b: bf16[32], a: f16):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        # IR:     cuda.atomic and
        # SOURCE: hidet::atomic_and(p, 4);
        atomic_and(p, 4)
        # IR:     cuda.atomic or
        # SOURCE: hidet::atomic_or(&p[1], 4);
        atomic_or(p + 1, 4)
        # IR:     cuda.atomic xor
        # SOURCE: hidet::atomic_xor(&p[2], 4);
        atomic_xor(p + 2, 4)
        # IR:     cuda.atomic umax
        # SOURCE: hidet::atomic_umax(u, 4{{u?}});
        atomic_max(u, 4)
        # IR:     cuda.atomic umin
        # SOURCE: hidet::atomic_umin(&u[1], 4{{u?}});
        atomic_min(u + 1, 4)
        # IR:     cuda.atomic add %a, %h
        # SOURCE: hidet::atomic_add(&h[3], a);
        atomic_add(~h[3], a)
        # IR:     cuda.atomic add %{{.*}}, %b
        # SOURCE: hidet::atomic_add(&b[3], hidet::cast<hidet::bfloat16>(
        atomic_add(~b[3], a)
        # IR:     cuda.atomic_pair %a, %a, %h
        # SOURCE: hidet::atomic_add_pair(&h[4], a, a);
        atomic_add(~h[4], f16x2(a, a))
        # IR:     cuda.fence_gpu
        # IR:     cuda.atomic exchange
        # IR:     cuda.fence_gpu
        # SOURCE: hidet::fence_gpu();
        # SOURCE: hidet::atomic_exchange(&p[3], 1);
        # SOURCE: hidet::fence_gpu();
        atomic_exchange(p + 3, 1, sem="acq_rel")
        # IR:     cuda.atomic cas %{{.*}} if %{{.*}} scope sys
        # IR:     cuda.fence_sys
        # SOURCE: hidet::atomic_cas<hidet::Scope::sys>(&p[3], 0, 1);
        # SOURCE: hidet::fence_sys();
        atomic_cas(p + 3, 0, 1, sem="acquire", scope="system")
        # IR:     cuda.fence_cta
        # IR:     cuda.atomic add %{{.*}} scope cta
        # SOURCE: hidet::fence_cta();
        # SOURCE: hidet::atomic_add<hidet::Scope::cta>(&p[4], 1);
        atomic_add(p + 4, 1, sem="release", space="global", scope="block")
