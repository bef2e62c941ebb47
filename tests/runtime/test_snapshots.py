"""Snapshots of tensors and look-ups of weights, in Python and in native code."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from hidet.backend.toolchains import Gxx
from hidet.runtime import snapshots as module
from hidet.runtime.snapshots import SOURCE, NativeSnapshots, Snapshots, load_snapshots


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("snapshots") / "snapshots.so"
    Gxx().compile(SOURCE.read_text(), path)
    return path.read_bytes()


@pytest.fixture(params=["python", "native"])
def snapshots(request, library):
    return Snapshots() if request.param == "python" else load_snapshots(library)


def test_torch_has_the_functions_of_native_code(library):
    assert isinstance(load_snapshots(library), NativeSnapshots)
    assert type(load_snapshots(None)) is Snapshots


@pytest.mark.parametrize("change", ["address", "version", "objects", "meaning"])
def test_another_torch_is_served_by_python(library, monkeypatch, change):
    match change:
        case "address":
            name = "_torchinductor_pyobject_tensor_data_ptr"
            monkeypatch.delattr(torch._C._dynamo.guards, name)
        case "version":
            monkeypatch.setattr(module.ctypes, "CDLL", lambda path: object())
        case "objects":
            offsets = iter([16, 16, 24])
            monkeypatch.setattr(module, "_tensor_offset", lambda tensor: next(offsets))
        case "meaning":  # a function that sees no writes
            function = module.address_function()
            monkeypatch.setattr(module, "version_function", lambda: (function, 0))
    assert type(load_snapshots(library)) is Snapshots


@pytest.mark.parametrize("sequence", [list, tuple])
def test_addresses_match_until_a_tensor_moves(snapshots, sequence):
    tensors = [torch.randn(3), torch.nn.Parameter(torch.randn(2, 2)), torch.randn(8)[2:]]
    known = snapshots.addresses(sequence(tensors))
    assert known.matches(sequence(tensors))
    for number, tensor in enumerate(tensors):
        moved = [*tensors]
        moved[number] = tensor.detach().clone()
        assert not known.matches(sequence(moved))
    assert not known.matches(sequence(tensors[:-1]))
    assert not known.matches(sequence([*tensors, tensors[0]]))
    tensors[1].data = torch.randn(2, 2)
    assert not known.matches(sequence(tensors))
    assert snapshots.addresses(sequence(tensors)).matches(sequence(tensors))


@torch.no_grad()
def test_versions_match_until_a_tensor_is_written(snapshots):
    class Subclass(torch.Tensor):
        pass

    tensors = [
        torch.randn(3),
        torch.nn.Parameter(torch.randn(2, 2)),
        torch.randn(3).as_subclass(Subclass),
        torch.nn.Buffer(torch.randn(3)),
    ]
    assert not snapshots.versions(tensors, [1]).matches([])
    for number, tensor in enumerate(tensors):
        known = snapshots.versions(tensors, [0, 1, 2, 3])
        others = snapshots.versions(tensors, [n for n in range(4) if n != number])
        assert known.matches(tensors)
        assert known.matches([tensor.detach() for tensor in tensors])
        tensor.add_(1)
        assert not known.matches(tensors)
        assert others.matches(tensors)
    with torch.inference_mode():
        untracked = [torch.randn(3)] * 4
    assert not known.matches(untracked)
    with pytest.raises(RuntimeError, match="version counter"):
        snapshots.versions(untracked, [0])


def test_no_tensors_at_all(snapshots):
    assert snapshots.addresses([]).matches([])
    assert snapshots.versions([torch.randn(3)], []).matches([torch.randn(3)])
    assert snapshots.look_up([], [])() == []


def test_native_code_survives_what_has_no_address(library):
    known = load_snapshots(library).addresses([torch.randn(3)])
    with FakeTensorMode():
        fake = torch.empty(3)
    assert not known.matches([fake])
    assert not known.matches([None])
    assert not known.matches(["text"])


def test_look_ups_are_live(snapshots):
    one, other = {"a": object(), "b": None}, {"a": object()}
    look_up = snapshots.look_up([one, other, one], ["a", "a", "b"])
    assert look_up() == [one["a"], other["a"], None]
    other["a"] = one["b"] = object()
    assert look_up() == [one["a"], other["a"], one["b"]]
    del other["a"]
    with pytest.raises(KeyError, match="a"):
        look_up()
