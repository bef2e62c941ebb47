"""What HIDET_DUMP writes about a module of scripts."""

import pytest
import torch

import hidet
from hidet.errors import PassError
from hidet.lang import attrs, cdiv, f32, i32
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.lowering.cuda.infer_readonly import InferReadonlyPass
from hidet.lowering.pipelines import PIPELINES
from hidet.testing.filecheck import run_passes


@pytest.fixture
def module():
    """A kernel whose grid depends on an argument."""
    with hidet.script_module() as script_module:

        @hidet.script
        def negate(x: ~f32, n: i32):
            attrs.cuda.grid_dim = cdiv(n, 32)
            attrs.cuda.block_dim = 32
            i = blockIdx.x * 32 + threadIdx.x
            if i < n:
                x[i] = -x[i]

    return script_module


def test_dump(module, tmp_path):
    """Every pass leaves a file, which hidet-opt goes on from; then the CUDA and the report."""
    with hidet.option.context(dump_dir=tmp_path):
        built = module.build()
        (folder,) = tmp_path.iterdir()
        assert folder.name.startswith("script_")
        assert not (folder / "kernels" / "negate.txt").exists()  # nothing has been compiled
        built(torch.ones(8), 8)
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    passes = ["task", *PIPELINES["script-to-cuda"][:-1]]  # a check follows the last but one
    begin = [f"{number:02}_{name}.mlir" for number, name in enumerate(passes)]
    assert files[: len(begin)] == begin
    assert any(name.endswith("_form-expressions.mlir") for name in files)
    assert files[-2:] == ["kernels/negate.cu", "kernels/negate.txt"]
    assert (folder / "kernels" / "negate.cu").read_text() == built.source()
    first = (folder / "00_task.mlir").read_text()
    assert "extents(" in first
    assert (
        run_passes(first, "script-pipeline", ["-t", "cuda"])
        == "\n".join(
            line for line in built.source().splitlines(keepends=False) if "//   from" not in line
        )
        + "\n"
    )


def test_failing_pass(module, monkeypatch, tmp_path):
    """A failing pass leaves its input in the dump, and the error says how to reproduce it."""

    def fail(self, ctx, op):
        raise PassError("no luck")

    monkeypatch.setattr(InferReadonlyPass, "apply", fail)
    with hidet.option.context(dump_dir=tmp_path), pytest.raises(PassError) as caught:
        module.build()
    (path,) = tmp_path.glob("script_*/*_ahead_of_failed_infer-readonly.mlir")
    assert f"hidet-opt {path} -p 'infer-readonly'" in caught.value.hint
    assert "cuda.kernel @negate" in path.read_text()
