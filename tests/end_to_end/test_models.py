"""The models of `examples/models`, through every layer, against float64."""

import copy
import importlib.util
from pathlib import Path

import pytest
import torch

import hidet
from hidet.testing.numeric import assert_close, error_of

MODELS = Path(__file__).parents[2] / "examples" / "models"
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
TOLERANCE = {torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 1e-1}

# Module, function, its keywords, input. Small ones: the CPU simulates a GPU's threads.
CASES = {
    "mlp": ("mlp", "mlp", {}, lambda: torch.randn(5, 784)),
    "lenet": ("lenet", "lenet", {}, lambda: torch.randn(2, 1, 28, 28)),
    "mixer": ("mixer", "mixer_tiny", {}, lambda: torch.randn(2, 3, 32, 32)),
    "gpt": ("gpt", "gpt_tiny", {}, lambda: torch.randint(0, 97, (2, 16))),
    "gpt-fused": ("gpt", "gpt_tiny", {"fused": True}, lambda: torch.randint(0, 97, (1, 13))),
}
# Behind `slow`, since `test_demo.py` runs the demo, which compares this model with float64 too.
LARGE = {"resnet18": ("resnet", "resnet18", {}, lambda: torch.randn(2, 3, 40, 40))}
FULL_SIZE = {
    "resnet18": ("resnet", "resnet18", {}, lambda: torch.randn(1, 3, 224, 224)),
    "mixer": ("mixer", "mixer_base", {}, lambda: torch.randn(2, 3, 224, 224)),
    "gpt_block": ("gpt", "gpt_block", {}, lambda: torch.randn(2, 128, 768)),
    "gpt2": ("gpt", "gpt2", {}, lambda: torch.randint(0, 50257, (1, 128))),
}


def make(case, device, dtype):
    """Make a model with random weights, and an input."""
    module_name, function, keywords, example = case
    spec = importlib.util.spec_from_file_location(module_name, MODELS / f"{module_name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(11)
    model, x = getattr(module, function)(**keywords), example().to(device)
    return model.to(device, dtype), x.to(dtype) if x.is_floating_point() else x


@pytest.fixture(autouse=True)
def _own_graphs():
    """Start without compiled graphs, and without TF32."""
    torch._dynamo.reset()
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32
    matmul.allow_tf32 = cudnn.allow_tf32 = False
    yield
    matmul.allow_tf32, cudnn.allow_tf32 = before


def check(case, device, dtype):
    """Compare a compiled model with the same one in float64, twice, on other data.

    Where eager torch is further off than half the tolerance, hidet may be twice as far as that.
    """
    model, x = make(case, device, dtype)
    double = copy.deepcopy(model).double()
    compiled = torch.compile(model, backend="hidet", options={"fallback": False})
    with torch.no_grad(), hidet.option.context(verify_level=device == "cpu"):
        for _ in range(2):
            wide = x.double() if x.is_floating_point() else x
            y = compiled(x)
            assert y.dtype is dtype
            reference = double(wide)
            eager = float(error_of(model(x), reference).max())
            assert_close(y, reference, max(TOLERANCE[dtype], 2 * eager))
            x = x.flip(0, 1).contiguous()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "name", [*CASES, *(pytest.param(each, marks=pytest.mark.slow) for each in LARGE)]
)
@pytest.mark.sample(1)
def test_float32(name, device):
    check((CASES | LARGE)[name], device, torch.float32)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "dtype",
    [torch.float16, pytest.param(torch.bfloat16, marks=pytest.mark.slow)],
    ids=str,
)
@pytest.mark.parametrize("name", ["mlp", "lenet", "gpt"])
@pytest.mark.sample(1)
def test_half(name, dtype, device):
    check(CASES[name], device, dtype)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("name", FULL_SIZE)
def test_full_size(name, dtype):
    check(FULL_SIZE[name], "cuda", dtype)
