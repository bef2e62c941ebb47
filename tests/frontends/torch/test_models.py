"""The models of `examples/models`, each as one program with nothing left to eager torch."""

from collections import Counter

import pytest
import torch
from xdsl.dialects.builtin import f32

from hidet.dialects import graph
from hidet.dialects.graph.base import element_type, is_float
from hidet.frontends.torch.backend import hidet_backend
from hidet.frontends.torch.dtypes import ELEMENTS
from hidet.testing.filecheck import check_text
from hidet.testing.numeric import assert_close

MODELS = {
    "resnet18": ("resnet", "resnet18", lambda: torch.randn(1, 3, 32, 32)),
    "lenet": ("lenet", "lenet", lambda: torch.randn(3, 1, 28, 28)),
    "mlp": ("mlp", "mlp", lambda: torch.randn(5, 784)),
    "mixer_tiny": ("mixer", "mixer_tiny", lambda: torch.randn(2, 3, 32, 32)),
    "gpt_block": ("gpt", "gpt_block", lambda: torch.randn(1, 16, 768)),
    "gpt_tiny": ("gpt", "gpt_tiny", lambda: torch.randint(0, 97, (2, 16))),
}


@pytest.fixture
def make(models):
    """Give the function that makes a model and an input."""

    def make_model(name, **keywords):
        torch.manual_seed(5)
        module, function, example = MODELS[name]
        return getattr(models(module), function)(**keywords), example()

    return make_model


def compiled(model):
    return torch.compile(model, backend=hidet_backend, options={"fallback": False})


def count_operators(program):
    """Count the operators of a program by name."""
    ops = program.module.walk()
    return Counter(op.name.removeprefix("graph.") for op in ops if isinstance(op, graph.GraphOp))


@pytest.mark.parametrize("name", MODELS)
def test_model(name, make, programs):
    """The program computes what the model does, in the order of float64's precision."""
    model, x = make(name)
    model = model.double()
    x = x.double() if x.dtype.is_floating_point else x
    with torch.no_grad():
        assert_close(compiled(model)(x), model(x), 1e-10)
    (program,) = programs
    assert program.calls == 1
    (entry,) = program.module.ops
    assert len(entry.body.block.args) == 1
    weights = {t.data_ptr() for t in (*model.parameters(), *model.buffers()) if t.dim()}
    constants = count_operators(program)["constant"]
    # A mask of attention is a buffer of its own in every block, a shared weight is one constant.
    assert constants == len(weights)


TOLERANCES = {torch.float32: 1e-5, torch.float16: 2e-2, torch.bfloat16: 1e-1}


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.sample(6)
def test_model_in_lower_precision(name, dtype, make, programs):
    """The program has the types of the model, and nothing is left to eager torch."""
    model, x = make(name)
    with torch.no_grad():
        expected = model.double()(x.double() if x.is_floating_point() else x)
        run = compiled(model.to(dtype))
        actual = run(x.to(dtype) if x.is_floating_point() else x)
    assert actual.dtype is dtype
    assert_close(actual, expected, TOLERANCES[dtype])
    for op in programs[0].module.walk():
        if isinstance(op, graph.LinearOp | graph.MatmulOp | graph.Conv2dOp | graph.SoftmaxOp):
            assert {element_type(x) for x in (*op.operands, op.result)} == {ELEMENTS[dtype]}
        elif isinstance(op, graph.GraphOp) and is_float(element := element_type(op.result)):
            assert element in (ELEMENTS[dtype], f32)  # norms are computed in f32


def test_resnet18_operators(make, programs):
    """Every operator arrives as users know it."""
    model, x = make("resnet18")
    with torch.no_grad():
        compiled(model)(x)
    assert count_operators(programs[0]) == {
        "constant": 102,
        "conv2d": 20,
        "fill": 20,
        "rsqrt": 20,
        "mul": 60,
        "sub": 20,
        "relu": 17,
        "add": 48,
        "windows": 1,
        "max": 1,
        "mean": 1,
        "reshape": 41,
        "linear": 1,
    }


def test_resnet18_names_are_those_of_torchvision(make):
    """A state dict of torchvision's ResNet-18 fits."""
    model, _ = make("resnet18")
    state = model.state_dict()
    assert len(state) == 122
    assert {
        "conv1.weight",
        "bn1.running_mean",
        "layer1.0.conv1.weight",
        "layer2.0.downsample.0.weight",
        "layer2.0.downsample.1.num_batches_tracked",
        "layer4.1.bn2.bias",
        "fc.weight",
        "fc.bias",
    } <= set(state)
    assert sum(parameter.numel() for parameter in model.parameters()) == 11_689_512


