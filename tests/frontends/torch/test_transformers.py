"""Small models of the library transformers, each as one program, nothing left to eager torch."""

import pytest
import torch

from hidet.frontends.torch.backend import hidet_backend
from hidet.testing.numeric import assert_close

transformers = pytest.importorskip("transformers", reason="needs hidet-xdsl[models]")

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
TEXT = {**SIZES, "intermediate_size": 64, "vocab_size": 99, "max_position_embeddings": 32}
IMAGE = {**SIZES, "intermediate_size": 64, "image_size": 32, "patch_size": 8}


def bert():
    return transformers.BertModel(transformers.BertConfig(**TEXT))


def gpt2():
    config = transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=99, n_positions=32)
    return transformers.GPT2LMHeadModel(config)


def llama():
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(num_key_value_heads=2, **TEXT))


def vit():
    return transformers.ViTModel(transformers.ViTConfig(**IMAGE))


def tokens(**more):
    return {"input_ids": torch.randint(0, 99, (2, 16)), **more}


def masked_tokens():
    return tokens(attention_mask=torch.tensor([[1] * 16, [1] * 10 + [0] * 6]))


def image():
    return {"pixel_values": torch.randn(2, 3, 32, 32, dtype=torch.float64)}


CASES = {
    "bert": (bert, tokens),
    "bert with a mask": (bert, masked_tokens),
    "gpt2": (gpt2, lambda: tokens(use_cache=False)),
    "gpt2 that fills a cache": (gpt2, tokens),
    "llama": (llama, lambda: tokens(use_cache=False)),
    "vit": (vit, image),
}


@pytest.mark.parametrize(
    ("name", "attention"),
    [
        pytest.param(
            name,
            attention,
            marks=() if attention == "sdpa" or "bert" in name else (pytest.mark.slow,),
        )
        for name in CASES
        for attention in ("sdpa", "eager")
    ],
)
@pytest.mark.sample(4)
def test_model(name, attention, programs):
    """The program computes what the model does."""
    torch.manual_seed(7)
    model, inputs = (make() for make in CASES[name])
    model = model.eval().double()
    model.set_attn_implementation(attention)
    run = torch.compile(model, backend=hidet_backend, options={"fallback": False})
    with torch.no_grad():
        # The rotary embedding of Llama and some of its norms compute in float32.
        assert_close(run(**inputs)[0], model(**inputs)[0], 1e-5)
    assert [program.calls for program in programs] == [1]
