"""Programs that run in a process of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run_program(tmp_path):
    """Give a function that runs a program, as a file, with an empty cache; it gives its output."""
    # The entry points of this checkout, whatever is installed.
    metadata = tmp_path / "hidet_xdsl-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: hidet-xdsl\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[torch_dynamo_backends]\nhidet = hidet.frontends.torch.entry:NOTHING_LEFT\n"
    )

    def run(program, *arguments, timeout=240):
        path = tmp_path / "program.py"
        path.write_text(program)
        result = subprocess.run(
            [sys.executable, path, *arguments],
            env={
                **os.environ,
                "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
                "HIDET_CACHE_DIR": str(tmp_path / "cache"),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    return run
