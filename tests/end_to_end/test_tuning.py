"""Tuning from a program of a user."""

import pytest


@pytest.mark.slow
def test_from_a_program_without_a_guard(run_program):
    """Workers do not run the user's program again."""
    out = run_program(
        "import torch\n"
        "print('begin')\n"
        "model = torch.nn.Linear(20, 36).eval()\n"
        "with torch.no_grad():\n"
        "    run = torch.compile(model, backend='hidet', mode='max-autotune')\n"
        "    x = torch.randn(33, 20)\n"
        "    error = (run(x).double() - model.double()(x.double())).abs().max()\n"
        "print('small' if error < 1e-4 else error)\n"
    )
    assert out.split() == ["begin", "small"]
