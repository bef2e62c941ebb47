"""Functions of the host as users of the original Hidet write them: public ones, on the CPU."""

import math

import pytest
import torch

import hidet
from hidet.lang import attrs, f16, f32, grid, i32, printf, register_tensor, tensor, u8, u32
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.lang.mapping import repeat, spatial
from hidet.testing.numeric import assert_close, poison


def test_hello_world(capfd):
    """A public function alone prints, by its name too."""
    with hidet.script_module() as script_module:

        @hidet.script
        def launch():
            attrs.func_kind = "public"
            printf("Hello World!\n")

    module = script_module.ir_module().build()
    module()
    module["launch"]()
    assert capfd.readouterr().out == "Hello World!\n" * 2
    assert "Hello World!" in module.source(color=True)


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        (f32, 0.1, torch.tensor(0.1 + 2.5, dtype=torch.float32).item()),
        (f16, 0.1, float(torch.tensor(0.1 + 2.5).half())),
        (i32, 7, 9),
        (u8, 250, 252),
        (u32, (1 << 32) - 4, (1 << 32) - 2),
        (bool, True, True),
    ],
)
def test_returned_numbers(kind, value, wanted):
    """A result has the declared type: its sign, and its precision."""
    with hidet.script_module() as script_module:

        @hidet.script
        def launch(a: kind) -> kind:
            attrs.func_kind = "public"
            return a + (2.5 if kind in (f32, f16) else 2)

    returned = script_module.build()(value)
    assert type(returned) is type(wanted)
    assert returned == wanted


def test_a_function_returns_what_a_helper_computes():
    """A public function that launches a kernel returns a number as well, on all paths."""
    with hidet.script_module() as script_module:

        @hidet.script
        def blocks(n: i32) -> i32:
            return (n + 31) / 32

        @hidet.script
        def clear(x: ~f32, n: i32):
            attrs.cuda.grid_dim = blocks(n)
            attrs.cuda.block_dim = 32
            i = blockIdx.x * 32 + threadIdx.x
            if i < n:
                x[i] = 0.0

        @hidet.script
        def launch(x: ~f32, n: i32) -> i32:
            attrs.func_kind = "public"
            if n < 0:
                return -1
            clear(x, n)
            return blocks(n)

    x = torch.ones(100)
    module = script_module.build()
    assert (module(x, 70), module(x, -1)) == (3, -1)
    assert x.tolist() == [0.0] * 70 + [1.0] * 30


def test_elements_on_the_cpu():
    """A public function that launches nothing reads and writes tensors on the CPU."""
    with hidet.script_module() as script_module:

        @hidet.script
        def launch(a: f32[3], b: f32[3], c: f32[3]):
            attrs.func_kind = "public"
            for i in range(3):
                c[i] = a[i] + b[i]

    a, b, c = hidet.randn([3]), hidet.randn([3]), hidet.empty([3])
    script_module.build()(a, b, c)
    assert_close(c.torch(), a.torch().double() + b.torch().double(), 1e-6)


def test_kernel_of_the_cpu():
    """Loops over a grid, a task mapping whose worker is a number, a local tensor, `parallel`."""
    m, n, k = 8, 12, 5
    with hidet.script_module() as script_module:

        @hidet.script
        def matmul(a: f32[m, k], b: f32[k, n], c: f32[m, n]):
            attrs.func_kind = "cpu_kernel"
            for ij in grid(m * n, "p"):
                for i, j in spatial(m, n).on(ij):
                    products = tensor("float32", shape=[k])
                    for p in range(k):
                        products[p] = a[i, p] * b[p, j]
                    c[i, j] = 0.0
                    for p in range(k):
                        c[i, j] += products[p]

    a, b = torch.rand(m, k), torch.rand(k, n)
    c = poison(torch.empty(m, n))
    script_module.build()(a, b, c)
    assert_close(c, a.double() @ b.double(), 1e-6)


def test_softmax_on_the_cpu():
    """Tuples of indices with slices of Python, over any axis."""
    shape, axis = [2, 3, 4], 1
    rest = shape[:axis] + shape[axis + 1 :]
    with hidet.script_module() as script_module:

        @hidet.script
        def kernel(x: f32[shape], y: f32[shape]):
            attrs.func_kind = "cpu_kernel"
            largest = tensor(f32, shape=rest)
            total = register_tensor(f32, shape=rest)
            for indices in grid(rest):
                largest[indices] = -1e10
                total[indices] = 0.0
                for k in range(shape[axis]):
                    value = x[indices[:axis] + (k,) + indices[axis:]]  # noqa: RUF005
                    largest[indices] = max(largest[indices], value)
            for indices in grid(shape):
                others = indices[:axis] + indices[axis + 1 :]
                y[indices] = math.exp(x[indices] - largest[others])
                total[others] += y[indices]
            for indices in grid(shape):
                y[indices] = y[indices] / total[indices[:axis] + indices[axis + 1 :]]

    x, y = torch.rand(shape), poison(torch.empty(shape))
    script_module.build()(x, y)
    assert_close(y, x.double().softmax(axis), 1e-6)


def test_functions_inside_and_outside(capfd):
    """Public functions call each other, also one that was defined outside of any module."""

    @hidet.script
    def outside():
        attrs.func_kind = "public"
        printf("outside\n")

    with hidet.script_module() as script_module:

        @hidet.script
        def inside(x: f32[2]):
            attrs.func_kind = "public"
            printf("inside %f\n", x[1])

        @hidet.script
        def launch(x: f32[2]):
            attrs.func_kind = "public"
            inside(x)
            outside()

    script_module.build()(torch.tensor([1.0, 2.5]))
    assert capfd.readouterr().out == "inside 2.500000\noutside\n"


def test_a_launch_calls_a_function_of_the_cpu(capfd):
    """Where a public function launches kernels, one that reads elements is launched as well."""
    with hidet.script_module() as script_module:

        @hidet.script
        def show(x: f32[2]):
            attrs.func_kind = "public"
            printf("%f %f\n", x[0], x[1])

        @hidet.script
        def twice(x: f32[2]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 2
            x[threadIdx.x] *= 2

        @hidet.script
        def launch(x: f32[2]):
            attrs.func_kind = "public"
            show(x)
            twice(x)
            show(x)

    script_module.build()(torch.tensor([1.0, 2.5]))
    assert capfd.readouterr().out == "1.000000 2.500000\n2.000000 5.000000\n"


def test_bound_tuples(capfd):
    """Tasks of a mapping, and of a grid, as numbers and as tuples."""
    with hidet.script_module() as script_module:

        @hidet.script
        def launch():
            attrs.func_kind = "public"
            for w in range(2):
                for indices in repeat(2).spatial(2).on(w, bind_tuple=True):
                    printf("%d:%d ", w, indices[0])
                for i in repeat(2).spatial(2).on(w):
                    printf("%d ", i)
            for indices in grid([2]):
                printf("%d ", indices[0])
            for i in grid(2, attrs="u"):
                printf("%d ", i)

    script_module.build()()
    assert capfd.readouterr().out == "0:0 0:2 0 2 1:1 1:3 1 3 0 1 0 1 "
