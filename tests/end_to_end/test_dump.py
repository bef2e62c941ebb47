"""`hidet-opt` goes on from what `HIDET_DUMP` writes, and makes the same kernels of it."""

import re

import pytest
import torch
from torch import nn

from hidet import option
from hidet.tools import hidet_opt

# From a dumped file on: the passes that are left.
REST = {
    "*_graph.mlir": "hidet-pipeline{arch=cpu}",
    "*_fuse.mlir": "task-pipeline{arch=cpu},cuda-pipeline,plan-memory",
    "*_lower-task.mlir": "cuda-pipeline,plan-memory",
    "*_plan-memory.mlir": "pass-tensor-maps,overlap-launches",
    "*_overlap-launches.mlir": "",
}


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    """Compile a small convolutional model; give the folder of its dump."""
    folder = tmp_path_factory.mktemp("dump")
    torch._dynamo.reset()
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(36, 5),
        nn.Softmax(1),
    )
    with torch.no_grad(), option.context(dump_dir=folder, cache_dir=folder / "cache"):
        torch.compile(model, backend="hidet")(torch.randn(2, 1, 8, 8))
    (program,) = folder.glob("graph_*")
    return program


def kernels(text):
    """Split CUDA into kernels, by name, without the comments: text carries no lines of the user."""
    parts = re.split(r"^// (?=\w+$)", text, flags=re.MULTILINE)[1:]
    named = (part.split("\n", 1) for part in parts)
    return {name: re.sub(r"^//.*\n", "", body, flags=re.MULTILINE).strip() for name, body in named}


@pytest.mark.parametrize("file", REST)
def test_hidet_opt_goes_on(dump, file, capsys):
    (path,) = dump.glob(file)
    assert hidet_opt.main([str(path), "-p", REST[file], "-t", "cuda"]) == 0
    written = {}
    for source in (dump / "kernels").glob("*.cu"):
        written |= kernels(source.read_text())
    assert len(written) >= 4
    assert kernels(capsys.readouterr().out) == written
