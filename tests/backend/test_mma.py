"""Tensor core instructions and asynchronous copies of the device header, on every device."""

import ctypes

import numpy as np
import pytest
import torch

from hidet.arch.fragments import MMA_M16N8K8, MMA_M16N8K16
from hidet.arch.instructions import LDMATRIX, MMA_SYNC
from hidet.backend.toolchains import Gxx
from hidet.mapping import repeat, spatial


@pytest.fixture(scope="module")
def late(build_cpu):
    """The CPU with copies that land late, and with checks."""
    return build_cpu(Gxx(check=True, late_copies=True), "mma")


# ---- mma -----------------------------------------------------------------------------------------

TORCH_TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


class Products:
    """Random problems of one instruction, six of them, as arrays of bits.

    Args:
        name: the instruction.
        values: makes numbers of a shape, in float64.
    """

    count = 6

    def __init__(self, name, values):
        self.instruction = MMA_SYNC[name]
        m, n, k = self.instruction.shape
        self.operands = dict(zip("cab", self.instruction.operands, strict=True))
        shapes = {"a": (m, k), "b": (k, n), "c": (m, n)}
        self.tensors = {
            key: torch.from_numpy(values((self.count, *shape))).to(self._type(key))
            for key, shape in shapes.items()
        }

    def _type(self, key):
        return TORCH_TYPES[self.operands[key].element]

    def exact(self, key):
        """Give an operand as the tensor core takes it, in float64; tf32 has 19 bits."""
        x = self.tensors[key]
        if "tf32" in self.instruction.name and key != "c":
            x = (x.view(torch.int32) & ~0x1FFF).view(torch.float32)
        return x.double().numpy()

    def expected(self):
        """Give c + 3 * a @ b in float64."""
        return self.exact("c") + 3 * self.exact("a") @ self.exact("b")

    def indices(self, key, fragment=None):
        """Give the places of the elements of all lanes in the matrix, in order."""
        fragment = fragment or self.operands[key].fragment
        columns = self.tensors[key].shape[2]
        return np.array(
            [row * columns + column for lane in range(32) for row, column in fragment(lane)],
            np.int32,
        )

    def run(self, device, **fragments):
        """Run the kernel of the instruction, with its fragments or with other ones."""
        bits = {2: torch.int16, 4: torch.int32}
        arrays = [
            self.tensors[key].contiguous().view(bits[self.tensors[key].itemsize]).numpy()
            for key in "abc"
        ]
        out = device.poisoned(arrays[2].shape, arrays[2].dtype)
        indices = [self.indices(key, fragments.get(key)) for key in "abc"]
        device.launch(self.instruction.name, (self.count // 2, 1, 1), *arrays, *indices, out)
        return torch.from_numpy(out).view(self._type("c")).double().numpy()


@pytest.mark.parametrize("name", MMA_SYNC)
def test_mma_of_small_integers_is_exact(device, rng, name):
    """No sum of small integers is rounded, whatever the order, so every bit counts."""
    products = Products(name, lambda shape: rng.integers(-4, 5, shape).astype(np.float64))
    assert (products.run(device) == products.expected()).all()


@pytest.mark.parametrize("name", MMA_SYNC)
def test_mma(device, rng, name):
    """Products are exact, sums have the precision of the accumulators."""
    products = Products(name, lambda shape: rng.normal(size=shape))
    got, expected = products.run(device), products.expected()
    scale = np.abs(products.exact("c")) + 3 * np.abs(products.exact("a")) @ np.abs(
        products.exact("b")
    )
    precision = 2.0**-9 if name.endswith("_f16") else 2.0**-20
    assert (np.abs(got - expected) <= precision * scale).all()


WRONG_FRAGMENTS = {
    "a": repeat(2, 2) * spatial(8, 4) * repeat(1, 2),  # registers 1 and 2 change places
    "b": repeat(2, 1) * spatial(4, 8) * repeat(2, 1),  # lanes follow each other along the rows
    "c": spatial(8, 4) * repeat(2, 2),  # two neighbouring rows instead of rows i and i + 8
}


@pytest.mark.parametrize("operand", WRONG_FRAGMENTS)
def test_wrong_fragment_shows(device, rng, operand):
    """An element in another lane or register than the instruction takes it from is an error."""
    products = Products("m16n8k16_f16_f32", lambda shape: rng.normal(size=shape))
    wrong = WRONG_FRAGMENTS[operand]
    assert wrong.shape == products.operands[operand].fragment.shape
    got = products.run(device, **{operand: wrong})
    assert not np.allclose(got, products.expected(), rtol=1e-2, atol=1e-2)


def test_mma_needs_a_whole_warp(build_cpu):
    """The CPU says what a GPU leaves undefined."""
    cpu = build_cpu(Gxx(check=True), "mma_misuse")
    out = cpu.poisoned(64, np.float32)
    code, message = cpu.try_launch("partial", (1, 1, 1), out)
    assert code == 4
    assert "mma_m16n8k8 in line 8 needs a whole warp, and this one has 16 lanes" in message
    code, message = cpu.try_launch("alone", (1, 1, 1), out)
    assert code == 6
    assert "mma_m16n8k8 in line 17 needs HIDET_COLLECTIVE" in message
    code, message = cpu.try_launch("misaligned", (1, 1, 1), out)
    assert code == 5
    assert "ldmatrix_x1 in line 28" in message
    assert "is not aligned to 16 bytes" in message


def test_copies_that_no_gpu_makes(build_cpu, rng):
    """The CPU checks the addresses of copies, and how much is valid."""
    cpu = build_cpu(Gxx(check=True), "mma_misuse")
    x, out = rng.normal(size=4).astype(np.float32), cpu.poisoned(32, np.float32)
    code, message = cpu.try_launch("copies", (1, 1, 1), x, out, ctypes.c_int(1), ctypes.c_int(4))
    assert code == 5
    assert "cp.async of 16 bytes from" in message
    assert "is not aligned" in message
    code, message = cpu.try_launch("copies", (1, 1, 1), x, out, ctypes.c_int(4), ctypes.c_int(5))
    assert code == 5
    assert "cp.async of 16 bytes cannot read 20" in message
    code, message = cpu.try_launch("copies", (1, 1, 1), x, out, ctypes.c_int(4), ctypes.c_int(-1))
    assert "cp.async of 16 bytes cannot read -4" in message


# ---- ldmatrix ------------------------------------------------------------------------------------

LOADS = {
    "ldmatrix_x1_half": np.float16, "ldmatrix_x2_half": np.float16, "ldmatrix_x4_half": np.float16,
    "ldmatrix_x1_trans_half": np.float16, "ldmatrix_x2_trans_half": np.float16,
    "ldmatrix_x4_trans_half": np.float16, "ldmatrix_x4_float": np.float32,
    "ldmatrix_x2_char": np.int8,
}  # fmt: skip


def load(device, name, x, rows):
    """Run a kernel of ldmatrix on 64 rows; lane l of both warps gives the address of rows[l]."""
    count = int(name.removeprefix("ldmatrix_x")[0])
    out = device.poisoned((64, count, 4 // x.itemsize), x.dtype)
    device.launch(name, (1, 1, 1), x, rows.astype(np.int32), out)
    return out


@pytest.mark.parametrize("name", LOADS)
def test_ldmatrix(device, rng, name):
    """Every lane receives its part of each matrix, from rows that may lie anywhere."""
    dtype = np.dtype(LOADS[name])
    x = rng.integers(0, 256, (64, 16), np.uint8).view(dtype)
    rows = rng.integers(0, 64, 64)  # lanes may give the same row, and some are not asked
    out = load(device, name, x, rows)
    for thread in range(64):
        warp, lane = thread & ~31, thread & 31
        for j in range(out.shape[1]):
            matrix = x[rows[warp + 8 * j : warp + 8 * j + 8]]
            matrix = matrix.T if "trans" in name else matrix
            pair = 4 // dtype.itemsize
            wanted = matrix[lane // 4, lane % 4 * pair : lane % 4 * pair + pair]
            assert out[thread, j].tobytes() == np.ascontiguousarray(wanted).tobytes()


def test_every_ldmatrix_is_tested():
    """The table has no load without a kernel."""
    assert {i.function for i in LDMATRIX.values()} == {name.rpartition("_")[0] for name in LOADS}


def test_ldmatrix_loads_fragments(device, rng):
    """What four matrices give is the A operand of m16n8k16, two transposed ones the B operand."""
    x = rng.normal(size=(64, 8)).astype(np.float16)
    a = np.hstack([x[:16], x[16:32]])  # 16x16, its left half above its right half
    out = load(device, "ldmatrix_x4_half", x, np.arange(64) % 32)[:32].reshape(32, 8)
    assert (out == [[a[task] for task in MMA_M16N8K16.a(lane)] for lane in range(32)]).all()
    out = load(device, "ldmatrix_x2_trans_half", x, np.arange(64) % 16)[:32].reshape(32, 4)
    assert (out == [[x[task] for task in MMA_M16N8K16.b(lane)] for lane in range(32)]).all()
    out = load(device, "ldmatrix_x1_trans_half", x, np.arange(64) % 8)[:32].reshape(32, 2)
    assert (out == [[x[task] for task in MMA_M16N8K8.b(lane)] for lane in range(32)]).all()


# ---- cp.async ------------------------------------------------------------------------------------

COPIES = {
    "cp_async_ca_float1": (np.float32, 1), "cp_async_ca_half2": (np.float16, 2),
    "cp_async_ca_half4": (np.float16, 4), "cp_async_ca_float4": (np.float32, 4),
    "cp_async_cg_half8": (np.float16, 8), "cp_async_cg_char16": (np.int8, 16),
}  # fmt: skip


def check_copies(device, rng, name):
    """Run a kernel of copies, some of them whole, some of them of a part of their elements."""
    dtype, width = COPIES[name]
    x = rng.integers(1, 256, (128, width * np.dtype(dtype).itemsize), np.uint8).view(dtype)
    valid = rng.integers(-1, width + 1, 128).astype(np.int32)
    out = device.poisoned(x.shape, dtype)
    device.launch(name, (2, 1, 1), x, valid, out)
    read = np.arange(width) < np.where(valid < 0, width, valid)[:, None]
    expected = np.where(read, x, np.zeros_like(x))
    assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", COPIES)
def test_cp_async(device, rng, name):
    """Copies move what is valid, and write zeros for the rest."""
    check_copies(device, rng, name)


@pytest.mark.parametrize("name", COPIES)
def test_late_cp_async(late, rng, name):
    """So they do when they land as late as they may."""
    check_copies(late, rng, name)


def sums(device, name, x):
    """Run one of the rings."""
    out = device.poisoned(64, np.float32)
    device.launch(name, (1, 1, 1), x, out, ctypes.c_int(len(x)))
    return out


@pytest.mark.parametrize("rows", [2, 3, 4, 11])
def test_ring(device, late, rng, rows):
    """A ring of three stages, two of them on their way."""
    x = rng.normal(size=(rows, 64)).astype(np.float32)
    expected = x.astype(np.float64).sum(0)
    assert np.allclose(sums(device, "ring", x), expected, rtol=1e-5, atol=1e-5)
    assert np.allclose(sums(late, "ring", x), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["ring_waits_too_little", "ring_overwrites"])
def test_late_copies_show_what_is_wrong_with_a_ring(cpu, late, rng, name):
    """A wait that leaves a group too many, which copies that land at once hide; a missing stage."""
    x = rng.normal(size=(11, 64)).astype(np.float32)
    assert np.isnan(sums(late, name, x)).any()
    if name == "ring_waits_too_little":
        assert np.allclose(sums(cpu, name, x), x.astype(np.float64).sum(0), rtol=1e-5, atol=1e-5)
