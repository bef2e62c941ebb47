# RUN: hidet script %s --filecheck

"""Functions and logic that the machine has an instruction for."""

import hidet
from hidet.lang import attrs, cuda, f32, i32, u32, u64

with hidet.script_module() as module:
    # IR-LABEL:     cuda.kernel @functions
    # SOURCE-LABEL: functions(
    @hidet.script
    def functions(x: f32, y: f32[16]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # IR:     cuda.function "fast_exp2"(%x)
        # SOURCE: y[0] = hidet::fast_exp2(x);
        y[0] = cuda.fast_exp2(x)
        # IR:     cuda.function "fast_log2"(%x)
        # SOURCE: y[1] = hidet::fast_log2(x);
        y[1] = cuda.fast_log2(x)
        # IR:     cuda.function "fast_sin"(%x)
        # SOURCE: y[2] = hidet::fast_sin(x);
        y[2] = cuda.fast_sin(x)
        # IR:     cuda.function "fast_cos"(%x)
        # SOURCE: y[3] = hidet::fast_cos(x);
        y[3] = cuda.fast_cos(x)
        # IR:     cuda.function "fast_tanh"(%x)
        # SOURCE: y[4] = hidet::fast_tanh(x);
        y[4] = cuda.fast_tanh(x)
        # IR:     cuda.function "fast_rcp"(%x)
        # SOURCE: y[5] = hidet::fast_rcp(x);
        y[5] = cuda.fast_rcp(x)
        # IR:     cuda.function "fast_rsqrt"(%x)
        # SOURCE: y[6] = hidet::fast_rsqrt(x);
        y[6] = cuda.fast_rsqrt(x)
        # IR:     cuda.function "fast_sqrt"(%x)
        # SOURCE: y[7] = hidet::fast_sqrt(x);
        y[7] = cuda.fast_sqrt(x)
        # IR:     %[[P:.*]] = arith.mulf %x
        # IR:     cuda.function "fast_exp2"(%[[P]])
        # SOURCE: y[8] = hidet::fast_exp2(x * 1.442695f);
        y[8] = cuda.fast_exp(x)
        # IR:     cuda.function "fast_log2"
        # IR:     arith.mulf
        # SOURCE: y[9] = hidet::fast_log2(x + 1.0f) * 0.6931472f;
        y[9] = cuda.fast_log(x + 1)
        # IR:     cuda.function "fast_log2"
        # IR:     arith.mulf
        # SOURCE: y[10] = hidet::fast_log2(x + 2.0f) * 0.30103f;
        y[10] = cuda.fast_log10(x + 2)
        # IR:     cuda.function "fast_log2"
        # IR:     cuda.function "fast_exp2"
        # SOURCE: y[11] = hidet::fast_exp2(3.0f * hidet::fast_log2(x + 3.0f));
        y[11] = cuda.fast_pow(x + 3, 3.0)
        # IR:     cuda.function "fast_divide"(%x, %{{.*}}) : (f32, f32) -> f32
        # SOURCE: y[12] = hidet::fast_divide(x, x + 4.0f);
        y[12] = cuda.fast_divide(x, x + 4)

    # IR-LABEL:     cuda.kernel @words
    # SOURCE-LABEL: words(
    @hidet.script
    def words(a: u32, b: u32, c: u32, y: u32[4]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # IR:     cuda.lop3 %a, %b, %c table 150
        # SOURCE: y[0] = hidet::lop3<0x96>(a, b, c);
        y[0] = cuda.lop3(a, b, c, imm_lut=0x96)
        # IR:     %[[R:.*]] = cuda.lop3 %a, %b, %{{.*}} table 234
        # IR:     memref.store %[[R]], %y
        # SOURCE: y[1] = hidet::lop3<0xea>(a, b, 255);
        cuda.lop3(~y[1], a, b, 255, imm_lut=0xEA)
        # IR:     cuda.prmt %a, %b, %{{.*}}
        # SOURCE: y[2] = hidet::prmt(a, b, 30292);
        y[2] = cuda.prmt(a, b, 0x7654)
        # IR:     cuda.prmt %a, %b, %c
        # SOURCE: y[3] = hidet::prmt(a, b, c);
        y[3] = cuda.byte_perm(a, b, c)

    # IR-LABEL:     cuda.kernel @bits
    # SOURCE-LABEL: bits(
    @hidet.script
    def bits(a: u32, b: u32, c: u64, y: u32[9], z: u64[1], x: f32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # IR:     arith.fptosi
        # SOURCE: y[7] = hidet::cast<
        y[7] = cuda.cvt(x, i32)
        # IR:     cuda.function "popc"(%a) : (i32) -> i32
        # SOURCE: y[0] = hidet::popc(a);
        y[0] = cuda.popc(a)
        # IR:     cuda.function "clz"(%c) : (i64) -> i32
        # SOURCE: y[1] = hidet::clz(c);
        y[1] = cuda.__clzll(c)
        # IR:     cuda.function "ffs"(%a) : (i32) -> i32
        # SOURCE: y[2] = hidet::ffs(a);
        y[2] = cuda.ffs(a)
        # IR:     cuda.function "brev"(%c) : (i64) -> i64
        # SOURCE: z[0] = hidet::brev(c);
        z[0] = cuda.brev(c)
        # IR:     cuda.function "funnelshift_l"(%a, %b, %{{.*}}) : (i32, i32, i32) -> i32
        # SOURCE: y[3] = hidet::funnelshift_l(a, b, 7);
        y[3] = cuda.__funnelshift_l(a, b, 7)
        # IR:     cuda.function "funnelshift_lc"
        # SOURCE: y[4] = hidet::funnelshift_lc(a, b, 32);
        y[4] = cuda.funnelshift_lc(a, b, 32)
        # IR:     cuda.function "funnelshift_r"
        # SOURCE: y[5] = hidet::funnelshift_r(a, b, 7);
        y[5] = cuda.funnelshift_r(a, b, 7)
        # IR:     cuda.function "funnelshift_rc"
        # SOURCE: y[6] = hidet::funnelshift_rc(a, b, 7);
        y[6] = cuda.funnelshift_rc(a, b, 7)
        # IR:     cuda.function "umulhi"(%a, %b) : (i32, i32) -> i32
        # SOURCE: y[7] = hidet::umulhi(a, b);
        y[7] = cuda.__umulhi(a, b)
        # IR:     cuda.function "philox"(%a, %b, %{{.*}}) : (i32, i32, i32, i32, i32, i32, i32) -> i32
        # SOURCE: y[8] = hidet::philox(a, b, 1, 2, 3, 4, 0);
        y[8] = cuda.philox(a, b, 1, 2, 3, 4, 0)
