"""Numbers of the template `backward` as on a GPU, on the CPU in the strict mode."""

import random

import pytest
import torch
from attention_reference import masked_scores
from xdsl.parser import Parser

from hidet.arch.chips import Arch
from hidet.context import make_context
from hidet.dialects.graph.attention import AttentionOp
from hidet.driver.compilation import print_sources
from hidet.frontends.torch.attention import MOST_COLUMNS
from hidet.frontends.torch.dtypes import type_of
from hidet.lowering.pipelines import PassOptions, run_pipeline
from hidet.lowering.templates.backward_config import BackwardConfig, candidates, estimate

F16, BF16 = "m16n8k16_f16_f32", "m16n8k16_bf16_f32"
GROUP_F16, GROUP_BF16 = "m64n256k16_f16_f32", "m64n256k16_bf16_f32"
F16_NUMBERS, BF16_NUMBERS = (torch.float16, 5e-3), (torch.bfloat16, 3e-2)
DTYPES = {F16: F16_NUMBERS, GROUP_F16: F16_NUMBERS, BF16: BF16_NUMBERS, GROUP_BF16: BF16_NUMBERS}


def backward(q, k, v, g, mask, scale, causal):
    """Return the operands of statistics, and the results, in float64."""
    q, k, v = (each.double().requires_grad_() for each in (q, k, v))
    scores = masked_scores(q, k, mask, scale, causal)
    logsumexp = scores.logsumexp(-1, keepdim=True).detach()
    weights = scores.softmax(-1)
    result = torch.where(logsumexp == -torch.inf, 0, weights) @ v
    result.backward(g.double())
    delta = (g.double() * result.detach()).sum(-1, keepdim=True)
    hidden = logsumexp == -torch.inf
    assert not hidden.any() or mask.dtype == torch.bool
    return logsumexp, delta, q.grad, torch.stack([k.grad, v.grad])


def call(name, operands, attributes):
    """Return the text of an operator without its type, and the operands by name."""
    names = ", ".join(f"%{each}" for each in operands)
    types = ", ".join(str(type_of(each)) for each in operands.values())
    return f"graph.{name} {names} {attributes} : ({types})"


CASES = [
    pytest.param(F16, (32, 32, 2), (2, 3), (40, 72, 32, 32), None, False, id="ragged"),
    pytest.param(BF16, (16, 32, 1, 3), (3,), (32, 64, 48, 48), None, False, id="whole"),
    pytest.param(F16, (32, 32, 2, 2), (2,), (70, 70, 16, 16), None, True, id="causal"),
    pytest.param(F16, (16, 32, 1), (1, 2), (33, 40, 16, 16), "bool", False, id="hidden"),
    pytest.param(BF16, (64, 64, 4, 2), (1, 2), (30, 129, 16, 16), "float", False, id="added"),
    pytest.param(F16, (16, 64, 1, 2), (2, 2), (50, 20, 32, 32), "float", True, id="long-queries"),
    pytest.param(GROUP_F16, (64, 64, 1, 2), (2, 3), (70, 140, 64, 64), None, False, id="group"),
    pytest.param(GROUP_BF16, (128, 32, 2, 2), (2,), (130, 130, 32, 32), None, True, id="groups"),
    pytest.param(GROUP_F16, (64, 32, 1, 2, 3), (2,), (100, 170, 32, 32), "bool", True, id="alone"),
    pytest.param(GROUP_F16, (64, 32, 1, 3), (2,), (70, 20, 48, 48), "float", True, id="few-keys"),
]


@pytest.mark.parametrize(("instruction", "tile", "batch", "sizes", "masked", "causal"), CASES)
@pytest.mark.sample(1)
def test_configs(check, choose, instruction, tile, batch, sizes, masked, causal):
    """Tiles that sizes do not divide, masks of both kinds, queries without keys."""
    dtype, tolerance = DTYPES[instruction]
    m, n, width, values = sizes
    q, g = torch.randn(*batch, m, width).to(dtype), torch.randn(*batch, m, values).to(dtype)
    k, v = torch.randn(*batch, n, width).to(dtype), torch.randn(*batch, n, values).to(dtype)
    mask = None
    if masked == "bool":
        mask = torch.rand(m, n) < 0.5
        mask[:, 0] = True  # but for one query
        mask[random.randrange(m)] = False
    elif masked == "float":
        mask = torch.randn(*batch, m, n).to(dtype)
    scale = random.uniform(0.1, 1)
    logsumexp, delta, *expected = backward(q, k, v, g, mask, scale, causal)
    attributes = f"{{scale = {scale} : f64, causal = {str(causal).lower()}}}"
    last = {} if mask is None else {"m": mask}
    statistics = {"l": logsumexp.float(), "d": delta.float()}
    inputs = {"q": q, "k": k, "v": v, "g": g, **statistics, **last}
    block_m, block_n, rows, *rest = tile
    options = choose(BackwardConfig(instruction, block_m, block_n, rows, 1, *rest))
    text = call("attention_logsumexp", {"q": q, "k": k, **last}, attributes)
    text = f"%y = {text} -> {type_of(statistics['l'])}"
    check(text, {"q": q, "k": k, **last}, {"y": logsumexp}, tolerance=1e-3, options=options)
    names = ("attention_query_gradient", "attention_key_value_gradients")
    for name, reference in zip(names, expected, strict=True):
        text = f"%y = {call(name, inputs, attributes)} -> {type_of(reference.to(dtype))}"
        check(text, inputs, {"y": reference}, dtype=dtype, tolerance=tolerance, options=options)


