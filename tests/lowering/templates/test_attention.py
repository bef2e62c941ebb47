"""Numbers of the template `attention` as on a GPU, on the CPU in the strict mode."""

import random

import pytest
import torch
from attention_reference import masked_scores
from xdsl.parser import Parser

from hidet.arch.chips import Arch
from hidet.context import make_context
from hidet.driver.compilation import print_sources
from hidet.lowering.pipelines import PassOptions, run_pipeline
from hidet.lowering.templates.attention_config import (
    Attention,
    AttentionConfig,
    candidates,
    estimate,
)

F16, BF16 = "m16n8k16_f16_f32", "m16n8k16_bf16_f32"
GROUP_F16, GROUP_BF16 = "m64n256k16_f16_f32", "m64n256k16_bf16_f32"
F16_NUMBERS, BF16_NUMBERS = (torch.float16, "f16", 3e-3), (torch.bfloat16, "bf16", 2e-2)
DTYPES = {F16: F16_NUMBERS, GROUP_F16: F16_NUMBERS, BF16: BF16_NUMBERS, GROUP_BF16: BF16_NUMBERS}


def attention(q, k, v, mask, scale, causal, fill=-torch.inf):
    """Return attention in float64; a query that may attend to no key gets zeros."""
    scores = masked_scores(q.double(), k.double(), mask, scale, causal, fill)
    return scores.softmax(-1).nan_to_num(0) @ v.double()


def program(q, k, v, mask, scale, causal, t, fill=-torch.inf):
    """Return the text of an attention of such tensors."""

    def kind(x):
        element = "i1" if x.dtype == torch.bool else t
        return f"tensor<{'x'.join(map(str, x.shape))}x{element}>"

    operands = {"q": q, "k": k, "v": v} | ({} if mask is None else {"m": mask})
    batch = torch.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)))
    result = "x".join(map(str, (*batch, q.shape[-2], v.shape[-1])))
    names = ", ".join(f"%{name}" for name in operands)
    types = ", ".join(map(kind, operands.values()))
    filled = f", fill = {fill} : f64" if fill > -torch.inf else ""
    attributes = f"{{scale = {scale} : f64, causal = {str(causal).lower()}{filled}}}"
    return (
        f"%y = graph.scaled_dot_product_attention {names} {attributes} : "
        f"({types}) -> tensor<{result}x{t}>"
    ), operands


LOWEST = torch.finfo(torch.float32).min

CASES = [
    pytest.param(F16, (32, 64, 2, 2), (2, 3), (40, 72, 32, 16), None, False, id="ragged"),
    pytest.param(BF16, (16, 32, 1, 3), (3,), (32, 64, 48, 64), None, False, id="whole"),
    pytest.param(F16, (32, 32, 1, 2), (2,), (70, 70, 16, 24), None, True, id="causal"),
    pytest.param(F16, (16, 32, 1, 1), (1, 2), (33, 40, 16, 8), "bool", False, id="hidden"),
    pytest.param(F16, (16, 32, 1, 1), (1, 2), (33, 40, 16, 8), LOWEST, False, id="lowest"),
    pytest.param(GROUP_F16, (64, 64, 1, 2), (2,), (70, 90, 32, 32), -2.5, False, id="filled"),
    pytest.param(BF16, (64, 64, 4, 1), (1, 2), (30, 129, 16, 16), "float", False, id="added"),
    pytest.param(F16, (16, 64, 1, 2), (2, 2), (50, 20, 32, 32), "float", True, id="long-queries"),
    pytest.param(GROUP_F16, (64, 64, 1, 2), (2, 3), (70, 140, 64, 64), None, False, id="group"),
    pytest.param(GROUP_BF16, (128, 32, 2, 2), (2,), (130, 130, 32, 64), None, True, id="groups"),
    pytest.param(GROUP_F16, (64, 80, 1, 3), (1, 2), (33, 200, 64, 32), "float", False, id="wide"),
    pytest.param(GROUP_F16, (64, 32, 1, 2, 3), (2,), (100, 170, 32, 32), "bool", True, id="alone"),
    pytest.param(GROUP_BF16, (64, 48, 1, 2), (1, 2), (30, 33, 64, 64), None, False, id="one-tile"),
    pytest.param(GROUP_F16, (64, 32, 1, 2), (2,), (64, 50, 48, 48), "float", False, id="two-tiles"),
    pytest.param(GROUP_F16, (64, 32, 1, 3), (2,), (70, 20, 48, 48), None, True, id="few-keys"),
]


