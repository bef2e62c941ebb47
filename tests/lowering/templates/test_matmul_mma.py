"""Numbers of the template `matmul` as on a GPU, on the CPU in the strict mode: all tiles."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from hidet.arch.instructions import FMA
from hidet.errors import PassError
from hidet.lowering.templates.blocking import Blocking
from hidet.lowering.templates.config import STRIPED, TRANSPOSED

F16, BF16, TF32 = "m16n8k16_f16_f32", "m16n8k16_bf16_f32", "m16n8k8_tf32_f32"
HALF_SUMS = "m16n8k16_f16_f16"
WGMMA_F16, WGMMA_BF16 = "m64n64k16_f16_f32", "m64n32k16_bf16_f32"
WGMMA_ODD, WGMMA_WIDE = "m64n48k16_f16_f32", "m64n256k16_f16_f32"
WGMMA_TF32 = "m64n64k8_tf32_f32"
DTYPES = {
    F16: torch.float16,
    HALF_SUMS: torch.float16,
    BF16: torch.bfloat16,
    TF32: torch.float32,
    WGMMA_F16: torch.float16,
    WGMMA_BF16: torch.bfloat16,
    WGMMA_ODD: torch.float16,
    WGMMA_WIDE: torch.float16,
    WGMMA_TF32: torch.float32,
    FMA: torch.float32,
}
NAMES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
PRECISIONS = {TF32: ' {precision = "tf32"}', HALF_SUMS: ' {precision = "f16"}'}
TOLERANCES = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 3e-5}


def seen(x):
    """Return what tensor cores see of a tensor, in f64: f32 rounded to 11 bits, as torch does."""
    wide = x.double()
    if x.dtype != torch.float32:
        return wide
    unit = 2.0 ** (wide.frexp().exponent - 11)
    return (wide / unit + wide.sign() / 2).trunc() * unit


BLOCKINGS = (
    Blocking(F16, 64, 64, 32, 2, 2, 3),
    Blocking(F16, 128, 32, 64, 2, 1, 1),
    Blocking(BF16, 16, 64, 64, 1, 4, 1),
    Blocking(BF16, 32, 8, 16, 1, 1, 4),
    Blocking(F16, 32, 24, 128, 2, 1, 1),
    Blocking(TF32, 32, 32, 32, 2, 2, 2),
    Blocking(TF32, 16, 16, 8, 1, 1, 1),
    Blocking(WGMMA_F16, 64, 64, 64, 1, 1, 4),
    Blocking(WGMMA_F16, 128, 64, 32, 1, 1, 3),
    Blocking(WGMMA_F16, 64, 128, 128, 1, 1, 1),
    Blocking(WGMMA_BF16, 128, 64, 64, 2, 2, 2),
    Blocking(WGMMA_BF16, 64, 32, 16, 1, 1, 5),
    Blocking(WGMMA_F16, 64, 64, 64, 1, 1, 4, grid=2),
    Blocking(WGMMA_F16, 128, 64, 32, 2, 1, 3, grid=1, epilogue="staged"),
    Blocking(F16, 64, 64, 32, 2, 2, 3, grid=2),
    Blocking(FMA, 32, 64, 16, 8, 8, 3, arrangement=STRIPED, residents=2),
    Blocking(FMA, 64, 16, 32, 8, 8, 1, arrangement=STRIPED),
    Blocking(WGMMA_ODD, 128, 96, 64, 2, 2, 3, grid=1, epilogue="staged"),
    Blocking(WGMMA_F16, 64, 64, 32, 1, 1, 3, cluster_rows=2),
    Blocking(WGMMA_BF16, 64, 32, 64, 1, 1, 2, grid=2, epilogue="staged", cluster_columns=2),
    Blocking(WGMMA_WIDE, 64, 256, 64, 1, 1, 2, grid=1, epilogue="staged"),
    Blocking(HALF_SUMS, 64, 64, 32, 2, 2, 3),
    Blocking(WGMMA_TF32, 64, 64, 32, 1, 1, 3, grid=1, epilogue="staged"),
    Blocking(FMA, 64, 64, 16, 4, 16, 3, arrangement=TRANSPOSED),
    Blocking(FMA, 32, 32, 8, 4, 8, 1, arrangement=TRANSPOSED),
    Blocking(WGMMA_TF32, 64, 64, 32, 1, 1, 2, cluster_rows=2),
    Blocking(WGMMA_F16, 64, 64, 64, 1, 1, 2, grid=1, epilogue="staged", schedule="pingpong"),
    Blocking(WGMMA_BF16, 64, 32, 32, 1, 1, 4, grid=2, schedule="pingpong"),
)
ORIENTATIONS = ("nn", "nt", "tn", "tt")
QUICK = {
    (0, "nt"),
    (0, "tn"),
    (3, "nn"),
    (5, "nt"),
    (7, "nt"),
    (8, "tn"),
    (10, "nn"),
    (12, "tt"),
    (13, "nt"),
    (14, "nn"),
    (15, "nt"),
    (15, "tn"),
    (16, "nn"),
    (17, "nn"),
    (18, "nt"),
    (19, "tn"),
    (20, "nt"),
    (21, "nt"),
    (22, "nt"),
    (23, "nt"),
    (23, "tn"),
    (24, "nn"),
    (25, "nt"),
    (26, "nt"),
    (27, "nn"),
}


@pytest.mark.parametrize(
    ("blocking", "transposed"),
    [
        pytest.param(
            blocking,
            orientation,
            marks=[] if (number, orientation) in QUICK else pytest.mark.slow,
            id=f"{number}-{orientation}",
        )
        for number, blocking in enumerate(BLOCKINGS)
        for orientation in ORIENTATIONS
        if blocking.instruction != WGMMA_TF32 or orientation == "nt"  # which TMA rounds
    ],
)
@pytest.mark.sample(2)
def test_orientations(check, choose, blocking, transposed):
    """Operands whose rows or columns are contiguous, of sizes that no tile divides."""
    dtype = DTYPES[blocking.instruction]
    t = NAMES[dtype]
    m, n, k = 72, 88 if blocking.block_n < 256 else 280, 136
    x = torch.randn((m, k) if transposed[0] == "n" else (k, m)).to(dtype)
    w = torch.randn((k, n) if transposed[1] == "n" else (n, k)).to(dtype)
    left = x if transposed[0] == "n" else x.T
    right = w if transposed[1] == "n" else w.T
    lines, operands = [], []
    for name, value, turned, shape in (
        ("x", x, transposed[0], (m, k)),
        ("w", w, transposed[1], (k, n)),
    ):
        rows, columns = value.shape
        if turned == "t":
            lines.append(
                f"%{name}t = graph.permute %{name} {{dims = array<i64: 1, 0>}} : "
                f"(tensor<{rows}x{columns}x{t}>) -> tensor<{columns}x{rows}x{t}>"
            )
        operands.append((f"%{name}" + "t" * (turned == "t"), f"tensor<{shape[0]}x{shape[1]}x{t}>"))
    (a, a_type), (b, b_type) = operands
    factor = seen if blocking.instruction in (TF32, WGMMA_TF32) else None
    precision = PRECISIONS.get(blocking.instruction, "")
    lines.append(
        f"%y = graph.matmul {a}, {b}{precision} : ({a_type}, {b_type}) -> tensor<{m}x{n}x{t}>"
    )
    check(
        "\n".join(lines),
        {"x": x, "w": w},
        {"y": factor(left) @ factor(right) if factor else left.double() @ right.double()},
        dtype=dtype,
        # Sums of halves are rounded in each of 9 steps, near their largest magnitude.
        tolerance=2.5e-2 if blocking.instruction == HALF_SUMS else TOLERANCES[dtype],
        options=choose(blocking),
    )


@pytest.mark.parametrize("stages", [1, 3])
def test_tf32_of_tiles_that_threads_copy(check, choose, stages):
    """`wgmma` would truncate; TMA cannot load an operand that is contiguous along M."""
    with pytest.raises(PassError, match="truncates f32 to TF32"):
        check(
            """
            %a = graph.permute %x {dims = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
            %y = graph.matmul %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
            """,
            {"x": torch.randn(8, 8)},
            {"y": torch.zeros(8, 8)},
            options=choose(Blocking(WGMMA_TF32, 64, 64, 32, 1, 1, stages)),
        )


SMALL = Blocking(F16, 32, 32, 32, 2, 2, 3)
STAGED = Blocking(WGMMA_F16, 64, 64, 64, 1, 1, 3, grid=3, epilogue="staged")


@pytest.mark.parametrize(
    ("m", "n", "k", "blocking"),
    [(33, 51, 41, SMALL), (5, 200, 300, SMALL), (5, 200, 304, STAGED), (130, 51, 41, STAGED)],
)
@pytest.mark.sample(1)
def test_sizes(check, choose, m, n, k, blocking):
    """Rows that are no multiple of 16 bytes, deep and flat products, with an epilogue."""
    x, w, b = (torch.randn(*shape).half() for shape in ((m, k), (k, n), (n,)))
    check(
        f"""
        %p = graph.matmul %x, %w : (tensor<{m}x{k}xf16>, tensor<{k}x{n}xf16>) -> tensor<{m}x{n}xf16>
        %s = graph.add %p, %b : (tensor<{m}x{n}xf16>, tensor<{n}xf16>) -> tensor<{m}x{n}xf16>
        %y = graph.relu %s : tensor<{m}x{n}xf16>
        """,
        {"x": x, "w": w, "b": b},
        {"y": (x.double() @ w.double() + b.double()).relu()},
        dtype=torch.float16,
        tolerance=4e-3,
        options=choose(blocking),
    )


@pytest.mark.parametrize(
    "blocking",
    [
        STAGED,  # persistent
        replace(STAGED, block_n=192, instruction="m64n192k16_f16_f32", grid=4096),
        replace(STAGED, block_m=128, rows=2),
        replace(STAGED, block_n=48, instruction="m64n48k16_f16_f32"),  # of half a warp
        replace(STAGED, block_n=256, instruction="m64n256k16_f16_f32", schedule="pingpong"),
    ],
)
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.sample(1)
def test_staged_rows_that_are_not_aligned(check, choose, blocking, has_bias):
    """Warps store rows of an odd number of elements; a bias is not read out of bounds."""
    m, n, k = 150, 301, 72
    x, w, b = torch.randn(m, k).half(), torch.randn(k, n).half(), torch.randn(n).half()
    kinds = f"tensor<{m}x{k}xf16>, tensor<{k}x{n}xf16>", f"tensor<{m}x{n}xf16>"
    add = f"graph.add %p, %b : ({kinds[1]}, tensor<{n}xf16>) -> {kinds[1]}"
    check(
        f"""
        %p = graph.matmul %x, %w : ({kinds[0]}) -> {kinds[1]}
        %s = {add if has_bias else f"graph.relu %p : {kinds[1]}"}
        %y = graph.relu %s : {kinds[1]}
        """,
        {"x": x, "w": w, "b": b} if has_bias else {"x": x, "w": w},
        {"y": (x.double() @ w.double() + (b.double() if has_bias else 0)).relu()},
        dtype=torch.float16,
        tolerance=4e-3,
        options=choose(blocking),
    )


@pytest.mark.parametrize(
    ("blocking", "n"),
    [
        (STAGED, 304),  # persistent
        (replace(STAGED, block_m=128, rows=2), 301),  # rows that TMA cannot store
        (replace(STAGED, block_n=256, instruction="m64n256k16_f16_f32", schedule="pingpong"), 304),
    ],
)
@pytest.mark.sample(1)
def test_staged_outputs(check, choose, blocking, n):
    """A sum and its GELU, which gradients need, go through the same shared memory in turns."""
    m, k = 200, 72
    x, w, b = torch.randn(m, k).half(), torch.randn(k, n).half(), torch.randn(n).half()
    kinds = f"tensor<{m}x{k}xf16>, tensor<{k}x{n}xf16>", f"tensor<{m}x{n}xf16>"
    total = x.double() @ w.double() + b.double()
    check(
        f"""
        %p = graph.matmul %x, %w : ({kinds[0]}) -> {kinds[1]}
        %y = graph.add %p, %b : ({kinds[1]}, tensor<{n}xf16>) -> {kinds[1]}
        %z = graph.gelu %y : {kinds[1]}
        """,
        {"x": x, "w": w, "b": b},
        {"y": total, "z": functional.gelu(total)},
        dtype=torch.float16,
        tolerance=4e-3,
        options=choose(blocking),
    )


RESIDUAL = replace(
    STAGED, block_n=128, instruction="m64n128k16_f16_f32", epilogue="staged-residual"
)


@pytest.mark.parametrize(
    "blocking",
    [
        RESIDUAL,  # persistent, two pieces
        replace(RESIDUAL, grid=4096),
        replace(RESIDUAL, block_m=128, rows=2),
        replace(RESIDUAL, block_n=96, instruction="m64n96k16_f16_f32", rows=1),  # one piece
        replace(RESIDUAL, block_n=256, instruction="m64n256k16_f16_f32", schedule="pingpong"),
    ],
)
@pytest.mark.parametrize(
    ("batch", "m", "n", "k"),
    [
        (1, 200, 304, 136),
        pytest.param(3, 130, 264, 72, marks=pytest.mark.slow),
        (1, 70, 264, 41),
    ],
)
@pytest.mark.sample(1)
def test_staged_residual(check, choose, blocking, batch, m, n, k):
    """A residual comes and the result goes through the same shared memory, tile after tile."""
    x, w = torch.randn(batch, m, k).half(), torch.randn(batch, k, n).half()
    r, b = torch.randn(batch, m, n).half(), torch.randn(n).half()
    lhs, rhs, result = (
        f"tensor<{batch}x{rows}xf16>" for rows in (f"{m}x{k}", f"{k}x{n}", f"{m}x{n}")
    )
    check(
        f"""
        %p = graph.matmul %x, %w : ({lhs}, {rhs}) -> {result}
        %s = graph.add %p, %b : ({result}, tensor<{n}xf16>) -> {result}
        %t = graph.add %s, %r : ({result}, {result}) -> {result}
        %y = graph.relu %t : {result}
        """,
        {"x": x, "w": w, "b": b, "r": r},
        {"y": (x.double() @ w.double() + b.double() + r.double()).relu()},
        dtype=torch.float16,
        tolerance=4e-3,
        options=choose(blocking),
    )


@pytest.mark.parametrize(
    "blocking", [Blocking(F16, 16, 32, 32, 1, 2, 2), Blocking(WGMMA_F16, 64, 64, 64, 1, 1, 3)]
)
@pytest.mark.sample(1)
def test_convolution(check, choose, blocking):
    """Image and filters of a convolution are packed ahead of it, with channels side by side."""
    x, w = torch.randn(2, 5, 9, 8).half(), torch.randn(12, 5, 3, 3).half()
    check(
        """
        %y = graph.conv2d %x, %w {padding = array<i64: 1, 1>, stride = array<i64: 2, 1>}
          : (tensor<2x5x9x8xf16>, tensor<12x5x3x3xf16>) -> tensor<2x12x5x8xf16>
        """,
        {"x": x, "w": w},
        {"y": functional.conv2d(x.double(), w.double(), stride=(2, 1), padding=1)},
        kernels=3,
        dtype=torch.float16,
        tolerance=4e-3,
        options=choose(blocking),
    )


def test_batches(check, choose):
    """Tensor maps of batches have three dimensions; a batch of one is read by all."""
    x, w = torch.randn(3, 70, 72).half(), torch.randn(1, 80, 72).half()
    check(
        """
        %t = graph.permute %w {dims = array<i64: 0, 2, 1>}
          : (tensor<1x80x72xf16>) -> tensor<1x72x80xf16>
        %y = graph.matmul %x, %t
          : (tensor<3x70x72xf16>, tensor<1x72x80xf16>) -> tensor<3x70x80xf16>
        """,
        {"x": x, "w": w},
        {"y": x.double() @ w.double().mT},
        dtype=torch.float16,
        tolerance=2e-3,
        options=choose(STAGED),
    )


@pytest.mark.parametrize("blocking", [SMALL, STAGED, RESIDUAL, replace(STAGED, epilogue="direct")])
@pytest.mark.sample(1)
def test_batches_of_batches(check, choose, blocking):
    """The places of a residual, which is loaded ahead of the loop, are computed ahead of it."""
    x, w = torch.randn(2, 3, 70, 72).half(), torch.randn(1, 3, 72, 136).half()
    r = torch.randn(2, 3, 70, 136).half()
    check(
        """
        %p = graph.matmul %x, %w
          : (tensor<2x3x70x72xf16>, tensor<1x3x72x136xf16>) -> tensor<2x3x70x136xf16>
        %y = graph.add %p, %r
          : (tensor<2x3x70x136xf16>, tensor<2x3x70x136xf16>) -> tensor<2x3x70x136xf16>
        """,
        {"x": x, "w": w, "r": r},
        {"y": x.double() @ w.double() + r.double()},
        dtype=torch.float16,
        tolerance=4e-3,
        options=choose(blocking),
    )