def test_fused_attention_is_kept_whole(make, programs):
    model, x = make("gpt_tiny", fused=True)
    with torch.no_grad():
        assert_close(compiled(model)(x), model.double()(x), 1e-3)
    counted = count_operators(programs[0])
    assert counted["scaled_dot_product_attention"] == 2
    assert counted["linear"] == 9
    assert counted["softmax"] == counted["matmul"] == 0


def test_lenet_text(make, programs):
    """The whole program of a small model, as text."""
    model, x = make("lenet")
    with torch.no_grad():
        compiled(model)(x)
    check_text(
        str(programs[0].module),
        """
        // CHECK:      func.func @forward(%x0: tensor<3x1x28x28xf32>) -> tensor<3x10xf32> {
        // CHECK-NEXT:   %p0 = graph.constant "p0" : tensor<6x1x5x5xf32>
        // CHECK-NEXT:   %p1 = graph.constant "p1" : tensor<6xf32>
        // CHECK-NEXT:   %convolution = graph.conv2d %x0, %p0, %p1 {padding = array<i64: 2, 2>}
        // CHECK-NEXT:   %relu = graph.relu %convolution : tensor<3x6x28x28xf32>
        // CHECK-NEXT:   %[[WINDOWS:.*]] = graph.windows %relu {{.*}} -> tensor<3x6x14x14x2x2xf32>
        // CHECK-NEXT:   %{{.*}} = graph.max %[[WINDOWS]] {{.*}} -> tensor<3x6x14x14xf32>
        // CHECK-NEXT:   %p2 = graph.constant "p2" : tensor<16x6x5x5xf32>
        // CHECK-NEXT:   %p3 = graph.constant "p3" : tensor<16xf32>
        // CHECK-NEXT:   %convolution1 = graph.conv2d {{.*}} -> tensor<3x16x10x10xf32>
        // CHECK-NEXT:   %relu1 = graph.relu %convolution1
        // CHECK-NEXT:   %[[WINDOWS:.*]] = graph.windows %relu1 {{.*}} -> tensor<3x16x5x5x2x2xf32>
        // CHECK-NEXT:   %{{.*}} = graph.max %[[WINDOWS]] {{.*}} -> tensor<3x16x5x5xf32>
        // CHECK-NEXT:   %view = graph.reshape {{.*}} -> tensor<3x400xf32>
        // CHECK-NEXT:   %p4 = graph.constant "p4" : tensor<120x400xf32>
        // CHECK-NEXT:   %p5 = graph.constant "p5" : tensor<120xf32>
        // CHECK-NEXT:   %addmm = graph.linear %view, %p4, %p5 : {{.*}} -> tensor<3x120xf32>
        // CHECK-NEXT:   %relu2 = graph.relu %addmm
        // CHECK:        %addmm1 = graph.linear %relu2, %p6, %p7
        // CHECK:        %addmm2 = graph.linear %relu3, %p8, %p9
        // CHECK-NEXT:   func.return %addmm2 : tensor<3x10xf32>
        """,
    )


def test_attention_text(make, programs):
    """Matrix products and linear layers that torch takes apart are put together again."""
    model, x = make("gpt_block")
    with torch.no_grad():
        compiled(model)(x)
    check_text(
        str(programs[0].module),
        """
        // CHECK:      %layer_norm = graph.layer_norm %x0
        // CHECK:      %layer_norm_1 = graph.mul %layer_norm, %p0
        // CHECK:      %layer_norm_2 = graph.add %layer_norm_1, %p1
        // CHECK:      %addmm = graph.linear %layer_norm_2, {{.*}} -> tensor<1x16x2304xf32>
        // CHECK-COUNT-3: graph.slice %addmm
        // CHECK:      %bmm = graph.matmul {{.*}} -> tensor<1x12x16x16xf32>
        // CHECK-NEXT: %[[SCALE:.*]] = graph.fill 8.000000e+00 : f32 : tensor<f32>
        // CHECK-NEXT: %div = graph.div %bmm, %[[SCALE]]
        // CHECK:      %where = graph.where %bitwise_not, %{{.*}}, %div
        // CHECK-NEXT: %softmax = graph.softmax %where {axis = 3 : i64}
        // CHECK-NEXT: %bmm1 = graph.matmul %softmax, {{.*}} -> tensor<1x12x16x64xf32>
        // CHECK:      %gelu = graph.gelu {{.*}} {approximate = "tanh"} : tensor<1x16x3072xf32>
        // CHECK:      func.return %{{.*}} : tensor<1x16x768xf32>
        """,
    )
