"""`hidet.compile`: traced once, checked at each call, weights read live."""

import copy
import pickle
from threading import Thread

import pytest
import torch
from torch import nn

import hidet
from hidet.backend.toolchains import Gxx
from hidet.errors import DeviceMismatchError, HidetError, UnsupportedDtypeError
from hidet.runtime.snapshots import SOURCE, load_snapshots


@pytest.fixture(name="model", scope="module")
def small_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(inplace=True)).eval()


@pytest.fixture(name="fast", scope="module", params=["python", "native"])
def compiled_model(request, model, tmp_path_factory):
    """Return the model, compiled with weights that are checked as on the CPU or as on a GPU."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "native":
            library = tmp_path_factory.mktemp("snapshots") / "snapshots.so"
            Gxx().compile(SOURCE.read_text(), library)
            snapshots = load_snapshots(library.read_bytes())
            patch.setattr("hidet.runtime.compiled_graph.load_snapshots", lambda _: snapshots)
        return hidet.compile(model, torch.randn(4, 8))


@torch.no_grad()
def test_weights_are_live(model, fast):
    """It sees weights that have been changed, and others in their place."""
    x = torch.randn(4, 8)
    for _ in range(2):
        torch.testing.assert_close(fast(x), model(x))
    model[0].bias.add_(1)
    torch.testing.assert_close(fast(x), model(x))
    model[1].weight.add_(1)
    torch.testing.assert_close(fast(x), model(x))
    model[1].bias.data = torch.randn(8)
    torch.testing.assert_close(fast(x), model(x))
    model.load_state_dict({name: torch.rand(w.shape) for name, w in model.state_dict().items()})
    torch.testing.assert_close(fast(x), model(x))
    model[0].weight = nn.Parameter(torch.randn(8, 8))
    torch.testing.assert_close(fast(x), model(x))
    model[1].running_mean = torch.ones(8)
    torch.testing.assert_close(fast(x), model(x))


def test_weights_in_another_memory_format():
    """Their elements are not taken for others."""
    model, x = (
        nn.Conv2d(3, 4, 3).eval().to(memory_format=torch.channels_last),
        torch.randn(1, 3, 7, 7),
    )
    fast = hidet.compile(model, x)
    torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-4)
    model.to(memory_format=torch.contiguous_format)
    with pytest.raises(HidetError, match="has strides") as refused:
        fast(x)
    assert "memory format of weights" in refused.value.hint


def test_what_no_operator_reads_is_not_looked_up(fast):
    """Such as the number of batches of a norm, which `eval()` leaves alone."""
    assert len(fast.weights) == 2 + 4


@pytest.mark.parametrize(
    ("argument", "error", "message"),
    [
        (torch.zeros(5, 8), HidetError, r"argument 0 is \[5, 8\] of torch.float32 on cpu, but"),
        (torch.zeros(4, 8).double(), UnsupportedDtypeError, r"compiled for \[4, 8\] of torch.fl"),
        (torch.zeros(4, 8, device="meta"), DeviceMismatchError, "on meta"),
        (3, HidetError, "argument 0 is not a tensor, but int"),
    ],
)
def test_arguments_are_checked(fast, argument, error, message):
    for _ in range(2):
        with pytest.raises(error, match=message):
            fast(argument)
        fast(torch.zeros(4, 8))  # such arguments are known from now on


def test_number_of_arguments(fast):
    with pytest.raises(HidetError, match="2 arguments; the model takes 1"):
        fast(torch.zeros(4, 8), torch.zeros(4, 8))


def test_strides(model, fast):
    """A tensor that lies otherwise in memory is copied."""
    for x in (torch.randn(8, 4).T, torch.randn(4, 8), torch.randn(8, 4).T):
        with torch.no_grad():
            torch.testing.assert_close(fast(x), model(x))


def test_known_arguments():
    """A guard knows tensors like those of the last call; others are checked in Python."""
    one, other = torch.randn(2, 3), torch.zeros(4, dtype=torch.int64)
    fast = hidet.compile(lambda x, y: (x + 1, y + 1), one, other)
    assert not fast._is_known(one, other)
    fast(one, other)
    assert fast._is_known(torch.randn(2, 3), other)
    for wrong in (
        one.double(),
        one.int(),
        torch.randn(3, 2),
        torch.randn(2, 4),
        torch.randn(6),
        torch.randn(3, 2).T,
        one.to("meta"),
        one.to_sparse(),
        nn.Parameter(one),
        None,
        1.5,
    ):
        assert not fast._is_known(wrong, other)
    with torch.inference_mode():
        assert not fast._is_known(one, other)
        torch.testing.assert_close(fast(one, other)[0], one + 1)
        assert fast._is_known(one, other)
    assert hidet.compile(lambda: torch.ones(2) + 1)().tolist() == [2, 2]


def test_functions():
    """Containers, numbers and tensors that a function holds."""
    offset = torch.randn(3)

    def function(factor, tables):
        x = tables["x"]
        return {"scaled": x * factor + offset, "pair": (x.exp(), x)}

    x = torch.randn(2, 3)
    fast = hidet.compile(function, 3, {"x": x})
    x = torch.randn(2, 3)
    result, wanted = fast(3, {"x": x}), function(3, {"x": x})
    assert result.keys() == wanted.keys()
    torch.testing.assert_close(result["scaled"], wanted["scaled"])
    torch.testing.assert_close(result["pair"], wanted["pair"])
    with pytest.raises(HidetError, match="argument 0 is 4; it was traced as 3"):
        fast(4, {"x": x})
    with pytest.raises(HidetError, match="arguments have the structure"):
        fast(3, [x])


def test_conversions():
    """What torch.export asserts about the types of tensors on the way is no operator."""
    x = torch.randn(3)
    fast = hidet.compile(lambda x: x.to(torch.float64) + 1, x)
    torch.testing.assert_close(fast(x), x.double() + 1)


class Wider(nn.Module):
    """A conversion, which torch.export asserts."""

    def forward(self, x):
        return x.to(torch.float64) + 1


@torch.no_grad()
def test_conversions_of_an_exported_program():
    """Nor is it one where such a program is compiled."""
    x = torch.randn(3)
    exported = torch.export.export(Wider(), (x,)).module()
    assert "_assert_tensor_metadata" in exported.code
    torch.testing.assert_close(torch.compile(exported, backend="hidet")(x), x.double() + 1)


def test_changes_are_refused(model):
    """A model that changes its buffers is not what this is for."""
    with pytest.raises(HidetError, match=r"the model mutates 1\.running_mean"):
        hidet.compile(nn.Sequential(nn.Identity(), nn.BatchNorm1d(8)).train(), torch.randn(4, 8))


def test_what_is_not_compiled():
    with pytest.raises(HidetError, match=r"not decomposed(.|\n)*torch.compile"):
        hidet.compile(lambda x: torch.linalg.svd(x)[0], torch.randn(3, 3))
    with pytest.raises(HidetError, match=r"branches on the elements(.|\n)*test_direct.py:"):
        hidet.compile(lambda x: x + 1 if x.sum() > 0 else x, torch.randn(3))


@pytest.mark.parametrize("copied", [copy.deepcopy, pickle.dumps])
def test_copies(fast, copied):
    with pytest.raises(HidetError, match="cannot be copied or pickled"):
        copied(fast)


@torch.no_grad()
def test_recompile(model):
    """Where it is asked for, other shapes and numbers are compiled, once each."""
    fast = hidet.compile(model, torch.randn(4, 8), recompile=True)
    for rows in (4, 6, 4):
        x = torch.randn(rows, 8)
        torch.testing.assert_close(fast(x), model(x))
    assert len(fast._compiled) == 2
    scaled = hidet.compile(lambda x, factor: x * factor, recompile=True)
    assert [scaled(torch.ones(1), factor).item() for factor in (2, 3.0)] == [2, 3]


def test_other_threads_are_not_exported():
    """What torch does for an export only, it does in the thread that compiles."""
    seen = []

    class Model(nn.Module):
        def forward(self, x):
            seen.append(torch.compiler.is_exporting())
            other = Thread(target=lambda: seen.append(torch.compiler.is_exporting()))
            other.start()
            other.join()
            return x.sin()

    hidet.compile(Model(), torch.randn(4))
    assert set(zip(seen[::2], seen[1::2], strict=True)) == {(True, False)}
    assert not torch.compiler.is_exporting()
