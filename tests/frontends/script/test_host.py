"""The host's side: grids and blocks that depend on arguments, and public functions."""

import inspect

import pytest
import torch

import hidet
from hidet.errors import HidetError
from hidet.lang import attrs, bf16, boolean, cdiv, f16, f32, f64, i8, i32, i64, printf, u8, u32
from hidet.lang.cuda import blockDim, blockIdx, gridDim, threadIdx
from hidet.testing.filecheck import check_text
from hidet.testing.numeric import poison


@pytest.fixture(autouse=True)
def _verified():
    """Check the legality of every kernel between the stages."""
    with hidet.option.context(verify_level=True):
        yield


def define_scale():
    """Define a kernel in the module that is open."""

    @hidet.script
    def scale(x: ~f32, y: ~f32, n: i32, factor: f32):
        attrs.cuda.grid_dim = cdiv(n, 256)
        attrs.cuda.block_dim = 256
        i = blockIdx.x * 256 + threadIdx.x
        if i < n:
            y[i] = x[i] * factor

    return scale


def test_grid_of_arguments():
    """The grid is computed by the host at each launch; the IR shows how."""
    # CHECK:      cuda.kernel @scale(%x : memref<?xf32>, %y : memref<?xf32>, %n : i32,
    # CHECK-SAME: grid(?) block(256) limits(8388607) attributes {cuda.explicit} {
    # CHECK-NOT:  arith.floordivsi
    # CHECK:      func.func @launch(%x: memref<?xf32>, %y: memref<?xf32>, %n: i32, %factor: f32) {
    # CHECK-NEXT:   %[[C255:.*]] = arith.constant 255 : i32
    # CHECK-NEXT:   %[[SUM:.*]] = arith.addi %n, %[[C255]] : i32
    # CHECK-NEXT:   %[[C256:.*]] = arith.constant 256 : i32
    # CHECK-NEXT:   %[[BLOCKS:.*]] = arith.floordivsi %[[SUM]], %[[C256]] : i32
    # CHECK-NEXT:   %[[GRID:.*]] = arith.index_cast %[[BLOCKS]] : i32 to index
    # CHECK-NEXT:   cuda.launch @scale(%x, %y, %n, %factor) extents(%[[GRID]]) : (
    # CHECK-NEXT:   func.return
    with hidet.script_module() as module:
        define_scale()
    check_text(str(module.ir_module()), inspect.getsource(test_grid_of_arguments))
    built = module.build()
    assert "const int i = bid * 256 + tid;" in built.source()  # the limit makes 32 bits enough
    for n in (1, 256, 257, 1000):
        x, y = torch.rand(1000), poison(torch.empty(1000))
        built(x, y, n, 3.0)
        assert torch.equal(y[:n], x[:n] * 3)
        assert y[n:].isnan().all()
    built(x, y, 0, 1.0)
    assert built["launch"] is built.launch is built.scale


def test_block_of_arguments():
    """A block too may depend on arguments, and blockDim and gridDim are asked for then."""
    # CHECK:      grid(?, 2) block(?) attributes {cuda.explicit} {
    # CHECK:      func.func @launch
    # CHECK:      cuda.launch @fill(%x, %n, %threads) extents(%{{.*}}, %{{.*}})
    # CUDA:       __launch_bounds__(1024) fill(
    # CUDA-DAG:   const int block_dim = blockDim.x;
    # CUDA-DAG:   const int grid_dim = gridDim.x;
    # CUDA:       HIDET_KERNEL(fill, 0, 1, 1, HIDET_INDEPENDENT)
    with hidet.script_module() as module:

        @hidet.script
        def fill(x: ~i32, n: i32, threads: i32):
            blocks = n // threads if n > threads else 1
            attrs.cuda.grid_dim = blocks, 2
            attrs.cuda.block_dim = threads
            i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x
            x[i] = gridDim.x * 1000000 + gridDim.y * 100000 + blockDim.x * 10 + blockDim.y

    checks = inspect.getsource(test_block_of_arguments)
    check_text(str(module.ir_module()), checks)
    built = module.build()
    check_text(built.source(), checks.replace("CHECK", "NO").replace("CUDA", "CHECK"))
    x = torch.full((200,), -1, dtype=torch.int32)
    built(x, 96, 32)
    assert x.tolist() == [3 * 1000000 + 200321] * 192 + [-1] * 8
    x.fill_(-1)
    built(x, 20, 32)
    assert x.tolist() == [1 * 1000000 + 200321] * 64 + [-1] * 136
    with pytest.raises(HidetError, match=r"the block of kernel 'fill' would be \(1025, 1, 1\)"):
        built(x, 1025, 1025)
    with pytest.raises(HidetError, match=r"the block of kernel 'fill' would be \(-1, 1, 1\)"):
        built(x, -2, -1)
    with pytest.raises(HidetError, match="a block of kernel 'fill' would have 0 threads"):
        built(x, -1, 0)
    with pytest.raises(HidetError, match="divides by zero"):
        built(x, 1, 0)


def test_loop_over_the_grid():
    """The step of a loop may be a run-time value."""
    with hidet.script_module() as module:

        @hidet.script
        def count(x: ~i32, n: i32, blocks: i32):
            attrs.cuda.grid_dim = blocks
            attrs.cuda.block_dim = 32
            for i in range(blockIdx.x * 32 + threadIdx.x, n, gridDim.x * 32):
                x[i] += i + 1

    function = module.build()
    for blocks in (1, 3, 100):
        x = torch.zeros(1000, dtype=torch.int32)
        function(x, 999, blocks)
        assert x.tolist() == [*range(1, 1000), 0]


