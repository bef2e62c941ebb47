"""Arguments of calls, compile-time loops and conditions: results."""

import pytest
import torch

import hidet
from hidet import option
from hidet.ir import IRModule
from hidet.lang import (
    address,
    as_tensor_pointer,
    attrs,
    bitwise_not,
    boolean,
    cast,
    deref,
    f32,
    f64,
    i32,
    i64,
    meta,
    printf,
    repeat,
    spatial,
    view,
)
from hidet.lang.cuda import atomic_add, syncthreads, threadIdx, warp_groups
from hidet.lang.layout import column_major, row_major
from hidet.lang.mapping import TaskMapping
from hidet.testing.numeric import assert_close


@hidet.script
def affine(value: f32, by: f32 = 2.0, *more, negated: boolean = False) -> f32:
    for each in more:
        value += each
    if negated:
        return -value * by
    return value * by


@hidet.script
def grow(n: i64):
    n *= 100_000
    n += 1
    return n


@hidet.script
def known(flag: boolean, count: i32, value):
    """Return what type-checks on the side that a constant chooses only."""
    if flag:
        return value[count]
    if count == 3:
        return value
    return value[1, 2, 3]


def test_arguments():
    """Defaults, keywords, `*args` and constants mean what they mean in Python."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[32], y: f32[4, 32], big: i64[1]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            i = threadIdx.x
            y[0, i] = affine(x[i])
            y[1, i] = affine(by=x[i], value=3.0, negated=True)
            y[2, i] = affine(x[i], *[0.5, 1.0, 2.0])
            y[3, i] = known(True, 2, x) + known(False, 3, x[i])
            big[0] = grow(100_000)

    x, y = torch.randn(32), torch.full((4, 32), torch.nan)
    big = torch.empty(1, dtype=torch.int64)
    module.build()(x, y, big)
    wide = x.double()
    assert_close(y[0], wide * 2, 1e-6)
    assert_close(y[1], wide * -3, 1e-6)
    assert_close(y[2], (wide + 3) * 0.5, 1e-6)
    assert_close(y[3], wide[2] + wide, 1e-6)
    assert big.item() == 100_000 * 100_000 + 1


def test_loops_over_python_values():
    """A number that picks from a list is known; counted tasks are those of the loop over them."""
    weights, names = [0.5, 2.0, 4.0], {"scale": 3.0}
    halves = repeat(2) * spatial(32)

    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[64], z: i32[64], n: i32, last: i32[1]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 32
            for k, i in enumerate(spatial(32).repeat(2).on(threadIdx.x)):
                for w in range(len(weights)):
                    x[i] += weights[w] * names["scale"]
                z[i] = k
            syncthreads()
            for k, i in zip([1, 2], reversed(halves.on(threadIdx.x)), strict=True):
                z[i] += 10 * k
            if threadIdx.x == 0:
                last[0] = 0
                for k in reversed(range(1, n)):
                    last[0] = last[0] * 10 + k

    x, z = torch.zeros(64), torch.zeros(64, dtype=torch.int32)
    last = torch.empty(1, dtype=torch.int32)
    module.build()(x, z, 5, last)
    assert torch.equal(x, torch.full((64,), 19.5))
    expected = [i % 2 + (20 if i < 32 else 10) for i in range(64)]
    assert z.tolist() == expected
    assert last.item() == 4321


def test_lists_of_types():
    """A parameter may be a tuple, of a kernel, of a public function, and of what they call."""
    with hidet.script_module() as module:

        @hidet.script
        def total(values: meta.types([f32, i32]), scale: f64 = 1.0):
            return (values[0] + values[1]) * scale

        @hidet.script
        def kernel(y: f32[1], values: meta.types([f32, i32])):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            y[0] = total(values, scale=2.0)

        @hidet.script
        def launch(args: meta.types([int, float]), y: f32[1]):
            attrs.func_kind = "public"
            kernel(values=(args[1], args[0]), y=y)

    y = torch.full((1,), torch.nan)
    module.build()(3, 0.25, y)
    assert y.item() == 6.5


def test_kernels_outside_of_modules():
    """A kernel without a module is taken in by `IRModule`, and by the function that launches it."""

    @hidet.script
    def count(a: i32[10]):
        attrs.func_kind = "cpu_kernel"
        for i in range(10):
            a[i] = i

    for module in (IRModule(), IRModule({"count": count})):
        if not module.kernels:
            module.add_function(count.name, count)
        a = torch.empty(10, dtype=torch.int32)
        module.build()(a)
        assert a.tolist() == list(range(10))

    with hidet.script_module() as script_module:

        @hidet.script
        def launch(a: i32[10]):
            attrs.func_kind = "public"
            count(a)

    a.zero_()
    script_module.build()["launch"](a)
    assert a.tolist() == list(range(10))


@pytest.mark.parametrize("shift", [0, 32])
def test_workers_left_by_a_branch(shift):
    """Where a branch leaves few threads, each of them has its tasks of a larger mapping."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(y: i32[512]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 256
            with warp_groups([1]) as thread:
                if thread < 32:
                    for i in spatial(64).repeat(4).on(thread + shift):
                        y[i] = i

    y = torch.full((512,), -1, dtype=torch.int32)
    with option.context(verify_level=True):
        module.build()(y)
    expected = torch.full((512,), -1, dtype=torch.int32)
    expected[shift * 4 : shift * 4 + 128] = torch.arange(shift * 4, shift * 4 + 128)
    assert torch.equal(y, expected)


