"""What a script loads, which is most of the time that it takes to start."""

import subprocess
import sys

PROGRAM = """
import sys
import torch
import hidet
from hidet.lang import attrs, f32
from hidet.lang.cuda import threadIdx

with hidet.script_module() as module:
    @hidet.script
    def double(x: f32[32]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        x[threadIdx.x] *= 2.0

x = torch.ones(32)
module.build()(x)
assert x.sum() == 64
unused = ["torch._dynamo", "hidet.dialects.graph", "hidet.tuning", "hidet.lowering.graph"]
unused += ["hidet.runtime.plan", "hidet.lowering.templates.base"]
print([name for name in unused if name in sys.modules])
"""


def test_a_script_loads_nothing_of_graphs(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    command = [sys.executable, path]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stdout == "[]\n", result.stderr
