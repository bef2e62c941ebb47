"""Snapshots of tensors and look-ups of weights, in Python and in native code."""

import ctypes
from collections import OrderedDict
from types import SimpleNamespace

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from hidet.backend.toolchains import Gxx
from hidet.runtime import snapshots as module
from hidet.runtime.snapshots import (
    NO_VERSION,
    SOURCE,
    LookUp,
    NativeSnapshots,
    Snapshots,
    load_snapshots,
)


class Doubled(dict):
    def __getitem__(self, key):
        return 2 * super().__getitem__(key)


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


def test_native_code_is_loaded_in_inference_mode(library):
    """Programs of dynamic shapes are compiled by calls, which may be inside."""
    with torch.inference_mode():
        assert isinstance(load_snapshots(library), NativeSnapshots)


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


def _addresses(snapshots, tensors):
    """Return what matches tensors by their addresses."""
    addresses = [tensor.data_ptr() for tensor in tensors]
    return snapshots.matcher(tensors, addresses, [NO_VERSION] * len(addresses))


def _versions(snapshots, tensors, positions):
    """Return what matches tensors by their addresses, and some also by their versions."""
    versions = [NO_VERSION] * len(tensors)
    for position in positions:
        versions[position] = tensors[position]._version
    return snapshots.matcher(tensors, [tensor.data_ptr() for tensor in tensors], versions)


def test_addresses_match_until_a_tensor_moves(snapshots):
    tensors = [torch.randn(3), torch.nn.Parameter(torch.randn(2, 2)), torch.randn(8)[2:]]
    matches = _addresses(snapshots, tensors)
    assert matches(tensors)
    for number, tensor in enumerate(tensors):
        moved = [*tensors]
        moved[number] = tensor.detach().clone()
        assert not matches(moved)
    assert not matches(tensors[:-1])
    assert not matches([*tensors, tensors[0]])
    tensors[1].data = torch.randn(2, 2)
    assert not matches(tensors)
    assert _addresses(snapshots, tensors)(tensors)


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
    assert not _versions(snapshots, tensors, [1])([])
    for number, tensor in enumerate(tensors):
        matches = _versions(snapshots, tensors, [0, 1, 2, 3])
        others = _versions(snapshots, tensors, [n for n in range(4) if n != number])
        assert matches(tensors)
        assert matches([tensor.detach() for tensor in tensors])
        tensor.add_(1)
        assert not matches(tensors)
        assert others(tensors)
    with torch.inference_mode():
        untracked = torch.randn(3)
    known = snapshots.matcher([untracked], [untracked.data_ptr()], [0])
    assert not known([untracked])


def test_no_tensors_at_all(snapshots):
    assert _addresses(snapshots, [])([])
    assert snapshots.matcher(nothing := LookUp([]), [], [])(nothing)


def test_native_code_survives_what_has_no_address(library):
    matches = _addresses(load_snapshots(library), [torch.randn(3)])
    with FakeTensorMode():
        fake = torch.empty(3)
    assert not matches([fake])
    assert not matches([None])
    assert not matches(["text"])
    assert not matches(None)


def test_look_ups_are_live(snapshots):
    """Whatever happens to a dictionary: another value, more and fewer entries, the old value."""
    first, second, third = (torch.randn(3) for _ in range(3))
    one, other = {"a": first, "b": second}, {"a": third}
    look_up = LookUp([(one, "a", None), (other, "a", None), (one, "b", 2)])
    known = [first, third, second.as_strided((2,), (1,))]
    matches = snapshots.matcher(look_up, [tensor.data_ptr() for tensor in known], [NO_VERSION] * 3)
    for _ in range(2):
        assert list(map(torch.equal, look_up, known)) == [True] * 3
        assert matches(look_up)
        assert matches(known)
        assert matches([*look_up])
        assert not matches(LookUp([]))
        assert not matches([*look_up][1:])
        one["b"] = torch.randn(3)
        assert not matches(look_up)
        one["b"] = second
        assert matches(look_up)
        one["c"] = first
        assert matches(look_up)
        one["a"] = one.pop("a")
        assert matches(look_up)
        del one["c"]
        other["a"].data, before = torch.randn(3), other["a"].data
        assert not matches(look_up)
        other["a"].data = before
    del one["a"]
    with pytest.raises(KeyError, match="a"):
        matches(look_up) or list(look_up)


@pytest.mark.parametrize("table", [dict, OrderedDict, Doubled])
def test_subclasses_of_dict(snapshots, table):
    """The native code does not call what they override."""
    tensor = torch.randn(3)
    look_up = LookUp([(table(a=tensor), "a", None)])
    (found,) = look_up
    matches = snapshots.matcher(look_up, [tensor.data_ptr()], [tensor._version])
    assert matches(look_up) == (found is tensor)
    assert matches([tensor])


def test_launch(library):
    """It passes pointers on, and returns the status."""
    arguments = []
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    function = kind(lambda *each: arguments.append(each) or 7)
    address = ctypes.cast(function, ctypes.c_void_p).value
    launch = load_snapshots(library).launcher(SimpleNamespace(function=lambda name: address), 40)
    assert launch(1 << 48) == 7
    assert arguments == [(40, 1 << 48)]