def test_layouts_and_types():
    """A layout returns offsets, on the host and in kernels; types have the original's names."""
    layout = row_major(2, 2) * column_major(4, 4)
    swizzled = row_major(8, 8).swizzle(1)

    def transposed(thread):
        i, j = spatial(8, 8).map(thread)
        return j, i

    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: i32[8, 8], y: i32[64], z: i32[64]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 64
            for i, j in TaskMapping.row_major([8, 8])(threadIdx.x):
                x[i, j] = layout(i, j)
                y[swizzled(i, j)] = i * 8 + j
                if layout.within_bound(i, j + 1):
                    z.write(layout.global2local(i, j + 1), j)
            if threadIdx.x < 8:
                z[layout(threadIdx.x, 0)] = layout(*transposed(threadIdx.x))

    x = torch.empty(8, 8, dtype=torch.int32)
    y, z = torch.empty(2, 64, dtype=torch.int32)
    built = module.build()
    assert len(built.profile(x, y, z, warmup=1, number=1, repeat=3)) == 3
    built(x, y, z)
    for i in range(8):
        assert z[layout(i, 0)] == layout(i, 0)
        for j in range(8):
            assert x[i, j] == layout(i, j) == layout.register_index((i, j))
            assert y[swizzled.place(i, j)] == i * 8 + j
            assert j == 0 or z[layout(i, j)] == j - 1
    assert (TaskMapping.full_layout([2, 3]).shape, TaskMapping.column_major([2, 3])(1)) == (
        (2, 3),
        [(1, 0)],
    )
    outer = [2]
    assert outer + row_major(3, 4) == row_major(2, 3, 4) == 2 + row_major(3) + [4]
    kinds = (hidet.float16, hidet.bfloat16, hidet.int8, hidet.uint32, hidet.boolean)
    assert [kind.name for kind in kinds] == ["float16", "bfloat16", "int8", "uint32", "bool"]
    assert [kind.short_name for kind in kinds] == ["f16", "bf16", "i8", "u32", "bool"]
    assert [kind.is_float() for kind in kinds] == [True, True, False, False, False]
    assert [kind.is_any_float16() for kind in kinds] == [True, True, False, False, False]
    assert [kind.is_integer() for kind in kinds] == [False, False, True, True, False]
    assert [kind.is_signed_integer() for kind in kinds] == [False, False, True, False, False]
    assert [kind.is_unsigned_integer() for kind in kinds] == [False, False, False, True, False]
    assert [kind.is_boolean() for kind in kinds] == [False, False, False, False, True]
    assert [(kind.nbytes, kind.nbits) for kind in kinds[:4]] == [(2, 16), (2, 16), (1, 8), (4, 32)]
    assert (hidet.lang.f16x2.name, hidet.lang.f16x2.is_vector()) == ("float16x2", True)


def test_keywords_of_the_original():
    """Functions of the language take the original's names of their parameters."""
    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[4], y: i32[8]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            y[0] = cast(v=x[0], dtype="int32")
            y[1] = deref(v=address(y[0]))
            tail = view(ptr=~y[2], tp=i32[2])
            tail[0] = bitwise_not(a=y[0])
            pointer = as_tensor_pointer(expr=~y[4], dtype="int32", shape=[4])
            pointer[0] = 7
            atomic_add(addr=~y[4], value=1)
            printf(format_string="")

    x, y = torch.full((4,), 3.75), torch.zeros(8, dtype=torch.int32)
    module.build()(x, y)
    assert y.tolist() == [3, 3, -4, 0, 8, 0, 0, 0]
