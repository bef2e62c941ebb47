"""Comparing the addresses of weights, in Python and in native code."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from hidet.backend.toolchains import Gxx
from hidet.runtime.addresses import (
    SOURCE,
    Addresses,
    NativeAddresses,
    data_ptr_function,
    make_addresses,
)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("addresses") / "addresses.so"
    Gxx().compile(SOURCE.read_text(), path)
    return path


@pytest.fixture(params=["python", "native"])
def addresses(request, library):
    return Addresses() if request.param == "python" else NativeAddresses(library)


def test_torch_has_the_function_of_the_native_way(library):
    assert isinstance(make_addresses(library), NativeAddresses)
    assert type(make_addresses(None)) is Addresses


def test_a_torch_without_the_function_is_served_by_python(library, monkeypatch):
    monkeypatch.delattr(torch._C._dynamo.guards, "_torchinductor_pyobject_tensor_data_ptr")
    assert data_ptr_function() is None
    assert type(make_addresses(library)) is Addresses


@pytest.mark.parametrize("sequence", [list, tuple])
def test_what_was_kept_is_the_same_until_something_moves(addresses, sequence):
    tensors = [torch.randn(3), torch.nn.Parameter(torch.randn(2, 2)), torch.randn(8)[2:]]
    assert not addresses.same(sequence(tensors))
    addresses.keep(sequence(tensors))
    assert addresses.same(sequence(tensors))
    for number, tensor in enumerate(tensors):
        moved = [*tensors]
        moved[number] = tensor.detach().clone()
        assert not addresses.same(sequence(moved))
    assert not addresses.same(sequence(tensors[:-1]))
    assert not addresses.same(sequence([*tensors, tensors[0]]))
    tensors[1].data = torch.randn(2, 2)
    assert not addresses.same(sequence(tensors))
    addresses.keep(sequence(tensors))
    assert addresses.same(sequence(tensors))
    addresses.forget()
    assert not addresses.same(sequence(tensors))


def test_no_tensors_at_all(addresses):
    assert not addresses.same([])
    addresses.keep([])
    assert addresses.same([])


def test_native_code_survives_what_has_no_address(library):
    addresses = NativeAddresses(library)
    addresses.keep([torch.randn(3)])
    with FakeTensorMode():
        fake = torch.empty(3)
    assert not addresses.same([fake])
    assert not addresses.same([None])
    assert not addresses.same(["text"])
