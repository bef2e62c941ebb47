"""`hidet.torch.dynamo_config` and what else `hidet.torch` hands out."""

import pytest
import torch

import hidet.torch
from hidet import option
from hidet.errors import OptionError
from hidet.frontends.torch.config import DynamoConfig, dynamo_config
from hidet.frontends.torch.notices import NoEffectWarning
from hidet.frontends.torch.settings import Settings


@pytest.fixture(autouse=True)
def _restore():
    """Keep settings from lasting."""
    with option.context():
        yield
    dynamo_config.reset()


def test_public_names():
    assert all(hasattr(hidet.torch, name) for name in hidet.torch.__all__)
    assert hidet.torch.dynamo_config is dynamo_config


def test_search_space():
    assert dynamo_config.search_space(1) is dynamo_config
    assert dynamo_config["search_space"] == option.get_option("search_space") == 1


def test_use_cuda_graph():
    assert Settings.of(None, None).use_cuda_graph
    dynamo_config.use_cuda_graph(False)
    assert not Settings.of(None, None).use_cuda_graph
    # What is said to torch.compile is nearer.
    assert Settings.of("reduce-overhead", None).use_cuda_graph
    dynamo_config.reset()
    assert dynamo_config["use_cuda_graph"]


def test_print_input_graph(programs, capsys):
    dynamo_config.print_input_graph()
    with torch.no_grad():
        torch.compile(lambda x: x + 1, backend=hidet.torch.backend)(torch.ones(2))
    assert "torch.ops.aten.add.Tensor" in capsys.readouterr().out


def test_dump_graph_ir(tmp_path):
    dynamo_config.dump_graph_ir(tmp_path)
    assert dynamo_config["dump_graph_ir"] == option.get_option("dump_dir") == tmp_path


FIXED = {
    "use_tensor_core": True,
    "use_fp16": False,
    "use_fp16_reduction": False,
    "correctness_report": False,
}


@pytest.mark.parametrize("name", FIXED)
def test_settings_that_cannot_be_changed_say_so(name):
    config = DynamoConfig()
    with pytest.warns(NoEffectWarning, match=rf"dynamo_config.{name}\(.*\) has no effect: ."):
        getattr(config, name)(not FIXED[name])
    assert config[name] is FIXED[name]


@pytest.mark.parametrize("name", FIXED)
def test_what_holds_anyway_may_be_said(name):
    """No warning, as nothing else than what was asked for happens."""
    assert getattr(DynamoConfig(), name)(FIXED[name])[name] is FIXED[name]


def test_unknown_settings():
    """There are no others, neither to be set nor to be read."""
    with pytest.raises(OptionError, match="the settings are search_space"):
        dynamo_config["use_attention"]
    assert not hasattr(dynamo_config, "steal_weights")
