"""What callers may pass: addresses, pointers to anything, tensors of others, numbers that fit."""

import numpy
import pytest
import torch

import hidet
from hidet.errors import HidetError, UnsupportedDtypeError
from hidet.lang import (
    as_tensor_pointer,
    attrs,
    boolean,
    byte_p,
    cast,
    cdiv,
    f32,
    i8,
    i32,
    u8,
    u32,
    void_p,
)
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.testing.filecheck import check_text
from hidet.testing.numeric import poison


@pytest.fixture(scope="module")
def module():
    """A kernel that takes its tensors for what it wants, and a function that hands them on."""
    with hidet.script_module() as script_module:

        @hidet.script
        def increase(p: void_p, q: byte_p, unused: void_p, n: i32):
            attrs.cuda.grid_dim = cdiv(n, 32)
            attrs.cuda.block_dim = 32
            x = cast(p, ~f32)
            y = as_tensor_pointer(q, "float32", [n])
            i = blockIdx.x * 32 + threadIdx.x
            if i < n:
                y[i] = x[i] + 1

        @hidet.script
        def launch(p: void_p, q: ~f32, n: i32):
            increase(p, q, q, n)

        @hidet.script
        def numbers(x: ~i32, a: i8, b: u8, c: boolean):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1
            x[0] = a
            x[1] = b
            x[2] = c

    return script_module


def test_ir_of_void_pointers(module):
    """A pointer to anything has the type that its first use tells, in the callers too."""
    ir = str(module.ir_module())
    check_text(
        ir,
        """
        // CHECK: cuda.kernel @increase(%p : memref<?xf32>, %q : memref<?xf32>,
        // CHECK-SAME: %unused : memref<?xi8>,
        // CHECK: func.func @launch(%p: memref<?xf32>, %q: memref<?xf32>, %n: i32) {
        """,
    )


def test_addresses_and_tensors(module):
    """Pointers are tensors, addresses, or DLPack objects; void_p takes any data type."""
    built = module.build()
    x = torch.rand(64)
    for source in (x, x.view(torch.uint8), x.view(torch.int64), x.data_ptr(), x.numpy()):
        y = poison(torch.empty(64))
        built(source, y, 60)
        assert torch.equal(y[:60], x[:60] + 1)
        assert y[60:].isnan().all()
        built(source, y.data_ptr(), 64)
        assert torch.equal(y, x + 1)
    z = numpy.zeros(64, dtype=numpy.float32)
    built["increase"](x, z, x, 64)
    assert numpy.array_equal(z, x.numpy() + 1)
    mine = hidet.zeros([64])
    built(hidet.from_torch(x), mine, 64)
    assert torch.equal(mine.torch(), x + 1)


def test_numbers(module):
    """Numbers at the ends of their types arrive, those beyond are refused."""
    numbers = module.build().numbers
    x = torch.zeros(3, dtype=torch.int32)
    for values in [(-128, 255, True), (127, 0, False), (True, 1, 1)]:
        numbers(x, *values)
        assert x.tolist() == [int(value) for value in values]
    for wrong in [(128, 0, True), (-129, 0, True), (0, 256, True), (0, -1, True), (0, 0, 2)]:
        with pytest.raises(HidetError, match="which does not fit"):
            numbers(x, *wrong)
    with pytest.raises(HidetError, match=r"is 0\.5, not a number of type i8"):
        numbers(x, 0.5, 0, True)


X = torch.zeros(8)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((X, 24, 8), HidetError, "'q' of function 'launch' is the address 0x18"),
        ((-16, X, 8), HidetError, "'p' of function 'launch' is the address -0x10"),
        ((1 << 64, X, 8), HidetError, "'p' of function 'launch' is the address 0x1000"),
        ((X, True, 8), HidetError, "'q' of function 'launch' is a bool, not a tensor ~f32"),
        ((X, None, 8), HidetError, "'q' of function 'launch' is a NoneType, not a tensor ~f32"),
        ((None, X, 8), HidetError, "'p' of function 'launch' is a NoneType, not a tensor void_p"),
        ((X, X.int(), 8), UnsupportedDtypeError, "'q' of function 'launch' has data type"),
        ((X, X, 8), HidetError, "'p' and 'q' of function 'launch' share memory"),
    ],
)
def test_wrong_arguments(module, arguments, error, message):
    """Addresses that cannot be are refused before anything runs."""
    with pytest.raises(error) as caught:
        module.build()(*arguments)
    assert message in str(caught.value)
    assert X.eq(0).all()


def test_bits_of_unsigned_numbers():
    """Unsigned parameters take signed tensors, for which torch has more operators."""
    with hidet.script_module() as module:

        @hidet.script
        def halve(x: ~u32, y: u32[4]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 4
            y[threadIdx.x] = x[threadIdx.x] // 2

    built = module.build()
    x = torch.tensor([-1, -2, 3, 1 << 30], dtype=torch.int32)
    y = torch.full((4,), -7, dtype=torch.int32)
    built(x, y)
    assert y.tolist() == [(value % (1 << 32)) // 2 for value in x.tolist()]
    with pytest.raises(UnsupportedDtypeError, match=r"torch.int64, not torch.uint32"):
        built(x.long(), y)