def operators(batch, length, width, causal):
    """Return a program of the three operators, by their names without `graph.attention_`."""
    x = f"tensor<{batch}x{length}x{width}xf16>"
    s = f"tensor<{batch}x{length}x1xf32>"
    y = f"tensor<2x{batch}x{length}x{width}xf16>"
    how = f"{{causal = {str(causal).lower()}}}"
    types = f"({x}, {x}, {x}, {x}, {s}, {s})"
    text = f"""func.func @forward(%q : {x}, %k : {x}, %v : {x}, %g : {x}, %d : {s}) -> ({x}, {y}) {{
      %l = graph.attention_logsumexp %q, %k {how} : ({x}, {x}) -> {s}
      %a = graph.attention_query_gradient %q, %k, %v, %g, %l, %d {how} : {types} -> {x}
      %b = graph.attention_key_value_gradients %q, %k, %v, %g, %l, %d {how} : {types} -> {y}
      func.return %a, %b : {x}, {y}
    }}"""
    module = Parser(make_context(), text).parse_module()
    return module, {
        op.name.removeprefix("graph.attention_"): op
        for op in module.walk()
        if isinstance(op, AttentionOp)
    }


LOGSUMEXP, QUERY, KEY_VALUE = "logsumexp", "query_gradient", "key_value_gradients"

CHOSEN = {
    (96, 512, 64, True): {
        LOGSUMEXP: {(64, 128), (64, 64)},
        QUERY: {(64, 64)},
        KEY_VALUE: {(64, 64)},
    },
    (384, 197, 64, False): {LOGSUMEXP: {(64, 128)}, QUERY: {(64, 48)}, KEY_VALUE: {(64, 32)}},
    (16, 2048, 128, True): {LOGSUMEXP: {(64, 96)}, QUERY: {(128, 64)}, KEY_VALUE: {(64, 48)}},
    (16, 1024, 80, False): {LOGSUMEXP: {(128, 128)}, QUERY: {(128, 128)}, KEY_VALUE: {(128, 64)}},
    (8, 4096, 64, False): {LOGSUMEXP: {(64, 128)}, QUERY: {(128, 128)}, KEY_VALUE: {(64, 96)}},
}
"""Blocks and tiles that were within 10% of the fastest of some twenty on an H200."""


@pytest.mark.parametrize("sizes", CHOSEN)
def test_choice(sizes):
    """The first choice is one of the fastest, and estimates come in order."""
    arch = Arch.parse("sm_90a")
    for name, op in operators(*sizes)[1].items():
        found = candidates(op, arch)
        assert (found[0].block_m, found[0].block_n) in CHOSEN[sizes][name]
        times = [estimate(each, op, arch) for each in found]
        assert times == sorted(times)


@pytest.mark.parametrize("sizes", CHOSEN)
@pytest.mark.sample(2)
def test_first_choices_fit_into_registers(check_ptxas, sizes):
    """The ptxas of the first choice for Hopper neither serializes matmuls nor spills."""
    module, _ = operators(*sizes)
    run_pipeline(module, make_context(), PassOptions(arch="sm_90a"))
    sources = print_sources(module).values()
    assert len(sources) == 3
    for source in sources:
        assert "wgmma" in source
        check_ptxas(source)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_widths(arch):
    """What the frontend of torch makes one operator has kernels, and nothing wider."""
    arch = Arch.parse(arch)
    for width in range(16, MOST_COLUMNS + 1, 16):
        _, found = operators(16, 256, width, causal=True)
        assert all(candidates(op, arch) for op in found.values())
    _, found = operators(16, 256, MOST_COLUMNS + 16, causal=True)
    assert not candidates(found[KEY_VALUE], arch)


def test_before_hopper():
    """Ampere takes mma.sync; Turing, and widths that no instruction divides, have no kernel."""
    _, found = operators(96, 512, 64, causal=True)
    for op in found.values():
        assert candidates(op, Arch.parse("sm_80"))[0].instruction == F16
        assert not candidates(op, Arch.parse("sm_75"))
    _, found = operators(96, 512, 40, causal=True)
    assert not any(candidates(op, Arch.parse("sm_90a")) for op in found.values())
