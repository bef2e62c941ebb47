"""Models that torch has exported to ONNX: compiled, they give what eager torch gives."""

import pytest
import torch

import hidet
from hidet.graph.frontend import from_onnx

transformers = pytest.importorskip("transformers")
pytest.importorskip("onnxscript", reason="torch.onnx.export needs it")

SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
MODELS = {
    "ResNet-50": ("ResNetConfig", {}),
    "MobileNet": ("MobileNetV2Config", {}),
    "BERT": ("BertConfig", {**SMALL, "intermediate_size": 128}),
    "GPT-2": ("GPT2Config", {"n_embd": 64, "n_layer": 2, "n_head": 4, "use_cache": False}),
    "ViT": ("ViTConfig", {**SMALL, "intermediate_size": 128, "image_size": 64}),
}
"""The config of each model in transformers, and what is smaller than there."""


class Hidden(torch.nn.Module):
    """A model with its last hidden state as the only result."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of torch's exporter about itself
@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_exported(name, tmp_path):
    torch.manual_seed(0)
    config, changed = MODELS[name]
    config = getattr(transformers, config)(**changed)
    model = Hidden(transformers.AutoModel.from_config(config)).eval()
    of_words = name in ("BERT", "GPT-2")
    x = torch.randint(0, 1000, (2, 16)) if of_words else torch.randn(1, 3, 64, 64)
    torch.onnx.export(model, (x,), tmp_path / "model.onnx", dynamo=True, verbose=False)
    module = from_onnx(tmp_path / "model.onnx").module
    torch.testing.assert_close(hidet.compile(module, x)(x), model(x), rtol=1e-3, atol=1e-3)
