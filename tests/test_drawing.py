"""Pictures of task mappings."""

from hidet.mapping import repeat, replicate, spatial


def test_registers():
    """Every element shows its worker and its register."""
    assert (spatial(2, 1) * repeat(1, 2)).draw() == "\n".join(
        [
            "     0   1",
            "0  0:0 0:1",
            "1  1:0 1:1",
            "",
            "repeat(1, 2) * spatial(2, 1)",
            "2 x 2 tasks, 2 workers with 2 tasks each",
            "w:r   worker w holds the element in its register r (its r-th task)",
        ]
    )


def test_replicas():
    """An element of several workers shows them all, or the first and the last."""
    assert (spatial(2) * replicate(2)).draw().splitlines()[:2] == ["     0   1", "   0|1 2|3"]
    assert "0|..|7" in (spatial(1) * replicate(8)).draw()


def test_limit():
    """Large mappings are cut off."""
    lines = spatial(40, 40).draw(2).splitlines()
    assert lines[:4] == ["    0  1 ..", "0   0  1 ..", "1  40 41 ..", ".."]


def test_planes():
    """Of three dimensions, the last two are drawn for each value of the first."""
    picture = repeat(2, 1, 2).draw()
    assert picture.startswith("at (0,):\n     0   1\n0  0:0 0:1\n\nat (1,):")
