"""`hidet profile`: a table and a page of a saved graph."""

import pytest
import torch

import hidet
from hidet.tools import cli


@pytest.fixture(name="saved")
def saved_graph(tmp_path):
    """Write a saved graph, and return its path."""
    layers = torch.nn.Linear(16, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4)
    model = torch.nn.Sequential(*layers).eval()
    path = tmp_path / "model <1>.hidet"
    hidet.save_compiled(hidet.compile(model, torch.randn(4, 16)), path)
    return path


def test_profile(saved, tmp_path, capsys):
    """The table goes to the output, the page to a file; both know what each launch has to do."""
    page = tmp_path / "page.html"
    assert cli.main(["profile", str(saved), "--runs", "3", "--html", str(page)]) == 0
    summed, _, head, first, *_ = capsys.readouterr().out.splitlines()
    assert summed.startswith("2 launches on the CPU: ")
    assert summed.endswith("medians of 3 runs")
    assert head.split()[:4] == ["#", "kernel", "start", "time"]
    moved = 4 * (4 * 16 + 16 * 8 + 8 + 4 * 8)
    assert first.split()[-4:] == [f"{2 * 4 * 16 * 8 / 1e3:.3g}", "k", str(moved), "B"]
    text = page.read_text()
    assert "<h1>model &lt;1&gt;.hidet</h1>" in text
    assert 'id="launch-1"' in text


def test_mistakes(saved, tmp_path, capsys):
    assert cli.main(["profile", str(saved), "--runs", "0"]) == 1
    assert "hidet: there is nothing to measure: runs=0" in capsys.readouterr().err
    assert cli.main(["profile", str(tmp_path / "none.hidet")]) == 1
    assert "none.hidet" in capsys.readouterr().err


def test_from_python():
    """What is compiled is measured on the tensors of a call, checked as those are."""
    model = torch.nn.Linear(16, 8).eval()
    compiled = hidet.compile(model, torch.randn(4, 16))
    (launch,) = compiled.profile(torch.randn(4, 16), runs=2).launches
    assert launch.work.operations == 2 * 4 * 16 * 8
    with pytest.raises(hidet.errors.HidetError, match="argument 0"):
        compiled.profile(torch.randn(5, 16))


def test_graph_without_program():
    """What launches nothing cannot be measured."""
    compiled = hidet.compile(lambda x: x, torch.randn(3))
    with pytest.raises(hidet.errors.HidetError, match="has no operators"):
        compiled.profile(torch.randn(3))
