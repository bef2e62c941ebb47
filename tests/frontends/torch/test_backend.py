"""The backend as torch.compile meets it: weights, shapes, gradients, options, registration."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch._dynamo.exc import BackendCompilerFailed

import hidet
from hidet import option
from hidet.errors import OptionError
from hidet.frontends.torch import backend as backend_module
from hidet.frontends.torch.backend import ManyShapesWarning, hidet_backend
from hidet.frontends.torch.settings import MODES, OWN_OPTIONS, Settings


def compiled(function, **options):
    return torch.compile(function, backend=hidet_backend, options=options or None)


# ---------------------------------------------------------------------------- weights


def test_weights_are_read_live(programs):
    """A weight that changes in place is seen by the next call; nothing is compiled anew."""
    model = nn.Linear(4, 3)
    x = torch.randn(2, 4)
    with torch.no_grad():
        run = compiled(model)
        run(x)
        model.weight.mul_(2)
        model.bias.zero_()
        torch.testing.assert_close(run(x), x @ model.weight.t())
        model.weight.data = torch.ones(3, 4)
        torch.testing.assert_close(run(x), x @ torch.ones(4, 3))
    assert len(programs) == 1


def test_weights_with_strides(programs):
    """A weight that is not contiguous comes as its storage."""
    model = nn.Linear(4, 3)
    model.weight = nn.Parameter(torch.randn(4, 3).t())
    x = torch.randn(2, 4)
    with torch.no_grad():
        torch.testing.assert_close(compiled(model)(x), model(x))
    assert 'graph.constant "p0" : tensor<12xf32>' in str(programs[0].module)


def test_buffers_are_updated(programs):
    """The running statistics of a batch norm in training change as in eager torch."""
    torch.manual_seed(1)
    mine, eager = nn.BatchNorm1d(3).double(), nn.BatchNorm1d(3).double()
    run = compiled(mine, fallback=False)
    with torch.no_grad():
        for _ in range(2):
            x = torch.randn(5, 3, dtype=torch.float64)
            torch.testing.assert_close(run(x), eager(x))
    torch.testing.assert_close(mine.state_dict(), eager.state_dict())


# ---------------------------------------------------------------------------- shapes


def test_every_shape_gets_a_program(programs):
    """From its second shape on dynamo hands out symbols; programs stay static."""
    run = compiled(lambda x: x.reshape(-1, 2).sum(0) * x.shape[0])
    with torch.no_grad():
        for size in (4, 6, 8, 6, 4, 10, 8):
            x = torch.randn(size, 3, dtype=torch.float64)
            torch.testing.assert_close(run(x), x.reshape(-1, 2).sum(0) * size)
    # The first one is for one size by dynamo's guards, so that this size comes twice.
    assert len(programs) == 5
    assert all("?" not in str(program.module) for program in programs)
    assert sum(program.calls for program in programs) == 7


def test_more_shapes_than_dynamo_would_compile(programs):
    """dynamo gives up after 8 programs of a function; we do not."""
    model = nn.Linear(3, 2)
    run = compiled(model)
    with torch.no_grad():
        for size in range(2, 16):
            x = torch.randn(size, 3)
            torch.testing.assert_close(run(x), model(x))
    assert [program.calls for program in programs] == [1] * 14
    # Weights stay constants.
    assert all(str(program.module).count("graph.constant") == 2 for program in programs)


def test_marked_dynamic(programs):
    """Sizes that a user declares as varying are no different."""
    run = torch.compile(lambda x: x * 2, backend=hidet_backend, dynamic=True)
    with torch.no_grad():
        for size in (3, 5):
            assert run(torch.ones(size, size + 1)).sum() == 2 * size * (size + 1)
    assert len(programs) == 2


def test_numbers_that_vary(programs):
    run = compiled(lambda x, n: x * n)
    with torch.no_grad():
        for number in (2, 3, 4, 3):
            assert run(torch.ones(2), number).tolist() == [number, number]


def test_strides_that_vary(programs):
    run = compiled(lambda x: x + torch.arange(x.shape[1]))
    with torch.no_grad():
        for x in (
            torch.ones(3, 4),
            torch.ones(5, 6),
            torch.ones(6, 5).t(),
            torch.ones(7, 6)[:, 1:],
        ):
            torch.testing.assert_close(run(x), x + torch.arange(x.shape[1]))


def test_numbers_and_shapes_vary(programs):
    """Floats that vary come as tensors, whose items the graph takes."""
    run = compiled(lambda x, scale: x * scale)
    with torch.no_grad():
        for size, scale in ((3, 2.0), (4, 3.0), (5, 4.0), (5, 0.5), (5, 4.0)):
            x = torch.rand(size)
            torch.testing.assert_close(run(x, scale), x * scale)


def test_many_shapes_warn(programs, monkeypatch):
    monkeypatch.setattr(backend_module, "MANY_SHAPES", 3)
    run = compiled(lambda x: x + 1)

    def run_all():
        for size in range(2, 8):
            run(torch.ones(size))

    with torch.no_grad(), pytest.warns(ManyShapesWarning, match="3 different shapes"):
        run_all()


# ---------------------------------------------------------------------------- gradients left on


def test_inference_without_no_grad(programs):
    """Whoever forgets torch.no_grad() is served alike, and not warned."""
    model, x = nn.Linear(4, 2), torch.randn(3, 4)
    run = compiled(model)
    torch.testing.assert_close(run(x), model(x))
    with torch.no_grad():
        torch.testing.assert_close(run(x), model(x))
    assert [program.calls for program in programs] == [1, 1]


def test_gradients_that_nobody_wants(programs):
    """Gradients count by what is computed: not where the function itself switches them off."""
    model, x = nn.Linear(4, 2), torch.randn(3, 4)

    @torch.no_grad()
    def function(x):
        return model(x)

    torch.testing.assert_close(compiled(function)(x), function(x))
    assert not compiled(lambda x: model(x).argmax(1) > 0)(x).requires_grad
    assert [program.calls for program in programs] == [1, 1]


# ---------------------------------------------------------------------------- calls


def test_programs_are_made_before_the_call(programs, monkeypatch):
    """Compiling happens when torch asks for it, not when the function is called."""
    made_before = []
    original = backend_module.compile_torch

    def spy(*arguments):
        result = original(*arguments)
        made_before.append(len(programs))
        return result

    monkeypatch.setattr(backend_module, "compile_torch", spy)
    with torch.no_grad():
        compiled(lambda x: x + 1)(torch.ones(2))
    assert made_before == [1]


def test_constants_may_come_in_another_order(programs, monkeypatch):
    """The driver says which constants it takes, and in which order."""

    class Reversed:
        def __init__(self, inner):
            self.inner = inner
            self.constant_names = inner.constant_names[::-1]
            self.report, self.lay_out = inner.report, inner.lay_out
            self.prepare_in_calls = inner.prepare_in_calls

        def run(self, inputs, constants):
            return self.inner.run(inputs, constants[::-1])

    from hidet.frontends.torch import program

    inner = program.compile_module
    monkeypatch.setattr(program, "compile_module", lambda *a: Reversed(inner(*a)))
    model, x = nn.Linear(4, 3), torch.randn(2, 4)
    with torch.no_grad():
        torch.testing.assert_close(compiled(model, fallback=False)(x), model(x))


# ---------------------------------------------------------------------------- options


def option_error(**keywords):
    with torch.no_grad(), pytest.raises(BackendCompilerFailed) as failure:
        torch.compile(lambda x: x + 1, backend=hidet_backend, **keywords)(torch.ones(2))
    error = failure.value.inner_exception
    assert type(error) is OptionError
    return str(error)


def test_unknown_mode(programs):
    message = option_error(mode="fastest")
    assert "no mode 'fastest'" in message
    assert all(mode in message for mode in MODES)


def test_unknown_option(programs):
    message = option_error(options={"serch_space": 1})
    assert "no option 'serch_space'" in message
    assert all(name in message for name in (*OWN_OPTIONS, "search_space"))


@pytest.mark.parametrize("options", [{"search_space": 7}, {"fallback": "no"}])
def test_wrong_value(options, programs):
    assert "cannot be" in option_error(options=options)


@pytest.mark.parametrize("mode", MODES)
def test_modes(mode, programs):
    with torch.no_grad():
        run = torch.compile(lambda x: x + 1, backend=hidet_backend, mode=mode)
        assert run(torch.ones(1)).item() == 2


def test_settings():
    tuned = Settings.of("max-autotune-no-cudagraphs", None)
    assert tuned == Settings(flags={"use_cuda_graph": False}, options={"search_space": 2})
    assert Settings.of(None, {"fallback": False, "num_workers": 1}) == Settings(
        fallback=False, options={"num_workers": 1}
    )
    assert Settings.of("default", None) == Settings()


def test_the_driver_is_told(reference, monkeypatch):
    """Options hold while the driver compiles, and no longer; it gets program and device."""
    seen = []

    def compile_graph(module, *, device, options):
        seen.append((option.get_option("num_workers"), device, options))
        return reference(module)

    monkeypatch.setattr("hidet.driver.compile_graph", compile_graph)
    torch._dynamo.reset()
    before = option.get_option("num_workers")
    with torch.no_grad():
        run = compiled(lambda x: x + 1, num_workers=1, use_cuda_graph=False)
        assert run(torch.ones(1)).item() == 2
    assert seen == [(1, torch.device("cpu"), {"use_cuda_graph": False})]
    assert option.get_option("num_workers") == before


def test_programs_are_compiled_with_data(programs, monkeypatch):
    """torch compiles in a mode in which tensors have no data; the driver must not see it."""
    from hidet.frontends.torch import program

    kinds = []
    inner = program.compile_module

    def compile_module(*arguments):
        kinds.append(type(torch.empty(1)))
        return inner(*arguments)

    monkeypatch.setattr(program, "compile_module", compile_module)
    with torch.no_grad():
        compiled(lambda x: x + 1)(torch.ones(1))
    assert kinds == [torch.Tensor]


# ---------------------------------------------------------------------------- reports


def test_compiled_graphs(reference, monkeypatch):
    """Newest last, as long as somebody else keeps them."""
    monkeypatch.setattr("hidet.driver.compile_graph", lambda module, **_: reference(module))
    torch._dynamo.reset()
    gc.collect()
    before = hidet.torch.compiled_graphs()
    with torch.no_grad():
        for function in (torch.exp, torch.sin):
            compiled(function)(torch.ones(2))
    first, second = hidet.torch.compiled_graphs()[len(before) :]
    assert "graph.exp" in str(first.module)
    assert "graph.sin" in str(second.module)
    del first, second
    torch._dynamo.reset()
    gc.collect()
    assert hidet.torch.compiled_graphs() == before


# ---------------------------------------------------------------------------- registration


def run_python(code):
    """Run Python in a process of its own, with warnings as errors."""
    root = str(Path(hidet.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=False,
    )


FOUND = (
    "; import torch; from torch._dynamo.backends.registry import lookup_backend; "
    "assert 'hidet' in torch.compiler.list_backends(); "
    "from hidet.frontends.torch.backend import hidet_backend; "
    "assert lookup_backend('hidet') is hidet_backend"
)


@pytest.mark.parametrize(
    "code",
    [
        f"import torch._dynamo, hidet{FOUND}",
        f"import hidet.torch{FOUND}; hidet.torch.register(); hidet.torch.register(){FOUND}",
    ],
    ids=["by the import", "twice"],
)
@pytest.mark.sample(1)
def test_registered(code):
    """torch knows the backend by its name, and finds this one under it."""
    result = run_python(code)
    assert result.returncode == 0, result.stderr


def test_registered_through_the_entry_point(tmp_path):
    """An installed hidet is found by torch itself, and announced by nobody else."""
    metadata = tmp_path / "hidet_xdsl-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: hidet-xdsl\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[torch_dynamo_backends]\nhidet = hidet.frontends.torch.entry:NOTHING_LEFT\n"
    )
    result = run_python(
        f"import sys; sys.path.append({str(tmp_path)!r}); "
        "import torch._dynamo; from torch._dynamo.backends.registry import lookup_backend; "
        "backend = lookup_backend('hidet'); import hidet.torch; "
        "assert backend is hidet.torch.backend"
    )
    assert result.returncode == 0, result.stderr
