"""Numbers of the template `transpose`: results that are read along another dimension."""

import pytest
import torch
from torch.nn import functional

from hidet.lowering.templates import transpose
from hidet.lowering.templates.transpose import TransposeConfig, TransposeTemplate


@pytest.fixture
def tiles(monkeypatch, tmp_path):
    """Give a function that has small results computed in tiles, on the CPU and in strict mode."""

    def choose(*numbers):
        monkeypatch.setattr(transpose, "FEWEST", 1)
        monkeypatch.setattr(TransposeTemplate, "configs", lambda *_: [TransposeConfig(*numbers)])
        return {"cache_dir": tmp_path / "cache", "dump_dir": tmp_path / "dump", "strict": True}

    return choose


@pytest.mark.parametrize(
    ("shape", "config"),
    [
        pytest.param((64, 32), (0, 32, 16, 2, 32), id="whole-tiles"),
        pytest.param((45, 70), (0, 32, 16, 2, 32), id="rest-of-both"),
        pytest.param((2, 21, 5, 6), (1, 32, 16, 2, 64), id="behind-batches"),
        pytest.param((3, 33, 40), (1, 16, 32, 1, 32), id="single-elements"),
    ],
)
@pytest.mark.sample(3)
def test_shapes(check, tiles, shape, config):
    """Tiles cover results of any extents, whose last dimensions may be several."""
    options = tiles(*config)
    dim, rank = config[0], len(shape)
    order = [*range(dim), *range(dim + 1, rank), dim]  # in memory
    back = [order.index(axis) for axis in range(rank)]
    x = torch.randn([shape[axis] for axis in order]).half()
    sizes, stored = ("x".join(map(str, each)) for each in (shape, x.shape))
    check(
        f"""
        %t = graph.permute %x {{dims = array<i64: {", ".join(map(str, back))}>}}
          : (tensor<{stored}xf16>) -> tensor<{sizes}xf16>
        %y = graph.neg %t : tensor<{sizes}xf16>
        """,
        {"x": x},
        {"y": -x.double().permute(back)},
        dtype=torch.float16,
        options=options,
    )
    (source,) = options["dump_dir"].rglob("*.cu")
    assert "__shared__" in source.read_text()


def test_windows(check, tiles):
    """Windows of images whose channels are last are reduced as they are read."""
    options = tiles(1, 16, 16, 2, 32)
    x = torch.randn(2, 8, 12, 20).half()
    y = functional.max_pool2d(x.double().permute(0, 3, 1, 2), 2)
    check(
        """
        %i = graph.permute %x {dims = array<i64: 0, 3, 1, 2>}
          : (tensor<2x8x12x20xf16>) -> tensor<2x20x8x12xf16>
        %v = graph.windows %i {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>,
            outside = 0xfc00 : f16} : (tensor<2x20x8x12xf16>) -> tensor<2x20x4x6x2x2xf16>
        %y = graph.max %v {axes = array<i64: 4, 5>}
          : (tensor<2x20x4x6x2x2xf16>) -> tensor<2x20x4x6xf16>
        """,
        {"x": x},
        {"y": y},
        dtype=torch.float16,
        options=options,
    )
    (source,) = options["dump_dir"].rglob("*.cu")
    assert "__shared__" in source.read_text()
