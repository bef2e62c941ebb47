"""Other processes that damage binaries of the cache between their check and their use."""

import os
import shutil
import subprocess
import sys

import pytest

PROGRAM = """
import os, sys
from pathlib import Path
import torch, hidet
from hidet.lang import attrs, f32
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.runtime.kernels import Library

def damage(event):
    for path in Path(os.environ["HIDET_CACHE_DIR"]).rglob("kernel.so"):
        if event == "replace":
            copy = path.with_name("copy")
            copy.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
            copy.rename(path)
        else:
            os.truncate(path, path.stat().st_size // 2)

load = Library.__init__

def raced_load(library, *arguments):
    moment, event = sys.argv[1:]
    if moment == "before":
        damage(event)
    load(library, *arguments)
    if moment == "after":
        damage(event)

if sys.argv[1:]:
    Library.__init__ = raced_load

with hidet.script_module() as module:
    @hidet.script
    def double(x: f32[64], y: f32[64]):
        attrs.cuda.grid_dim = 2
        attrs.cuda.block_dim = 32
        i = blockIdx.x * 32 + threadIdx.x
        y[i] = x[i] * 2.0

x, y = torch.randn(64), torch.empty(64)
graph = hidet.compile(lambda x: torch.sin(x) + 1, x)
torch.testing.assert_close(graph(x), torch.sin(x) + 1)
module.build()(x, y)
torch.testing.assert_close(y, 2 * x)
print("right")
"""


def run(program, cache, *arguments):
    return subprocess.run(
        [sys.executable, program, *arguments],
        env={**os.environ, "HIDET_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Return the path of the program; its binaries are in the folder `cache` beside it."""
    path = tmp_path_factory.mktemp("damaged") / "program.py"
    path.write_text(PROGRAM)
    done = run(path, path.with_name("cache"))
    assert done.stdout == "right\n", done.stderr
    return path


@pytest.mark.slow
@pytest.mark.parametrize("race", ["before replace", "before truncate", "after truncate"])
def test_loaded_binaries_are_those_that_were_checked(program, tmp_path, race):
    """Such a race neither kills the process nor changes a result."""
    cache = tmp_path / "cache"
    shutil.copytree(program.with_name("cache"), cache)
    done = run(program, cache, *race.split())
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    intact = {path.parent.name: path.stat().st_size for path in program.parent.rglob("kernel.so")}
    found = {path.parent.name: path.stat().st_size for path in cache.rglob("kernel.so")}
    assert found.keys() == intact.keys()
    assert all(found[name] < intact[name] for name in found)
