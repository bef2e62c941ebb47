"""The JSON form of plans: what is written comes back, what is damaged is refused."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hidet.errors import CacheError
from hidet.runtime.checked_json import decode
from hidet.runtime.plan import Argument, Launch, Plan, TensorMap, find_problems
from hidet.runtime.specs import ITEM_SIZES, Scalar, TensorMapSpec, TensorSpec
from hidet.runtime.tensors import DTYPES


def test_round_trip(plans):
    for plan in (plans.simple(), plans.prepared(), plans.copying()):
        assert Plan.from_json(plan.to_json()) == plan
        assert Plan.from_json(plan.to_json()).to_json() == plan.to_json()


def _with_values(plans):
    """Give a plan of one launch that gets a number and the map of an output."""
    spec = TensorMapSpec("f32", (4, 16), (64,), (4, 16), 64, tf32=True)
    places = ((-1, 0), (2, 3), (1, 2))
    pixels = TensorMapSpec("f16", (2, 4, 5, 8), (320, 80, 16), (16, 8), 0, places)
    arguments = (
        Argument("input", 0),
        Scalar("f16", 0x3C00),
        TensorMap(Argument("output", 0), 0, spec),
        TensorMap(Argument("arena", 256), 16, spec),
        TensorMap(Argument("input", 0), 0, pixels),
    )
    forward = (Launch(0, arguments, (2, 3), ()), Launch(0, arguments, (2,), (0,), "programmatic"))
    return plans.simple(forward=forward)


def test_values_survive(plans):
    plan = _with_values(plans)
    assert Plan.from_json(plan.to_json()) == plan
    buffers = (("input", 0), None, ("output", 0), ("arena", 256), ("input", 0))
    assert plan.forward[0].buffers == buffers


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["arguments", 1, "dtype"], "f99", "must be one of"),
        (["arguments", 1, "bits"], 1 << 16, "has the impossible number"),
        (["arguments", 1, "bits"], -1, "has the impossible number"),
        (["arguments", 2, "buffer", 1], 2, "has the argument TensorMap("),
        (["arguments", 2, "offset"], -16, "has the impossible tensor map"),
        (["arguments", 2, "spec", "swizzle"], 16, "has the impossible tensor map"),
        (["arguments", 2, "spec", "shape"], [64], "has the impossible tensor map"),
        (["arguments", 2, "spec", "strides"], [], "has the impossible tensor map"),
        (["arguments", 2, "spec", "box", 0], 0, "has the impossible tensor map"),
        (["arguments", 2, "spec", "pixels"], [[0], [1], [1]], "has the impossible tensor map"),
        (["arguments", 4, "spec", "tf32"], True, "has the impossible tensor map"),
        (["arguments", 4, "spec", "tf32"], 1, "must be of type bool"),
        (["arguments", 4, "spec", "box"], [16, 1, 1, 8], "has the impossible tensor map"),
        (["arguments", 4, "spec", "pixels", 0], [-1], "has the impossible tensor map"),
        (["arguments", 4, "spec", "pixels", 2], [1, 0], "has the impossible tensor map"),
        (["arguments", 4, "spec", "pixels"], [[-1, 0]], "has the impossible tensor map"),
        (["arguments", 4, "spec", "pixels"], 1, "must be a list"),
        (["writes"], [1], "writes Scalar("),
    ],
)
def test_damaged_values_are_refused(plans, path, value, message):
    with pytest.raises(CacheError) as raised:
        Plan.from_json(_damage(_with_values(plans), ["plan", "forward", 0, *path], value))
    assert message in str(raised.value)


def test_order_of_constants_survives(plans):
    constants = {name: plans.vector for name in ("p10", "p2", "p0")}
    plan = Plan.from_json(plans.simple(constants=constants).to_json())
    assert list(plan.constants) == ["p10", "p2", "p0"]


def test_item_sizes_are_those_of_torch():
    assert {name: dtype.itemsize for name, dtype in DTYPES.items()} == ITEM_SIZES


@pytest.mark.parametrize(("shape", "nbytes"), [((), 2), ((3, 5), 30), ((4, 0), 0)])
def test_size_of_a_tensor(shape, nbytes):
    assert TensorSpec(shape, "f16").nbytes == nbytes


COPY = {"source": ["input", 0], "target": ["output", 0], "size": 32, "when": "after"}


def _damage(plan, path, value):
    document = json.loads(plan.to_json())
    *parents, last = path
    place = document
    for key in parents:
        place = place[key]
    if value is _ABSENT:
        del place[last]
    else:
        place[last] = value
    return json.dumps(document)


_ABSENT = object()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["schema"], 1, "'document.schema' must be one of 6"),
        (["schema"], _ABSENT, "lacks fields ['schema']"),
        (["plan", "target"], 90, "'document.plan.target' must be of type str"),
        (["plan", "extra"], 0, "unknown ones ['extra']"),
        (["plan", "arena_bytes"], True, "must be of type int, but is True"),
        (["plan", "arena_bytes"], 512.0, "must be of type int, but is 512.0"),
        (["plan", "arena_bytes"], -1, "arena_bytes is negative"),
        (["plan", "inputs"], {}, "'document.plan.inputs' must be a list"),
        (["plan", "inputs", 0, "dtype"], "f99", "'document.plan.inputs[0].dtype' must be one of"),
        (["plan", "inputs", 0, "shape", 0], -3, "negative extent"),
        (["plan", "constants"], [], "'document.plan.constants' must be an object"),
        (["plan", "kernels", 0, "grid"], [1, 1], "impossible launch shape"),
        (["plan", "kernels", 0, "block"], [0, 1, 1], "impossible launch shape"),
        (["plan", "kernels", 0, "shared_bytes"], -4, "impossible launch shape"),
        (["plan", "forward", 0, "kernel"], 2, "launch 0 of forward uses kernel 2 of 2"),
        (["plan", "forward", 0, "arguments", 0], ["input"], "a list of 2 entries (space, at)"),
        (["plan", "forward", 0, "arguments", 0, 0], "heap", "must be one of"),
        (["plan", "forward", 0, "arguments", 0, 1], None, "must be of type int or str"),
        (["plan", "forward", 0, "arguments", 0, 1], 1, "has the argument"),
        (["plan", "forward", 0, "arguments", 0, 1], "p0", "has the argument"),
        (["plan", "forward", 0, "arguments", 1, 1], "p1", "has the argument"),
        (["plan", "forward", 0, "arguments", 2, 1], 513, "has the argument"),
        (["plan", "forward", 0, "arguments", 0], {"dtype": "i32"}, "of type Argument or Scalar or"),
        (["plan", "forward", 0, "edges"], "loose", "must be one of 'full', 'programmatic'"),
        (["plan", "forward", 0, "writes"], [3], "writes argument 3 of 3"),
        (["plan", "forward", 0, "writes"], [1], "writes Argument(space='constant'"),
        (["plan", "forward", 1, "dependencies"], [1], "launch 1 of forward waits for (1,)"),
        (["plan", "copies"], [COPY | {"source": ["input", 9]}], "a copy reads"),
        (["plan", "copies"], [COPY | {"target": ["arena", 0]}], "a copy fills"),
    ],
)
def test_damaged_fields_are_refused(plans, path, value, message):
    with pytest.raises(CacheError) as raised:
        Plan.from_json(_damage(plans.simple(), path, value))
    assert message in str(raised.value)


def test_prepare_cannot_touch_a_call(plans):
    plan = plans.prepared()
    reading = plans.launch(1, ("input", 0), ("prepared", 0))
    with pytest.raises(CacheError, match=r"launch 0 of prepare has the argument .*input"):
        Plan.from_json(plans.simple(**(vars(plan) | {"prepare": (reading,)})).to_json())
    writing = plans.launch(1, ("input", 0), ("prepared", 0))
    with pytest.raises(CacheError, match=r"launch 0 of forward writes .*prepared"):
        Plan.from_json(plans.simple(**(vars(plan) | {"forward": (writing,)})).to_json())


@given(st.data())
def test_text_cut_anywhere_is_refused(plans, data):
    text = plans.simple().to_json()
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(CacheError):
        Plan.from_json(text[:cut])


@pytest.mark.parametrize("text", ["[" * 200_000, '{"plan":' * 200_000, '{"schema":' + "[" * 900])
def test_text_of_any_depth_is_refused(text):
    with pytest.raises(CacheError):
        Plan.from_json(text)
    deep = []
    for _ in range(900):
        deep = [deep]
    with pytest.raises(CacheError, match="must be an object"):
        decode(Plan, deep, "plan")


def test_preparing_in_calls(plans):
    """Launches of a call wait for all of `prepare`; prepared memory is behind the arena."""
    plan = plans.prepared()
    spec = TensorMapSpec("f32", (8,), (), (8,), 0)
    first, second = plan.forward
    mapped = TensorMap(Argument("prepared", 0), 16, spec)
    first = replace(first, arguments=(mapped, *first.arguments[1:]), edges="programmatic")
    second = replace(second, edges="programmatic")
    merged = replace(plan, forward=(first, second), arena_bytes=300).preparing_in_calls()
    assert not list(find_problems(merged))
    assert (merged.prepare, merged.prepared_bytes, merged.arena_bytes) == ((), 0, 512 + 512)
    assert [launch.dependencies for launch in merged.forward] == [(), (0,), (1,), (2,)]
    assert [launch.edges for launch in merged.forward[2:]] == ["full", "programmatic"]
    buffers = [launch.buffers for launch in merged.forward]
    assert buffers[1] == (Argument("arena", 0), Argument("arena", 512 + 256))
    assert buffers[2][:2] == (Argument("arena", 512), Argument("arena", 512 + 256))
    assert all(each.space != "prepared" for row in buffers for each in row)


def test_arguments_are_plain_pairs():
    assert Argument("arena", 4096) == ("arena", 4096)
