"""Small programs of the graph dialect, compiled for the CPU and run on poisoned outputs."""

import shutil
import subprocess

import pytest
import torch
from xdsl.parser import Parser

from hidet.backend.device import INCLUDE_DIR
from hidet.context import make_context
from hidet.driver import compile_graph
from hidet.frontends.torch.dtypes import type_of
from hidet.lowering.graph import attention
from hidet.lowering.templates.attention import AttentionTemplate
from hidet.lowering.templates.backward import BackwardTemplate
from hidet.lowering.templates.base import Template
from hidet.lowering.templates.filters import FiltersTemplate
from hidet.lowering.templates.gemv import GemvTemplate
from hidet.lowering.templates.grouped import GroupedTemplate
from hidet.lowering.templates.matmul import MatmulTemplate
from hidet.lowering.templates.stencil import StencilTemplate
from hidet.runtime.specs import TensorSpec
from hidet.runtime.tensors import output_factories
from hidet.testing.numeric import assert_close

TEMPLATES = (
    AttentionTemplate,
    BackwardTemplate,
    StencilTemplate,
    FiltersTemplate,
    GemvTemplate,
    GroupedTemplate,
    MatmulTemplate,
)
"""Those of anchors."""


def program_text(body, inputs, outputs):
    """Give the text of a function @forward; `inputs` and `outputs` are tensors by name."""
    arguments = ", ".join(f"%{name} : {type_of(x)}" for name, x in inputs.items())
    types = ", ".join(str(type_of(x)) for x in outputs.values())
    results = ", ".join(f"%{name}" for name in outputs)
    return f"""
      func.func @forward({arguments}) -> ({types}) {{
        {body}
        func.return {results} : {types}
      }}"""


@pytest.fixture
def choose(monkeypatch, tmp_path):
    """Give a function that has what templates compute computed in one way, in strict mode."""

    def choose(config):
        for template in TEMPLATES:
            found = [config] if isinstance(config, template.config) else []
            monkeypatch.setattr(template, "configs", lambda *_, found=found: found)
            monkeypatch.setattr(template, "best", Template.best)
        monkeypatch.setattr(attention, "has_template", lambda *_: True)
        return {"cache_dir": tmp_path, "strict": True}

    return choose


@pytest.fixture(autouse=True)
def _poisoned_memory():
    """Let torch fill what it allocates without a value, outputs and arena, with NaN."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    (new_output,) = output_factories([TensorSpec((1,), "f32")], torch.device("cpu"), {})
    assert new_output().isnan()
    assert torch.empty(0).new_empty(1).isnan()
    yield
    torch.use_deterministic_algorithms(before)


@pytest.fixture
def check():
    """Compile a program for the CPU, run it, and compare its results with float64 references.

    `body` are the ops; `inputs` the tensors of the arguments by name; `expected` the references of
    the returned values by name. Results are of type `dtype` where the reference is float64, else
    of the reference's own type. `kernels` is how many kernels the program becomes; those that have
    nothing to do do not count. `options` are further ones of the compiler. Gives the program.
    """

    def run(
        body, inputs, expected, *, kernels=1, dtype=torch.float32, tolerance=1e-5, options=None
    ):
        outputs = {
            name: x.to(dtype) if x.dtype == torch.float64 else x for name, x in expected.items()
        }
        module = Parser(make_context(), program_text(body, inputs, outputs)).parse_module()
        module.verify()
        graph = compile_graph(
            module, device=torch.device("cpu"), options={"verify_level": True} | (options or {})
        )
        assert len(graph.plan.kernels) == kernels
        results = graph.run(list(inputs.values()), [])
        for result, reference in zip(results, expected.values(), strict=True):
            assert_close(result, reference, tolerance)
        return graph

    return run


@pytest.fixture
def check_ptxas(tmp_path):
    """Give a function that compiles a kernel for Hopper, whose ptxas may neither warn nor spill."""
    if shutil.which("nvcc") is None:
        pytest.skip("needs nvcc")

    def check(source):
        (tmp_path / "kernel.cu").write_text(source)
        target = "arch=compute_90a,code=sm_90a"
        command = ["nvcc", "-cubin", "-gencode", target, "-std=c++17", "-I", str(INCLUDE_DIR)]
        done = subprocess.run(
            [*command, "-Xptxas", "-v", "-o", "kernel.cubin", "kernel.cu"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in done.stderr
        assert "C75" not in done.stderr  # products one after the other

    return check
