"""`hidet tune` and `hidet bench`: tables of candidates, with a line to paste."""

import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from xdsl.parser import Parser

from hidet.arch.chips import Arch
from hidet.backend.cache import Store
from hidet.context import make_context
from hidet.dialects.compute import FusionOp
from hidet.lowering.pipelines import PassOptions, run_pipeline
from hidet.lowering.templates.legality import Rejected
from hidet.tools import cli
from hidet.tuning.problem import Problem, Setting, open_fusions
from hidet.tuning.search import SEEDS_ON_CPU, Search, Timed, report
from hidet.tuning.winners import Winners

FUSIONS = """
func.func @forward(%x: tensor<17x20xf32>, %w: tensor<20x36xf32>) -> tensor<17x36xf32> {
  %y = compute.fusion (%a = %x : tensor<17x20xf32>, %b = %w : tensor<20x36xf32>)
      -> (tensor<17x36xf32>) {
    %z = graph.matmul %a, %b : (tensor<17x20xf32>, tensor<20x36xf32>) -> tensor<17x36xf32>
    compute.yield %z : tensor<17x36xf32>
  }
  func.return %y : tensor<17x36xf32>
}
"""


@pytest.fixture(autouse=True)
def _on_the_cpu(tmp_path, monkeypatch):
    monkeypatch.setenv("HIDET_TARGET", "cpu")
    monkeypatch.setenv("HIDET_CACHE_DIR", str(tmp_path / "cache"))


def test_bench(capsys, tmp_path):
    """All candidates with their times, the fastest first; the line to paste is a config."""
    assert cli.main(["bench", "matmul", "17", "36", "20", "--dtype", "f32", "--space", "1"]) == 0
    title, head, *rows, last = capsys.readouterr().out.splitlines()
    assert title == "matmul 17 x 36 x 20 f32 on cpu"
    assert head.split() == ["us", "share", "config"]
    times = [float(row.split()[0]) for row in rows]
    assert len(times) == SEEDS_ON_CPU[1]
    # The finalists are timed again, so only they are in order among themselves.
    assert times[:3] == sorted(times[:3])
    best = dict(re.findall(r"(\w+)=(\w+)", rows[0]))
    pasted = Parser(make_context(), last.removeprefix("config ")).parse_attribute()
    assert {name: str(value).split(" ")[0].strip('"') for name, value in pasted.data.items()} == {
        "template": "matmul",
        **best,
    }
    assert Winners(Store(tmp_path / "cache")).state() != ""


@pytest.mark.slow
def test_tune_searches_anew(capsys, tmp_path):
    """A program of fusions; what is known is measured again and replaced."""
    file = tmp_path / "program.mlir"
    file.write_text(FUSIONS)
    winners = Winners(Store(tmp_path / "cache"))
    states = []
    for _ in range(2):
        assert cli.main(["tune", str(file), "--space", "1"]) == 0
        assert "matmul 17 x 36 x 20 f32" in capsys.readouterr().out
        states.append(winners.state())
    assert len(set(states)) == 2
    assert len(list((tmp_path / "cache" / "winners").glob("??/*"))) == 1


def test_nothing_to_choose(capsys, tmp_path):
    file = tmp_path / "program.mlir"
    file.write_text(
        "func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %y = graph.relu %x : tensor<4xf32>\n  func.return %y : tensor<4xf32>\n}"
    )
    assert cli.main(["tune", str(file)]) == 0
    assert capsys.readouterr().out == "no fusion has a choice of configs\n"


def test_mistakes(capsys, tmp_path):
    file = tmp_path / "program.mlir"
    file.write_text("func.func @forward(")
    assert cli.main(["tune", str(file)]) == 1
    assert "hidet: it is no program" in capsys.readouterr().err
    assert cli.main(["tune", str(tmp_path / "none.mlir")]) == 1
    assert "none.mlir" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["bench", "matmul", "0", "4", "4"])
    assert "M" in capsys.readouterr().err


def test_report_of_a_gpu():
    """Shares of the roofline, and one line for each reason, of legality and of measurements."""
    text = FUSIONS.replace("17x", "64x").replace("x36", "x64").replace("20", "512")
    text = text.replace("f32", "f16")
    module = Parser(make_context(), text).parse_module()
    run_pipeline(module, make_context(), PassOptions("sm_80"), pipeline="compute-pipeline")
    arch = "sm_80/shared_bytes_per_block=65536"
    ((fusion, template),) = open_fusions(module, Arch.parse(arch))
    assert isinstance(fusion, FusionOp)
    problem = Problem(fusion, template, Setting(Arch.parse(arch), "1", False))
    search = Search.of(problem, 1)
    first, second, *others = search.next_round()
    floor = problem.work.floor(problem.setting.arch)
    search.add(Timed(first, 4 * floor, 0))
    search.add(Timed(second, 2 * floor, 0))
    for each in others:
        search.add(Rejected(each, "it did not end within 60 seconds"))
    title, _, best, next_best, *reasons, last = report(search).splitlines()
    assert title == f"matmul 64 x 64 x 512 f16 on {arch}, roofline {floor:.1f} us"
    assert best.split()[1] == "50%"
    assert next_best.split()[1] == "25%"
    assert reasons[0].startswith("         rejected  6 configs, as instruction=m16n8k16_f16_f")
    assert reasons[0].endswith(": it did not end within 60 seconds")
    assert all(reason.endswith(" bytes of shared memory, of 65536") for reason in reasons[1:])
    assert len(reasons) > 3
    assert last == f"config {problem.attribute(second)}"


@pytest.mark.slow
def test_killed_at_any_moment(tmp_path):
    """Whenever a search is killed, the next one works, and no process is left."""
    file = tmp_path / "program.mlir"
    file.write_text(FUSIONS)
    command = [sys.executable, "-m", "hidet.tools.cli", "tune", str(file), "--space", "1"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for _ in range(5):
        search = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
        time.sleep(random.uniform(0.5, 4))
        if search.poll() is not None:  # found already, on a fast machine
            search.communicate()
            continue
        children = Path(f"/proc/{search.pid}/task/{search.pid}/children").read_text().split()
        search.kill()
        search.communicate()
        deadline = time.monotonic() + 30
        while any(_is_running(pid) for pid in children):
            assert time.monotonic() < deadline, "a worker is left"
            time.sleep(0.1)
    result = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert "config {template" in result.stdout
    Store(tmp_path / "cache").evict()


def _is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