def test_public_function():
    """A public function computes on the host, and launches kernels in loops and branches."""
    # CHECK:      func.func @launch(%x: memref<4x64xf32>, %y: memref<?xf32>, %n: i32, %twice: i1) {
    # CHECK:      scf.for %i = %{{.*}} to %{{.*}} step %{{.*}} {
    # CHECK:        scf.if %twice {
    # CHECK:          cuda.view %x[%i, %{{.*}}] : memref<4x64xf32> to memref<?xf32>
    # CHECK:          cuda.launch @scale({{.*}}) extents(%{{.*}}) :
    # CHECK:        } else {
    # CHECK:      func.func @launch_scale(
    with hidet.script_module() as module:
        scale = define_scale()

        @hidet.script
        def launch(x: f32[4, 64], y: ~f32, n: i32, twice: boolean):
            count = 0
            for i in range(4):
                if twice:
                    scale(~x[i, 0], y + i * 64, n, 2.0)
                else:
                    scale(~x[i, 0], y + i * 64, n, 1.0)
                count += i
            while count > 6:
                count -= 1
            if count == 6:
                scale(x, y + 256, 256, n / 2.0)

    check_text(str(module.ir_module()), inspect.getsource(test_public_function))
    built = module.build()
    x, y = torch.rand(4, 64), poison(torch.empty(520))
    built(x, y, 10, True)
    rows = y[:256].view(4, 64)
    assert torch.equal(rows[:, :10], x[:, :10] * 2)
    assert rows[:, 10:].isnan().all()
    assert torch.equal(y[256:512], x.flatten() * 5)
    assert y[512:].isnan().all()
    built.launch(x, y, 64, False)
    assert torch.equal(y[:256], x.flatten())
    with pytest.raises(HidetError, match="arguments 'x' and 'y' of function 'launch' share memory"):
        built(x, x.flatten(), 64, False)


def test_part_of_a_tensor_at_an_odd_address():
    """Kernels read vectors, so a part of a tensor begins where one may begin."""
    with hidet.script_module() as module:
        scale = define_scale()

        @hidet.script
        def launch(x: f32[8]):
            scale(~x[1], x, 1, 1.0)

    with pytest.raises(HidetError, match=r"argument 0 of kernel '.*' is the address 0x(.|\n)*at: "):
        module.build()(torch.rand(8))


def test_arithmetic_of_the_host(capfd):
    """The host computes as kernels do: integers wrap, and `//` rounds down."""
    with hidet.script_module() as module:

        @hidet.script
        def store(out: ~i64, number: i64):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            out[0] = number

        @hidet.script
        def every(out: ~i64, a: i32, b: i32, c: u32, d: i64, f: f32, p: boolean):
            values = [
                a // b, a % b, a * a * a, a << 3, a >> 1, a & b, a | b, a ^ b, ~a, -a, abs(a),
                max(a, b), min(a, b), a if p else b, int(p and a > b), int(not p or a < b),
                c // 3, c % 7, c >> 1, c + c, max(c, 5), int(c > 5), int(a == b), i8(a), u8(a),
                d * 3, d // b, i32(f), i32(f * f / 2), i64(f - 1), i32(-f), int(f > 1.0),
            ]  # fmt: skip
            i = 0
            for value in values:
                store(out + i, value)
                i += 2
            printf("%d %5.1f %lld %%\n", a, f, d)

    with hidet.script_module() as device:

        @hidet.script
        def every_on_device(out: ~i64, a: i32, b: i32, c: u32, d: i64, f: f32, p: boolean):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            values = [
                a // b, a % b, a * a * a, a << 3, a >> 1, a & b, a | b, a ^ b, ~a, -a, abs(a),
                max(a, b), min(a, b), a if p else b, int(p and a > b), int(not p or a < b),
                c // 3, c % 7, c >> 1, c + c, max(c, 5), int(c > 5), int(a == b), i8(a), u8(a),
                d * 3, d // b, i32(f), i32(f * f / 2), i64(f - 1), i32(-f), int(f > 1.0),
            ]  # fmt: skip
            i = 0
            for value in values:
                out[i] = value
                i += 2
            printf("%d %5.1f %lld %%\n", a, f, d)

    on_host, on_device = module.build()["every"], device.build()
    for arguments in [
        (-7, 3, 4000000000, 1 << 40, 2.5, True),
        (100000, -7, 5, -5, -1.75, False),
        (7, 7, 0, 9, 0.5, True),
    ]:
        mine, its = torch.zeros(70, dtype=torch.int64), torch.zeros(70, dtype=torch.int64)
        on_host(mine, *arguments)
        on_device(its, *arguments)
        assert mine.tolist() == its.tolist()
    lines = capfd.readouterr().out.splitlines()
    assert sorted(lines) == sorted(
        2 * ["-7   2.5 1099511627776 %", "100000  -1.8 -5 %", "7   0.5 9 %"]
    )


def test_scalars_of_all_types():
    """Numbers reach the kernel as its parameters take them."""
    with hidet.script_module() as module:

        @hidet.script
        def pack(out: ~f64, a: i8, b: f16, c: u8, d: bf16, e: f32, f: f64, g: boolean, h: i64):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            out[0] = a
            out[1] = b
            out[2] = c
            out[3] = d
            out[4] = e
            out[5] = f
            out[6] = g
            out[7] = h

    out = torch.zeros(8, dtype=torch.float64)
    module.build()(out, -5, 1.5, 200, -2.5, 0.1, 0.1, True, -(1 << 40))
    f32_tenth = torch.tensor(0.1).double().item()
    assert out.tolist() == [-5, 1.5, 200, -2.5, f32_tenth, 0.1, 1, -(1 << 40)]
    module.build()(out, 127, torch.inf, 0, torch.inf, -torch.inf, 1e300, False, 0)
    assert out.tolist() == [127, torch.inf, 0, torch.inf, -torch.inf, 1e300, 0, 0]