@pytest.mark.parametrize(("instruction", "tile", "batch", "sizes", "masked", "causal"), CASES)
@pytest.mark.sample(1)
def test_configs(check, choose, instruction, tile, batch, sizes, masked, causal):
    """Tiles that sizes do not divide, masks of all kinds, other heads than keys have."""
    dtype, t, tolerance = DTYPES[instruction]
    m, n, width, values = sizes
    q = torch.randn(*batch, m, width).to(dtype)
    k = torch.randn(*batch[1:], n, width).to(dtype)
    v = torch.randn(*batch, n, values).to(dtype)
    mask = None
    fill = masked if isinstance(masked, float) else -torch.inf
    if masked == "bool" or fill > -torch.inf:
        mask = torch.rand(m, n) < 0.5
        mask[random.randrange(m)] = False
    elif masked == "float":
        mask = torch.randn(*batch, m, n).to(dtype)
    scale = random.uniform(0.1, 1)
    text, operands = program(q, k, v, mask, scale, causal, t, fill)
    block_m, block_n, rows, *rest = tile
    check(
        text,
        operands,
        {"y": attention(q, k, v, mask, scale, causal, fill)},
        dtype=dtype,
        tolerance=tolerance,
        options=choose(AttentionConfig(instruction, block_m, block_n, rows, 1, *rest)),
    )


@pytest.mark.parametrize("batch", [(1, 3, 1), (3, 2), (2, 1, 1), ()])
@pytest.mark.sample(1)
def test_shared_masks(check, choose, batch):
    """Images, windows and heads may share masks."""
    q, k, v = (torch.randn(2, 3, 2, 40, 16).half() for _ in range(3))
    mask = torch.randn(*batch, 40, 40).half()
    text, operands = program(q, k, v, mask, 0.5, False, "f16")
    reference = attention(q, k, v, mask, 0.5, False)
    options = choose(AttentionConfig(F16, 16, 32, 1, 1, 1))
    check(text, operands, {"y": reference}, dtype=torch.float16, tolerance=3e-3, options=options)


@pytest.mark.parametrize(("element", "kind"), [("f16", "hidet::half"), ("i1", "bool")])
def test_masks_are_loaded_by_vectors(element, kind):
    """Threads load adjacent keys of a mask without a branch, if tiles end where scores do."""
    x, mask = "tensor<12x128x64xf16>", f"tensor<12x128x128x{element}>"
    module = Parser(
        make_context(),
        f"""func.func @forward(%x : {x}, %m : {mask}) -> {x} {{
          %y = graph.scaled_dot_product_attention %x, %x, %x, %m : ({x}, {x}, {x}, {mask}) -> {x}
          func.return %y : {x}
        }}""",
    ).parse_module()
    run_pipeline(module, make_context(), PassOptions(arch="sm_90a"))
    (source,) = print_sources(module).values()
    assert f"hidet::copy_vector<{kind}, 2>(m_vector, &m[" in source


CHOSEN = {
    (12, 128, 128, 64, False): {(32, 64), (32, 128), (16, 128)},
    (768, 197, 197, 64, False): {(64, 208)},
    (32, 512, 512, 64, True): {(64, 64), (64, 128)},
    (384, 512, 512, 64, False): {(64, 112), (64, 128)},
    (64, 2048, 2048, 64, False): {(64, 128)},
    (32, 4096, 4096, 128, False): {(128, 128)},
    (32, 4096, 4096, 128, True): {(128, 128), (128, 160), (128, 176)},
}
"""Queries and keys of the blocks that were within 6% of the fastest of some twenty on an H100 or
H200."""


@pytest.mark.parametrize("sizes", CHOSEN)
def test_choice(sizes):
    """The first choice is one of the fastest, and estimates come in order."""
    batch, queries, keys, width, causal = sizes
    problem = Attention(batch, queries, keys, width, width, "f16", 0.125, causal)
    arch = Arch.parse("sm_90a")
    found = candidates(problem, arch)
    assert (found[0].block_m, found[0].block_n) in CHOSEN[sizes]
    times = [estimate(each, problem, arch) for each in found]
    assert times == sorted(times)


@pytest.mark.parametrize(
    ("batch", "length", "width", "causal"),
    [
        (768, 197, 64, False),  # one tile of keys
        (192, 256, 64, False),  # two
        (64, 2048, 64, False),
        (32, 512, 64, True),
        (32, 4096, 128, True),
    ],
)
def test_first_choices_fit_into_registers(check_ptxas, batch, length, width, causal):
    """The ptxas of the first choice for Hopper neither serializes matmuls nor spills."""
    x = f"tensor<{batch}x{length}x{width}xf16>"
    module = Parser(
        make_context(),
        f"""func.func @forward(%q : {x}, %k : {x}, %v : {x}) -> {x} {{
          %y = graph.scaled_dot_product_attention %q, %k, %v {{causal = {str(causal).lower()}}} :
            ({x}, {x}, {x}) -> {x}
          func.return %y : {x}
        }}""",
    ).parse_module()
    run_pipeline(module, make_context(), PassOptions(arch="sm_90a"))
    (source,) = print_sources(module).values()
    assert "wgmma" in source
    check_ptxas(source)
