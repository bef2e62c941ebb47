# RUN: hidet script %s --filecheck

"""Functions of `hidet.lang.math`, and those of Python that mean the same."""

import math

import hidet
from hidet.lang import attrs, cdiv, f16, f32, i32
from hidet.lang import math as cuda_math

with hidet.script_module() as module:
    # IR-LABEL:     cuda.kernel @elementary
    # SOURCE-LABEL: elementary(
    @hidet.script
    def elementary(x: f32, y: f32[32]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # IR:     %[[V:.*]] = math.acos %x : f32
        # IR:     math.acos %[[V]] : f32
        # SOURCE: y[0] = hidet::acos(hidet::acos(x));
        y[0] = cuda_math.acos(math.acos(x))
        # IR:     %[[V:.*]] = math.asin %x : f32
        # IR:     math.asin %[[V]] : f32
        # SOURCE: y[1] = hidet::asin(hidet::asin(x));
        y[1] = cuda_math.asin(math.asin(x))
        # IR:     %[[V:.*]] = math.atan %x : f32
        # IR:     math.atan %[[V]] : f32
        # SOURCE: y[2] = hidet::atan(hidet::atan(x));
        y[2] = cuda_math.atan(math.atan(x))
        # IR:     %[[V:.*]] = math.ceil %x : f32
        # IR:     math.ceil %[[V]] : f32
        # SOURCE: y[3] = hidet::ceil(hidet::ceil(x));
        y[3] = cuda_math.ceil(math.ceil(x))
        # IR:     %[[V:.*]] = math.cos %x : f32
        # IR:     math.cos %[[V]] : f32
        # SOURCE: y[4] = hidet::cos(hidet::cos(x));
        y[4] = cuda_math.cos(math.cos(x))
        # IR:     %[[V:.*]] = math.cosh %x : f32
        # IR:     math.cosh %[[V]] : f32
        # SOURCE: y[5] = hidet::cosh(hidet::cosh(x));
        y[5] = cuda_math.cosh(math.cosh(x))
        # IR:     %[[V:.*]] = math.erf %x : f32
        # IR:     math.erf %[[V]] : f32
        # SOURCE: y[6] = hidet::erf(hidet::erf(x));
        y[6] = cuda_math.erf(math.erf(x))
        # IR:     %[[V:.*]] = math.exp %x : f32
        # IR:     math.exp %[[V]] : f32
        # SOURCE: y[7] = hidet::exp(hidet::exp(x));
        y[7] = cuda_math.exp(math.exp(x))
        # IR:     %[[V:.*]] = math.exp2 %x : f32
        # IR:     math.exp2 %[[V]] : f32
        # SOURCE: y[8] = hidet::exp2(hidet::exp2(x));
        y[8] = cuda_math.exp2(math.exp2(x))
        # IR:     %[[V:.*]] = math.expm1 %x : f32
        # IR:     math.expm1 %[[V]] : f32
        # SOURCE: y[9] = hidet::expm1(hidet::expm1(x));
        y[9] = cuda_math.expm1(math.expm1(x))
        # IR:     %[[V:.*]] = math.floor %x : f32
        # IR:     math.floor %[[V]] : f32
        # SOURCE: y[10] = hidet::floor(hidet::floor(x));
        y[10] = cuda_math.floor(math.floor(x))
        # IR:     %[[V:.*]] = math.log %x : f32
        # IR:     math.log %[[V]] : f32
        # SOURCE: y[11] = hidet::log(hidet::log(x));
        y[11] = cuda_math.log(math.log(x))
        # IR:     %[[V:.*]] = math.log10 %x : f32
        # IR:     math.log10 %[[V]] : f32
        # SOURCE: y[12] = hidet::log10(hidet::log10(x));
        y[12] = cuda_math.log10(math.log10(x))
        # IR:     %[[V:.*]] = math.log1p %x : f32
        # IR:     math.log1p %[[V]] : f32
        # SOURCE: y[13] = hidet::log1p(hidet::log1p(x));
        y[13] = cuda_math.log1p(math.log1p(x))
        # IR:     %[[V:.*]] = math.log2 %x : f32
        # IR:     math.log2 %[[V]] : f32
        # SOURCE: y[14] = hidet::log2(hidet::log2(x));
        y[14] = cuda_math.log2(math.log2(x))
        # IR:     math.rsqrt %x : f32
        # SOURCE: y[15] = hidet::rsqrt(x);
        y[15] = cuda_math.rsqrt(x)
        # IR:     %[[V:.*]] = math.sin %x : f32
        # IR:     math.sin %[[V]] : f32
        # SOURCE: y[16] = hidet::sin(hidet::sin(x));
        y[16] = cuda_math.sin(math.sin(x))
        # IR:     %[[V:.*]] = math.sinh %x : f32
        # IR:     math.sinh %[[V]] : f32
        # SOURCE: y[17] = hidet::sinh(hidet::sinh(x));
        y[17] = cuda_math.sinh(math.sinh(x))
        # IR:     %[[V:.*]] = math.sqrt %x : f32
        # IR:     math.sqrt %[[V]] : f32
        # SOURCE: y[18] = hidet::sqrt(hidet::sqrt(x));
        y[18] = cuda_math.sqrt(math.sqrt(x))
        # IR:     %[[V:.*]] = math.tan %x : f32
        # IR:     math.tan %[[V]] : f32
        # SOURCE: y[19] = hidet::tan(hidet::tan(x));
        y[19] = cuda_math.tan(math.tan(x))
        # IR:     %[[V:.*]] = math.tanh %x : f32
        # IR:     math.tanh %[[V]] : f32
        # SOURCE: y[20] = hidet::tanh(hidet::tanh(x));
        y[20] = cuda_math.tanh(math.tanh(x))
        # IR:     %[[V:.*]] = math.trunc %x : f32
        # IR:     math.trunc %[[V]] : f32
        # SOURCE: y[21] = hidet::trunc(hidet::trunc(x));
        y[21] = cuda_math.trunc(math.trunc(x))
        # IR:     math.roundeven %x : f32
        # SOURCE: y[22] = hidet::round(x);
        y[22] = round(x)
        # IR:     math.absf %{{.*}} : f32
        # SOURCE: y[23] = hidet::abs(x - 1.0f);
        y[23] = abs(x - 1)
        # IR:     math.absf %{{.*}} : f32
        # SOURCE: y[24] = hidet::abs(x - 2.0f);
        y[24] = math.fabs(x - 2)
        # IR:     math.absf %{{.*}} : f32
        # SOURCE: y[25] = hidet::abs(x - 3.0f);
        y[25] = cuda_math.abs(x - 3)
        # IR:     math.roundeven %{{.*}} : f32
        # SOURCE: y[26] = hidet::round(x - 4.0f);
        y[26] = cuda_math.round(x - 4)

    # IR-LABEL:     cuda.kernel @several
    # SOURCE-LABEL: several(
    @hidet.script
    def several(x: f32, z: f32, n: i32, y: f32[32], h: f16):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # IR:     math.powf %x, %z : f32
        # SOURCE: y[0] = hidet::pow(x, z);
        y[0] = math.pow(x, z)
        # IR:     math.powf %z, %x : f32
        # SOURCE: y[1] = hidet::pow(z, x);
        y[1] = pow(z, x)
        # IR:     math.powf %x, %{{.*}} : f32
        # SOURCE: y[2] = hidet::pow(x, 2.5f);
        y[2] = cuda_math.pow(x, 2.5)
        # IR:     math.atan2 %x, %z : f32
        # SOURCE: y[3] = hidet::atan2(x, z);
        y[3] = math.atan2(x, z)
        # IR:     math.atan2 %z, %x : f32
        # SOURCE: y[4] = hidet::atan2(z, x);
        y[4] = cuda_math.atan2(z, x)
        # IR:     math.fma %x, %z, %{{.*}} : f32
        # SOURCE: y[5] = hidet::fma(x, z, 1.0f);
        y[5] = cuda_math.fma(x, z, 1)
        # IR:     arith.maxnumf %x, %z : f32
        # SOURCE: y[6] = hidet::fmax(x, z);
        y[6] = max(x, z)
        # IR:     arith.minnumf %x, %z : f32
        # SOURCE: y[7] = hidet::fmin(x, z);
        y[7] = min(x, z)
        # IR:     arith.maxnumf %z, %{{.*}} : f32
        # SOURCE: y[8] = hidet::fmax(z, 1.0f);
        y[8] = cuda_math.max(z, 1)
        # IR:     arith.minsi %n, %{{.*}} : i32
        # SOURCE: y[9] = hidet::cast<float>(hidet::minimum(n, 4));
        y[9] = cuda_math.min(n, 4)
        # IR:     arith.addi %n
        # TASK:   arith.floordivsi
        # SOURCE: y[10] = hidet::cast<float>(hidet::cast<int>(n + 7u) >> 3);
        y[10] = cdiv(n, 8)
        # IR:     arith.extf %h : f16 to f32
        # IR:     math.tanh %{{.*}} : f32
        # SOURCE: hidet::tanh(hidet::cast<float>(h))
        y[11] = math.tanh(h)

    # Functions that the table of scalar functions has, and those of its family in `math`.

    # IR-LABEL:     cuda.kernel @more
    # SOURCE-LABEL: more(
    @hidet.script
    def more(x: f32, z: f32, n: i32, y: f32[32]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # IR:     %[[V:.*]] = math.acosh %x : f32
        # IR:     math.acosh %[[V]] : f32
        # SOURCE: y[0] = hidet::acosh(hidet::acosh(x));
        y[0] = cuda_math.acosh(math.acosh(x))
        # IR:     %[[V:.*]] = math.asinh %x : f32
        # IR:     math.asinh %[[V]] : f32
        # SOURCE: y[1] = hidet::asinh(hidet::asinh(x));
        y[1] = cuda_math.asinh(math.asinh(x))
        # IR:     %[[V:.*]] = math.atanh %x : f32
        # IR:     math.atanh %[[V]] : f32
        # SOURCE: y[2] = hidet::atanh(hidet::atanh(x));
        y[2] = cuda_math.atanh(math.atanh(x))
        # IR:     %[[V:.*]] = math.cbrt %x : f32
        # IR:     math.cbrt %[[V]] : f32
        # SOURCE: y[3] = hidet::cbrt(hidet::cbrt(x));
        y[3] = cuda_math.cbrt(math.cbrt(x))
        # IR:     %[[V:.*]] = math.copysign %x, %z : f32
        # IR:     math.copysign %[[V]], %x : f32
        # SOURCE: y[4] = hidet::copysign(hidet::copysign(x, z), x);
        y[4] = cuda_math.copysign(math.copysign(x, z), x)
        # IR:     %[[V:.*]] = cuda.function "erfc"(%x) : (f32) -> f32
        # IR:     cuda.function "erfc"(%[[V]]) : (f32) -> f32
        # SOURCE: y[5] = hidet::erfc(hidet::erfc(x));
        y[5] = cuda_math.erfc(math.erfc(x))
        # IR:     %[[V:.*]] = cuda.function "gamma"(%x) : (f32) -> f32
        # IR:     cuda.function "gamma"(%[[V]]) : (f32) -> f32
        # SOURCE: y[6] = hidet::gamma(hidet::gamma(x));
        y[6] = cuda_math.gamma(math.gamma(x))
        # IR:     %[[V:.*]] = cuda.function "lgamma"(%x) : (f32) -> f32
        # IR:     cuda.function "lgamma"(%[[V]]) : (f32) -> f32
        # SOURCE: y[7] = hidet::lgamma(hidet::lgamma(x));
        y[7] = cuda_math.lgamma(math.lgamma(x))
        # IR:     %[[V:.*]] = cuda.function "fmod"(%x, %z) : (f32, f32) -> f32
        # IR:     cuda.function "fmod"(%[[V]], %x) : (f32, f32) -> f32
        # SOURCE: y[8] = hidet::fmod(hidet::fmod(x, z), x);
        y[8] = cuda_math.fmod(math.fmod(x, z), x)
        # IR:     %[[V:.*]] = cuda.function "ieee_remainder"(%x, %z) : (f32, f32) -> f32
        # IR:     cuda.function "ieee_remainder"(%[[V]], %x) : (f32, f32) -> f32
        # SOURCE: y[9] = hidet::ieee_remainder(hidet::ieee_remainder(x, z), x);
        y[9] = cuda_math.ieee_remainder(math.remainder(x, z), x)
        # IR:     %[[V:.*]] = cuda.function "hypot"(%x, %z) : (f32, f32) -> f32
        # IR:     cuda.function "hypot"(%[[V]], %x) : (f32, f32) -> f32
        # SOURCE: y[10] = hidet::hypot(hidet::hypot(x, z), x);
        y[10] = cuda_math.hypot(math.hypot(x, z), x)
        # IR:     %[[V:.*]] = cuda.function "nextafter"(%x, %z) : (f32, f32) -> f32
        # IR:     cuda.function "nextafter"(%[[V]], %x) : (f32, f32) -> f32
        # SOURCE: y[11] = hidet::nextafter(hidet::nextafter(x, z), x);
        y[11] = cuda_math.nextafter(math.nextafter(x, z), x)
        # IR:     %[[V:.*]] = cuda.function "ldexp"(%x, %n) : (f32, i32) -> f32
        # IR:     cuda.function "ldexp"(%[[V]], %n) : (f32, i32) -> f32
        # SOURCE: y[12] = hidet::ldexp(hidet::ldexp(x, n), n);
        y[12] = cuda_math.ldexp(math.ldexp(x, n), n)
        # IR:     cuda.function "isnan"(%x) : (f32) -> i1
        # SOURCE: hidet::isnan(x)
        y[13] = math.isnan(x)
        # IR:     cuda.function "isinf"(%x) : (f32) -> i1
        # SOURCE: hidet::isinf(x)
        y[14] = math.isinf(x)
        # IR:     cuda.function "isfinite"(%x) : (f32) -> i1
        # SOURCE: hidet::isfinite(x)
        y[15] = math.isfinite(x)
        # IR:     cuda.function "isnan"(%z) : (f32) -> i1
        # SOURCE: hidet::isnan(z)
        y[16] = cuda_math.isnan(z)
        # IR:     cuda.function "isinf"(%z) : (f32) -> i1
        # SOURCE: hidet::isinf(z)
        y[17] = cuda_math.isinf(z)
        # IR:     cuda.function "isfinite"(%z) : (f32) -> i1
        # SOURCE: hidet::isfinite(z)
        y[18] = cuda_math.isfinite(z)
        # IR:     arith.mulf %x
        # SOURCE: y[19] = x * 57.29578f;
        y[19] = math.degrees(x)
        # IR:     arith.mulf %z
        # SOURCE: y[20] = z * 57.29578f;
        y[20] = cuda_math.degrees(z)
        # IR:     arith.mulf %x
        # SOURCE: y[21] = x * 0.017453292f;
        y[21] = math.radians(x)
        # IR:     arith.mulf %z
        # SOURCE: y[22] = z * 0.017453292f;
        y[22] = cuda_math.radians(z)
